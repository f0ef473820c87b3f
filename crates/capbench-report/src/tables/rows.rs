//! Rows of tables: each cell is written next to its column, and a table has the columns of its first row.

use capbench_model::trial::Profile;

use crate::groups::Group;
use crate::model::{Cell, Column, Row, Table, Trials, Unit};

/// The fields of a row: columns, each with the cell of this row. All rows of a table have the same columns.
#[derive(Default)]
pub(crate) struct Fields {
    columns: Vec<Column>,
    cells: Vec<Cell>,
}

impl Fields {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// These fields, and then one more.
    pub(crate) fn with(mut self, column: Column, cell: impl Into<Cell>) -> Self {
        self.columns.push(column);
        self.cells.push(cell.into());
        self
    }

    /// These fields, and then one without a unit.
    pub(crate) fn words(self, key: &str, heading: &str, cell: impl Into<Cell>) -> Self {
        self.with(Column::words(key, heading), cell)
    }

    /// These fields, and then a count.
    pub(crate) fn count(self, key: &str, heading: &str, cell: impl Into<Cell>) -> Self {
        self.with(Column::new(key, heading, Unit::Count), cell)
    }

    /// These fields, and then a number in the unit that its key ends with.
    pub(crate) fn figure(self, key: &str, heading: &str, cell: impl Into<Cell>) -> Self {
        self.with(Column::figure(key, heading), cell)
    }

    /// These fields, and then further ones.
    pub(crate) fn and(mut self, fields: Self) -> Self {
        self.columns.extend(fields.columns);
        self.cells.extend(fields.cells);
        self
    }
}

/// The fields of a set-up.
pub(super) fn set_up(profile: &Profile) -> Fields {
    Fields::new()
        .words("frame_size", "frame size", profile.frame_size.to_string())
        .words("placement", "placement", profile.placement.to_string())
        .words("work", "work", profile.work.to_string())
        .words("method", "method", profile.method.to_string())
}

/// The fields that identify a group of trials.
pub(super) fn group_fields(group: &Group<'_>) -> Fields {
    let fields = set_up(&group.trials[0].profile);
    fields.words("what", "run for", group.purpose.as_str()).words("load", "load", group.load.as_str())
}

/// Collects the rows of a table.
#[derive(Default)]
pub(crate) struct Rows {
    columns: Vec<Column>,
    rows: Vec<Row>,
}

impl Rows {
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Adds a row; `trials` are behind its numbers.
    pub(crate) fn add(&mut self, fields: Fields, trials: Trials) {
        if self.rows.is_empty() {
            self.columns = fields.columns;
        } else {
            debug_assert_eq!(self.columns, fields.columns, "a row has the columns of the first one");
        }
        self.rows.push(Row::new(fields.cells, trials));
    }

    /// The table, or `None` without rows.
    pub(crate) fn table(self, id: &str, caption: &str) -> Option<Table> {
        Table::with_rows(id, caption, self.columns, self.rows)
    }
}

impl Row {
    pub(crate) fn new(cells: Vec<Cell>, trials: Trials) -> Self {
        Self { cells, trials }
    }
}

impl Table {
    /// A table, or `None` without rows.
    pub(crate) fn with_rows(id: &str, caption: &str, columns: Vec<Column>, rows: Vec<Row>) -> Option<Self> {
        debug_assert!(
            rows.iter().all(|row| row.cells.len() == columns.len()),
            "{id}: a row has more or fewer cells than there are columns"
        );
        if rows.is_empty() {
            return None;
        }
        Some(Self {
            id: id.into(),
            caption: caption.into(),
            columns,
            rows,
            notes: Vec::new(),
            is_main: false,
        })
    }

    /// The table, shown also on a terminal.
    pub(crate) fn main(self) -> Self {
        Self { is_main: true, ..self }
    }

    /// The table with these notes under it; empty notes are left out.
    pub(crate) fn with_notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes.into_iter().filter(|note| !note.is_empty()));
        self
    }

    /// The table without columns that are empty in all rows.
    pub(crate) fn without_empty_columns(mut self) -> Self {
        for index in (0..self.columns.len()).rev() {
            if self.rows.iter().all(|row| row.cells[index] == Cell::Empty) {
                self.columns.remove(index);
                for row in &mut self.rows {
                    row.cells.remove(index);
                }
            }
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{Cell, Fields, Rows};

    #[test]
    fn empty_columns_are_left_out_and_unknown_ones_stay() {
        let mut rows = Rows::new();
        let fields =
            Fields::new().words("a", "a", Cell::Empty).words("b", "b", Cell::Unknown).words("c", "c", "x");
        rows.add(fields, vec![1]);
        let table = rows.table("t", "").unwrap().without_empty_columns();
        let keys: Vec<_> = table.columns.iter().map(|column| column.key.as_str()).collect();
        assert_eq!(keys, ["b", "c"]);
        assert_eq!(table.rows[0].cells.len(), 2);
    }

    #[test]
    fn a_table_without_rows_is_none() {
        assert_eq!(Rows::new().table("t", ""), None);
    }
}
