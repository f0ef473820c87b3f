//! Groups of trials: the same set-up at the same load for the same purpose.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::{LoadShape, Phase, TrialResult};
use capbench_results::Results;
pub(crate) use capbench_statistics::by_key;

use crate::model::Trials;
use crate::naming::{self, Numbered, Scene};

/// Trials of one method in one set-up at one load.
#[derive(Clone, Debug)]
pub(crate) struct Group<'r> {
    /// What the trials were run for: `confirmation`, `point ring 1MiB`, `lower bound of ndr`.
    pub(crate) purpose: String,
    /// The load of the first trial, in words.
    pub(crate) load: String,
    /// The trials, at least one.
    pub(crate) trials: Vec<&'r TrialResult>,
}

impl<'r> Group<'r> {
    /// `None` without trials.
    fn from_trials(purpose: String, trials: Vec<&'r TrialResult>) -> Option<Self> {
        let first = trials.first()?;
        Some(Self { purpose, load: naming::load(first), trials })
    }

    pub(crate) fn numbers(&self) -> Trials {
        naming::numbers(self.trials.iter().copied())
    }
}

/// All groups of a run that are meaningful by themselves. A search tries many loads; only the loads that bound its goals count.
pub(crate) fn groups_in_run(results: &Results) -> Vec<Group<'_>> {
    let mut groups = groups_by_phase(results);
    groups.extend(groups_by_point(results));
    groups.extend(groups_by_bound(results));
    groups
}

/// What the trials of a group outside searches and sweeps have in common.
#[derive(PartialEq)]
struct CommonSetUp<'r> {
    phase: Phase,
    /// Publications can differ in rings and traffic while their trials look equal.
    publication: Option<&'r str>,
    method: &'r SavedMethod,
    intended_pps: Option<f64>,
    load: Option<LoadShape>,
    scene: Scene,
}

impl<'r> CommonSetUp<'r> {
    fn from_trial(results: &'r Results, trial: &'r TrialResult) -> Self {
        Self {
            phase: trial.phase,
            publication: naming::publication(results, trial.number),
            method: &trial.profile.method,
            intended_pps: trial.intended_pps,
            load: trial.load,
            scene: Scene::from_trial(trial),
        }
    }

    fn purpose(&self) -> String {
        let phase = naming::phase(self.phase);
        match self.publication {
            Some(publication) => format!("{publication}, {phase}"),
            None => phase.into(),
        }
    }
}

/// Trials outside searches and sweeps, by phase and set-up.
fn groups_by_phase(results: &Results) -> Vec<Group<'_>> {
    let trials = results.trials.iter().filter(|trial| is_result_by_itself(trial.phase));
    let mut groups = Vec::new();
    for (common, trials) in by_key(trials, |trial| CommonSetUp::from_trial(results, trial)) {
        groups.extend(Group::from_trials(common.purpose(), trials));
    }
    groups
}

/// Whether trials of a phase are results without the search or sweep that ran them.
fn is_result_by_itself(phase: Phase) -> bool {
    match phase {
        Phase::Search
        | Phase::SelfTest
        | Phase::Sweep
        | Phase::BackToBack
        | Phase::Probe
        | Phase::Retried
        | Phase::Turns => false,
        Phase::BestEffort
        | Phase::CommonLoad
        | Phase::Confirmation
        | Phase::FixedLoad
        | Phase::Soak
        | Phase::Latency
        | Phase::FrameLoss
        | Phase::Recovery => true,
    }
}

/// Trials of sweeps, by method and point.
fn groups_by_point(results: &Results) -> Vec<Group<'_>> {
    let trials = Numbered::from_results(results);
    let mut groups = Vec::new();
    for sweep in &results.sweeps {
        for reading in sweep.series.iter().flat_map(|series| &series.readings) {
            let point = sweep.points.get(reading.point).map_or("?", |point| point.label.as_str());
            groups.extend(Group::from_trials(format!("point {point}"), trials.known(&reading.trials)));
        }
    }
    groups
}

/// Trials of the bounds that searches found, by goal and bound.
fn groups_by_bound(results: &Results) -> Vec<Group<'_>> {
    let trials = Numbered::from_results(results);
    let mut groups = Vec::new();
    for search in &results.searches {
        let nth = match search.nth {
            Some(nth) => format!(", search {nth}"),
            None => String::new(),
        };
        for goal in &search.goals {
            for (end, bound) in [("lower", &goal.lower), ("upper", &goal.upper)] {
                let Some(bound) = bound else { continue };
                let purpose = format!("{end} bound of {}{nth}", goal.goal.name);
                groups.extend(Group::from_trials(purpose, trials.known(&bound.trials)));
            }
        }
    }
    groups
}
