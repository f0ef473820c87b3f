//! What follows from a sweep, in plain sentences with the trials that they rest on. A pure function of what is saved.

mod buffers;
mod cheapest;
mod contrasts;
mod crossings;
pub mod effects;
mod limits;
mod livelock;
mod onset;
mod regimes;

use std::collections::BTreeMap;

use super::axis::AxisKind;
use super::outcome::{Reading, Series, SweepOutcome, sustained_pps};
use crate::findings::Finding;
use crate::limit::Limit;
use crate::statistics::interval::Estimate;
use crate::trial::TrialResult;

pub use regimes::{CostRegimes, cost_regimes};

/// A sweep with its trials at hand.
struct Swept<'r> {
    outcome: &'r SweepOutcome,
    trials: BTreeMap<u32, &'r TrialResult>,
}

/// Everything that a sweep shows beyond what [`crate::findings::find`] says of any trials.
pub fn find(outcome: &SweepOutcome, trials: &[TrialResult]) -> Vec<Finding> {
    let swept = Swept::new(outcome, trials);
    let mut findings = Vec::new();
    for series in &outcome.series {
        if series.readings.iter().any(|reading| reading.back_to_back.is_some()) {
            buffers::of(&swept, series, &mut findings);
            continue;
        }
        onset::of(&swept, series, &mut findings);
        match outcome.axis {
            AxisKind::Work => regimes::of(&swept, series, &mut findings),
            AxisKind::Load => livelock::of(&swept, series, &mut findings),
            AxisKind::Size | AxisKind::Ring | AxisKind::Placement | AxisKind::Coalesce => {}
        }
    }
    if outcome.axis == AxisKind::Work {
        effects::find(&swept, &mut findings);
    }
    crossings::find(&swept, &mut findings);
    cheapest::find(&swept, &mut findings);
    findings
}

impl<'r> Swept<'r> {
    fn new(outcome: &'r SweepOutcome, trials: &'r [TrialResult]) -> Self {
        Self { outcome, trials: trials.iter().map(|trial| (trial.number, trial)).collect() }
    }

    /// Series of the same scene together, in their order.
    fn scenes(&self) -> Vec<Vec<&'r Series>> {
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
    fn of(&self, reading: &Reading) -> impl Iterator<Item = &TrialResult> {
        reading.trials.iter().filter_map(|number| self.trials.get(number).copied())
    }

    /// The rates that its trials show could be kept up.
    fn sustained(&self, reading: &Reading) -> Vec<f64> {
        self.of(reading).map(sustained_pps).collect()
    }

    /// Their median; 0 where there are none.
    fn sustained_pps(&self, reading: &Reading) -> f64 {
        Estimate::of(self.sustained(reading)).map_or(0.0, |estimate| estimate.median)
    }

    /// Frames of a trial that were delivered only because there was room for them when sending ended.
    fn untaken(trial: &TrialResult) -> u64 {
        trial.buffered_frames(1)
    }

    /// Whether every trial had the load that was asked for and lost nothing of it, and would not have in a longer trial either.
    fn keeps_up(&self, reading: &Reading) -> bool {
        !reading.trials.is_empty()
            && self
                .of(reading)
                .all(|trial| trial.held_load() && trial.intended_pps.is_some() && Self::untaken(trial) == 0)
    }

    /// What limits at a point; `None` where nothing was lost, or only now and then.
    fn limit(&self, reading: &Reading) -> Option<Limit> {
        Limit::of(&reading.lost, self.of(reading), Self::untaken)
    }

    /// What reports call a reading's point.
    fn label(&self, reading: &Reading) -> &str {
        self.outcome.points.get(reading.point).map_or("?", |point| &point.label)
    }

    /// The median of something that trials of a reading know; `None` where one does not.
    fn median(&self, reading: &Reading, of: impl Fn(&TrialResult) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.of(reading).map(of).collect();
        Estimate::of(values?).map(|estimate| estimate.median)
    }
}

/// A finding about one series.
fn about(series: &Series, text: String, trials: Vec<u32>) -> Finding {
    Finding { scene: series.scene(), text: format!("{}: {text}", series.method), trials }
}

fn numbers<'r>(readings: impl IntoIterator<Item = &'r Reading>) -> Vec<u32> {
    readings.into_iter().flat_map(|reading| reading.trials.iter().copied()).collect()
}

fn percent(share: f64) -> String {
    match share * 100.0 {
        share if share >= 10.0 => format!("{share:.0} %"),
        share if share >= 0.1 => format!("{share:.1} %"),
        share => format!("{share:.4} %"),
    }
}

/// A time as people write it.
fn time(ns: f64) -> String {
    match ns.abs() {
        large if large >= 1e9 => format!("{:.3} s", ns / 1e9),
        large if large >= 1e6 => format!("{:.2} ms", ns / 1e6),
        large if large >= 1e4 => format!("{:.1} µs", ns / 1e3),
        large if large >= 1e3 => format!("{:.2} µs", ns / 1e3),
        _ => format!("{ns:.0} ns"),
    }
}
