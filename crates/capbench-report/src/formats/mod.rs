//! Writers: convert a report to files. A format is a file here and a row in [`FORMATS`]; capbench-dataset adds Parquet.
//!
//! | file | what |
//! |---|---|
//! | `html` | one page for a browser |
//! | `markdown` | for an issue or a paper |
//! | `csv` | tidy rows for notebooks; each table |
//! | `json` | the report itself |
//! | `text` | verdict and summary for a terminal |

pub mod csv;
pub mod html;
pub mod json;
pub mod markdown;
pub mod text;

use std::path::PathBuf;

use crate::error::Result;
use crate::model::Report;
use capbench_chart::palette::Palette;
use capbench_chart::svg;
use capbench_results::read::Run;

/// A file of a report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its path, relative to the report's folder.
    pub path: PathBuf,
    /// Its content.
    pub content: Vec<u8>,
}

impl Written {
    /// A file of this content.
    pub fn new(path: impl Into<PathBuf>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into() }
    }
}

/// Input of a writer.
#[derive(Clone, Copy, Debug)]
pub struct Source<'r> {
    /// The runs that the report is about: one, or two that are compared.
    pub runs: &'r [Run],
    /// The report.
    pub report: &'r Report,
    /// Whether the files of the charts are written, too, so that other files may link to them.
    pub with_charts: bool,
}

/// Makes the files of a format.
pub type Write = fn(&Source<'_>) -> Result<Vec<Written>>;

/// A format.
pub struct Format {
    /// Name on the command line.
    pub name: &'static str,
    /// Purpose in one line.
    pub purpose: &'static str,
    /// Makes its files, the main file first.
    pub write: Write,
}

/// The formats of this crate.
pub const FORMATS: [Format; 5] = [
    Format {
        name: "html",
        purpose: "one page for a browser, report.html",
        write: |source| Ok(vec![Written::new("report.html", html::html(source.report))]),
    },
    Format {
        name: "markdown",
        purpose: "for an issue or a paper, report.md",
        write: |source| {
            let charts = source.with_charts.then_some(CHARTS);
            Ok(vec![Written::new("report.md", markdown::markdown(source.report, charts))])
        },
    },
    Format {
        name: "csv",
        purpose: "tidy rows for notebooks, tidy.csv, and each table, tables/*.csv",
        write: csv::files,
    },
    Format {
        name: "json",
        purpose: "the report as data, report.json",
        write: |source| Ok(vec![Written::new("report.json", json::json(source.report)?)]),
    },
    Format { name: "svg", purpose: "each chart, charts/*.svg", write: chart_files },
];

/// The folder of charts.
const CHARTS: &str = "charts";

/// A drawing of each chart.
fn chart_files(source: &Source<'_>) -> Result<Vec<Written>> {
    let palette = Palette::of(source.report.charts());
    let mut files = Vec::new();
    for chart in source.report.charts() {
        files.push(Written::new(format!("{CHARTS}/{}.svg", chart.id), svg::svg(chart, &palette)));
    }
    Ok(files)
}

/// The format of this name; `md` is Markdown.
pub fn named(name: &str) -> Option<&'static Format> {
    let name = if name == "md" { "markdown" } else { name };
    FORMATS.iter().find(|format| format.name == name)
}
