//! Tables in lines of a terminal.

use proptest::prelude::*;

use super::columns;
use super::lines::{COLUMNS, width};
use super::table::{CUT, table};
use crate::model::{Cell, Column, Narrow, Row, Table};

/// A table with this number of rows. A field is the text of its column, with the number of its row behind it; the headings are
/// `column 0`, `column 1` and so on.
fn table_of(fields: &[&str], rows: usize) -> Table {
    let mut columns = Vec::new();
    for index in 0..fields.len() {
        columns.push(Column::words(&format!("c{index}"), &format!("column {index}")));
    }
    let mut numbered = Vec::new();
    for number in 0..rows {
        let cells = fields.iter().map(|field| format!("{field}{number}").into()).collect();
        numbered.push(Row::new(cells, Vec::new()));
    }
    Table::with_rows("t", "A table", columns, numbered).unwrap()
}

/// A table as a terminal of 80 columns shows it.
fn printed(shown: &Table) -> String {
    let mut text = String::new();
    table(&mut text, shown);
    text
}

#[test]
fn a_table_that_fits_has_its_columns_side_by_side() {
    let text = printed(&table_of(&["a", "b"], 2));
    assert!(text.contains("a0      b0\n"), "{text}");
}

#[test]
fn the_first_columns_of_a_wide_table_become_headings() {
    let half = "x".repeat(50);
    let text = printed(&table_of(&[&half, "b", &half], 2));
    assert!(text.contains("column 0 xxx"), "{text}");
}

#[test]
fn rows_that_nothing_makes_fit_become_lists() {
    let half = "x".repeat(50);
    let one_row = printed(&table_of(&[&half, &half, &half, &"y".repeat(90)], 1));
    assert!(one_row.contains("  column 3:\n      yyy"), "{one_row}");
    let one_column = printed(&table_of(&[&"z".repeat(90)], 2));
    assert!(one_column.contains("column 0:\n      zzz"), "{one_column}");
}

#[test]
fn numbers_are_right_aligned_and_words_left_aligned() {
    let rows =
        [["recv", "12", "ring"], ["packet-v3", "unknown", "-"]].map(|row| row.map(String::from).to_vec());
    assert_eq!(
        columns(&["method", "lost", "where"], &rows),
        "method        lost  where\nrecv            12  ring\npacket-v3  unknown  -\n"
    );
}

#[test]
fn columns_that_do_not_fit_are_in_parts_or_omitted_with_a_note() {
    let fields = ["a", &"b".repeat(40), &"c".repeat(40)];
    let parts = printed(&table_of(&fields, 2));
    assert!(parts.contains("\na0      bbb") && parts.contains("\na0      ccc"), "{parts}");
    let mut with_detail = table_of(&fields, 2);
    with_detail.columns[2].narrow = Narrow::Absent;
    let text = printed(&with_detail);
    assert!(!text.contains("ccc") && text.ends_with(CUT), "{text}");
}

#[test]
fn columns_without_any_known_value_are_left_out_without_a_note() {
    let mut shown = table_of(&["a", "b", "c"], 2);
    for row in &mut shown.rows {
        row.cells[1] = Cell::Unknown;
    }
    shown.rows[0].cells[2] = Cell::Empty;
    shown.rows[1].cells[2] = Cell::Unknown;
    assert_eq!(printed(&shown), "A table\ncolumn\n0\na0\na1\n");
    shown.rows.pop();
    assert_eq!(printed(&shown), "A table\ncolumn\n0\na0\n");
}

#[test]
fn long_programs_are_cut_where_they_have_no_room() {
    let program = "cmd:./measure -i {interface} -w /dev/null";
    let mut wide = table_of(&["a", &"b".repeat(40), "c"], 2);
    wide.rows[0].cells[0] = program.into();
    let text = printed(&wide);
    assert!(text.contains("\ncmd:./meas…/dev/null  bbb"), "{text}");
    assert!(text.ends_with(&format!("\ncmd:./meas…/dev/null: {program}\n")), "{text}");
    let mut narrow = table_of(&["a"], 2);
    narrow.rows[0].cells[0] = program.into();
    let text = printed(&narrow);
    assert!(text.ends_with(&format!("\n{program}\na1\n")), "{text}");
}

#[test]
fn columns_of_files_are_not_in_lines() {
    let mut shown = table_of(&["a", "b"], 2);
    shown.columns[1].narrow = Narrow::FilesOnly;
    assert_eq!(printed(&shown), "A table\ncolumn\n0\na0\na1\n");
}

#[test]
fn control_characters_of_a_file_do_not_reach_the_terminal() {
    let mut shown = table_of(&["a"], 1);
    shown.caption = "a\u{1b}[31mred\nline".into();
    assert!(!printed(&shown).contains('\u{1b}'));
}

proptest! {
    #[test]
    fn lines_fit_unless_a_word_does_not(
        fields in prop::collection::vec("[a-z]{1,24}", 1..9),
        rows in 1..4usize,
    ) {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        for line in printed(&table_of(&fields, rows)).lines() {
            prop_assert!(width(line) <= COLUMNS, "{}", line);
        }
    }
}
