//! Findings in sentences, each with its trials: a pure function of the measurements.
//!
//! | file | about |
//! |---|---|
//! | `trials` | trials of any run: ledgers, loss patterns, guards, noise |
//! | `bench` | which method to use, up to which rate, and what the others lack |
//! | `caveats` | one line each: how noisy the trials are, and what could not be measured |
//! | `comparison` | changes for the worse or better |
//! | `noise` | reasons for care with a trial |
//! | `search` | NDR, PDR and the rate sustained without any loss; the limit |
//! | `sweep` | where each method starts to lose, its cost, and the most that it delivers |
//! | `rfc2544` | throughput, and the results of the tests relative to it |
//! | `soak` | whether the load was sustained, and when frames were lost |
//! | `queues` | what of the queues of an interface stood against capture |
//! | `saved` | the words next to facts in results files |
//! | `statements` | what a run states about itself |
//! | `unfinished` | what trials show of a run without conclusions |
//! | `reproduction` | how many claims of publications still hold, and which have changed |
//!
//! [`answers`] begins with the run's verdict; [`find`] lists all findings, the most important first.

mod bench;
pub(crate) mod caveats;
pub(crate) mod comparison;
pub mod noise;
mod queues;
pub(crate) mod reproduction;
pub(crate) mod rfc2544;
pub mod saved;
pub(crate) mod search;
mod soak;
pub mod statements;
pub(crate) mod sweep;
mod trials;
mod unfinished;

use capbench_judge::finding::{self, Finding as Fact, Found};
use capbench_model::figures::percent;
use capbench_results::Kind;
use capbench_results::{Finding, Results};

use crate::model::{Sentence, Trials};
use crate::naming::many;
pub use rfc2544::{not_measured, not_tested_words};

/// All findings of a run, as they are saved: the most important first.
pub fn find(results: &Results) -> Vec<Finding> {
    if results.kind() == Kind::Reproduce {
        return reproduction::find(results);
    }
    let searched = judged(finding::search::find(&results.searches));
    let settings = finding::queues::find(&results.environment);
    if results.kind() == Kind::Bench {
        // Its searches only serve the recommendation.
        let mut found = trials::find(&results.trials, settings);
        found.extend(searched);
        return found;
    }
    let mut found = searched;
    found.extend(results.sweeps.iter().flat_map(|outcome| sweep::find(outcome, &results.trials)));
    found.extend(match &results.soak {
        Some(record) => {
            let mut found = judged(finding::soak::find(record));
            found.extend(judged(settings));
            found
        }
        None => trials::find(&results.trials, settings),
    });
    found
}

/// The verdict of a run in one sentence, then the facts that matter most.
pub fn answers(results: &Results) -> Vec<Sentence> {
    let mut sentences = match results.kind() {
        Kind::Bench => bench::answers(results),
        Kind::Search => search::answers(results),
        Kind::Sweep => sweep::answers(results),
        Kind::Rfc2544 => rfc2544::answers(results),
        Kind::Soak => soak::answers(results),
        Kind::Reproduce => reproduction::answers(results),
    };
    // A requested comparison comes first.
    if let Some(compared) = finding::comparison::of_methods(&results.comparisons) {
        sentences.insert(0, answer(compared));
    }
    if sentences.is_empty() {
        sentences.push(answer(finding::unfinished::unfinished(&results.trials)));
    }
    sentences
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

/// The first of several statements with their trials, and how many more are in the table; `None` without statements.
fn first_of(all: &[(String, Trials)], most: usize) -> Option<Sentence> {
    let words: Vec<&str> = all.iter().take(most).map(|(words, _)| words.as_str()).collect();
    let rest = match all.len().saturating_sub(most) {
        0 => String::new(),
        more => format!("; {more} more in the table"),
    };
    let trials = all.iter().take(most).flat_map(|(_, trials)| trials.clone());
    (!all.is_empty()).then(|| sentence(format!("{}{rest}.", words.join("; ")), trials))
}

/// Frames that arrived and are not delivered ones, or not in order.
fn odd_frames([foreign, duplicate, reordered, short, damaged]: [u64; 5]) -> String {
    format!(
        "{foreign} foreign, {duplicate} duplicate, {reordered} reordered, {short} cut short and {damaged} damaged frames arrived."
    )
}

/// With a capital letter, as sentences start; names of methods are unchanged.
fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Facts with their words, as they are saved.
fn judged(found: Vec<Found>) -> Vec<Finding> {
    found.into_iter().map(said).collect()
}

/// A fact with its words, as it is saved.
fn said(found: Found) -> Finding {
    let Found { scene, fact, trials } = found;
    let scene = scene.map(|scene| format!("{}-byte frames, placement {}", scene.frame_size, scene.placement));
    Finding { scene, text: words(&fact), fact: Some(fact), trials }
}

/// A fact in words, with its trials.
pub(crate) fn answer(found: Found) -> Sentence {
    sentence(words(&found.fact), found.trials)
}

/// The sentence of a fact.
fn words(fact: &Fact) -> String {
    match fact {
        Fact::LossPattern(fact) => trials::loss::words(fact),
        Fact::Sweep(fact) => sweep::words(fact),
        Fact::Search(fact) => search::words(fact),
        Fact::Soak(fact) => soak::words(fact),
        Fact::Reproduction(fact) => reproduction::words(fact),
        Fact::Trials(fact) => trials::words(fact),
        Fact::Queues(fact) => queues::words(fact),
        Fact::Bench(fact) => bench::words(fact),
        Fact::Comparison(fact) => comparison::words(fact),
        Fact::Unfinished(fact) => unfinished::words(fact),
        Fact::Caveat(fact) => caveats::words(fact),
    }
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
