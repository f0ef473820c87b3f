//! Every trial of a search, by load. All goals use all of them.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use capbench_frames::rates::Pps;

use crate::ratio::Ratio;
use crate::sustained::{Class, Criteria, Observation, Tally};

/// The relevant bounds for some criteria.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bounds {
    /// Relevant Lower Bound: the highest sustained load below the upper bound.
    pub lower: Option<Pps>,
    /// Relevant Upper Bound: the lowest load that is not sustained.
    pub upper: Option<Pps>,
}

/// Which loss of a trial decides its class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CountedLoss {
    /// Lost and unsent frames.
    LostAndUnsent,
    /// Frames lost on the path.
    LostOnPath,
}

impl CountedLoss {
    fn ratio(self, trial: &Observation) -> f64 {
        match self {
            Self::LostAndUnsent => trial.loss_ratio,
            Self::LostOnPath => trial.path_loss_ratio,
        }
    }
}

/// The sums of the trials of one load for criteria that call the same trials high-loss ones.
#[derive(Clone, Debug)]
struct Sums {
    loss_ratio: Ratio,
    full_length: Duration,
    counted_loss: CountedLoss,
    /// The sums over the first `added` trials of the load.
    tally: Tally,
    /// How many trials of the load `tally` already has.
    added: usize,
}

impl Sums {
    fn new(criteria: &Criteria, counted_loss: CountedLoss) -> Self {
        let Criteria { loss_ratio, full_length, .. } = *criteria;
        Self { loss_ratio, full_length, counted_loss, tally: Tally::default(), added: 0 }
    }

    /// Whether these sums are those that the criteria need.
    fn are_of(&self, criteria: &Criteria, counted_loss: CountedLoss) -> bool {
        self.loss_ratio == criteria.loss_ratio
            && self.full_length == criteria.full_length
            && self.counted_loss == counted_loss
    }

    /// Adds the trials of the load that came since the last call.
    fn catch_up(&mut self, trials: &[Observation], criteria: &Criteria) {
        for trial in &trials[self.added..] {
            let loss_ratio = self.counted_loss.ratio(trial);
            self.tally.add(trial.duration, criteria.kind(trial.duration, loss_ratio));
        }
        self.added = trials.len();
    }
}

/// The trials of one load. A search classifies every load again after each trial, so it keeps the sums and adds only new trials. The
/// sums are in a `RefCell`, because they are only remembered: who asks for a class changes nothing that others see.
#[derive(Clone, Debug, Default)]
struct AtLoad {
    trials: Vec<Observation>,
    sums: RefCell<Vec<Sums>>,
}

impl AtLoad {
    fn classify(&self, criteria: &Criteria, counted_loss: CountedLoss) -> Class {
        let mut all = self.sums.borrow_mut();
        if let Some(sums) = all.iter_mut().find(|sums| sums.are_of(criteria, counted_loss)) {
            sums.catch_up(&self.trials, criteria);
            return criteria.decide(&sums.tally);
        }
        let mut sums = Sums::new(criteria, counted_loss);
        sums.catch_up(&self.trials, criteria);
        let class = criteria.decide(&sums.tally);
        all.push(sums);
        class
    }
}

/// Trials by load.
#[derive(Clone, Debug, Default)]
pub struct Database {
    /// By the bits of the load: those of positive numbers have the order of the numbers.
    loads: BTreeMap<u64, (Pps, AtLoad)>,
}

impl Database {
    /// Adds a trial.
    pub fn add(&mut self, trial: Observation) {
        let load = trial.load;
        let (_, at_load) =
            self.loads.entry(load.get().to_bits()).or_insert_with(|| (load, AtLoad::default()));
        at_load.trials.push(trial);
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
        self.at_load(load).map_or(Class::Undecided, |at| at.classify(criteria, CountedLoss::LostAndUnsent))
    }

    /// Whether a load that is not sustained exceeds the path's capacity, and not only the generator's.
    pub(super) fn is_limit_of_path(&self, load: Pps, criteria: &Criteria) -> bool {
        self.at_load(load).is_some_and(|at| at.classify(criteria, CountedLoss::LostOnPath) == Class::Upper)
    }

    /// The relevant bounds. A sustained load above an unsustained one (loss inversion) is ignored.
    pub fn bounds(&self, criteria: &Criteria) -> Bounds {
        let mut bounds = Bounds::default();
        for (load, at) in self.loads.values() {
            match at.classify(criteria, CountedLoss::LostAndUnsent) {
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
        /// A load has the class of all its trials, whether or not it was classified after some of them. Each trial has its
        /// seconds, its loss ratio, and whether the load is classified after it.
        #[test]
        fn sums_that_are_kept_say_what_all_trials_say(
            trials in prop::collection::vec((1u64..3, 0.0..0.02f64, any::<bool>()), 1..60), exceed in 0.0..0.9f64,
        ) {
            let load = Pps::new(1000.0).unwrap();
            let lossless = Criteria {
                loss_ratio: Ratio::ZERO,
                exceed_ratio: Ratio::new(exceed).unwrap(),
                full_length: Duration::from_secs(1),
                duration_sum: Duration::from_secs(20),
            };
            // Other sums are needed for an allowed loss, and for trials of another full length.
            let lossy = Criteria { loss_ratio: Ratio::new(0.01).unwrap(), ..lossless };
            let lossy_in_long_trials = Criteria { full_length: Duration::from_secs(2), ..lossy };
            let mut seen = Database::default();
            for (seconds, loss_ratio, is_classified) in trials {
                let duration = Duration::from_secs(seconds);
                let trial = Observation {
                    number: 1, load, duration, loss_ratio, path_loss_ratio: 0.0, achieved: load,
                };
                seen.add(trial);
                if is_classified {
                    seen.classify(load, &lossless);
                }
            }
            for criteria in &[lossless, lossy, lossy_in_long_trials] {
                prop_assert_eq!(seen.classify(load, criteria), criteria.classify(seen.at(load)));
                prop_assert!(!seen.is_limit_of_path(load, criteria));
            }
        }
    }
}
