//! Sweeps of loads with few points, for the tests of judgement.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::for_tests::{measured, profile};
use capbench_model::trial::{Load, Phase, TrialResult};

use super::outcome::{PointRecord, Reading, Series, SweepOutcome};
use super::{AxisKind, PointUnit};

/// The load and the result of a trial of a second.
pub(crate) struct LoadTrial {
    pub(crate) number: u32,
    /// The load, which is sent.
    pub(crate) pps: f64,
    /// The rate that the trial states as delivered. It need not fit the lost frames.
    pub(crate) delivered_pps: f64,
    /// Frames that the ring drops.
    pub(crate) lost: u64,
}

impl LoadTrial {
    /// A trial that delivers a load of 100,000 packets/s.
    pub(crate) fn lossless(number: u32) -> Self {
        Self { number, pps: 1e5, delivered_pps: 1e5, lost: 0 }
    }

    pub(crate) fn result(&self) -> TrialResult {
        let load = Load::Rate(Pps::new(self.pps).unwrap());
        let sent = self.pps as u64;
        let measured = measured(sent, sent, sent - self.lost, self.lost);
        let second = Duration::from_secs(1);
        let trial = measured.result(self.number, Phase::Sweep, &profile("recv"), load, second);
        TrialResult { delivered_pps: self.delivered_pps, ..trial }
    }
}

/// What became of the frames of a trial.
#[derive(Clone, Copy)]
pub(crate) enum Outcome {
    /// All were sent and delivered.
    Clean,
    /// Three of ten were lost.
    Lossy,
    /// One of ten was not sent: more than a load may lack.
    Unsent,
}

/// A trial of a second with this outcome.
pub(crate) fn trial(number: u32, outcome: Outcome) -> TrialResult {
    let measured = match outcome {
        Outcome::Clean => measured(1000, 1000, 1000, 0),
        Outcome::Lossy => measured(1000, 1000, 700, 300),
        Outcome::Unsent => measured(1000, 900, 900, 0),
    };
    let load = Load::Rate("1000".parse().unwrap());
    measured.result(number, Phase::Sweep, &profile("recv"), load, Duration::from_secs(1))
}

/// The reading of the trials at a point.
pub(crate) fn reading(point: usize, trials: &[TrialResult]) -> Reading {
    Reading::from_trials(point, &trials.iter().collect::<Vec<_>>(), None).unwrap()
}

/// One reading for each trial, at points from 0 on.
pub(crate) fn reading_of_each(trials: &[TrialResult]) -> Vec<Reading> {
    let mut readings = Vec::new();
    for (point, trial) in trials.iter().enumerate() {
        readings.push(reading(point, std::slice::from_ref(trial)));
    }
    readings
}

/// A sweep of loads with two visits of each point, and its trials.
pub(crate) fn sweep_of_two_visits(outcomes: &[[Outcome; 2]]) -> (SweepOutcome, Vec<TrialResult>) {
    let mut trials = Vec::new();
    let mut readings = Vec::new();
    let mut places = Vec::new();
    for (nth, visits) in outcomes.iter().enumerate() {
        let number = 2 * nth as u32;
        let of_point = [trial(number + 1, visits[0]), trial(number + 2, visits[1])];
        readings.push(reading(nth, &of_point));
        trials.extend(of_point);
        places.push(nth as f64);
    }
    (sweep_of_loads(&places, vec![series("recv", readings)]), trials)
}

/// A series in any placement and load.
pub(crate) fn series(method: &str, readings: Vec<Reading>) -> Series {
    let method = method.into();
    Series { method, placement: None, load: None, unit_ns: None, scaling: None, readings }
}

/// A sweep of loads with points at these places of the axis.
pub(crate) fn sweep_of_loads(places: &[f64], series: Vec<Series>) -> SweepOutcome {
    let mut points = Vec::new();
    for &at in places {
        points.push(PointRecord { label: at.to_string(), at: Some(at), refined: false });
    }
    SweepOutcome {
        axis: AxisKind::Load,
        unit: Some(PointUnit::PacketsPerSecond),
        seed: 0,
        repeats: 1,
        quiet_s: 0.0,
        interval_method: None,
        interval: String::new(),
        points,
        series,
        stopped: false,
    }
}
