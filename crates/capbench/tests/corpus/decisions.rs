//! Decisions that follow from the trials of a run, made again from its saved trials: which method is recommended, which loads a
//! method sustains, which trials are of a livelock, and the course and outcome of each search.

use std::collections::BTreeSet;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_judge::search::{End, Overload, SearchOutcome, SearchPlan};
use capbench_model::TrialError;
use capbench_model::trial::Phase;
use capbench_plan::{Observer, PlanError};
use serde_json::Value;

use crate::imports::{
    Load, Requirement, Results, Stored, Trial, TrialResult, exit, livelock, recommend, search, sustains,
};
use crate::members::{self, Compared};

/// Losses that may be allowed, and factors of the offered loads that are asked about.
const LOSSES: [f64; 3] = [0.0, 0.001, 0.05];
const FACTORS: [f64; 3] = [0.5, 1.0, 1.3];
/// Methods of a run that are asked about.
const MOST_METHODS: usize = 6;

/// The exit codes of a run: as saved, and by what a user may allow and require.
pub fn exits(results: &Results) -> Vec<String> {
    let mut lines = vec![format!("exit: {}", exit::of_saved(results).number())];
    let named = exit::of_measurement(results, None, &[], |_| true, 1.0);
    lines.push(format!("exit if every method was named: {}", named.number()));
    let lossless = exit::of_measurement(results, None, &[], |_| false, 0.0);
    lines.push(format!("exit without an allowed loss: {}", lossless.number()));
    lines
}

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
        if let Ok(rate) = Pps::new(middle) {
            let required = Requirement { method: spec.clone(), rate };
            let exit = exit::of_requirements(results, &[required], 0.0);
            lines.push(format!("exit if {method} has to sustain {middle}: {}", exit.number()));
        }
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

/// A path whose trials are those that a search saved.
struct SavedTrials {
    trials: Vec<TrialResult>,
    line_rate: Option<Pps>,
}

impl Trial for SavedTrials {
    /// The first saved trial of this load and duration.
    fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
        let place = self.trials.iter().position(|trial| is_of(trial, load, duration));
        match place {
            Some(place) => Ok(self.trials.remove(place)),
            None => {
                let what = format!("a trial of {duration:?} at {load}");
                Err(TrialError::Unsupported { what, reason: "it was not saved".into() })
            }
        }
    }

    fn line_rate(&self) -> Option<Pps> {
        self.line_rate
    }
}

fn is_of(trial: &TrialResult, load: Load, duration: Duration) -> bool {
    let has_load = match (load.pps(), trial.intended_pps) {
        (Some(asked), Some(saved)) => is_alike(asked, saved),
        (asked, saved) => asked.is_none() && saved.is_none(),
    };
    has_load && is_alike(duration.as_secs_f64(), trial.duration_s)
}

/// Equal but for rounding in a file.
fn is_alike(asked: f64, saved: f64) -> bool {
    (asked - saved).abs() <= 1e-9 * saved.abs()
}

/// Stops a search behind its last saved trial, as its time was used up then, or a user stopped it.
struct StopsAfter {
    trials: usize,
}

impl Observer for StopsAfter {
    fn ends(&mut self, _trial: &TrialResult) -> Result<(), PlanError> {
        self.trials -= 1;
        Ok(())
    }

    fn stopping(&self) -> bool {
        self.trials == 0
    }
}

/// How the outcome of a search differs if it is run again on its saved trials: the same loads in the same order, the same bounds
/// and results.
///
/// # Panics
/// When it asks for a trial that was not saved, and its trials were all read.
fn searched_again(results: &Results, outcome: &SearchOutcome) -> Vec<String> {
    let mut trials = results.trials.clone();
    trials.retain(|trial| outcome.trials.contains(&trial.number));
    if trials.len() < outcome.trials.len() {
        return vec![format!("{} of its {} trials were read", trials.len(), outcome.trials.len())];
    }
    let overload = outcome.plan.overload.or_else(|| overload_before(results, outcome));
    let plan = SearchPlan { overload, ..outcome.plan.clone() };
    let mut observer = StopsAfter { trials: trials.len() };
    let mut path = SavedTrials { trials, line_rate: plan.line_rate_pps };
    let again = search::run_nth(&plan, outcome.nth, "", &mut path, Stored::default(), &mut observer);
    let again = match again {
        Ok(finished) => finished.outcome,
        Err(error) => return vec![error.to_string()],
    };
    if let (End::Failed { reason }, false) = (&again.ended, matches!(outcome.ended, End::Failed { .. })) {
        panic!(
            "{:?}: the search of {:?} fails when it is run again: {reason}",
            results.command, outcome.method
        );
    }
    // How long it took is the time of the host. An older file lacks the overload.
    let again = SearchOutcome { spent_s: outcome.spent_s, plan: outcome.plan.clone(), ..again };
    let then = serde_json::to_value(outcome).unwrap();
    let mut now = serde_json::to_value(&again).unwrap();
    if again.ended == End::Stopped {
        replace(&mut now, &serde_json::to_value(&again.ended).unwrap(), &then["ended"]);
    }
    let mut changes = Vec::new();
    Compared::committed().differences("", "searches", [&then, &now], usize::MAX, &mut changes);
    if changes.is_empty() {
        changes.push("the same".into());
    }
    changes
}

/// The trial at maximum load that a search of an older bench began from, which its file does not name.
fn overload_before(results: &Results, outcome: &SearchOutcome) -> Option<Overload> {
    let has_self_test = outcome.maximum.as_ref().is_none_or(|maximum| maximum.self_test.is_some());
    if has_self_test || outcome.plan.maximum_pps.is_some() {
        return None;
    }
    let first = outcome.trials.first()?;
    let mut known = None;
    for trial in &results.trials {
        let profile = &trial.profile;
        let is_of_set_up = Some(&profile.method) == outcome.method.as_ref()
            && Some(&profile.frame_size) == outcome.frame_size.as_ref()
            && Some(&profile.placement) == outcome.placement.as_ref();
        if is_of_set_up && trial.phase == Phase::BestEffort && trial.number < *first {
            known = Overload::from_trial(trial).or(known);
        }
    }
    known
}

/// Puts a value in place of each that equals another.
fn replace(within: &mut Value, old: &Value, new: &Value) {
    if within == old {
        within.clone_from(new);
        return;
    }
    match within {
        Value::Object(members) => members.values_mut().for_each(|member| replace(member, old, new)),
        Value::Array(entries) => entries.iter_mut().for_each(|entry| replace(entry, old, new)),
        _ => {}
    }
}
