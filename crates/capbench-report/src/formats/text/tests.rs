use proptest::prelude::*;

use super::columns;
use super::lines::{COLUMNS, width};
use super::table::{CUT, table};
use crate::model::{Cell, Column, Narrow, Row, Table};

fn wide(fields: &[&str], rows: usize) -> Table {
    let column = |index| Column::words(&format!("c{index}"), &format!("column {index}"));
    let cells = |nth: usize| fields.iter().map(|field| format!("{field}{nth}").into()).collect();
    let rows = (0..rows).map(|nth| Row::new(cells(nth), Vec::new())).collect();
    Table::with_rows("t", "A table", (0..fields.len()).map(column).collect(), rows).unwrap()
}

fn printed(one: &Table) -> String {
    let mut text = String::new();
    table(&mut text, one);
    text
}

#[test]
fn what_is_too_wide_becomes_headings_and_then_a_list() {
    let narrow = printed(&wide(&["a", "b"], 2));
    assert!(narrow.contains("a0      b0\n"), "{narrow}");
    let long = "x".repeat(50);
    let grouped = printed(&wide(&[&long, "b", &long], 2));
    assert!(grouped.contains("column 0 xxx"), "{grouped}");
    let list = printed(&wide(&[&long, &long, &long, &"y".repeat(90)], 1));
    assert!(list.contains("  column 3:\n      yyy"), "{list}");
    let one_column = printed(&wide(&[&"z".repeat(90)], 2));
    assert!(one_column.contains("column 0:\n      zzz"), "{one_column}");
}

#[test]
fn numbers_stand_right_and_words_left() {
    let row = |fields: [&str; 3]| fields.map(String::from).to_vec();
    let rows = [row(["recv", "12", "ring"]), row(["packet-v3", "unknown", "-"])];
    assert_eq!(
        columns(&["method", "lost", "where"], &rows),
        "method        lost  where\nrecv            12  ring\npacket-v3  unknown  -\n"
    );
}

#[test]
fn columns_that_do_not_fit_beside_each_other_stand_in_parts_and_what_is_left_out_is_said() {
    let fields = ["a", &"b".repeat(40), &"c".repeat(40)];
    let parts = printed(&wide(&fields, 2));
    assert!(parts.contains("\na0      bbb") && parts.contains("\na0      ccc"), "{parts}");
    let mut narrow = wide(&fields, 2);
    narrow.columns[2].narrow = Narrow::Absent;
    let narrow = printed(&narrow);
    assert!(!narrow.contains("ccc") && narrow.ends_with(CUT), "{narrow}");
}

#[test]
fn columns_without_any_known_value_are_left_out_and_so_is_what_explains_them() {
    let mut one = wide(&["a", "b", "c"], 2);
    for row in &mut one.rows {
        row.cells[1] = Cell::Unknown;
    }
    one.rows[0].cells[2] = Cell::Empty;
    one.rows[1].cells[2] = Cell::Unknown;
    assert_eq!(printed(&one), "A table\ncolumn\n0\na0\na1\n");
    one.rows.pop();
    assert_eq!(printed(&one), "A table\ncolumn\n0\na0\n");
}

#[test]
fn long_programs_do_not_split_a_table() {
    let long = "b".repeat(40);
    let mut one = wide(&["a", &long, "c"], 2);
    one.rows[0].cells[0] = "cmd:./measure -i {interface} -w /dev/null".into();
    let text = printed(&one);
    assert!(text.contains("\ncmd:./meas…/dev/null  bbb"), "{text}");
    assert!(text.ends_with("\ncmd:./meas…/dev/null: cmd:./measure -i {interface} -w /dev/null\n"), "{text}");
    // It stays whole where it has room.
    one.columns.pop();
    one.columns.pop();
    one.rows.iter_mut().for_each(|row| row.cells.truncate(1));
    assert!(
        printed(&one).ends_with("\ncmd:./measure -i {interface} -w /dev/null\na1\n"),
        "{}",
        printed(&one)
    );
}

#[test]
fn columns_of_files_are_not_in_lines() {
    let mut one = wide(&["a", "b"], 2);
    one.columns[1].narrow = Narrow::FilesOnly;
    assert_eq!(printed(&one), "A table\ncolumn\n0\na0\na1\n");
}

#[test]
fn control_characters_of_a_file_do_nothing() {
    let mut one = wide(&["a"], 1);
    one.caption = "a\u{1b}[31mred\nline".into();
    assert!(!printed(&one).contains('\u{1b}'));
}

proptest! {
    #[test]
    fn lines_fit_unless_a_word_does_not(
        fields in prop::collection::vec("[a-z]{1,24}", 1..9),
        rows in 1..4usize,
    ) {
        let fields: Vec<&str> = fields.iter().map(String::as_str).collect();
        for line in printed(&wide(&fields, rows)).lines() {
            prop_assert!(width(line) <= COLUMNS, "{}", line);
        }
    }
}
