//! `capbench report`: reports on saved runs, from their files only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capbench_report::figures::many;
use capbench_report::formats::text::{self, Extent};
use capbench_report::formats::{self, Format, Written};
use capbench_report::read::{self, Run};
use capbench_report::{report, save};
use clap::Args;

use crate::exit::{Exit, Unsupported, Usage};
use crate::output::{print, print_as_is};

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
    results: Vec<PathBuf>,
    /// Formats, several with commas: html, markdown, csv, json, svg, parquet [default: html, and verdict and summary on
    /// standard output]
    #[arg(long, value_name = "FORMAT", value_delimiter = ',', value_parser = format)]
    format: Vec<&'static str>,
    /// Directory for the files; each of several RESULTS gets a subdirectory [default: next to each results.json]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print every finding and the main tables, too
    #[arg(long)]
    details: bool,
    /// Print the report instead: one format of one run; of csv the tidy rows
    #[arg(long, conflicts_with = "out")]
    stdout: bool,
}

fn format(text: &str) -> Result<&'static str, String> {
    formats::named(text).map(|format| format.name).ok_or_else(|| {
        let names: Vec<_> = formats::FORMATS.iter().map(|format| format.name).collect();
        format!("there is no format {text:?}; there are {}", names.join(", "))
    })
}

pub fn run(flags: &ReportFlags) -> Result<Exit> {
    let formats = formats_of(flags)?;
    if flags.stdout {
        return to_stdout(flags, &formats);
    }
    // Read all before writing anything: a wrong name must leave nothing half done.
    let runs: Vec<Run> = flags.results.iter().map(|path| read::read(path)).collect::<Result<_, _>>()?;
    let folders = folders(flags, &runs);
    for (nth, (run, folder)) in runs.iter().zip(&folders).enumerate() {
        if flags.format.is_empty() {
            let gap = if nth > 0 { "\n" } else { "" };
            print(&format!("{gap}{}", text::text(&report::report(run), Extent::with(flags.details))))?;
        } else {
            warn(run);
        }
        let files = beside(save::files(run, &formats)?, flags, run, &flags.results[nth]);
        let written = save::write(&files, folder).context("name another directory with --out")?;
        tell(&written);
    }
    Ok(Exit::Done)
}

/// The requested formats, each once.
fn formats_of(flags: &ReportFlags) -> Result<Vec<&'static Format>> {
    let mut names = if flags.format.is_empty() { vec!["html"] } else { flags.format.clone() };
    let mut known = BTreeSet::new();
    names.retain(|name| known.insert(*name));
    let formats: Vec<_> = names.into_iter().filter_map(formats::named).collect();
    if let Some(absent) = formats.iter().find(|format| format.write.is_none()) {
        let why = format!(
            "--format {0}: this capbench was built without it; build with --features {0}, or name another format",
            absent.name
        );
        return Err(Unsupported(why).into());
    }
    Ok(formats)
}

/// One format of one run, on standard output.
fn to_stdout(flags: &ReportFlags, formats: &[&Format]) -> Result<Exit> {
    let refuse = |why: &str| Err(Usage(format!("--stdout: {why}")).into());
    let ([results], [_], [format]) = (&flags.results[..], &flags.format[..], formats) else {
        return refuse("one report in one format can be printed; name one of RESULTS and one --format");
    };
    if format.name == "svg" {
        return refuse("charts are several files; leave it out, or print another format");
    }
    let run = read::read(results)?;
    warn(&run);
    let files = save::files(&run, formats)?;
    let Some(first) = files.first() else { return refuse("the report has no such file") };
    // A pipe gets the content of the file, a terminal its printable form.
    if std::io::stdout().is_terminal() {
        print(&String::from_utf8_lossy(&first.content))?;
    } else {
        print_as_is(&first.content)?;
    }
    Ok(Exit::Done)
}

/// Prints the warnings of the reader of a run, where the report itself is not printed.
fn warn(run: &Run) {
    for warning in &run.warnings {
        tell!("capbench: {}: {warning}", run.name);
    }
}

fn tell(written: &[PathBuf]) {
    match written {
        [] => tell!("capbench: the report has no charts; nothing was written"),
        [one] => tell!("capbench: wrote {}", one.display()),
        [first, rest @ ..] => {
            let more = many(rest.len() as u64, "more file", "more files");
            tell!("capbench: wrote {} and {more}", first.display());
        }
    }
}

/// The output folder of each run.
fn folders(flags: &ReportFlags, runs: &[Run]) -> Vec<PathBuf> {
    let mut taken = BTreeSet::new();
    let of = |run: &Run| match (&flags.out, runs.len()) {
        (None, _) => run.directory.clone(),
        (Some(out), 1) => out.clone(),
        (Some(out), _) => {
            let mut name = run.name.clone();
            let mut nth = 2;
            while !taken.insert(name.clone()) {
                name = format!("{}-{nth}", run.name);
                nth += 1;
            }
            out.join(name)
        }
    };
    runs.iter().map(of).collect()
}

/// Names reports on results files with a name of the user's. Files of other runs may be in the same folder, so the reports get
/// that name as a prefix.
fn beside(files: Vec<Written>, flags: &ReportFlags, run: &Run, results: &Path) -> Vec<Written> {
    let is_of_run = results.is_dir() || results.file_name() == Some(OsStr::new("results.json"));
    if flags.out.is_some() || is_of_run {
        return files;
    }
    let named = |file: &Path| PathBuf::from(format!("{}-{}", run.name, file.display()));
    files.into_iter().map(|file| Written { path: named(&file.path), ..file }).collect()
}
