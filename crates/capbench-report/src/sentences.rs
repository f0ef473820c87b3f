//! The words of what a run shows: the text of each fact that `capbench-judge/src/finding/` finds, with the numbers of its trials.
//!
//! | file | words the facts about |
//! |---|---|
//! | `trials` | trials of any run: ledgers, loss patterns, guards, noise |
//! | `bench` | which method to use, up to which rate, and what the other methods lack |
//! | `caveats` | how noisy the trials are, and what could not be measured, one line each |
//! | `comparison` | changes for the worse or better |
//! | `generator` | how a generator ran |
//! | `limits` | what limits a method |
//! | `noise` | reasons for care with a trial |
//! | `search` | NDR, PDR and the rate sustained without any loss; the limit |
//! | `sweep` | where each method starts to lose, its cost, and the most that it delivers |
//! | `rfc2544` | throughput, and the results of the tests relative to it |
//! | `soak` | whether the load was sustained, and when frames were lost |
//! | `places` | names of places, and the counters that report them |
//! | `queues` | what stands against capture in the queues of an interface |
//! | `saved` | the words next to facts in results files |
//! | `statements` | what a run states about itself |
//! | `unfinished` | what trials show of a run without conclusions |
//! | `reproduction` | how many claims of publications still hold, and which have changed |
//!
//! A fact with its text, as it is saved, is a `Finding`. A file's function `words` gives the text of one fact. Its function
//! `answers`, if a kind of run has the file, gives the first sentences of a report, the verdict first. [`find`] lists all
//! findings, the most important first.

mod bench;
pub(crate) mod caveats;
pub(crate) mod comparison;
pub mod generator;
pub mod limits;
pub mod noise;
pub mod places;
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
use capbench_results::Kind;
use capbench_results::{Finding, Results};

use crate::model::{Sentence, Trials};
use crate::naming::many;
pub use reproduction::claim_words;
pub use rfc2544::{not_measured, not_tested_words};
pub use search::goal_help;
pub use search::warnings::words as search_warning_words;

/// All findings of a run, as they are saved: the most important first.
pub fn find(results: &Results) -> Vec<Finding> {
    if results.kind() == Kind::Reproduce {
        return reproduction::find(results);
    }
    let search_findings = saved_findings(finding::search::find(&results.searches));
    let queue_facts = finding::queues::find(&results.environment);
    if results.kind() == Kind::Bench {
        // Its searches only serve the recommendation.
        let mut findings = saved_findings(finding::trials::find(&results.trials, queue_facts));
        findings.extend(search_findings);
        return findings;
    }
    let mut findings = search_findings;
    for sweep in &results.sweeps {
        findings.extend(sweep::find(sweep, &results.trials));
    }
    if let Some(record) = &results.soak {
        findings.extend(saved_findings(finding::soak::find(record)));
        findings.extend(saved_findings(queue_facts));
    } else {
        findings.extend(saved_findings(finding::trials::find(&results.trials, queue_facts)));
    }
    findings
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
        sentences.insert(0, in_words(compared));
    }
    if sentences.is_empty() {
        sentences.push(in_words(finding::unfinished::unfinished(&results.trials)));
    }
    sentences
}

/// Facts with their text, as they are saved.
fn saved_findings(all: Vec<Found>) -> Vec<Finding> {
    all.into_iter().map(saved_finding).collect()
}

/// A fact with its text, as it is saved.
fn saved_finding(found: Found) -> Finding {
    let Found { scene, fact, trials } = found;
    let scene = scene.map(|scene| format!("{}-byte frames, placement {}", scene.frame_size, scene.placement));
    Finding { scene, text: words(&fact), fact: Some(fact), trials }
}

/// A fact in words, with its trials.
pub(crate) fn in_words(found: Found) -> Sentence {
    with_trials(words(&found.fact), found.trials)
}

/// The text of a fact.
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

/// A sentence with its trials, in order and each once.
fn with_trials(text: String, trials: impl IntoIterator<Item = u32>) -> Sentence {
    Sentence { text, trials: sorted(trials.into_iter().collect()) }
}

/// Trial numbers in order, each once.
pub(crate) fn sorted(mut trials: Trials) -> Trials {
    trials.sort_unstable();
    trials.dedup();
    trials
}

/// A part of a sentence about several things of a kind, with its trials.
struct Clause {
    text: String,
    trials: Trials,
}

/// One sentence of up to `most` clauses: `a; b; 2 more in the table.` `None` without clauses.
fn first_clauses(clauses: &[Clause], most: usize) -> Option<Sentence> {
    if clauses.is_empty() {
        return None;
    }
    let mut texts = Vec::new();
    let mut trials = Trials::new();
    for clause in clauses.iter().take(most) {
        texts.push(clause.text.as_str());
        trials.extend(&clause.trials);
    }
    let more = match clauses.len() - texts.len() {
        0 => String::new(),
        more => format!("; {more} more in the table"),
    };
    Some(with_trials(format!("{}{more}.", texts.join("; ")), trials))
}

/// Numbers of frames that arrived and do not count as delivered in order.
struct OddFrames {
    foreign: u64,
    duplicates: u64,
    reordered: u64,
    truncated: u64,
    damaged: u64,
}

impl OddFrames {
    fn words(&self) -> String {
        let Self { foreign, duplicates, reordered, truncated, damaged } = self;
        format!(
            "{foreign} foreign, {duplicates} duplicate, {reordered} reordered, {truncated} cut short and {damaged} damaged frames \
             arrived."
        )
    }
}

/// With a capital letter, as sentences start.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
