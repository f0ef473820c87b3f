//! The figures of a run, by set-up, and the trials that give none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::measure::Measure;
use super::pace::{Fastest, Pace};
use super::setup::Setup;
use crate::results::Results;
use crate::search::{SearchOutcome, Status};
use crate::sweep::AxisKind;
use crate::trial::{Phase, TrialResult, Verdict};

/// Trials that were not compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Whose they are.
    pub of: String,
    /// Why.
    pub because: String,
    /// How many.
    pub trials: u32,
}

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) setup: Setup,
    pub(super) measure: Measure,
    pub(super) value: f64,
    /// The trial that it comes from; of a search one of those at its lower bound.
    pub(super) trial: u32,
    /// Whether the method could hold more: it lost nothing of what the generator could send.
    pub(super) is_at_least: bool,
    /// How fast its CPUs ran.
    pub(super) pace: Pace,
}

/// What a run has to compare.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) all: Vec<Sample>,
    pub(super) left_out: BTreeMap<&'static str, u32>,
    /// The common load of each scene of a bench, frames per second.
    pub(super) common_pps: Vec<(Setup, f64)>,
}

/// The load that a bench found for all its methods.
const IS_LOWERED: &str = "at a common load that was lowered afterwards, because a method lost frames there";
const SHOWS_NOTHING: &str = "they show nothing";
const IS_STEP: &str = "steps of searches and probes: what they found is compared, where there is anything";
/// What a method delivers then is what the generator sent.
pub(super) const IS_OF_GENERATOR: &str = "delivered at maximum load: the side that delivered less lost nothing, so it is the generator that sent less";
const IS_SHORT: &str = "the generator did not reach their load";
/// CPUs that share a core are slowed for seconds at a time: which run meets more of that is chance that no test within runs knows of.
pub(super) const IS_SLOW: &str =
    "their CPUs ran at a pace (`pace`) at which the other run has no trial of the set-up";
/// Whoever changed that could have changed every other figure as well.
const IS_CHANGED: &str = "their ledger does not sum up: the file was changed after it was written";
const IS_CHANGED_SEARCH: &str = "searches with a trial whose ledger does not sum up";
/// Goals that were held as far as the search went, or that it did not settle.
const IS_NO_THROUGHPUT: &str = "searches whose result is no throughput: at least, or irregular";

/// Why a trial is not compared.
pub(super) fn unusable(trial: &TrialResult) -> Option<&'static str> {
    let unsent = trial.intended.saturating_sub(trial.sent);
    match trial.phase {
        _ if trial.verdict == Verdict::Invalid => Some(SHOWS_NOTHING),
        Phase::Search
        | Phase::SelfTest
        | Phase::Soak
        | Phase::Probe
        | Phase::SetAside
        | Phase::BackToBack
        | Phase::Recovery => Some(IS_STEP),
        _ if trial.intended_pps.is_some() && unsent * 20 > trial.intended => Some(IS_SHORT),
        _ => None,
    }
}

/// The figures of a trial.
pub(super) fn of_trial(trial: &TrialResult, point: Option<&str>, pace: Pace) -> impl Iterator<Item = Sample> {
    let setup = Setup::of(trial, point);
    let number = trial.number;
    // Where the receiver slows the generator, what the generator sends is the method's own.
    let is_at_least = trial.lost() == 0 && trial.profile.load_independent;
    let measured = Measure::OF_TRIALS
        .into_iter()
        .filter_map(|measure| Some((measure, measure.of(trial)?)))
        .collect::<Vec<_>>();
    measured.into_iter().map(move |(measure, value)| Sample {
        setup: setup.clone(),
        measure,
        value,
        trial: number,
        is_at_least: is_at_least && measure == Measure::DeliveredRate,
        pace,
    })
}

impl Samples {
    /// Those of a run, of whose CPUs so much is known.
    pub(super) fn of(run: &Results, fastest: &Fastest) -> Self {
        let mut samples = Self { common_pps: common_loads(&run.trials), ..Self::default() };
        let points = points(run);
        for trial in &run.trials {
            let is_lowered = trial.phase == Phase::CommonLoad && !samples.is_at_common_load(trial);
            let is_changed = (!trial.ledger_sums_up()).then_some(IS_CHANGED);
            match is_changed.or(unusable(trial)).or(is_lowered.then_some(IS_LOWERED)) {
                Some(because) => *samples.left_out.entry(because).or_default() += 1,
                None => {
                    let point = points.get(&trial.number).map(String::as_str);
                    samples.all.extend(of_trial(trial, point, fastest.pace(trial)));
                }
            }
        }
        for search in &run.searches {
            samples.searched(search, run);
        }
        samples
    }

    fn is_at_common_load(&self, trial: &TrialResult) -> bool {
        let scene = Setup::of(trial, None).common_scene();
        let common = self.common_pps.iter().find(|(of, _)| *of == scene);
        common.map(|(_, pps)| *pps) == trial.intended_pps
    }

    fn searched(&mut self, search: &SearchOutcome, run: &Results) {
        let first =
            search.trials.first().and_then(|first| run.trials.iter().find(|trial| trial.number == *first));
        let Some(first) = first else { return };
        let is_changed =
            |number: &u32| run.trials.iter().any(|trial| trial.number == *number && !trial.ledger_sums_up());
        if search.trials.iter().any(is_changed) {
            *self.left_out.entry(IS_CHANGED_SEARCH).or_default() += 1;
            return;
        }
        for goal in &search.goals {
            match goal.lower.as_ref().filter(|_| goal.status == Status::Regular) {
                Some(lower) => {
                    let load = format!("goal {}", goal.goal.name);
                    self.all.push(Sample {
                        setup: Setup { load: Some(load), ..Setup::of(first, None) },
                        measure: Measure::Throughput,
                        value: lower.achieved_pps,
                        trial: lower.trials.first().copied().unwrap_or(first.number),
                        is_at_least: false,
                        pace: Pace::default(),
                    });
                }
                None => *self.left_out.entry(IS_NO_THROUGHPUT).or_default() += 1,
            }
        }
    }

    /// Whose trials were left out, and why.
    pub(super) fn left_out(&self, of: &str) -> impl Iterator<Item = LeftOut> {
        let of = of.to_string();
        self.left_out.iter().map(move |(because, trials)| LeftOut {
            of: of.clone(),
            because: (*because).into(),
            trials: *trials,
        })
    }
}

/// The lowest common load of each scene: the others were lowered.
fn common_loads(trials: &[TrialResult]) -> Vec<(Setup, f64)> {
    let mut loads: Vec<(Setup, f64)> = Vec::new();
    for trial in trials.iter().filter(|trial| trial.phase == Phase::CommonLoad) {
        let Some(pps) = trial.intended_pps else { continue };
        let scene = Setup::of(trial, None).common_scene();
        match loads.iter_mut().find(|(of, _)| *of == scene) {
            Some((_, least)) => *least = least.min(pps),
            None => loads.push((scene, pps)),
        }
    }
    loads
}

/// The points of sweeps whose set-ups do not tell them, by the numbers of their trials.
fn points(run: &Results) -> BTreeMap<u32, String> {
    let mut points = BTreeMap::new();
    for sweep in &run.sweeps {
        // Of work, sizes, placements and loads the trial itself tells.
        if !matches!(sweep.axis, AxisKind::Ring | AxisKind::Coalesce) {
            continue;
        }
        for reading in sweep.series.iter().flat_map(|series| &series.readings) {
            let Some(point) = sweep.points.get(reading.point) else { continue };
            points.extend(reading.trials.iter().map(|&trial| (trial, point.label.clone())));
        }
    }
    points
}
