//! `tidy.parquet`: the tidy rows of a report with types, a format of reports like those of capbench-report.

use capbench_report::ReportError;
use capbench_report::formats::{Format, Written};
use capbench_results::read::Run;
use capbench_results::tidy::{columns, rows};

use crate::writer;

/// The format.
pub const FORMAT: Format = Format {
    name: "parquet",
    purpose: "tidy rows with types, tidy.parquet",
    write: |source| match tidy(source.runs) {
        Ok(content) => Ok(vec![Written::new("tidy.parquet", content)]),
        Err(error) => Err(ReportError::Format { format: "parquet", reason: error.to_string() }),
    },
};

/// The tidy rows of these runs as a Parquet file.
///
/// # Errors
/// A count is larger than files hold, or there is not enough memory.
pub fn tidy(runs: &[Run]) -> crate::Result<Vec<u8>> {
    writer::file("tidy rows", &columns(), &rows(runs))
}
