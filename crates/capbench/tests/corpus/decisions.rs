//! Decisions that follow from the trials of a run, made again from its saved trials: which method is recommended, which loads a
//! method sustains, which trials are of a livelock, and the course and outcome of each search.

use std::collections::BTreeSet;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_judge::search::SearchOutcome;
use capbench_model::TrialError;

use crate::accepted;
use crate::imports::{Load, Results, Stored, Trial, TrialResult, livelock, recommend, search, sustains};
use crate::members::{self, Compared};

/// Losses that may be allowed, and factors of the offered loads that are asked about.
const LOSSES: [f64; 3] = [0.0, 0.001, 0.05];
const FACTORS: [f64; 3] = [0.5, 1.0, 1.3];
/// Methods of a run that are asked about.
const MOST_METHODS: usize = 6;

pub fn of_run(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    let saved = capbench_report::recommendation(results);
    if let Some(recommended) = &saved {
        lines.extend(members::lines("recommended", recommended));
    }
    let again = recommend(&results.trials, &results.searches);
    match &again {
        _ if saved == again => lines.push("recommended again: the same".into()),
        Some(again) => lines.extend(members::lines("again", again)),
        None => lines.push("recommended again: none".into()),
    }
    lines.extend(sustained(results));
    lines.extend(livelocks(results));
    lines
}

/// What becomes of each search if it is run again on its saved trials.
pub fn searches_again(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    for (nth, outcome) in results.searches.iter().enumerate() {
        lines.push(format!("search {nth} again: {}", searched_again(results, outcome).join("; ")));
    }
    lines
}

/// Whether each method sustains half, all and more of the middle one of its delivered rates.
fn sustained(results: &Results) -> Vec<String> {
    let mut lines = Vec::new();
    let methods: BTreeSet<_> = results.trials.iter().map(|trial| &trial.profile.method).collect();
    for method in methods.into_iter().take(MOST_METHODS) {
        let Some(spec) = method.known() else { continue };
        let of_method = results.trials.iter().filter(|trial| trial.profile.method == *method);
        let mut rates: Vec<f64> = of_method.map(|trial| trial.delivered_pps).collect();
        rates.sort_by(f64::total_cmp);
        let middle = rates[rates.len() / 2];
        for loss in LOSSES {
            let mut answers = Vec::new();
            for factor in FACTORS {
                let pps = middle * factor;
                answers.push(format!("{:?}", sustains(&results.trials, &results.searches, spec, pps, loss)));
            }
            lines.push(format!("sustained by {method} with {loss} loss: {}", answers.join(" ")));
        }
    }
    lines
}

/// The trials that are marked as livelock, and against which.
fn livelocks(results: &Results) -> Vec<String> {
    let mut trials = results.trials.clone();
    livelock::mark(&mut trials);
    let mut marks = Vec::new();
    for trial in trials {
        if let Some(mark) = &trial.livelock {
            marks.push(format!("{} against {}", trial.number, mark.against));
        }
    }
    if marks.is_empty() { Vec::new() } else { vec![format!("livelock: {}", marks.join(", "))] }
}

/// A path without trials of its own: a search on it ends where it asks for a trial that was not saved.
struct SavedOnly(Option<Pps>);

impl Trial for SavedOnly {
    fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
        let what = format!("a trial of {duration:?} at {load}");
        Err(TrialError::Unsupported { what, reason: "it was not saved".into() })
    }

    fn line_rate(&self) -> Option<Pps> {
        self.0
    }
}

/// How the outcome of a search differs if it is run again on its saved trials: the same loads in the same order, the same bounds
/// and results.
fn searched_again(results: &Results, outcome: &SearchOutcome) -> Vec<String> {
    let own: Vec<TrialResult> =
        results.trials.iter().filter(|trial| outcome.trials.contains(&trial.number)).cloned().collect();
    let stored = match Stored::new(&own, |_| true) {
        Ok(stored) => stored,
        Err(why) => return vec![why],
    };
    let mut path = SavedOnly(outcome.plan.line_rate_pps);
    let again = match search::run_nth(&outcome.plan, outcome.nth, "", &mut path, stored, &mut ()) {
        Ok(finished) => finished.outcome,
        Err(error) => return vec![error.to_string()],
    };
    let then = serde_json::to_value(outcome).unwrap();
    let now = serde_json::to_value(&again).unwrap();
    let compared = Compared::committed();
    let mut changes = accepted::difference(
        &members::lines("", &compared.only("searches", &then)),
        &members::lines("", &compared.only("searches", &now)),
    );
    if changes.is_empty() {
        changes.push("the same".into());
    }
    changes
}
