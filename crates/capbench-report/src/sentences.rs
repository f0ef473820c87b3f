//! The words of what a run shows: the text of each fact that `capbench-judge/src/finding/` finds, with the numbers of its trials.
//!
//! | file | words the facts about |
//! |---|---|
//! | `trials` | trials of any run: ledgers, loss patterns, guards, noise |
//! | `axes` | the parameters that a sweep can vary |
//! | `bench` | which method to use, up to which rate, and what the other methods lack |
//! | `caveats` | how noisy the trials are, and what could not be measured, one line each |
//! | `disturbers` | what used the CPUs of trials, and what to do about it |
//! | `comparison` | changes for the worse or better |
//! | `cpu_tasks` | which CPUs do what, and why the load depends on the receiver |
//! | `generator` | how a generator ran |
//! | `kernel_time` | what the kernel's receive time was measured by |
//! | `limits` | what limits a method |
//! | `noise` | reasons for care with a trial |
//! | `search` | NDR, PDR and the rate sustained without any loss; the limit |
//! | `sweep` | where each method starts to lose, its cost, and the most that it delivers |
//! | `rfc2544` | throughput, and the results of the tests relative to it |
//! | `soak` | whether the load was sustained, and when frames were lost |
//! | `places` | names of places, and the counters that report them |
//! | `queues` | what stands against capture in the queues of an interface |
//! | `saved` | the words next to facts in results files |
//! | `sources` | where the counts of a ledger come from, or why there are none |
//! | `statements` | what a run states about itself |
//! | `unfinished` | what trials show of a run without conclusions |
//! | `reproduction` | how many claims of publications still hold, and which have changed |
//!
//! A fact with its text, as it is saved, is a `Finding`. A file's function `words` gives the text of one fact. Its function
//! `answer`, if it has one, gives the sentence of one answer to the question of a run. `capbench-judge/src/finding/whole_run.rs`
//! decides which facts a run has, and in which order.

pub mod axes;
mod bench;
pub(crate) mod caveats;
pub(crate) mod comparison;
pub mod cpu_tasks;
mod disturbers;
pub mod generator;
mod kernel_time;
pub mod limits;
pub mod noise;
pub mod places;
mod queues;
pub(crate) mod reproduction;
pub(crate) mod rfc2544;
pub mod saved;
pub(crate) mod search;
mod soak;
pub mod sources;
pub mod statements;
pub(crate) mod sweep;
mod trials;
mod unfinished;

use capbench_judge::finding::whole_run;
use capbench_judge::finding::{Finding as Fact, Found, OddFrames, Subject};
use capbench_results::{Finding, Results};

use crate::model::{Sentence, Trials};
use crate::naming::many;
pub use comparison::host_difference_words;
pub use queues::queue_words;
pub use reproduction::{claim_words, table_notes};
pub use rfc2544::{not_measured, not_tested_words};
pub use search::goal_help;
pub use search::warnings::words as search_warning_words;

/// What a run shows besides its answers, as it is saved: the most important first.
pub fn find(results: &Results) -> Vec<Finding> {
    saved_findings(whole_run::find(&results.whole_run()))
}

/// The verdict of a run in one sentence, then the facts that matter most.
pub fn answers(results: &Results) -> Vec<Sentence> {
    whole_run::answers(&results.whole_run()).into_iter().map(in_words).collect()
}

/// Adds to results what they show: answers, findings and caveats, each a fact with its text.
pub fn conclude(results: &mut Results) {
    let run = results.whole_run();
    let answers = saved_findings(whole_run::answers(&run));
    let findings = saved_findings(whole_run::find(&run));
    let caveats = saved_findings(whole_run::caveats(&run));
    results.answers = answers;
    results.findings = findings;
    results.caveats = caveats;
}

/// Facts with their text, as they are saved.
fn saved_findings(all: Vec<Found>) -> Vec<Finding> {
    all.into_iter().map(saved_finding).collect()
}

/// A fact with its text, as it is saved.
fn saved_finding(found: Found) -> Finding {
    let Sentence { text, trials } = text_and_trials(&found);
    let scene = found.subject.as_ref().and_then(subject_words);
    Finding { scene, subject: found.subject, text, fact: Some(found.fact), trials }
}

/// A fact in words, with its trials in order.
pub(crate) fn in_words(found: Found) -> Sentence {
    let Sentence { text, trials } = text_and_trials(&found);
    with_trials(text, trials)
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

/// The text of a fact, with its trials. Of a long list only the first entries are named, with their trials.
pub(crate) fn text_and_trials(found: &Found) -> Sentence {
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

/// The first clauses, up to `most`, as one sentence: `a; b; 2 more in the table.` There is at least one clause.
fn first_clauses(clauses: &[Clause], most: usize) -> Sentence {
    let Clause { text, trials } = joined_clauses(clauses, most);
    with_trials(format!("{text}."), trials)
}

/// The first clauses, up to `most`, as one clause: `a; b; 2 more in the table`. There is at least one clause.
fn joined_clauses(clauses: &[Clause], most: usize) -> Clause {
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
    Clause { text: format!("{}{more}", texts.join("; ")), trials }
}

/// Frames that arrived and do not count as delivered in order.
fn odd_frames_words(frames: &OddFrames) -> String {
    let OddFrames { foreign, duplicates, reordered, truncated, corrupt } = frames;
    format!(
        "{foreign} foreign, {duplicates} duplicate, {reordered} reordered, {truncated} cut short and {corrupt} damaged frames \
         arrived."
    )
}

/// The text with a capital first letter, as sentences start.
fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
