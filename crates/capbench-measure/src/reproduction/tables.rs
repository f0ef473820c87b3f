//! How tables are made: columns side by side over the same rows.

use super::outcome::{Cell, Column, Comparison, Head, Quantity, Row, Side};

/// A table that grows by columns.
#[derive(Clone, Debug)]
pub(super) struct Sheet(Comparison);

impl Sheet {
    /// A table with these rows: their names, and where they lie on an axis.
    pub(super) fn new(
        id: impl Into<String>,
        caption: impl Into<String>,
        rows_are: (&str, Quantity),
        rows: impl IntoIterator<Item = (String, Option<f64>)>,
    ) -> Self {
        Self(Comparison {
            id: id.into(),
            caption: caption.into(),
            rows_are: Head { heading: rows_are.0.into(), quantity: rows_are.1 },
            columns: Vec::new(),
            rows: rows.into_iter().map(|(label, at)| Row { label, at, cells: Vec::new() }).collect(),
            notes: Vec::new(),
            curves: None,
        })
    }

    /// Adds a column; rows that it has no cell for have none.
    pub(super) fn column(
        &mut self,
        side: Side,
        (method, what): (&str, &str),
        quantity: Quantity,
        cells: impl IntoIterator<Item = Cell>,
    ) -> &mut Self {
        self.0.columns.push(Column { side, method: method.into(), what: what.into(), quantity });
        let mut cells = cells.into_iter();
        for row in &mut self.0.rows {
            row.cells.push(cells.next().unwrap_or_default());
        }
        self
    }

    /// A published column of numbers.
    pub(super) fn published(
        &mut self,
        names: (&str, &str),
        quantity: Quantity,
        numbers: impl IntoIterator<Item = Option<f64>>,
    ) -> &mut Self {
        self.column(Side::Published, names, quantity, numbers.into_iter().map(Cell::published))
    }

    /// Adds a note, once.
    pub(super) fn note(&mut self, text: impl Into<String>) -> &mut Self {
        let text = text.into();
        if !self.0.notes.contains(&text) {
            self.0.notes.push(text);
        }
        self
    }

    /// Has curves of this quantity.
    pub(super) fn curves(&mut self, of: Quantity) -> &mut Self {
        self.0.curves = Some(of);
        self
    }

    /// The table; marks that it uses are explained.
    pub(super) fn finish(mut self) -> Comparison {
        let has = |mark| self.0.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.mark == Some(mark));
        if has(super::material::GENERATOR) {
            self.note(super::material::GENERATOR_NOTE);
        }
        for (mark, note) in super::material::BUFFER_NOTES {
            let is_used = self.0.rows.iter().flat_map(|row| &row.cells).any(|cell| cell.mark == Some(mark));
            if is_used {
                self.note(note);
            }
        }
        self.0
    }
}
