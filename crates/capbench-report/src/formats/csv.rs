//! CSV: the tidy rows of the runs, and each table of its report. Unknown and empty fields are empty; numbers have no separators.

use std::fmt::Display;

use capbench_model::csv_text::CsvText;

use crate::error::{ReportError, Result};
use crate::model::{Cell, Table};
use capbench_results::read::Run;
use capbench_results::tidy;

use super::{Source, Written};

/// `tidy.csv` and one file per table.
///
/// # Errors
/// There is not enough memory.
pub(super) fn files(source: &Source<'_>) -> Result<Vec<Written>> {
    let mut files = vec![Written::new("tidy.csv", tidy_rows(source.runs)?)];
    for table in source.report.tables() {
        files.push(Written::new(format!("tables/{}.csv", table.id), self::table(table)?));
    }
    Ok(files)
}

/// The tidy rows of runs as CSV: one per trial and place of its ledger.
///
/// # Errors
/// There is not enough memory.
pub fn tidy_rows(runs: &[Run]) -> Result<String> {
    let columns = tidy::columns();
    let mut csv = CsvText::new(columns.iter().map(|column| column.name.to_string())).map_err(failed)?;
    for row in tidy::rows(runs) {
        csv.row(columns.iter().map(|column| column.csv_field(&row))).map_err(failed)?;
    }
    text_of(csv)
}

/// The columns of a CSV file that show one column of a table: `KEY` has the value.
struct ColumnFields {
    /// Whether `KEY_low` and `KEY_high` follow: the column has intervals or ranges.
    has_ends: bool,
    /// Whether `KEY_bound` follows, with `at_least` or `at_most`: the column has lower or upper bounds.
    has_bounds: bool,
}

impl ColumnFields {
    /// Finds out what the cells of a table's column need; `index` is the position of the column.
    fn of_column(table: &Table, index: usize) -> Self {
        let mut fields = Self { has_ends: false, has_bounds: false };
        for row in &table.rows {
            match row.cells.get(index) {
                Some(Cell::Interval { .. } | Cell::Range { .. }) => fields.has_ends = true,
                Some(Cell::AtLeast(_) | Cell::AtMost(_)) => fields.has_bounds = true,
                _ => {}
            }
        }
        fields
    }

    /// Adds the names of these columns for the key of the table's column.
    fn add_names(&self, key: &str, names: &mut Vec<String>) {
        names.push(key.into());
        if self.has_ends {
            names.push(format!("{key}_low"));
            names.push(format!("{key}_high"));
        }
        if self.has_bounds {
            names.push(format!("{key}_bound"));
        }
    }

    /// Adds the fields that show a cell.
    fn add_fields(&self, cell: &Cell, record: &mut Vec<String>) {
        record.push(value(cell));
        if self.has_ends {
            let ends = match cell {
                Cell::Range { low, high } | Cell::Interval { low, high, .. } => {
                    [low, high].map(f64::to_string)
                }
                _ => [String::new(), String::new()],
            };
            record.extend(ends);
        }
        if self.has_bounds {
            let words = match cell {
                Cell::AtLeast(_) => "at_least",
                Cell::AtMost(_) => "at_most",
                _ => "",
            };
            record.push(words.into());
        }
    }
}

/// The value of a cell without its ends and its kind of bound; of a range nothing.
fn value(cell: &Cell) -> String {
    match cell {
        Cell::Unknown | Cell::Empty | Cell::Range { .. } => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Signed(signed) => signed.to_string(),
        Cell::Number(number) | Cell::AtLeast(number) | Cell::AtMost(number) => number.to_string(),
        Cell::Interval { middle, .. } => middle.to_string(),
    }
}

/// A table as CSV. Intervals, ranges and bounds have extra columns, as in `ColumnFields`. The last column lists the trials of a
/// row.
///
/// # Errors
/// There is not enough memory.
pub fn table(table: &Table) -> Result<String> {
    let mut names = Vec::new();
    let mut fields_by_column = Vec::new();
    for (index, column) in table.columns.iter().enumerate() {
        let fields = ColumnFields::of_column(table, index);
        fields.add_names(&column.key, &mut names);
        fields_by_column.push(fields);
    }
    names.push("trials_of_row".into());
    let mut csv = CsvText::new(names).map_err(failed)?;
    for row in &table.rows {
        let mut record = Vec::new();
        for (cell, fields) in row.cells.iter().zip(&fields_by_column) {
            fields.add_fields(cell, &mut record);
        }
        let trials: Vec<String> = row.trials.iter().map(u32::to_string).collect();
        record.push(trials.join(" "));
        csv.row(record).map_err(failed)?;
    }
    text_of(csv)
}

/// The finished CSV file as text.
fn text_of(csv: CsvText) -> Result<String> {
    String::from_utf8(csv.into_octets().map_err(failed)?).map_err(failed)
}

/// The error of a CSV file that cannot be made.
fn failed(error: impl Display) -> ReportError {
    ReportError::Format { format: "csv", reason: error.to_string() }
}
