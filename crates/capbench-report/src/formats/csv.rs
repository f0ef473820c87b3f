//! CSV: the tidy rows of a run, and each table of its report. Unknown and empty fields are empty; numbers have no separators.

use capbench_model::csv_text::CsvText;

use crate::error::{ReportError, Result};
use crate::model::{Cell, Report, Table};
use crate::read::Run;
use crate::tidy::{self, Field};

use super::{Source, Written};

/// `tidy.csv` and one file per table.
///
/// # Errors
/// There is not enough memory.
pub(super) fn files(source: &Source<'_>) -> Result<Vec<Written>> {
    let mut files = vec![Written::new("tidy.csv", tidy(source.run)?)];
    for table in tables(source.report) {
        files.push(Written::new(format!("tables/{}.csv", table.id), self::table(table)?));
    }
    Ok(files)
}

/// Every table of a report, in reading order.
pub fn tables(report: &Report) -> impl Iterator<Item = &Table> {
    let of_sections = report.sections.iter().flat_map(|section| &section.tables);
    report.summary.iter().chain(of_sections).chain(&report.environment).chain([&report.trials])
}

/// The tidy rows: see [`crate::tidy`].
///
/// # Errors
/// There is not enough memory.
pub fn tidy(run: &Run) -> Result<String> {
    let rows = tidy::rows(run);
    let mut csv = CsvText::new(tidy::COLUMNS.iter().map(|column| column.key)).map_err(failed)?;
    for row in &rows {
        csv.row(tidy::COLUMNS.iter().map(|column| field(&(column.of)(row)))).map_err(failed)?;
    }
    text(csv)
}

fn field(field: &Field) -> String {
    fn known<T: ToString>(value: Option<T>) -> String {
        value.map_or_else(String::new, |value| value.to_string())
    }
    match field {
        Field::Text(text) => text.clone(),
        Field::Count(count) => known(*count),
        Field::Signed(signed) => known(*signed),
        Field::Number(number) => known(*number),
        Field::Flag(is) => is.to_string(),
    }
}

/// A table as CSV. Intervals and bounds have extra columns: `KEY_low`, `KEY_high`, and `KEY_bound` (`at_least` or `at_most`).
/// The last column lists the trials of a row.
///
/// # Errors
/// There is not enough memory.
pub fn table(table: &Table) -> Result<String> {
    let has = |index: usize, is_such: fn(&Cell) -> bool| {
        table.rows.iter().any(|row| row.cells.get(index).is_some_and(is_such))
    };
    let extra: Vec<(bool, bool)> = (0..table.columns.len())
        .map(|index| {
            (
                has(index, |cell| matches!(cell, Cell::Interval { .. })),
                has(index, |cell| matches!(cell, Cell::AtLeast(_) | Cell::AtMost(_))),
            )
        })
        .collect();
    let mut head = Vec::new();
    for (column, (interval, bound)) in table.columns.iter().zip(&extra) {
        head.push(column.key.clone());
        if *interval {
            head.extend([format!("{}_low", column.key), format!("{}_high", column.key)]);
        }
        if *bound {
            head.push(format!("{}_bound", column.key));
        }
    }
    head.push("trials_of_row".into());
    let columns = head.len();
    let mut csv = CsvText::new(head).map_err(failed)?;
    for row in &table.rows {
        let mut record = Vec::with_capacity(columns);
        for (cell, (interval, bound)) in row.cells.iter().zip(&extra) {
            record.push(value(cell));
            if *interval {
                record.extend(match cell {
                    Cell::Interval { low, high, .. } => [low.to_string(), high.to_string()],
                    _ => [String::new(), String::new()],
                });
            }
            if *bound {
                record.push(match cell {
                    Cell::AtLeast(_) => "at_least".into(),
                    Cell::AtMost(_) => "at_most".into(),
                    _ => String::new(),
                });
            }
        }
        record.push(row.trials.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        csv.row(record).map_err(failed)?;
    }
    text(csv)
}

/// A cell for programs.
fn value(cell: &Cell) -> String {
    match cell {
        Cell::Unknown | Cell::Empty => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Count(count) => count.to_string(),
        Cell::Signed(signed) => signed.to_string(),
        Cell::Number(number) | Cell::AtLeast(number) | Cell::AtMost(number) => number.to_string(),
        Cell::Interval { middle, .. } => middle.to_string(),
    }
}

fn failed(error: impl std::fmt::Display) -> ReportError {
    ReportError::Format { format: "csv", reason: error.to_string() }
}

fn text(csv: CsvText) -> Result<String> {
    String::from_utf8(csv.into_octets().map_err(failed)?).map_err(failed)
}
