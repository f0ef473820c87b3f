//! What an export may replace in a dataset: the file of the same run, of the same host, with the same labels and the same trials. A
//! run that was resumed has more of them.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use crate::error::{DatasetError, Result};
use crate::reader::{self, Record};
use crate::tables::ExportedRun;

const COLUMNS: [&str; 7] = ["number", "kept", "labels", "host_id", "intended", "sent", "delivered"];

/// Checks that `run`, which was read at `path`, may replace this file of trials, if there is one.
///
/// # Errors
/// It is of another host, has other labels or other trials; or it cannot be read.
pub(crate) fn check(path: &Path, file: &Path, run: &ExportedRun<'_>) -> Result<()> {
    if !file.exists() {
        return Ok(());
    }
    let rows = reader::rows(file, &COLUMNS)?;
    let Some(first) = rows.first() else { return Ok(()) };
    check_host(path, file, first, run)?;
    check_labels(path, file, first, run)?;
    check_trials(path, file, &rows, run)
}

fn check_host(path: &Path, file: &Path, first: &Record, run: &ExportedRun<'_>) -> Result<()> {
    match (first.text("host_id"), &run.host_id) {
        (Some(known), Some(host)) if known == host => Ok(()),
        (None, _) => Ok(()),
        (Some(known), host) => {
            let host = host.as_deref().unwrap_or("an unknown one").to_string();
            Err(DatasetError::OtherHost(path.into(), known.into(), host, file.into()))
        }
    }
}

fn check_labels(path: &Path, file: &Path, first: &Record, run: &ExportedRun<'_>) -> Result<()> {
    let known: BTreeMap<String, String> = first.entries("labels").into_iter().collect();
    if known == *run.labels {
        return Ok(());
    }
    Err(DatasetError::OtherLabels(path.into(), described(&known), described(run.labels), file.into()))
}

/// Labels as the command line has them.
fn described(labels: &BTreeMap<String, String>) -> String {
    if labels.is_empty() {
        return "no label".into();
    }
    let labels: Vec<String> = labels.iter().map(|(name, value)| format!("--label {name}={value}")).collect();
    labels.join(" ")
}

fn check_trials(path: &Path, file: &Path, rows: &[Record], run: &ExportedRun<'_>) -> Result<()> {
    let trials = run.results.trials.iter();
    let counts: HashMap<i64, [u64; 3]> = trials
        .map(|trial| (i64::from(trial.number), [trial.intended, trial.sent, trial.delivered]))
        .collect();
    for row in rows.iter().filter(|row| row.text("kept") == Some("result")) {
        let number = row.whole("number").unwrap_or_default();
        let known = ["intended", "sent", "delivered"].map(|column| row.whole(column));
        let is_same =
            counts.get(&number).is_some_and(|counts| known == counts.map(|count| i64::try_from(count).ok()));
        if !is_same {
            return Err(DatasetError::OtherTrials(path.into(), number, file.into()));
        }
    }
    Ok(())
}
