//! The figures of a run, by set-up, and the trials without figures.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use crate::comparison::measure::Measure;
use crate::comparison::sampled::{CommonLoads, SampledTrial};
use crate::comparison::samples::{Fastest, Pace, Sample, of_trial};
use crate::comparison::setup::{Setup, goal_words};
use crate::comparison::{LeftOut, NotCompared};
use crate::run::RunFacts;
use crate::search::{SearchOutcome, Status};

/// The figures of a run to compare.
#[derive(Debug, Default)]
pub(super) struct Samples {
    pub(super) all: Vec<Sample>,
    pub(super) left_out: BTreeMap<NotCompared, u32>,
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
            let is_changed = (!trial.ledger_sums_up()).then_some(NotCompared::Changed);
            match is_changed.or_else(|| sampled.left_out(&samples.common).map(NotCompared::from)) {
                Some(because) => *samples.left_out.entry(because).or_default() += 1,
                None => samples.all.extend(of_trial(sampled, trial.number, fastest.pace(trial))),
            }
        }
        for search in run.searches {
            samples.searched(search, run);
        }
        samples
    }

    fn searched(&mut self, search: &SearchOutcome, run: &RunFacts<'_>) {
        let first =
            search.trials.first().and_then(|first| run.trials.iter().find(|trial| trial.number == *first));
        let Some(first) = first else { return };
        let is_changed =
            |number: &u32| run.trials.iter().any(|trial| trial.number == *number && !trial.ledger_sums_up());
        if search.trials.iter().any(is_changed) {
            *self.left_out.entry(NotCompared::ChangedSearch).or_default() += 1;
            return;
        }
        for goal in &search.goals {
            match goal.lower.as_ref().filter(|_| goal.status == Status::Regular) {
                Some(lower) => {
                    let load = goal_words(&goal.goal.name);
                    self.all.push(Sample {
                        setup: Setup { load: Some(load), ..Setup::from_trial(first, None) },
                        measure: Measure::Throughput,
                        value: lower.achieved_pps,
                        trial: lower.trials.first().copied().unwrap_or(first.number),
                        is_at_least: false,
                        pace: Pace::default(),
                    });
                }
                None => *self.left_out.entry(NotCompared::NoThroughput).or_default() += 1,
            }
        }
    }

    /// Trials that were left out, and why.
    pub(super) fn left_out(&self, subject: &str) -> impl Iterator<Item = LeftOut> {
        let subject = subject.to_string();
        self.left_out.iter().map(move |(because, trials)| LeftOut {
            subject: subject.clone(),
            because: because.clone(),
            trials: *trials,
        })
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

/// Ignores what trials captured with, unless a run has several values in set-ups that are otherwise equal.
pub(super) fn settle(samples: &mut [Samples; 2]) {
    let mut several: BTreeSet<Setup> = BTreeSet::new();
    for run in samples.iter() {
        let mut first: BTreeMap<Setup, &Option<String>> = BTreeMap::new();
        for sample in &run.all {
            match first.entry(sample.setup.without_capture()) {
                Entry::Vacant(place) => {
                    place.insert(&sample.setup.capture);
                }
                Entry::Occupied(known) if **known.get() != sample.setup.capture => {
                    several.insert(known.key().clone());
                }
                Entry::Occupied(_) => {}
            }
        }
    }
    for sample in samples.iter_mut().flat_map(|run| &mut run.all) {
        if !several.contains(&sample.setup.without_capture()) {
            sample.setup.capture = None;
        }
    }
}
