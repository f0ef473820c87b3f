//! `tidy.parquet`: the tidy rows of a report with types, a format of reports like those of capbench-report.

use capbench_report::ReportError;
use capbench_report::formats::{Format, Written};
use capbench_results::read::Run;
use capbench_results::tidy::{Column as TidyColumn, TidyRow, columns, rows};
use capbench_results::trial_columns::Of as TidyOf;

use crate::table::{Column, Of};
use crate::writer;

/// The format.
pub const FORMAT: Format = Format {
    name: "parquet",
    purpose: "tidy rows with types, tidy.parquet",
    write: |source| {
        let content = tidy(source.runs);
        let failed =
            |error: crate::DatasetError| ReportError::Format { format: "parquet", reason: error.to_string() };
        Ok(vec![Written::new("tidy.parquet", content.map_err(failed)?)])
    },
};

/// The tidy rows of these runs as a Parquet file.
///
/// # Errors
/// A count is larger than files hold, or there is not enough memory.
pub fn tidy(runs: &[Run]) -> crate::Result<Vec<u8>> {
    let found = columns();
    let columns: Vec<Column<'_, TidyRow<'_>>> = found
        .iter()
        .map(|(name, column)| {
            let of = match column {
                TidyColumn::Row(of) => typed(of, |row| row),
                TidyColumn::Trial(of) => typed(of, |row: &TidyRow<'_>| row.trial()),
            };
            Column { name, of, from: "" }
        })
        .collect();
    writer::file("tidy rows", &columns, &rows(runs))
}

/// The column with the values of a part of the row.
fn typed<'t, R: 't, P>(of: &'t TidyOf<P>, part: fn(&R) -> &P) -> Of<'t, R> {
    match of {
        TidyOf::Text(of) => Of::Text(Box::new(move |row| Some(of(part(row))))),
        TidyOf::Count(of) => Of::Count(Box::new(move |row| of(part(row)))),
        TidyOf::Signed(of) => Of::Signed(Box::new(move |row| of(part(row)))),
        TidyOf::Number(of) => Of::Number(Box::new(move |row| of(part(row)))),
        TidyOf::Flag(of) => Of::Flag(Box::new(move |row| Some(of(part(row))))),
    }
}
