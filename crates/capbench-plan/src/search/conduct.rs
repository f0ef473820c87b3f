//! A search from its first trial to its outcome.

use capbench_judge::search::SearchWarning;
use std::time::Duration;

use super::plan::{strategists, validate};
use super::runner::{Halt, Runner, Stored};
use super::self_test;
use super::strategist::pursue;
use crate::Observer;
use crate::Result;
use capbench_judge::search::bound::Trials;
use capbench_judge::search::database::Database;
use capbench_judge::search::{
    Buffered, End, GoalResult, LossNumbers, MaximumLoad, MaximumSource, SearchOutcome, SearchPlan, SelfTest,
};
use capbench_judge::sustained::{Observation, has_unsent_frames};
use capbench_model::trial::{Load, Phase, Trial, TrialResult};

/// A finished search.
#[derive(Debug)]
pub struct Finished {
    /// The saved outcome, without the trials.
    pub outcome: SearchOutcome,
    /// Its trials in the order in which it requested them, including the reused trials of the earlier run.
    pub trials: Vec<TrialResult>,
}

/// Runs the search, on the link of the trial, announced as `what`. Whatever ends it, the outcome has all its trials and
/// results. `stored` are trials of an earlier run of the same search; their duration counts, and they are not announced
/// again. Fails for a plan that contradicts itself, and when a trial cannot be saved.
pub fn run(
    plan: &SearchPlan,
    what: &str,
    trial: &mut dyn Trial,
    stored: Stored,
    observer: &mut dyn Observer,
) -> Result<Finished> {
    run_nth(plan, None, what, trial, stored, observer)
}

/// Like [`run`], as one of several searches of its set-up, counted from 1.
pub fn run_nth(
    plan: &SearchPlan,
    nth: Option<u32>,
    what: &str,
    trial: &mut dyn Trial,
    stored: Stored,
    observer: &mut dyn Observer,
) -> Result<Finished> {
    let plan = plan.on_link(trial.line_rate());
    let warnings = validate(&plan)?;
    let mut runner = Runner {
        what,
        nth,
        trial,
        observer,
        stored,
        time_allowed: plan.time_allowed,
        traffic_allowed: plan.traffic_allowed,
        trials: Vec::new(),
        spent: Duration::ZERO,
        traffic: Duration::ZERO,
    };
    let mut seen = Database::default();
    let mut maximum = None;
    let ended = match search(&plan, &mut runner, &mut seen, &mut maximum, &warnings) {
        Ok(()) => End::Complete,
        Err(Halt::Ended(end)) => end,
        Err(Halt::Unsaved(error)) => return Err(error),
    };
    let outcome = outcome(&plan, &runner, &seen, maximum.as_ref(), ended, &warnings);
    Ok(Finished { outcome, trials: runner.trials })
}

fn search(
    plan: &SearchPlan,
    runner: &mut Runner<'_>,
    seen: &mut Database,
    found: &mut Option<MaximumLoad>,
    warnings: &[SearchWarning],
) -> std::result::Result<(), Halt> {
    let maximum = match (plan.maximum_pps, plan.overload) {
        (Some(load_pps), _) => MaximumLoad { load_pps, source: MaximumSource::Given, self_test: None },
        (None, Some(overload)) => self_test::maximum_of_overload(plan, overload),
        (None, None) => self_test::maximum_load(plan, runner)?,
    };
    let load = maximum.load_pps;
    let maximum = &*found.insert(maximum);
    let mut strategists =
        strategists(plan, load).map_err(|error| Halt::Ended(End::Failed { reason: error.to_string() }))?;
    pursue(&mut strategists, seen, |request, seen| {
        if runner.observer.keeps_searches() {
            // A killed process resumes from here as if the user had stopped it.
            let so_far = outcome(plan, runner, seen, Some(maximum), End::Stopped, warnings);
            runner.observer.searching(so_far);
        }
        let result = runner.measure(Load::Rate(request.load), request.duration, Phase::Search)?;
        Ok(Observation::of_trial(&result, request.load, request.duration, plan.burst_frames))
    })
}

fn outcome(
    plan: &SearchPlan,
    runner: &Runner<'_>,
    seen: &Database,
    maximum: Option<&MaximumLoad>,
    ended: End,
    warnings: &[SearchWarning],
) -> SearchOutcome {
    let trials = &runner.trials;
    let by_number = Trials::new(trials, plan.burst_frames);
    let goals: Vec<_> =
        plan.goals.iter().map(|goal| GoalResult::new(goal, seen, &by_number, maximum, &ended)).collect();
    let top = maximum.map(|maximum| maximum.load_pps);
    let profile = trials.first().map(|trial| &trial.profile);
    let self_test = maximum.and_then(|maximum| maximum.self_test.as_ref());
    let mut warnings = warnings.to_vec();
    warnings.extend(self_test.into_iter().flat_map(SelfTest::doubts));
    warnings.extend(doubts(trials, runner.stored.left()));
    SearchOutcome {
        method: profile.map(|profile| profile.method.clone()),
        placement: profile.map(|profile| profile.placement.clone()),
        frame_size: profile.map(|profile| profile.frame_size.clone()),
        work: profile.map(|profile| profile.work.clone()),
        nth: runner.nth,
        numbers: LossNumbers::new(&goals, seen, &by_number, top),
        goals,
        buffered: Buffered::from_trials(trials, plan.burst_frames),
        plan: plan.clone(),
        maximum: maximum.cloned(),
        ended,
        warnings: Vec::new(),
        warning_facts: warnings,
        trials: trials.iter().map(|trial| trial.number).collect(),
        sending_s: trials.iter().fold(0.0, |sum, trial| sum + trial.traffic_s()),
        spent_s: runner.spent.as_secs_f64(),
    }
}

/// Doubts that the trials themselves raise.
fn doubts(trials: &[TrialResult], not_used: usize) -> Vec<SearchWarning> {
    let mut doubts = Vec::new();
    if not_used > 0 {
        doubts.push(SearchWarning::UnusedTrials { trials: not_used as u64 });
    }
    if let Some(because) = trials.iter().find_map(|trial| trial.profile.load_depends()) {
        doubts.push(SearchWarning::LoadDepends { because });
    }
    let of_search: Vec<&TrialResult> = trials.iter().filter(|trial| trial.phase == Phase::Search).collect();
    let all_trials = of_search.len() as u64;
    let short: Vec<u32> =
        of_search.iter().filter(|trial| has_unsent_frames(trial)).map(|trial| trial.number).collect();
    if !short.is_empty() {
        doubts.push(SearchWarning::UnsentFrames { trials: short, all_trials });
    }
    let unseen = of_search.iter().filter(|trial| trial.emptying.is_none()).count() as u64;
    if unseen > 0 {
        doubts.push(SearchWarning::LastReadUnknown { trials: unseen, all_trials });
    }
    doubts
}
