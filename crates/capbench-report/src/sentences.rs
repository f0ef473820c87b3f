//! What follows from results, in sentences with the trials that they rest on: a pure function of what was measured.
//!
//! | file | of |
//! |---|---|
//! | `trials` | trials of any run: accounts, the shape of loss, guards, noise |
//! | `bench` | which methods lose nothing, what the others lose and where, and who is cheapest |
//! | `comparison` | what became worse or better |
//! | `search` | NDR, PDR and what is held without any loss; what limits |
//! | `sweep` | where each method begins to lose, what it costs, and the most that it delivers |
//! | `rfc2544` | throughput, and what the tests told in terms of it found |
//! | `soak` | whether the load was held, and what was lost when |
//! | `reproduction` | how many claims of publications still hold, and which have changed |
//!
//! [`verdict`] answers in three sentences at most what a run was for; [`find`] says all that follows.

mod bench;
pub(crate) mod comparison;
mod reproduction;
pub(crate) mod rfc2544;
mod search;
mod soak;
pub(crate) mod sweep;
mod trials;
use capbench_measure::results::{Finding, Results};
use capbench_measure::trial::{TrialResult, Verdict};
use capbench_model::figures::{grouped, percent};

use crate::model::{Sentence, Trials};
use crate::naming::{self, Kind, many};

/// Everything that a run shows: what is saved as its findings.
pub fn find(results: &Results) -> Vec<Finding> {
    if Kind::of(results) == Kind::Reproduce {
        return reproduction::find(results);
    }
    let mut found = search::find(&results.searches);
    found.extend(results.sweeps.iter().flat_map(|outcome| sweep::find(outcome, &results.trials)));
    found.extend(match &results.soak {
        Some(record) => soak::find(record),
        None => trials::find(&results.trials),
    });
    found
}

/// Sentences at most.
const MOST: usize = 3;

/// The verdict of a run.
pub fn verdict(results: &Results) -> Vec<Sentence> {
    let mut sentences = match Kind::of(results) {
        Kind::Bench => bench::verdict(results),
        Kind::Search => search::verdict(results),
        Kind::Sweep => sweep::verdict(results),
        Kind::Rfc2544 => rfc2544::verdict(results),
        Kind::Soak => soak::verdict(results),
        Kind::Reproduce => reproduction::verdict(results),
    };
    // Whoever asked for a comparison wants that first.
    if let Some(compared) = comparison::verdict(results) {
        sentences.insert(0, compared);
    }
    sentences.truncate(MOST);
    if sentences.is_empty() {
        sentences.push(unfinished(results));
    }
    sentences
}

/// What trials say of which nothing was concluded, because the run ended before.
fn unfinished(results: &Results) -> Sentence {
    let valid = || results.trials.iter().filter(|trial| trial.verdict != Verdict::Invalid);
    let by_load = |a: &&TrialResult, b: &&TrialResult| a.offered_pps.total_cmp(&b.offered_pps);
    let said =
        |trial: &TrialResult| format!("{} ({})", naming::rate(trial.offered_pps), trial.profile.method);
    let clean = valid().filter(|trial| trial.lost() == 0 && trial.sent > 0).max_by(by_load);
    let lossy = valid().filter(|trial| trial.lost() > 0).min_by(by_load);
    let all = many(results.trials.len() as u64, "trial", "trials");
    let text = match (clean, lossy) {
        (None, None) if results.trials.is_empty() => "No trial was finished, so nothing can be said.".into(),
        (None, None) => format!("Nothing was concluded, and {all} show nothing."),
        (Some(clean), None) => {
            format!("Nothing was concluded: of {all}, none lost frames, at up to {}.", said(clean))
        }
        (None, Some(lossy)) => {
            format!("Nothing was concluded: of {all}, every one lost frames, from {} on.", said(lossy))
        }
        (Some(clean), Some(lossy)) => format!(
            "Nothing was concluded: of {all}, the highest load without loss is {}, and the lowest with loss {}.",
            said(clean),
            said(lossy)
        ),
    };
    sentence(text, clean.into_iter().chain(lossy).map(|trial| trial.number))
}

/// A sentence with its evidence, each trial once.
fn sentence(text: String, trials: impl IntoIterator<Item = u32>) -> Sentence {
    let mut trials: Trials = trials.into_iter().collect();
    trials.sort_unstable();
    trials.dedup();
    Sentence { text, trials }
}

/// With a capital, as sentences begin; names of methods stay as they are.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A finding that concerns no one frame size and placement.
fn finding(text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: None, text, trials }
}

fn numbers(trials: &[&TrialResult]) -> Vec<u32> {
    trials.iter().map(|trial| trial.number).collect()
}

/// A rate as people write it.
fn rate(pps: f64) -> String {
    if pps >= 1e6 {
        format!("{:.3} million packets/s", pps / 1e6)
    } else {
        format!("{} packets/s", grouped(pps))
    }
}

/// A time as people write it.
fn time(ns: f64) -> String {
    match ns.abs() {
        large if large >= 1e9 => format!("{:.3} s", ns / 1e9),
        large if large >= 1e6 => format!("{:.2} ms", ns / 1e6),
        large if large >= 1e4 => format!("{:.1} µs", ns / 1e3),
        large if large >= 1e3 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}
