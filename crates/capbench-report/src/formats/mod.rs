//! Writers: convert a report to files. A format is a file here and a row in [`FORMATS`].
//!
//! | file | what |
//! |---|---|
//! | `html` | one page for a browser |
//! | `markdown` | for an issue or a paper |
//! | `csv`, `parquet` | tidy rows for notebooks; each table |
//! | `json` | the report itself |
//! | `svg` | each chart |
//! | `text` | verdict and summary for a terminal |

pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod svg;
pub mod text;

use std::path::PathBuf;

use crate::error::Result;
use crate::model::{Chart, Report};
use crate::palette::Palette;
use crate::read::Run;

/// A file of a report, with its path relative to the report's folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

impl Written {
    fn new(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into() }
    }
}

/// Input of a writer.
#[derive(Clone, Copy, Debug)]
pub struct Source<'r> {
    /// The run.
    pub run: &'r Run,
    /// The report of the run.
    pub report: &'r Report,
    /// Whether chart files are written in the same folder, so that links to them work.
    pub with_charts: bool,
}

/// Makes the files of a report.
pub type Make = fn(&Source<'_>) -> Result<Vec<Written>>;

/// A format.
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Purpose in one line.
    pub purpose: &'static str,
    /// Writes its files, the main file first. `None` if this build does not include the format.
    pub write: Option<Make>,
}

/// All formats.
#[rustfmt::skip]
pub const FORMATS: [Format; 6] = [
    Format { name: "html", purpose: "one page for a browser, report.html", write: Some(page) },
    Format { name: "markdown", purpose: "for an issue or a paper, report.md", write: Some(markdown_file) },
    Format { name: "csv", purpose: "tidy rows for notebooks, tidy.csv, and each table, tables/*.csv", write: Some(csv::files) },
    Format { name: "json", purpose: "the report as data, report.json", write: Some(json_file) },
    Format { name: "svg", purpose: "each chart, charts/*.svg", write: Some(charts) },
    Format { name: "parquet", purpose: "tidy rows with types, tidy.parquet", write: PARQUET },
];

#[cfg(feature = "parquet")]
const PARQUET: Option<Make> = Some(parquet::files);
#[cfg(not(feature = "parquet"))]
const PARQUET: Option<Make> = None;

/// The format of this name.
pub fn named(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

fn page(source: &Source<'_>) -> Result<Vec<Written>> {
    Ok(vec![Written::new("report.html", html::html(source.report))])
}

fn markdown_file(source: &Source<'_>) -> Result<Vec<Written>> {
    let charts = source.with_charts.then_some(CHARTS);
    Ok(vec![Written::new("report.md", markdown::markdown(source.report, charts))])
}

fn json_file(source: &Source<'_>) -> Result<Vec<Written>> {
    Ok(vec![Written::new("report.json", json::json(source.report)?)])
}

/// The folder of charts.
const CHARTS: &str = "charts";

fn charts(source: &Source<'_>) -> Result<Vec<Written>> {
    let charts = || source.report.sections.iter().flat_map(|section| &section.charts);
    let palette = Palette::of(charts());
    let file = |chart: &Chart| Written::new(format!("{CHARTS}/{}.svg", chart.id), svg::svg(chart, &palette));
    Ok(charts().map(file).collect())
}
