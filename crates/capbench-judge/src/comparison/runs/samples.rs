//! The figures of a run, by set-up, and the trials without figures.

use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::measure::Measure;
use crate::comparison::sampled::{CommonLoads, SampledTrial};
use crate::comparison::samples::{Fastest, Pace, Sample, of_trial};
use crate::comparison::setup::{Field, Setup, goal_words};
use crate::comparison::{LeftOut, NotCompared};
use crate::run::RunFacts;
use crate::search::{SearchOutcome, Status};

/// The figures of a run to compare.
#[derive(Debug, Default)]
pub(super) struct Samples {
    /// The figures.
    pub(super) all: Vec<Sample>,
    /// Numbers of trials, or of searches and their goals, without a figure.
    left_out: BTreeMap<NotCompared, u32>,
    /// The set-ups of trials and goals that were measured to be compared, with or without a figure.
    tried: BTreeSet<Setup>,
    /// The common loads of the run.
    pub(super) common: CommonLoads,
}

impl Samples {
    /// The figures of a run, with the known speed of its CPUs.
    pub(super) fn from_run(run: &RunFacts<'_>, fastest: &Fastest) -> Self {
        let points = points(run);
        let mut sampled = Vec::new();
        for trial in run.trials {
            let point = points.get(&trial.number).map(String::as_str);
            sampled.push(SampledTrial::from_result(trial, point));
        }
        let mut samples = Self { common: CommonLoads::of_trials(&sampled), ..Self::default() };
        for (trial, sampled) in run.trials.iter().zip(&sampled) {
            if sampled.is_to_be_compared() {
                samples.tried.insert(sampled.setup.without_capture());
            }
            if !trial.ledger_sums_up() {
                samples.leave_out(NotCompared::Changed);
                continue;
            }
            match sampled.left_out(&samples.common) {
                Some(unusable) => samples.leave_out(unusable.into()),
                None => samples.all.extend(of_trial(sampled, trial.number, fastest.pace(trial))),
            }
        }
        for search in run.searches {
            samples.add_throughputs(search, run);
        }
        samples
    }

    /// Adds the throughput that a search found for each goal. Its first trial has its set-up.
    fn add_throughputs(&mut self, search: &SearchOutcome, run: &RunFacts<'_>) {
        let Some(first) = run.trials.iter().find(|trial| search.trials.first() == Some(&trial.number)) else {
            return;
        };
        let with_goal = |name| Setup { load: Some(goal_words(name)), ..Setup::from_trial(first, None) };
        for goal in &search.goals {
            self.tried.insert(with_goal(&goal.goal.name).without_capture());
        }
        let mut trials = run.trials.iter().filter(|trial| search.trials.contains(&trial.number));
        if trials.any(|trial| !trial.ledger_sums_up()) {
            self.leave_out(NotCompared::ChangedSearch);
            return;
        }
        for goal in &search.goals {
            let Some(lower) = goal.lower.as_ref().filter(|_| goal.status == Status::Regular) else {
                self.leave_out(NotCompared::NoThroughput);
                continue;
            };
            self.all.push(Sample {
                setup: with_goal(&goal.goal.name),
                measure: Measure::Throughput,
                value: lower.achieved_pps,
                trial: lower.trials.first().copied().unwrap_or(first.number),
                is_at_least: false,
                pace: Pace::default(),
            });
        }
    }

    /// Whether the other run tried one of these set-ups, apart from the properties in `across`. Settings of the capture may differ: where
    /// they tell set-ups apart, neither run may have a figure of them.
    pub(super) fn tried_one_of(&self, other: &Self, across: &[Field]) -> bool {
        let other: BTreeSet<Setup> = other.tried.iter().map(|setup| setup.across(across)).collect();
        self.tried.iter().any(|setup| other.contains(&setup.across(across)))
    }

    fn leave_out(&mut self, because: NotCompared) {
        *self.left_out.entry(because).or_default() += 1;
    }

    /// Trials that were left out, and why. `side` is the name of the run.
    pub(super) fn left_out(&self, side: &str) -> Vec<LeftOut> {
        let mut all = Vec::new();
        for (because, trials) in &self.left_out {
            all.push(LeftOut { subject: side.into(), because: because.clone(), trials: *trials });
        }
        all
    }
}

/// The points of sweeps that the set-ups do not contain, by trial number.
fn points(run: &RunFacts<'_>) -> BTreeMap<u32, String> {
    let mut points = BTreeMap::new();
    for sweep in run.sweeps {
        if sweep.axis.facts().in_trials {
            continue;
        }
        for reading in sweep.series.iter().flat_map(|series| &series.readings) {
            let Some(point) = sweep.points.get(reading.point) else { continue };
            points.extend(reading.trials.iter().map(|&trial| (trial, point.label.clone())));
        }
    }
    points
}

/// Removes the capture settings from set-ups, so that runs which differ only in them are compared all the same. They stay where either
/// run has several of them in set-ups that are otherwise equal: there they tell the set-ups apart.
pub(super) fn drop_capture_settings_that_tell_no_set_ups_apart(samples: &mut [Samples; 2]) {
    let mut with_several: BTreeSet<Setup> = BTreeSet::new();
    for run in samples.iter() {
        let mut first_settings: BTreeMap<Setup, &Option<String>> = BTreeMap::new();
        for sample in &run.all {
            let setup = sample.setup.without_capture();
            let first = *first_settings.entry(setup.clone()).or_insert(&sample.setup.capture);
            if *first != sample.setup.capture {
                with_several.insert(setup);
            }
        }
    }
    for sample in samples.iter_mut().flat_map(|run| &mut run.all) {
        if !with_several.contains(&sample.setup.without_capture()) {
            sample.setup.capture = None;
        }
    }
}
