//! Sweeps of every kind on the simulated path.

mod bursts;
mod course;
mod estimate;
mod guarded;
mod kinds;
mod members;
mod regimes;

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use super::{Axis, Point, Probe, SweepPlan, SweepRun};
use crate::Result;
use crate::for_tests::{Collected, at, dain, sweep_plan as plan};
use crate::simulated::TwoRegimes;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{Load, TrialResult};
use capbench_model::work::WorkModel;

fn works(ns: &[u32]) -> Axis {
    Axis::new(ns.iter().map(|&ns| Point::Work(WorkModel::Nanoseconds(ns))).collect()).unwrap()
}

fn run(plan: &SweepPlan, laboratory: &mut dyn Laboratory) -> SweepRun {
    plan.run(laboratory, &mut Collected::default()).unwrap()
}

/// Medians of the delivered rate of one series.
fn delivered(run: &SweepRun, series: usize) -> Vec<f64> {
    run.outcome.series[series].readings.iter().map(|reading| reading.delivered_pps.median).collect()
}
