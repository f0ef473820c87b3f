//! A table of a publication: published figures next to those of this host.

use capbench_judge::reproduction::{
    Cell as SavedCell, Column as SavedColumn, Comparison, Row as SavedRow, Side,
};

use super::words::{heading, key, unit};
use crate::model::{Cell, Column, Row, Table, Trials};
use crate::sentences::table_notes;

/// The table with its published and its measured columns.
pub(super) fn table(comparison: &Comparison) -> Table {
    let rows_are = &comparison.rows_are;
    let first_key = rows_are.heading.replace(' ', "_");
    let mut columns = vec![Column::new(&first_key, &rows_are.heading, unit(rows_are.quantity))];
    for column in &comparison.columns {
        columns.push(Column::new(&key(column), &heading(column), unit(column.quantity)));
    }
    let mut notes = table_notes(comparison);
    notes.extend(notes_of_marks(comparison));
    Table {
        id: comparison.id.clone(),
        caption: comparison.caption.clone(),
        columns,
        rows: comparison.rows.iter().map(|row| table_row(comparison, row)).collect(),
        notes,
        is_main: true,
    }
}

/// A row with the trials behind all its measured cells.
fn table_row(comparison: &Comparison, row: &SavedRow) -> Row {
    let mut cells = vec![match row.at {
        Some(at) => Cell::Number(at),
        None => Cell::Text(row.label.clone()),
    }];
    let mut trials = Trials::new();
    for (saved, column) in row.cells.iter().zip(&comparison.columns) {
        cells.push(cell(saved, column));
    }
    for saved in &row.cells {
        trials.extend(&saved.trials);
    }
    trials.sort_unstable();
    trials.dedup();
    Row { cells, trials }
}

fn cell(saved: &SavedCell, column: &SavedColumn) -> Cell {
    match (saved.value, saved.low.zip(saved.high)) {
        // An unpublished figure is empty, not unknown.
        (None, _) if column.side == Side::Here => Cell::Unknown,
        (None, _) => Cell::Empty,
        (Some(value), _) if saved.at_least => Cell::AtLeast(value),
        (Some(middle), Some((low, high))) if low < high => Cell::Interval { middle, low, high },
        (Some(value), _) => Cell::Number(value),
    }
}

/// Cells of a column with the same mark.
struct MarkedCells<'r> {
    mark: char,
    heading: String,
    rows: Vec<&'r str>,
}

/// Names the cells of each mark, which a note of the publication explains.
fn notes_of_marks(comparison: &Comparison) -> Vec<String> {
    let mut found: Vec<MarkedCells<'_>> = Vec::new();
    for (index, column) in comparison.columns.iter().enumerate() {
        for row in &comparison.rows {
            let Some(mark) = row.cells.get(index).and_then(|cell| cell.mark) else { continue };
            let heading = heading(column);
            match found.iter_mut().find(|known| known.mark == mark && known.heading == heading) {
                Some(known) => known.rows.push(&row.label),
                None => found.push(MarkedCells { mark, heading, rows: vec![&row.label] }),
            }
        }
    }
    let mut notes = Vec::new();
    for MarkedCells { mark, heading, rows } in found {
        let rows_are = &comparison.rows_are.heading;
        notes.push(format!("Marked {mark}: {heading}, {rows_are} {}.", rows.join(", ")));
    }
    notes
}
