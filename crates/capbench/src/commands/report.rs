//! `capbench report`: reports on saved runs, or on a dataset of many, from their files only.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::Result;
use capbench_dataset::page;
use capbench_judge::comparison::Thresholds;
use capbench_report::formats::text::{self, Extent};
use capbench_report::formats::{Format, Written};
use capbench_report::{report, save};
use capbench_results::read::{self, Run};
use clap::Args;

use crate::exit::{Exit, Usage};
use crate::output::print;
use crate::report_files::{self, FORMATS, FileFlags};

/// What to report on, and how.
#[derive(Args, Clone, Debug)]
#[command(after_help = FORMATS)]
pub struct ReportFlags {
    /// Directories of runs, or their results.json. Without --format: prints verdict and summary, and writes html. Without
    /// --out: writes next to each results.json. With --out, each of several RESULTS gets a subdirectory
    #[arg(value_name = "RESULTS", required_unless_present = "dataset", conflicts_with = "dataset")]
    results: Vec<PathBuf>,
    /// Instead of runs, a dataset of `capbench export`: trends and regressions over the days
    #[arg(long, value_name = "DIR")]
    dataset: Option<PathBuf>,
    #[command(flatten)]
    files: FileFlags,
    /// Print every finding and the main tables, too
    #[arg(long)]
    details: bool,
}

pub fn run(flags: &ReportFlags) -> Result<Exit> {
    let formats = flags.files.formats()?;
    if let Some(dataset) = &flags.dataset {
        return of_dataset(flags, dataset, &formats);
    }
    if flags.files.stdout {
        return to_stdout(flags, &formats);
    }
    // Read all before writing anything: a wrong name must leave nothing half done.
    let runs: Vec<Run> = flags.results.iter().map(|path| read::read(path)).collect::<Result<_, _>>()?;
    let folders = folders(flags, &runs);
    for (nth, (run, folder)) in runs.iter().zip(&folders).enumerate() {
        if flags.files.has_formats() {
            warn(run);
        } else {
            let gap = if nth > 0 { "\n" } else { "" };
            print(&format!("{gap}{}", text::text(&report::report(run), Extent::with(flags.details))))?;
        }
        let files = beside(save::files(run, &formats)?, flags, run, &flags.results[nth]);
        report_files::write(&files, folder)?;
    }
    Ok(Exit::Done)
}

/// The report on a dataset. Without `--out` it is only printed: the dataset has files of data only.
fn of_dataset(flags: &ReportFlags, dataset: &Path, formats: &[&Format]) -> Result<Exit> {
    let out = flags.files.out.as_deref();
    if flags.files.has_formats() && out.is_none() && !flags.files.stdout {
        return Err(Usage("--format: name a directory for the files with --out".into()).into());
    }
    let report = page::of_dataset(dataset, Thresholds::for_hosts())?;
    if flags.files.stdout {
        report_files::print_first(&save::files_of(&report, &[], formats)?)?;
        return Ok(Exit::Done);
    }
    if !flags.files.has_formats() {
        print(&text::text(&report, Extent::with(flags.details)))?;
    }
    if let Some(folder) = out {
        report_files::write(&save::files_of(&report, &[], formats)?, folder)?;
    }
    Ok(Exit::Done)
}

/// One format of one run, on standard output.
fn to_stdout(flags: &ReportFlags, formats: &[&Format]) -> Result<Exit> {
    let [results] = &flags.results[..] else {
        return Err(Usage("--stdout: one report can be printed; name one of RESULTS".into()).into());
    };
    let run = read::read(results)?;
    warn(&run);
    report_files::print_first(&save::files(&run, formats)?)?;
    Ok(Exit::Done)
}

/// Prints the warnings of the reader of a run, where the report itself is not printed.
fn warn(run: &Run) {
    for warning in &run.warnings {
        tell!("capbench: {}: {warning}", run.name);
    }
}

/// The output folder of each run.
fn folders(flags: &ReportFlags, runs: &[Run]) -> Vec<PathBuf> {
    let mut taken = BTreeSet::new();
    let of = |run: &Run| match (&flags.files.out, runs.len()) {
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
    if flags.files.out.is_some() || is_of_run {
        return files;
    }
    let named = |file: &Path| PathBuf::from(format!("{}-{}", run.name, file.display()));
    files.into_iter().map(|file| Written { path: named(&file.path), ..file }).collect()
}
