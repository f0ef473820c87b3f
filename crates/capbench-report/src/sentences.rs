//! Findings in sentences, each with its trials: a pure function of the measurements.
//!
//! | file | about |
//! |---|---|
//! | `trials` | trials of any run: ledgers, loss patterns, guards, noise |
//! | `bench` | which method to use, up to which rate, and what the others lack |
//! | `caveats` | one line each: how noisy the trials are, and what could not be measured |
//! | `comparison` | changes for the worse or better |
//! | `search` | NDR, PDR and the rate sustained without any loss; the limit |
//! | `sweep` | where each method starts to lose, its cost, and the most that it delivers |
//! | `rfc2544` | throughput, and the results of the tests relative to it |
//! | `soak` | whether the load was sustained, and when frames were lost |
//! | `queues` | what of the queues of an interface stood against capture |
//! | `unfinished` | what trials show of a run without conclusions |
//! | `reproduction` | how many claims of publications still hold, and which have changed |
//!
//! [`answers`] begins with the run's verdict; [`find`] lists all findings, the most important first.

mod bench;
pub(crate) mod caveats;
mod comparison;
mod queues;
pub(crate) mod reproduction;
pub(crate) mod rfc2544;
pub(crate) mod search;
mod soak;
pub(crate) mod sweep;
mod trials;
mod unfinished;

use capbench_judge::finding::whole_run;
use capbench_judge::finding::{Finding as Fact, Found, OddFrames, Subject};
use capbench_model::figures::percent;
use capbench_results::{Finding, Results};

use crate::model::{Sentence, Trials};
use crate::naming::many;
pub use rfc2544::{not_measured, not_tested_words};

/// What a run shows besides its answers, as it is saved: the most important first.
pub fn find(results: &Results) -> Vec<Finding> {
    whole_run::find(&results.whole_run()).into_iter().map(saved).collect()
}

/// The verdict of a run in one sentence, then the facts that matter most.
pub fn answers(results: &Results) -> Vec<Sentence> {
    whole_run::answers(&results.whole_run()).into_iter().map(answer).collect()
}

/// Adds to results what they show: answers, findings and caveats, each a fact with its sentence.
pub fn conclude(results: &mut Results) {
    let run = results.whole_run();
    let answers = whole_run::answers(&run).into_iter().map(saved).collect();
    let findings = whole_run::find(&run).into_iter().map(saved).collect();
    let caveats = whole_run::caveats(&run).into_iter().map(saved).collect();
    results.answers = answers;
    results.findings = findings;
    results.caveats = caveats;
}

/// A sentence with its trials, each once.
fn sentence(text: String, trials: impl IntoIterator<Item = u32>) -> Sentence {
    Sentence { text, trials: sorted(trials.into_iter().collect()) }
}

/// Numbers in order, each once.
pub(crate) fn sorted(mut trials: Trials) -> Trials {
    trials.sort_unstable();
    trials.dedup();
    trials
}

/// The first of several statements with their trials, and how many more are in the table.
fn first_of(all: &[(String, Trials)], most: usize) -> Sentence {
    let words: Vec<&str> = all.iter().take(most).map(|(words, _)| words.as_str()).collect();
    let rest = match all.len().saturating_sub(most) {
        0 => String::new(),
        more => format!("; {more} more in the table"),
    };
    let trials = all.iter().take(most).flat_map(|(_, trials)| trials.clone());
    sentence(format!("{}{rest}.", words.join("; ")), trials)
}

/// Frames that arrived and are not delivered ones, or not in order.
fn odd_frames(OddFrames { foreign, duplicates, reordered, truncated, corrupt }: &OddFrames) -> String {
    format!(
        "{foreign} foreign, {duplicates} duplicate, {reordered} reordered, {truncated} cut short and {corrupt} damaged frames \
         arrived."
    )
}

/// With a capital letter, as sentences start; names of methods are unchanged.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// A fact with its words, as it is saved.
fn saved(found: Found) -> Finding {
    let Sentence { text, trials } = in_words(&found);
    let scene = found.subject.as_ref().and_then(subject_words);
    Finding { scene, subject: found.subject, text, fact: Some(found.fact), trials }
}

/// A fact in words, with its trials in order.
pub(crate) fn answer(found: Found) -> Sentence {
    let Sentence { text, trials } = in_words(&found);
    sentence(text, trials)
}

/// What a fact concerns, in words; `None` for a sweep without a constant placement or load.
pub(crate) fn subject_words(subject: &Subject) -> Option<String> {
    match subject {
        Subject::Frames { frame_size, placement } => {
            Some(format!("{frame_size}-byte frames, placement {placement}"))
        }
        Subject::Series(scene) => scene.words(),
        Subject::Publication { key } => Some(key.clone()),
    }
}

/// The sentence of a fact, with its trials. Of a long list only the first entries are named, with their trials.
pub(crate) fn in_words(found: &Found) -> Sentence {
    let trials = found.trials.clone();
    let text = match &found.fact {
        Fact::SweepAnswer(fact) => return sweep::answer(fact, trials),
        Fact::SearchAnswer(fact) => return search::answer(fact),
        Fact::Rfc2544Answer(fact) => return rfc2544::answer(fact),
        Fact::ReproductionAnswer(fact) => return reproduction::answer(fact, trials),
        Fact::LossPattern(fact) => trials::loss::words(fact),
        Fact::Sweep(fact) => sweep::words(fact),
        Fact::Search(fact) => search::words(fact),
        Fact::SoakAnswer(fact) => soak::answer_words(fact),
        Fact::Soak(fact) => soak::words(fact),
        Fact::Reproduction(fact) => reproduction::words(fact),
        Fact::Trials(fact) => trials::words(fact),
        Fact::Queues(fact) => queues::words(fact),
        Fact::Bench(fact) => bench::words(fact),
        Fact::Comparison(fact) => comparison::words(fact),
        Fact::Unfinished(fact) => unfinished::words(fact),
        Fact::Caveat(fact) => caveats::words(fact),
    };
    Sentence { text, trials }
}

fn time(ns: f64) -> String {
    match ns.abs() {
        large if large >= 1e9 => format!("{:.3} s", ns / 1e9),
        large if large >= 1e6 => format!("{:.2} ms", ns / 1e6),
        large if large >= 1e4 => format!("{:.1} µs", ns / 1e3),
        large if large >= 1e3 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}
