//! Flags of `capbench report`.

use std::path::PathBuf;

use capbench_report::formats::{self, Format};
use clap::Args;

/// What to report on, and how.
#[derive(Args, Clone, Debug)]
#[command(
    after_help = "Formats: html, one page for a browser (report.html); markdown, for an issue or a paper (report.md); csv, tidy \
rows for notebooks (tidy.csv) and each table (tables/*.csv); json, the report as data (report.json); svg, each chart \
(charts/*.svg); parquet, tidy rows with types (tidy.parquet)."
)]
pub struct ReportFlags {
    /// Directories of runs, or their results.json
    #[arg(value_name = "RESULTS", required = true)]
    pub results: Vec<PathBuf>,
    /// Formats, several with commas: html, markdown, csv, json, svg, parquet [default: html, and verdict and summary on
    /// standard output]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = format)]
    pub format: Vec<FormatName>,
    /// Directory for the files; of several RESULTS each has one of its own in it [default: beside each results.json]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print the report instead: one format of one run; of csv the tidy rows
    #[arg(long, conflicts_with = "out")]
    pub stdout: bool,
}

/// A format by its name.
#[derive(Clone, Copy)]
pub struct FormatName(pub &'static Format);

impl std::fmt::Debug for FormatName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.name)
    }
}

fn format(text: &str) -> Result<FormatName, String> {
    formats::named(text).map(FormatName).ok_or_else(|| {
        let names: Vec<_> = formats::FORMATS.iter().map(|format| format.name).collect();
        format!("there is no format {text:?}; there are {}", names.join(", "))
    })
}
