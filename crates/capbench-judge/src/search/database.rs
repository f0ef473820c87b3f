//! Every trial of a search, by load. All goals use all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use crate::ratio::Ratio;
use crate::sustained::{Class, Criteria, Observation, Tally};

/// The relevant bounds for some criteria.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Relevant Lower Bound: the highest sustained load below the upper bound.
    pub lower: Option<Pps>,
    /// Relevant Upper Bound: the lowest load that is not sustained.
    pub upper: Option<Pps>,
}

/// The loss of a trial that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LossOf {
    /// Lost and unsent frames.
    Trial,
    /// Frames lost on the path.
    Path,
}

/// The sums of one load for criteria that classify its trials alike. Every nomination uses them, so only new trials are added.
#[derive(Clone, Debug)]
struct Sums {
    loss_ratio: Ratio,
    full_length: Duration,
    losses: LossOf,
    tally: Tally,
    trials: usize,
}

#[derive(Clone, Debug, Default)]
struct AtLoad {
    trials: Vec<Observation>,
    sums: RefCell<Vec<Sums>>,
}

impl AtLoad {
    fn classify(&self, criteria: &Criteria, losses: LossOf) -> Class {
        let Criteria { loss_ratio, full_length, .. } = *criteria;
        let mut kept_sums = self.sums.borrow_mut();
        let is_same = |sums: &Sums| {
            (sums.loss_ratio, sums.full_length, sums.losses) == (loss_ratio, full_length, losses)
        };
        let place = kept_sums.iter().position(is_same).unwrap_or_else(|| {
            kept_sums.push(Sums { loss_ratio, full_length, losses, tally: Tally::default(), trials: 0 });
            kept_sums.len() - 1
        });
        let sums = &mut kept_sums[place];
        for trial in &self.trials[sums.trials..] {
            let loss = match losses {
                LossOf::Trial => trial.loss_ratio,
                LossOf::Path => trial.path_loss_ratio,
            };
            sums.tally.add(trial.duration, criteria.kind(trial.duration, loss));
        }
        sums.trials = self.trials.len();
        criteria.decide(&sums.tally)
    }
}

/// Trials by load.
#[derive(Clone, Debug, Default)]
pub struct Database {
    /// By the bits of the load, which order rates as numbers.
    loads: BTreeMap<u64, (Pps, AtLoad)>,
}

impl Database {
    /// Adds a trial.
    pub fn add(&mut self, trial: Observation) {
        let load = trial.load;
        self.loads.entry(load.get().to_bits()).or_insert((load, AtLoad::default())).1.trials.push(trial);
    }

    fn at_load(&self, load: Pps) -> Option<&AtLoad> {
        self.loads.get(&load.get().to_bits()).map(|(_, at)| at)
    }

    /// Trials of one load, in the order in which they came.
    pub fn at(&self, load: Pps) -> &[Observation] {
        self.at_load(load).map_or(&[], |at| &at.trials)
    }

    /// Loads with their trials, lowest first.
    pub fn loads(&self) -> impl Iterator<Item = (Pps, &[Observation])> {
        self.loads.values().map(|(load, at)| (*load, at.trials.as_slice()))
    }

    /// The class of one load by its trials.
    pub fn classify(&self, load: Pps, criteria: &Criteria) -> Class {
        self.at_load(load).map_or(Class::Undecided, |at| at.classify(criteria, LossOf::Trial))
    }

    /// Whether a load that is not sustained exceeds the path's capacity, and not only the generator's.
    pub(super) fn is_limit_of_path(&self, load: Pps, criteria: &Criteria) -> bool {
        self.at_load(load).is_some_and(|at| at.classify(criteria, LossOf::Path) == Class::Upper)
    }

    /// The relevant bounds. A sustained load above an unsustained one (loss inversion) is ignored.
    pub fn bounds(&self, criteria: &Criteria) -> Bounds {
        let mut bounds = Bounds::default();
        for (load, at) in self.loads.values() {
            match at.classify(criteria, LossOf::Trial) {
                Class::Lower => bounds.lower = Some(*load),
                Class::Upper => {
                    bounds.upper = Some(*load);
                    break;
                }
                Class::Undecided => {}
            }
        }
        bounds
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_frames::rates::Pps;
    use proptest::prelude::*;

    use super::Database;
    use crate::search::Ratio;
    use crate::sustained::{Criteria, Observation};

    proptest! {
        /// Asked after every trial or only at the end, the answer is that of all trials.
        #[test]
        fn sums_that_are_kept_say_what_all_trials_say(
            trials in prop::collection::vec((1u64..3, 0.0..0.02f64, any::<bool>()), 1..60), exceed in 0.0..0.9f64,
        ) {
            let load = Pps::new(1000.0).unwrap();
            let criteria = |loss, full_s| Criteria {
                loss_ratio: Ratio::new(loss).unwrap(),
                exceed_ratio: Ratio::new(exceed).unwrap(),
                full_length: Duration::from_secs(full_s),
                duration_sum: Duration::from_secs(20),
            };
            let all = [criteria(0.0, 1), criteria(0.01, 1), criteria(0.01, 2)];
            let mut seen = Database::default();
            for (seconds, loss_ratio, ask) in trials {
                let duration = Duration::from_secs(seconds);
                let trial = Observation {
                    number: 1, load, duration, loss_ratio, path_loss_ratio: 0.0, achieved: load,
                };
                seen.add(trial);
                if ask {
                    seen.bounds(&all[0]);
                }
            }
            for criteria in &all {
                prop_assert_eq!(seen.classify(load, criteria), criteria.classify(seen.at(load)));
                prop_assert!(!seen.is_limit_of_path(load, criteria));
            }
        }
    }
}
