//! A table as values of the template: formatted fields with their classes, and the exact numbers that scripts sort by.

use minijinja::{Value, context};

use super::code::{BRIEF, all_with_code};
use crate::figures;
use crate::model::{Cell, Column, Row, Table, Unit};

/// Most characters of a text in a wide column; a longer one gets a still wider column.
const WORDY: usize = 160;
/// The CSS class of numbers: one letter, because a page has tens of thousands of them.
const NUMBER: &str = "n";

/// How a column of a table is shown.
pub(super) struct ShownColumn {
    unit: Unit,
    /// Whether it has no unit and a cell is text: then its numbers are shown like text, as trial numbers are.
    is_mixed: bool,
    /// Whether its heading is right-aligned: a cell is shown as a number.
    is_number: bool,
}

impl ShownColumn {
    /// The columns of a table.
    pub(super) fn of_table(table: &Table) -> Vec<Self> {
        let mut columns = Vec::new();
        for (index, column) in table.columns.iter().enumerate() {
            let cells: Vec<&Cell> = table.rows.iter().filter_map(|row| row.cells.get(index)).collect();
            let has_words = cells.iter().any(|cell| matches!(cell, Cell::Text(_)));
            let is_mixed = column.unit == Unit::None && has_words;
            let mut shown = Self { unit: column.unit, is_mixed, is_number: false };
            shown.is_number = cells.iter().any(|cell| shown.class(cell).starts_with(NUMBER));
            columns.push(shown);
        }
        columns
    }
}

/// A table with these rows. `has_trials` is whether they have a cell for their trials.
pub(super) fn table_value(
    table: &Table,
    columns: &[ShownColumn],
    rows: Vec<Value>,
    has_trials: bool,
) -> Value {
    let mut heads = Vec::new();
    for (Column { key, heading, unit, .. }, shown) in table.columns.iter().zip(columns) {
        let exact_unit = if *unit == Unit::Ratio { "as a share of 1" } else { unit.symbol() };
        heads
            .push(context! { key, heading, unit => unit.symbol(), exact_unit, is_number => shown.is_number });
    }
    context! {
        id => &table.id,
        caption => &table.caption,
        heads,
        rows,
        notes => all_with_code(&table.notes),
        cites => has_trials,
    }
}

/// The fields of a row.
pub(super) fn cells(columns: &[ShownColumn], row: &Row) -> Value {
    row.cells.iter().zip(columns).map(|(cell, column)| column.field(cell)).collect()
}

impl ShownColumn {
    /// The CSS class of a cell.
    fn class(&self, cell: &Cell) -> &'static str {
        match cell {
            Cell::Unknown if self.unit == Unit::None => "unknown",
            Cell::Unknown => "n unknown",
            Cell::Empty => "",
            Cell::Text(text) if text.chars().count() <= BRIEF => "brief",
            Cell::Text(text) if text.chars().count() <= WORDY => "wordy",
            Cell::Text(_) => "lengthy",
            _ if self.is_mixed => "brief",
            _ => NUMBER,
        }
    }

    /// A field of a row. Its `value` is the exact number, by which scripts sort. It is absent if the cell has no number, or if the
    /// text has all digits of it: then scripts read the text. With these values a large page would be twice as large.
    fn field(&self, cell: &Cell) -> Value {
        let class = self.class(cell);
        let text = figures::cell(cell, self.unit);
        let value = exact(cell).filter(|value| class != NUMBER || text.replace(',', "") != *value);
        context! { text, value, class }
    }
}

/// The number of a cell with all digits, so that parsing gives the same number; of a range its lower end.
fn exact(cell: &Cell) -> Option<String> {
    match cell {
        Cell::Unknown | Cell::Empty | Cell::Text(_) => None,
        Cell::Count(value) => Some(value.to_string()),
        Cell::Signed(value) => Some(value.to_string()),
        Cell::Number(value)
        | Cell::AtLeast(value)
        | Cell::AtMost(value)
        | Cell::Range { low: value, .. }
        | Cell::Interval { middle: value, .. } => {
            if value.is_finite() {
                Some(value.to_string())
            } else {
                None
            }
        }
    }
}
