//! The words of a run that ended before its conclusions.

use capbench_judge::finding::unfinished::{TriedLoad, Unfinished};

use super::many;
use crate::naming::rate;

/// The sentence of a fact.
pub(super) fn words(fact: &Unfinished) -> String {
    let trials = many(fact.trials.into(), "trial", "trials");
    match (&fact.lossless, &fact.lossy) {
        (None, None) if fact.trials == 0 => "No trial was finished, so there is no result.".into(),
        (None, None) => format!("No conclusion: {trials} of the run are invalid."),
        (Some(lossless), None) => {
            format!("No conclusion: of {trials} none lost frames, up to {}.", of_load(lossless))
        }
        (None, Some(lossy)) => format!(
            "No conclusion: no trial of {trials} was without loss; the lowest load with loss is {}.",
            of_load(lossy)
        ),
        (Some(lossless), Some(lossy)) => format!(
            "No conclusion: of {trials} the highest load without loss is {}, and the lowest with loss {}.",
            of_load(lossless),
            of_load(lossy)
        ),
    }
}

fn of_load(load: &TriedLoad) -> String {
    format!("{} ({})", rate(load.offered_pps), load.method)
}
