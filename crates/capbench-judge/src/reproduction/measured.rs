//! The measurements of a reproduction, step by step, and how claims and tables select trials of them.
//!
//! | file | what |
//! |---|---|
//! | [`visits`] | the selected trials, what they show together, and how they compare with other trials |
//! | `limit` | what it means that they meet a limit |
//! | [`figure`] | the compared figures of a trial |
//! | `text` | the values that texts of claims name |

pub mod figure;
pub(crate) mod limit;
pub(crate) mod text;
pub mod visits;

use capbench_model::method_spec::MethodSpec;
use serde::Deserialize;

use self::visits::Visits;
use crate::reproduction::Cell;
use crate::search::{SearchOutcome, Status};
use crate::sweep::SweepOutcome;
use capbench_model::placement::PlacementChoice;
use capbench_model::saved::{SavedMethod, SavedPlacement};
use capbench_model::trial::{SizeLabel, TrialResult};

/// The completed part of a step.
#[derive(Clone, Debug, Default)]
pub struct Done {
    /// The step's name.
    pub name: String,
    /// Its trials.
    pub trials: Vec<TrialResult>,
    /// Its outcome as a sweep, if it was one.
    pub sweep: Option<SweepOutcome>,
    /// Its searches.
    pub searches: Vec<SearchOutcome>,
    /// Whether the user stopped it.
    pub stopped: bool,
}

/// A method that is unavailable in a placement, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The method.
    pub method: MethodSpec,
    /// The placement.
    pub placement: PlacementChoice,
    /// Why, in one line.
    pub reason: String,
}

/// What a step of the experiment varies.
#[derive(Clone, Debug)]
pub struct StepFacts {
    /// The step's name.
    pub name: String,
    /// Its points, as published.
    pub points: Vec<u32>,
    /// Those that are measured at the scale of this run.
    pub points_here: Vec<u32>,
    /// Whether its points are searched.
    pub is_search: bool,
    /// Time of a loop on the publication's host, in nanoseconds.
    pub loop_ns: f64,
}

/// The steps of an experiment, and what was measured in each.
#[derive(Debug)]
pub struct MeasuredSteps<'m> {
    /// What each step varies.
    pub steps: &'m [StepFacts],
    /// What is completed of each step.
    pub done: &'m [Done],
    /// The methods that are unavailable.
    pub left_out: &'m [LeftOut],
}

/// Selects trials of a reproduction: those of one step that match every named property.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Select {
    /// The step; the first one if absent.
    pub step: Option<String>,
    /// The method.
    pub method: Option<SavedMethod>,
    /// The placement.
    pub placement: Option<SavedPlacement>,
    /// The point.
    pub at: Option<u32>,
    /// Whether the load was the generator's maximum.
    pub at_maximum: Option<bool>,
    /// Its name in texts.
    pub name: Option<String>,
}

impl Select {
    /// This selection, with properties of `other` where this one names none.
    pub fn or(&self, other: &Self) -> Self {
        Self {
            step: self.step.clone().or_else(|| other.step.clone()),
            method: self.method.clone().or_else(|| other.method.clone()),
            placement: self.placement.clone().or_else(|| other.placement.clone()),
            at: self.at.or(other.at),
            at_maximum: self.at_maximum.or(other.at_maximum),
            name: self.name.clone().or_else(|| other.name.clone()),
        }
    }

    /// Its label in texts: its name, else its point, its placement or its method.
    pub fn label(&self) -> String {
        let at = self.at.map(|at| at.to_string());
        let placement = self.placement.as_ref().map(ToString::to_string);
        let method = self.method.as_ref().map(ToString::to_string);
        self.name.clone().or(at).or(placement).or(method).unwrap_or_default()
    }

    /// Whether a trial outside sweeps has every named property.
    fn includes(&self, trial: &TrialResult) -> bool {
        let profile = &trial.profile;
        self.method.as_ref().is_none_or(|method| *method == profile.method)
            && self.placement.as_ref().is_none_or(|placement| *placement == profile.placement)
            && self.at.is_none_or(|at| profile.frame_size == SizeLabel::Octets(at as u16))
            && self.at_maximum.is_none_or(|at_maximum| at_maximum == trial.intended_pps.is_none())
    }
}

impl<'m> MeasuredSteps<'m> {
    /// What the selected step varies.
    pub fn step_facts(&self, select: &Select) -> Option<&'m StepFacts> {
        match &select.step {
            Some(name) => self.steps.iter().find(|step| step.name == *name),
            None => self.steps.first(),
        }
    }

    /// What is completed of the selected step; `None` if it was not begun.
    pub(crate) fn done(&self, select: &Select) -> Option<&'m Done> {
        let step = self.step_facts(select)?;
        self.done.iter().find(|done| done.name == step.name)
    }

    /// The selected trials, without invalid ones.
    pub fn visits(&self, select: &Select) -> Visits<'m> {
        let Some(step) = self.step_facts(select) else { return Visits::default() };
        let Some(done) = self.done(select) else { return Visits::default() };
        let Some(sweep) = &done.sweep else {
            return Visits::from_trials(done.trials.iter().filter(|trial| select.includes(trial)));
        };
        let swept = swept_trials(sweep, step, select);
        Visits::from_trials(done.trials.iter().filter(|trial| swept.contains(&trial.number)))
    }

    /// The rate that the search found: "at least" if it found no lossy load, `None` without a search or a lossless load.
    pub fn found(&self, select: &Select) -> Option<Cell> {
        let search = self.done(select)?.searches.iter().find(|search| {
            search.method == select.method
                && search.placement == select.placement
                && search.frame_size == select.at.map(|at| SizeLabel::Octets(at as u16))
        })?;
        let goal = search.goals.first()?;
        let lower = goal.lower.as_ref()?;
        Some(Cell {
            value: Some(lower.achieved_pps),
            at_least: goal.status != Status::Regular,
            trials: lower.trials.clone(),
            ..Cell::default()
        })
    }

    /// Why a method is unavailable; `None` unless it was left out of all requested placements.
    pub fn why_left_out(&self, method: &SavedMethod) -> Option<&'m str> {
        let left_out = self.left_out.iter().find(|left_out| *method == left_out.method)?;
        let mut trials = self.done.iter().flat_map(|step| &step.trials);
        let has_run = trials.any(|trial| trial.profile.method == *method);
        (!has_run).then_some(left_out.reason.as_str())
    }
}

/// Numbers of the selected trials of a sweep. A trial's profile does not contain the varied parameter.
fn swept_trials(sweep: &SweepOutcome, step: &StepFacts, select: &Select) -> Vec<u32> {
    let mut numbers = Vec::new();
    let point = select.at.and_then(|at| step.points_here.iter().position(|point| *point == at));
    for series in &sweep.series {
        if select.method.as_ref().is_some_and(|method| *method != series.method) {
            continue;
        }
        for reading in series.readings.iter().filter(|reading| Some(reading.point) == point) {
            numbers.extend(reading.trials.iter().copied());
        }
    }
    numbers
}
