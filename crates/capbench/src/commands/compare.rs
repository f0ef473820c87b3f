//! `capbench compare`: two saved runs, set-up by set-up.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use capbench_measure::comparison::{Comparison, Judgement, of_runs};
use capbench_measure::results::Results;
use serde::Serialize;

use crate::cli::compare::CompareFlags;
use crate::comparisons;
use crate::exit::{Exit, Usage, print};

/// Version of the JSON document; raised when a reader of older ones would misunderstand newer ones.
const SCHEMA_VERSION: u32 = 1;

/// What `--json` prints.
#[derive(Serialize)]
struct Document<'c> {
    schema_version: u32,
    then: Run<'c>,
    now: Run<'c>,
    comparison: &'c Comparison,
    verdict: &'static str,
}

/// A run as it is named.
#[derive(Serialize)]
struct Run<'c> {
    path: &'c Path,
    command: &'c [String],
    started_unix_s: u64,
}

/// Runs the command.
pub fn run(flags: &CompareFlags) -> Result<Exit> {
    if is_one(&flags.then, &flags.now) {
        let path = flags.then.display();
        return Err(Usage(format!("{path} is named twice; name two runs")).into());
    }
    let [then, now] = [read(&flags.then)?, read(&flags.now)?];
    let comparison = of_runs(&then, &now, &flags.across, flags.thresholds.thresholds())?;
    let exit = exit(&comparison);
    if flags.json {
        let document = Document {
            schema_version: SCHEMA_VERSION,
            then: Run::new(&flags.then, &then),
            now: Run::new(&flags.now, &now),
            comparison: &comparison,
            verdict: comparisons::verdict(&comparison),
        };
        print(&format!("{}\n", serde_json::to_string_pretty(&document)?))?;
    } else {
        let mut text = comparisons::runs([(flags.then.as_path(), &then), (flags.now.as_path(), &now)]);
        text.push_str(&comparisons::circumstances(&comparison));
        text.push_str(&comparisons::comparison(&comparison));
        print(&text)?;
    }
    Ok(exit)
}

impl<'c> Run<'c> {
    fn new(path: &'c Path, results: &'c Results) -> Self {
        Self { path, command: &results.command, started_unix_s: results.started_unix_s }
    }
}

/// A regression is over the stated limit; where nothing could be told, or the host was too busy, nothing is known.
fn exit(comparison: &Comparison) -> Exit {
    if comparison.is_inconclusive() {
        Exit::Inconclusive
    } else if comparison.judged(Judgement::Regression).next().is_some() {
        Exit::LossOverLimit
    } else {
        Exit::Done
    }
}

/// Whether two paths lead to the same run.
fn is_one(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| fs::canonicalize(directory(path)).ok();
    place(one).is_some_and(|place_of_one| Some(place_of_one) == place(other))
}

/// The directory of a run, of which its results.json may be named as well.
fn directory(path: &Path) -> &Path {
    match path.file_name() {
        Some(name) if name == "results.json" => match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        },
        _ => path,
    }
}

/// What a run saved, as far as its file is whole; what is not is said.
fn read(path: &Path) -> Result<Results> {
    let run = capbench_report::read::read(path)
        .with_context(|| format!("{}: no run that can be compared; name what --out named", path.display()))?;
    for warning in &run.warnings {
        eprintln!("capbench: {}: {warning}", path.display());
    }
    Ok(run.results)
}
