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
    let mut files = vec![Written::new("tidy.csv", tidy(source.runs)?)];
    for table in source.report.tables() {
        files.push(Written::new(format!("tables/{}.csv", table.id), self::table(table)?));
    }
    Ok(files)
}

/// The tidy rows: one per trial and place of its ledger.
///
/// # Errors
/// There is not enough memory.
pub fn tidy(runs: &[Run]) -> Result<String> {
    let (columns, rows) = (tidy::columns(), tidy::rows(runs));
    let rows = rows.iter().map(|row| columns.iter().map(|(_, column)| column.field(row)).collect());
    written(columns.iter().map(|(key, _)| (*key).into()).collect(), rows)
}

/// A table as CSV. Intervals, ranges and bounds have extra columns: `KEY_low`, `KEY_high`, and `KEY_bound` (`at_least` or `at_most`).
/// The last column lists the trials of a row.
///
/// # Errors
/// There is not enough memory.
pub fn table(table: &Table) -> Result<String> {
    let has = |nth: usize, is_such: fn(&Cell) -> bool| {
        table.rows.iter().any(|row| row.cells.get(nth).is_some_and(is_such))
    };
    let extra: Vec<(bool, bool)> = (0..table.columns.len())
        .map(|nth| {
            let is_interval = has(nth, |cell| matches!(cell, Cell::Interval { .. } | Cell::Range { .. }));
            (is_interval, has(nth, |cell| matches!(cell, Cell::AtLeast(_) | Cell::AtMost(_))))
        })
        .collect();
    let mut head = Vec::new();
    for (column, (interval, bound)) in table.columns.iter().zip(&extra) {
        let key = &column.key;
        head.push(key.clone());
        head.extend([format!("{key}_low"), format!("{key}_high")].into_iter().filter(|_| *interval));
        head.extend(bound.then(|| format!("{key}_bound")));
    }
    head.push("trials_of_row".into());
    let rows = table.rows.iter().map(|row| {
        let mut record = Vec::with_capacity(head.len());
        for (cell, (interval, bound)) in row.cells.iter().zip(&extra) {
            let mut ends = [String::new(), String::new()];
            record.push(match cell {
                Cell::Unknown | Cell::Empty => String::new(),
                Cell::Text(text) => text.clone(),
                Cell::Count(count) => count.to_string(),
                Cell::Signed(signed) => signed.to_string(),
                Cell::Number(number) | Cell::AtLeast(number) | Cell::AtMost(number) => number.to_string(),
                Cell::Range { low, high } => {
                    ends = [low, high].map(ToString::to_string);
                    String::new()
                }
                Cell::Interval { middle, low, high } => {
                    ends = [low, high].map(ToString::to_string);
                    middle.to_string()
                }
            });
            record.extend(ends.into_iter().filter(|_| *interval));
            let words = match cell {
                Cell::AtLeast(_) => "at_least",
                Cell::AtMost(_) => "at_most",
                _ => "",
            };
            record.extend(bound.then(|| words.into()));
        }
        record.push(row.trials.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "));
        record
    });
    written(head.clone(), rows)
}

fn written(head: Vec<String>, rows: impl Iterator<Item = Vec<String>>) -> Result<String> {
    fn failed(error: impl Display) -> ReportError {
        ReportError::Format { format: "csv", reason: error.to_string() }
    }
    let mut csv = CsvText::new(head).map_err(failed)?;
    for row in rows {
        csv.row(row).map_err(failed)?;
    }
    String::from_utf8(csv.into_octets().map_err(failed)?).map_err(failed)
}
