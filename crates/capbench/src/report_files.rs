//! The files of a report: which formats, where, and how they are written. `report` and `compare` share it.

use std::collections::BTreeSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capbench_dataset::tidy;
use capbench_report::figures::many;
use capbench_report::formats::{self, Format, Written};
use capbench_report::save;
use clap::Args;

use crate::exit::Usage;
use crate::output::{print, print_as_is};

/// What `--help` says about the formats.
pub const FORMATS: &str = "Formats: html, one page for a browser (report.html); markdown, for an issue or a paper (report.md); csv, tidy \
rows for notebooks (tidy.csv) and each table (tables/*.csv); json, the report as data (report.json); svg, each chart \
(charts/*.svg); parquet, tidy rows with types (tidy.parquet).";

#[derive(Args, Clone, Debug)]
pub struct FileFlags {
    /// Write files in these formats, several with commas: html, markdown, csv, json, svg, parquet
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = format)]
    format: Vec<&'static str>,
    /// Directory for the files
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Print one format of one report instead; of csv the tidy rows
    #[arg(long, conflicts_with = "out")]
    pub stdout: bool,
}

/// The format of this name: of capbench-report, or Parquet of capbench-dataset.
fn named(name: &str) -> Option<&'static Format> {
    formats::named(name).or(Some(&tidy::FORMAT).filter(|format| format.name == name))
}

fn format(text: &str) -> Result<&'static str, String> {
    named(text).map(|format| format.name).ok_or_else(|| {
        let names = formats::FORMATS.iter().chain([&tidy::FORMAT]).map(|format| format.name);
        format!("there is no format {text:?}; there are {}", names.collect::<Vec<_>>().join(", "))
    })
}

impl FileFlags {
    /// Whether formats are named.
    pub fn has_formats(&self) -> bool {
        !self.format.is_empty()
    }

    /// The named formats, each once; without any, the page.
    pub fn formats(&self) -> Result<Vec<&'static Format>> {
        let mut names = if self.has_formats() { self.format.clone() } else { vec!["html"] };
        let mut known = BTreeSet::new();
        names.retain(|name| known.insert(*name));
        let formats: Vec<_> = names.into_iter().filter_map(named).collect();
        let refuse = |why: &str| Err(Usage(format!("--stdout: {why}")).into());
        match &self.format[..] {
            _ if !self.stdout => Ok(formats),
            ["svg"] => refuse("charts are several files; leave it out, or print another format"),
            [_] => Ok(formats),
            _ => refuse("one format can be printed; name one --format"),
        }
    }
}

/// Prints the main file of a report.
pub fn print_first(files: &[Written]) -> Result<()> {
    let first = files.first().ok_or_else(|| Usage("--stdout: the report has no such file".into()))?;
    // A pipe gets the content of the file, a terminal its printable form.
    if std::io::stdout().is_terminal() {
        print(&String::from_utf8_lossy(&first.content))
    } else {
        print_as_is(&first.content)
    }
}

/// Writes files and says where they are.
pub fn write(files: &[Written], folder: &Path) -> Result<()> {
    match &save::write(files, folder).context("name another directory with --out")?[..] {
        [] => tell!("capbench: the report has no charts; nothing was written"),
        [one] => tell!("capbench: wrote {}", one.display()),
        [first, rest @ ..] => {
            let more = many(rest.len() as u64, "more file", "more files");
            tell!("capbench: wrote {} and {more}", first.display());
        }
    }
    Ok(())
}
