//! `capbench compare`: two saved runs, set-up by set-up; or two values of a column of a dataset, host by host.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capbench_dataset::{compare as datasets, page};
use capbench_judge::comparison::runs::of_runs;
use capbench_judge::comparison::{Comparison, Field, Thresholds};
use capbench_report::compare::{Document, NamedRun};
use capbench_report::formats::text::{self, Extent};
use capbench_report::model::Report;
use capbench_report::{report, save};
use capbench_results::read::Run;
use clap::Args;

use crate::exit::{self, Exit, Usage};
use crate::flags::ThresholdFlags;
use crate::output::{print, print_json};
use crate::report_files::{self, FORMATS, FileFlags};

const EXITS: &str = "Exit codes: 0 no regression shown; 3 a regression over the threshold; 4 inconclusive (too few \
trials to tell anything, the host disturbed most of them, or a file is damaged or was changed); 1 a run cannot be read; 2 the \
runs cannot be compared. docs/compare.md says what is compared and how.";

/// What to compare.
#[derive(Args, Clone, Debug)]
#[command(after_help = format!("{FORMATS} Files replace the printed text and need --out; csv has the tidy rows of both runs.\n\n{EXITS}"))]
pub struct CompareFlags {
    /// The earlier run: its directory, or its results.json
    #[arg(value_name = "A", required_unless_present = "dataset", conflicts_with = "dataset")]
    then: Option<PathBuf>,
    /// The later run
    #[arg(value_name = "B", required_unless_present = "dataset")]
    now: Option<PathBuf>,
    /// Instead of two runs, compare all runs of a dataset of `capbench export`: each host with itself
    #[arg(long, value_name = "DIR", requires = "by", conflicts_with_all = ["json", "across"])]
    dataset: Option<PathBuf>,
    /// The column of trials that distinguishes the runs of a dataset: kernel_release, driver, campaign, labels.NAME ...
    #[arg(long, value_name = "COLUMN", requires = "dataset")]
    by: Option<String>,
    /// The two values of this column, the earlier one first. Without it the column must have two
    #[arg(long, value_name = "A,B", value_delimiter = ',', requires = "dataset")]
    values: Option<Vec<String>>,
    /// In what set-ups may differ, separated by commas, where each run has one only: method, placement, size, traffic,
    /// transmit, work, load
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    across: Vec<Field>,
    #[command(flatten)]
    thresholds: ThresholdFlags,
    #[command(flatten)]
    files: FileFlags,
    /// One JSON document instead of text
    #[arg(long, conflicts_with_all = ["format", "out", "stdout"])]
    json: bool,
    /// Print every figure that was compared, too
    #[arg(long)]
    details: bool,
}

pub fn run(flags: &CompareFlags) -> Result<Exit> {
    let has_files = flags.files.out.is_some() || flags.files.stdout;
    if flags.files.has_formats() && !has_files {
        return Err(Usage("--format: name a directory for the files with --out".into()).into());
    }
    match (&flags.dataset, &flags.by, &flags.then, &flags.now) {
        (Some(dataset), Some(by), ..) => hosts(flags, dataset, by),
        (.., Some(then), Some(now)) => runs(flags, then, now),
        _ => Err(Usage("name two runs, or a dataset with --dataset DIR --by COLUMN".into()).into()),
    }
}

/// Two values of a column over the hosts of a dataset.
fn hosts(flags: &CompareFlags, dataset: &Path, by: &str) -> Result<Exit> {
    let values = match flags.values.as_deref() {
        None => None,
        Some([then, now]) => Some([then.clone(), now.clone()]),
        Some(_) => return Err(Usage("--values: name two, as in --values 6.1,6.18".into()).into()),
    };
    let thresholds = flags.thresholds.thresholds_or(Thresholds::for_hosts());
    let compared = datasets::of_dataset(dataset, by, values, thresholds)?;
    let exit = exit::of_comparison(compared.comparison.conclusion());
    write(flags, &page::of_comparison(dataset, by, &compared), &[])?;
    Ok(exit)
}

/// Two runs.
fn runs(flags: &CompareFlags, then_path: &Path, now_path: &Path) -> Result<Exit> {
    if is_one(then_path, now_path) {
        let path = then_path.display();
        return Err(Usage(format!("{path} is named twice; name two runs")).into());
    }
    // Before the runs are read, as their mistakes are those of the command line.
    flags.files.formats()?;
    // Tables and rows of both runs call them by these names.
    let [then, now] =
        [Run { name: "A".into(), ..read(then_path)? }, Run { name: "B".into(), ..read(now_path)? }];
    let comparison = compared(flags, [(then_path, &then), (now_path, &now)])?;
    let exit = exit::of_comparison(comparison.conclusion());
    if flags.json {
        let name = |path: &Path, run: &Run| NamedRun::new(path.display().to_string(), &run.results);
        let document = Document::new([name(then_path, &then), name(now_path, &now)], comparison);
        print_json(&document)?;
        return Ok(exit);
    }
    let sides = [(then_path, &then.results), (now_path, &now.results)];
    write(flags, &report::compared(sides, &comparison), &[then, now])?;
    Ok(exit)
}

/// Prints the report, or writes its files.
fn write(flags: &CompareFlags, report: &Report, runs: &[Run]) -> Result<()> {
    let FileFlags { out, stdout, .. } = &flags.files;
    if out.is_none() && !stdout {
        return print(&text::text(report, Extent::with(flags.details)));
    }
    let files = save::files_of(report, runs, &flags.files.formats()?)?;
    match out {
        Some(folder) => report_files::write(&files, folder),
        None => report_files::print_first(&files),
    }
}

/// The comparison of two runs with their paths.
fn compared(
    flags: &CompareFlags,
    [(then_path, then), (now_path, now)]: [(&Path, &Run); 2],
) -> Result<Comparison> {
    let thresholds = flags.thresholds.thresholds_or(Thresholds::default());
    let found = of_runs(&then.facts(), &now.facts(), &flags.across, thresholds);
    if found.is_err() {
        for (path, run) in [(then_path, then), (now_path, now)] {
            for warning in &run.warnings {
                tell!("capbench: {}: {warning}", path.display());
            }
        }
    }
    Ok(found?)
}

/// Whether two paths name the same run.
fn is_one(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(directory(path)).ok();
    place(one).is_some_and(|place_of_one| Some(place_of_one) == place(other))
}

/// The directory of a run. The path may also name its `results.json`.
fn directory(path: &Path) -> &Path {
    match path.file_name() {
        Some(name) if name == "results.json" => match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        },
        _ => path,
    }
}

/// Reads a saved run as far as its file is complete.
fn read(path: &Path) -> Result<Run> {
    capbench_results::read::read(path)
        .with_context(|| format!("{}: no run that can be compared; name what --out named", path.display()))
}
