//! Every trial of a search, by load. All goals see all of it.

use std::collections::BTreeMap;
use std::time::Duration;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::criteria::{Class, Criteria};

/// What the search knows of a trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Observation {
    /// Number of the trial.
    pub number: u32,
    /// Intended load.
    pub load: Pps,
    /// Intended duration. It is the Trial Effective Duration, too.
    pub duration: Duration,
    /// Trial Loss Ratio: lost and unsent frames by intended ones. Unsent ones within the tolerance are none.
    pub loss_ratio: f64,
    /// The same without unsent frames: what the path lost.
    pub path_loss_ratio: f64,
    /// The offered load, at most the intended one.
    pub achieved: Pps,
    /// How often one or several frames in a row were lost; absent where nobody looked.
    pub loss_events: Option<u64>,
}

impl Observation {
    /// Trial Forwarding Rate, frames per second.
    pub fn forwarding_rate(&self) -> f64 {
        self.load.get() * (1.0 - self.loss_ratio)
    }
}

/// The relevant bounds for some criteria.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// Relevant Lower Bound: the highest load below the upper bound that is held.
    pub lower: Option<Pps>,
    /// Relevant Upper Bound: the lowest load that is not held.
    pub upper: Option<Pps>,
}

/// A load that orders trials.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Key(Pps);

impl Eq for Key {}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.get().total_cmp(&other.0.get())
    }
}

/// Trials by load.
#[derive(Clone, Debug, Default)]
pub struct Database {
    loads: BTreeMap<Key, Vec<Observation>>,
}

impl Database {
    /// Adds a trial.
    pub fn add(&mut self, trial: Observation) {
        self.loads.entry(Key(trial.load)).or_default().push(trial);
    }

    /// Trials of one load, in the order in which they came.
    pub fn at(&self, load: Pps) -> &[Observation] {
        self.loads.get(&Key(load)).map_or(&[], Vec::as_slice)
    }

    /// Loads with their trials, from the lowest.
    pub fn loads(&self) -> impl Iterator<Item = (Pps, &[Observation])> {
        self.loads.iter().map(|(key, trials)| (key.0, trials.as_slice()))
    }

    /// What the trials of one load say about it.
    pub fn classify(&self, load: Pps, criteria: &Criteria) -> Class {
        criteria.classify(self.at(load))
    }

    /// Whether a load that is not held is too much for the path, and not only for the generator.
    pub(super) fn is_limit_of_path(&self, load: Pps, criteria: &Criteria) -> bool {
        criteria.classify_by(self.at(load), |trial| trial.path_loss_ratio) == Class::Upper
    }

    /// The relevant bounds. A load that is held above one that is not (loss inversion) is passed over.
    pub fn bounds(&self, criteria: &Criteria) -> Bounds {
        let mut bounds = Bounds::default();
        for (load, trials) in self.loads() {
            match criteria.classify(trials) {
                Class::Lower => bounds.lower = Some(load),
                Class::Upper => {
                    bounds.upper = Some(load);
                    break;
                }
                Class::Undecided => {}
            }
        }
        bounds
    }
}
