//! A table as strings: headings and fields, without columns in which nothing is known.

use super::lines::width;
use crate::figures;
use crate::model::{Cell, Column, Narrow, Row, Table, Unit};
use crate::printable;

/// How an empty and an unknown cell are written.
const NOTHING: &str = "-";
const UNKNOWN: &str = "?";

/// The heading of a column, with the column's alignment.
#[derive(Clone)]
pub(super) struct Head {
    pub(super) heading: String,
    /// Empty if it has none.
    pub(super) unit: &'static str,
    /// Whether its fields are right-aligned.
    pub(super) is_number: bool,
}

/// A table as strings.
#[derive(Clone)]
pub(super) struct Grid {
    pub(super) heads: Vec<Head>,
    pub(super) rows: Vec<Vec<String>>,
    /// What all rows share, as text instead of a column.
    pub(super) shared: Vec<String>,
    /// Whether columns or intervals are omitted.
    pub(super) is_cut: bool,
}

impl Grid {
    /// The table with all its columns and intervals.
    pub(super) fn whole(table: &Table) -> Self {
        Self::from_table(table, false)
    }

    /// The table without the columns and intervals that a table may omit if it is too wide.
    pub(super) fn narrow(table: &Table) -> Self {
        Self::from_table(table, true)
    }

    /// The table; `is_narrow` is whether it omits what it may omit.
    fn from_table(table: &Table, is_narrow: bool) -> Self {
        let mut grid = Self {
            heads: Vec::new(),
            rows: vec![Vec::new(); table.rows.len()],
            shared: Vec::new(),
            is_cut: false,
        };
        for (index, column) in table.columns.iter().enumerate() {
            let is_shown = match column.narrow {
                Narrow::FilesOnly => false,
                Narrow::Absent => !is_narrow,
                Narrow::Middle | Narrow::Whole => true,
            };
            if is_shown {
                let cuts_intervals = is_narrow && column.narrow == Narrow::Middle;
                grid.add_column(index, column, &table.rows, cuts_intervals);
            } else {
                // A whole table lacks only columns for files, which the note about omitted columns is not for.
                grid.is_cut |= is_narrow;
            }
        }
        grid.drop_unknown();
        // A single row is shown completely.
        if grid.rows.len() > 1 {
            grid.share_constants();
        }
        grid
    }

    /// Adds a column of a table; without its intervals if they are cut.
    fn add_column(&mut self, index: usize, column: &Column, rows: &[Row], cuts_intervals: bool) {
        let mut is_number = false;
        for (fields, row) in self.rows.iter_mut().zip(rows) {
            let mut cell = row.cells.get(index).unwrap_or(&Cell::Empty).clone();
            is_number |= !matches!(cell, Cell::Text(_) | Cell::Empty | Cell::Unknown);
            if cuts_intervals && let Cell::Interval { middle, .. } = &cell {
                cell = Cell::Number(*middle);
                self.is_cut = true;
            }
            fields.push(printable::line(&field(&cell, column.unit)));
        }
        let heading = printable::line(&column.heading);
        self.heads.push(Head { heading, unit: column.unit.symbol(), is_number });
    }

    /// Removes columns without any known value, but for the first.
    fn drop_unknown(&mut self) {
        for index in (1..self.heads.len()).rev() {
            if self.rows.iter().all(|row| is_unknown(&row[index])) {
                self.remove(index);
            }
        }
    }

    /// Removes the column with this index.
    fn remove(&mut self, index: usize) {
        self.heads.remove(index);
        for row in &mut self.rows {
            row.remove(index);
        }
    }

    /// Removes columns with the same words in all rows, and adds these words to `shared`. One column stays.
    fn share_constants(&mut self) {
        let mut index = 0;
        while index < self.heads.len() {
            let first = self.rows[0][index].clone();
            let is_constant = self.rows.iter().all(|row| row[index] == first);
            if !is_constant || self.heads.len() < 2 || self.heads[index].is_number {
                index += 1;
                continue;
            }
            // That all rows have nothing is not worth a line.
            if !first.is_empty() && first != "none" {
                self.shared.push(self.field_with_heading(index, "", &first));
            }
            self.remove(index);
        }
    }

    /// Whether a mark for unknown values has to be explained.
    pub(super) fn has_unknown(&self) -> bool {
        self.rows.iter().flatten().any(|field| field == UNKNOWN)
    }

    /// A field with its heading before it and its unit after it; `colon` is what separates heading and field.
    pub(super) fn field_with_heading(&self, index: usize, colon: &str, field: &str) -> String {
        let Head { heading, unit, .. } = &self.heads[index];
        let unit = if is_unknown(field) { "" } else { unit };
        format!("{heading}{colon} {field} {unit}").trim_end().into()
    }

    /// A heading with its unit.
    fn heading_with_unit(&self, index: usize) -> String {
        let Head { heading, unit, .. } = &self.heads[index];
        format!("{heading} {unit}").trim_end().into()
    }

    /// Width of a column: that of its widest field or word of its heading.
    pub(super) fn column_width(&self, index: usize) -> usize {
        let mut widest = 0;
        for row in &self.rows {
            widest = widest.max(width(&row[index]));
        }
        // Headings have as many lines as they need; words are not broken.
        for word in self.heading_with_unit(index).split(' ') {
            widest = widest.max(width(word));
        }
        widest
    }

    /// Width of the columns from `first` on, with `gap` blanks between them.
    pub(super) fn total_width(&self, first: usize, gap: usize) -> usize {
        let columns = self.heads.len().saturating_sub(first);
        let widths: usize = (first..self.heads.len()).map(|index| self.column_width(index)).sum();
        widths + gap * columns.saturating_sub(1)
    }

    /// The lines of the headings from column `first` on: each line has a field for each column. Headings of fewer lines begin with
    /// blank ones, so that all end directly above the rows.
    pub(super) fn heading_lines(&self, first: usize) -> Vec<Vec<String>> {
        let headings: Vec<Vec<String>> =
            (first..self.heads.len()).map(|index| self.broken_heading(index)).collect();
        let height = headings.iter().map(Vec::len).max().unwrap_or(0);
        let mut lines = vec![Vec::new(); height];
        for heading in headings {
            let blank = height - heading.len();
            for (index, line) in lines.iter_mut().enumerate() {
                line.push(if index < blank { String::new() } else { heading[index - blank].clone() });
            }
        }
        lines
    }

    /// A heading in lines as wide as its column.
    fn broken_heading(&self, index: usize) -> Vec<String> {
        let room = self.column_width(index);
        let mut lines: Vec<String> = Vec::new();
        for word in self.heading_with_unit(index).split(' ') {
            match lines.last_mut() {
                Some(line) if width(line) + 1 + width(word) <= room => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.into()),
            }
        }
        lines
    }

    /// These fields in the columns from `first` on: numbers right-aligned, words left-aligned.
    pub(super) fn line(&self, fields: &[String], first: usize, gap: usize) -> String {
        let mut line = String::new();
        for (index, field) in (first..self.heads.len()).zip(fields) {
            let room = self.column_width(index);
            if index > first {
                line.push_str(&" ".repeat(gap));
            }
            line += &match self.heads[index].is_number {
                true => format!("{field:>room$}"),
                false => format!("{field:room$}"),
            };
        }
        line.trim_end().into()
    }
}

/// Whether a field has no known value.
fn is_unknown(field: &str) -> bool {
    matches!(field, NOTHING | UNKNOWN)
}

/// A cell: unknown is short here, and an empty cell has a mark so that text columns stay readable.
fn field(cell: &Cell, unit: Unit) -> String {
    match cell {
        Cell::Empty => NOTHING.into(),
        Cell::Unknown => UNKNOWN.into(),
        Cell::Text(text) if text.is_empty() => NOTHING.into(),
        known => figures::cell(known, unit),
    }
}
