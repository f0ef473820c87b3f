//! `capbench compare`: two saved runs, set-up by set-up.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use capbench_plan::comparison::{Comparison, Field};
use capbench_report::compare::{Document, NamedRun, of_runs};
use capbench_report::formats::text::{self, Extent};
use capbench_report::read::Run;
use capbench_report::{report, save};
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
    #[arg(value_name = "A")]
    then: PathBuf,
    /// The later run
    #[arg(value_name = "B")]
    now: PathBuf,
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
    if is_one(&flags.then, &flags.now) {
        let path = flags.then.display();
        return Err(Usage(format!("{path} is named twice; name two runs")).into());
    }
    let FileFlags { out, stdout, .. } = &flags.files;
    let has_files = out.is_some() || *stdout;
    if flags.files.has_formats() && !has_files {
        return Err(Usage("--format: name a directory for the files with --out".into()).into());
    }
    let formats = flags.files.formats()?;
    // Tables and rows of both runs call them by these names.
    let [then, now] =
        [Run { name: "A".into(), ..read(&flags.then)? }, Run { name: "B".into(), ..read(&flags.now)? }];
    let comparison = compared(flags, &then, &now)?;
    let exit = exit::of_comparison(comparison.conclusion());
    if flags.json {
        let name = |path: &Path, run: &Run| NamedRun::new(path.display().to_string(), &run.results);
        let document = Document::new([name(&flags.then, &then), name(&flags.now, &now)], comparison);
        print_json(&document)?;
        return Ok(exit);
    }
    let sides = [(flags.then.as_path(), &then.results), (flags.now.as_path(), &now.results)];
    let report = report::compared(sides, &comparison);
    if !has_files {
        print(&text::text(&report, Extent::with(flags.details)))?;
        return Ok(exit);
    }
    let files = save::files_of(&report, &[then, now], &formats)?;
    match out {
        Some(folder) => report_files::write(&files, folder)?,
        None => report_files::print_first(&files)?,
    }
    Ok(exit)
}

/// The comparison. Problems of the files come first in its notes.
fn compared(flags: &CompareFlags, then: &Run, now: &Run) -> Result<Comparison> {
    let found = of_runs(&then.results, &now.results, &flags.across, flags.thresholds.thresholds());
    let sides = [("A", &flags.then, then), ("B", &flags.now, now)];
    let mut comparison = found.inspect_err(|_| {
        for (_, path, run) in sides {
            run.warnings.iter().for_each(|warning| tell!("capbench: {}: {warning}", path.display()));
        }
    })?;
    let warnings = sides.iter().flat_map(|(name, _, run)| {
        run.warnings.iter().map(move |warning| format!("{name}: {}", warning.trim_end_matches('.')))
    });
    let warnings: Vec<String> = warnings.collect();
    comparison.damaged |= !warnings.is_empty();
    comparison.notes.splice(0..0, warnings);
    Ok(comparison)
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
    capbench_report::read::read(path)
        .with_context(|| format!("{}: no run that can be compared; name what --out named", path.display()))
}
