//! Verdict and summary for a terminal of 80 columns; the same in a pipe. No colours, no control characters from files.

use std::fmt::Write;

use crate::figures;
use crate::model::{Cell, Column, Report, Table};
use crate::printable;

/// Columns that a line may fill.
const COLUMNS: usize = 80;
/// Blanks between columns of a table, where there is room; else one.
const GAP: usize = 2;

/// Title, verdict, warnings and summary.
pub fn text(report: &Report) -> String {
    let mut text = String::new();
    wrapped(&mut text, "", "  ", &format!("{}: {}", report.title, report.subtitle));
    text.push('\n');
    for sentence in &report.verdict {
        wrapped(&mut text, "", "", &sentence.text);
    }
    if !report.warnings.is_empty() {
        text.push_str("\nWarnings\n");
        for warning in &report.warnings {
            wrapped(&mut text, "  - ", "    ", warning);
        }
    }
    if let Some(summary) = &report.summary {
        text.push('\n');
        table(&mut text, summary);
    }
    text
}

/// Adds words in lines that fit, the first behind `first`, the others behind `next`. A word that is longer than a line has
/// one of its own.
fn wrapped(text: &mut String, first: &str, next: &str, words: &str) {
    let mut line = String::from(first);
    let mut is_empty = true;
    let words = printable::line(words);
    for word in words.split(' ').filter(|word| !word.is_empty()) {
        if !is_empty && width(&line) + 1 + width(word) > COLUMNS {
            let _ = writeln!(text, "{}", line.trim_end());
            line = String::from(next);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn width(text: &str) -> usize {
    text.chars().count()
}

/// A table as strings.
struct Grid {
    heads: Vec<String>,
    units: Vec<&'static str>,
    rows: Vec<Vec<String>>,
    is_number: Vec<bool>,
}

impl Grid {
    fn of(table: &Table) -> Self {
        let heads = table.columns.iter().map(|column| printable::line(&column.heading));
        let fields = |cells: &[Cell]| -> Vec<String> {
            let columns = table.columns.iter();
            let shown = |(cell, column): (&Cell, &Column)| printable::line(&field(cell, column.unit));
            cells.iter().zip(columns).map(shown).collect()
        };
        let is_number = |index: usize| {
            let mut cells = table.rows.iter().filter_map(|row| row.cells.get(index));
            cells.any(|cell| !matches!(cell, Cell::Text(_) | Cell::Empty | Cell::Unknown))
        };
        Self {
            heads: heads.collect(),
            units: table.columns.iter().map(|column| column.unit.symbol()).collect(),
            rows: table.rows.iter().map(|row| fields(&row.cells)).collect(),
            is_number: (0..table.columns.len()).map(is_number).collect(),
        }
    }

    /// Takes out the columns that are the same in all rows, if there are several, and says what they are.
    fn take_constants(&mut self) -> Vec<String> {
        let mut said = Vec::new();
        let mut index = 0;
        while index < self.heads.len() {
            let first = self.rows.first().map(|row| row[index].clone()).unwrap_or_default();
            let is_constant = self.rows.iter().all(|row| row[index] == first);
            if is_constant && self.heads.len() > 1 && !self.is_number[index] {
                let said_of = self.said(index, ' ', &first);
                self.heads.remove(index);
                self.units.remove(index);
                self.is_number.remove(index);
                for row in &mut self.rows {
                    row.remove(index);
                }
                if !first.is_empty() && first != "none" {
                    said.push(said_of);
                }
            } else {
                index += 1;
            }
        }
        said
    }

    /// A field where there is no head above it.
    fn said(&self, index: usize, between: char, field: &str) -> String {
        let unit = self.units[index];
        let is_told = field != "-" && field != "?" && !unit.is_empty();
        let colon = if between == ':' { ":" } else { "" };
        let unit = if is_told { format!(" {unit}") } else { String::new() };
        format!("{}{colon} {field}{unit}", self.heads[index])
    }

    /// A head with its unit.
    fn head(&self, index: usize) -> String {
        match self.units[index] {
            "" => self.heads[index].clone(),
            unit => format!("{} {unit}", self.heads[index]),
        }
    }

    fn column_width(&self, index: usize) -> usize {
        let cells = self.rows.iter().map(|row| width(&row[index])).max().unwrap_or(0);
        // Heads have as many lines as they need, a word is not broken.
        let head = self.head(index).split(' ').map(width).max().unwrap_or(0);
        cells.max(head)
    }

    fn total_width(&self, from: usize, gap: usize) -> usize {
        let columns = self.heads.len().saturating_sub(from);
        let widths: usize = (from..self.heads.len()).map(|index| self.column_width(index)).sum();
        widths + gap * columns.saturating_sub(1)
    }

    /// The lines of the head, from column `from` on, each as wide as its column.
    fn head_lines(&self, from: usize) -> Vec<Vec<String>> {
        let broken: Vec<Vec<String>> = (from..self.heads.len())
            .map(|index| {
                let room = self.column_width(index);
                let mut lines: Vec<String> = Vec::new();
                for word in self.head(index).split(' ') {
                    match lines.last_mut() {
                        Some(line) if width(line) + 1 + width(word) <= room => {
                            line.push(' ');
                            line.push_str(word);
                        }
                        _ => lines.push(word.into()),
                    }
                }
                lines
            })
            .collect();
        let height = broken.iter().map(Vec::len).max().unwrap_or(0);
        (0..height)
            .map(|line| {
                let cell = |lines: &Vec<String>| {
                    // Heads stand on the rule below them.
                    (line + lines.len())
                        .checked_sub(height)
                        .and_then(|at| lines.get(at).cloned())
                        .unwrap_or_default()
                };
                broken.iter().map(cell).collect()
            })
            .collect()
    }

    fn line(&self, cells: &[String], from: usize, gap: usize) -> String {
        let mut line = String::new();
        for (index, cell) in (from..self.heads.len()).zip(cells) {
            let room = self.column_width(index);
            let blanks = " ".repeat(room.saturating_sub(width(cell)));
            if index > from {
                line.push_str(&" ".repeat(gap));
            }
            if self.is_number[index] {
                line.push_str(&blanks);
                line.push_str(cell);
            } else {
                line.push_str(cell);
                line.push_str(&blanks);
            }
        }
        line.trim_end().into()
    }
}

/// A field of a table: unknown is short here, and what is empty is a mark that a column of words can be read by.
fn field(cell: &Cell, unit: crate::model::Unit) -> String {
    match cell {
        Cell::Empty => "-".into(),
        Cell::Unknown => "?".into(),
        Cell::Text(text) if text.is_empty() => "-".into(),
        other => figures::cell(other, unit),
    }
}

/// A table: what all rows share is said once; what is still too wide has its first columns as headings above groups of rows;
/// where that is not enough, each row is a list.
fn table(text: &mut String, table: &Table) {
    wrapped(text, "", "  ", &table.caption);
    let mut grid = Grid::of(table);
    // One row is told whole.
    let shared = if grid.rows.len() > 1 { grid.take_constants() } else { Vec::new() };
    if !shared.is_empty() {
        wrapped(text, "all rows: ", "  ", &shared.join(", "));
    }
    let columns = grid.heads.len();
    // Words first: numbers are no headings.
    let headings = grid.is_number.iter().take_while(|is_number| !**is_number).count();
    let fits =
        |from: usize, gap: usize| grid.total_width(from, gap) + if from > 0 { 2 } else { 0 } <= COLUMNS;
    let choice = (0..=headings.min(columns.saturating_sub(1)))
        .flat_map(|from| [(from, GAP), (from, 1)])
        .find(|(from, gap)| fits(*from, *gap));
    match choice {
        Some((from, gap)) => rows(text, &grid, from, gap),
        None => lists(text, &grid),
    }
    if table.rows.iter().flat_map(|row| &row.cells).any(|cell| *cell == Cell::Unknown) {
        text.push_str("?: nothing here can tell\n");
    }
    for note in &table.notes {
        wrapped(text, "", "  ", note);
    }
}

fn rows(text: &mut String, grid: &Grid, from: usize, gap: usize) {
    let indent = if from > 0 { "  " } else { "" };
    for line in grid.head_lines(from) {
        let _ = writeln!(text, "{indent}{}", grid.line(&line, from, gap));
    }
    let mut above: Option<&[String]> = None;
    for row in &grid.rows {
        let (heading, fields) = row.split_at(from);
        if from > 0 && above != Some(heading) {
            let words: Vec<String> =
                heading.iter().enumerate().map(|(index, field)| grid.said(index, ' ', field)).collect();
            wrapped(text, "", "  ", &words.join(", "));
            above = Some(heading);
        }
        let _ = writeln!(text, "{indent}{}", grid.line(fields, from, gap));
    }
}

fn lists(text: &mut String, grid: &Grid) {
    for row in &grid.rows {
        for (index, field) in row.iter().enumerate() {
            let first = if index == 0 { "" } else { "  " };
            wrapped(text, first, "      ", &grid.said(index, ':', field));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::model::{Row, Unit};

    fn wide(fields: &[&str], rows: usize) -> Table {
        let columns = (0..fields.len())
            .map(|index| Column {
                key: format!("c{index}"),
                heading: format!("column {index}"),
                unit: Unit::None,
            })
            .collect();
        let row = |nth: usize| Row {
            cells: fields.iter().map(|field| Cell::Text(format!("{field}{nth}"))).collect(),
            trials: Vec::new(),
        };
        Table {
            id: "t".into(),
            caption: "A table".into(),
            columns,
            rows: (0..rows).map(row).collect(),
            notes: vec![],
        }
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
}
