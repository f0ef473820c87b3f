//! Sweeps with few points.

use std::time::Duration;

use capbench_model::for_tests::{measured, profile};
use capbench_model::trial::{Load, Phase, TrialResult};

use super::AxisKind;
use super::outcome::{PointRecord, Reading, Series, SweepOutcome};

/// A trial of a second at this load, of which this rate was delivered and so many frames were lost.
pub(crate) fn at_load(number: u32, pps: f64, delivered_pps: f64, lost: u64) -> TrialResult {
    let load = Load::Rate(capbench_frames::rates::Pps::new(pps).unwrap());
    let sent = pps as u64;
    let measured = measured(sent, sent, sent - lost, lost);
    let trial = measured.result(number, Phase::Sweep, &profile("recv"), load, Duration::from_secs(1));
    TrialResult { delivered_pps, ..trial }
}

/// The trials at a point.
pub(crate) fn reading(point: usize, trials: &[TrialResult]) -> Reading {
    Reading::from_trials(point, &trials.iter().collect::<Vec<_>>(), None).unwrap()
}

pub(crate) fn series(method: &str, readings: Vec<Reading>) -> Series {
    let method = method.into();
    Series { method, placement: None, load: None, unit_ns: None, scaling: None, readings }
}

/// A sweep of loads with these points.
pub(crate) fn outcome(places: &[f64], series: Vec<Series>) -> SweepOutcome {
    let mut points = Vec::new();
    for &at in places {
        points.push(PointRecord { label: at.to_string(), at: Some(at), refined: false });
    }
    SweepOutcome {
        axis: AxisKind::Load,
        unit: Some("packets/s".into()),
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
