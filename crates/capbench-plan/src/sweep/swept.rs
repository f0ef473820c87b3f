//! A sweep with its trials, and summaries of the trials of a reading.

use std::collections::BTreeMap;

use super::outcome::{Reading, Series, SweepOutcome, sustained_pps};
use capbench_model::limit::Limit;
use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::TrialResult;

/// A sweep with its trials.
pub struct Swept<'r> {
    /// The sweep.
    pub outcome: &'r SweepOutcome,
    trials: BTreeMap<u32, &'r TrialResult>,
}

impl<'r> Swept<'r> {
    /// Combines a sweep and the trials of its run.
    pub fn new(outcome: &'r SweepOutcome, trials: &'r [TrialResult]) -> Self {
        Self { outcome, trials: trials.iter().map(|trial| (trial.number, trial)).collect() }
    }

    /// Series grouped by scene, in their order.
    pub fn scenes(&self) -> Vec<Vec<&'r Series>> {
        let mut scenes: Vec<Vec<&'r Series>> = Vec::new();
        for series in &self.outcome.series {
            match scenes.iter_mut().find(|scene| scene[0].scene() == series.scene()) {
                Some(scene) => scene.push(series),
                None => scenes.push(vec![series]),
            }
        }
        scenes
    }
}

impl Swept<'_> {
    /// The trials of a reading.
    pub fn of(&self, reading: &Reading) -> impl Iterator<Item = &TrialResult> {
        reading.trials.iter().filter_map(|number| self.trials.get(number).copied())
    }

    /// The sustainable rates that its trials show.
    pub fn sustained(&self, reading: &Reading) -> Vec<f64> {
        self.of(reading).map(sustained_pps).collect()
    }

    /// Their median; 0 if there are none.
    pub fn sustained_pps(&self, reading: &Reading) -> f64 {
        Estimate::of(self.sustained(reading)).map_or(0.0, |estimate| estimate.median)
    }

    /// Frames of a trial that were delivered only because the buffer had room when sending ended.
    pub fn untaken(trial: &TrialResult) -> u64 {
        trial.buffered_frames(1)
    }

    /// Whether every trial had the requested load and lost nothing, and would not have in a longer trial.
    pub fn keeps_up(&self, reading: &Reading) -> bool {
        !reading.trials.is_empty()
            && self
                .of(reading)
                .all(|trial| trial.held_load() && trial.intended_pps.is_some() && Self::untaken(trial) == 0)
    }

    /// The limiting component at a point; `None` if nothing was lost, or only occasionally.
    pub fn limit(&self, reading: &Reading) -> Option<Limit> {
        Limit::of(&reading.lost, self.of(reading), Self::untaken)
    }

    /// The name of a reading's point in reports.
    pub fn label(&self, reading: &Reading) -> &str {
        self.outcome.label(reading)
    }

    /// The median of a figure over the trials of a reading; `None` if one trial does not know it.
    pub fn median(&self, reading: &Reading, of: impl Fn(&TrialResult) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.of(reading).map(of).collect();
        Estimate::of(values?).map(|estimate| estimate.median)
    }
}

/// Numbers of the trials of readings.
pub fn numbers<'r>(readings: impl IntoIterator<Item = &'r Reading>) -> Vec<u32> {
    readings.into_iter().flat_map(|reading| reading.trials.iter().copied()).collect()
}
