//! Sweeps of every kind on the simulated path.

mod bursts;
mod course;
mod effects;
mod estimate;
mod guarded;
mod kinds;
mod regimes;

use std::time::Duration;

use capbench_capture::MethodSpec;
use capbench_frames::rates::Pps;

use super::{Axis, AxisKind, Observer as SweepObserver, Point, Probe, SweepOutcome, SweepPlan, SweepRun};
use crate::error::{MeasureError, Result};
use crate::laboratory::{Laboratory, Setup};
use crate::placement::PlacementChoice;
use crate::session::Observer;
use crate::simulated::{TwoRegimes, setup};
use crate::trial::{Load, TrialResult};
use crate::work::WorkModel;

/// Follows a sweep, and stops it after so many trials.
#[derive(Default)]
struct Record {
    started: Vec<String>,
    ended: usize,
    skipped: Vec<String>,
    stop_after: Option<usize>,
    swept: Vec<SweepOutcome>,
}

impl Observer for Record {
    fn starts(&mut self, what: &str) {
        self.started.push(what.into());
    }
    fn ends(&mut self, _: &TrialResult) -> Result<()> {
        self.ended += 1;
        Ok(())
    }
    fn skips(&mut self, setup: &Setup, _: Load, why: &MeasureError) {
        self.skipped.push(format!("{}: {why}", setup.method));
    }
    fn stopping(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.ended >= limit)
    }
}

impl SweepObserver for Record {
    fn swept(&mut self, so_far: SweepOutcome) {
        self.swept.push(so_far);
    }
}

fn at(pps: f64) -> Load {
    Load::Rate(Pps::new(pps).unwrap())
}

fn works(ns: &[u32]) -> Axis {
    Axis::new(ns.iter().map(|&ns| Point::Work(WorkModel::Nanoseconds(ns))).collect()).unwrap()
}

fn plan(axis: Axis, methods: &[&str]) -> SweepPlan {
    let placements =
        if axis.kind() == AxisKind::Placement { Vec::new() } else { vec![PlacementChoice::Same] };
    let loads = if axis.kind() == AxisKind::Load { Vec::new() } else { vec![at(100_000.0)] };
    SweepPlan {
        axis,
        methods: methods.iter().map(|name| MethodSpec::plain(name)).collect(),
        base: setup(64),
        placements,
        loads,
        probe: Probe::Trial,
        duration: Duration::from_secs(1),
        repeats: 1,
        refinement: 0,
        seed: 1,
        left_out: Vec::new(),
    }
}

fn run(plan: &SweepPlan, laboratory: &mut dyn Laboratory) -> SweepRun {
    plan.run(laboratory, &mut Record::default()).unwrap()
}

/// Medians of the delivered rate of one series.
fn delivered(run: &SweepRun, series: usize) -> Vec<f64> {
    run.outcome.series[series].readings.iter().map(|reading| reading.delivered_pps.median).collect()
}

/// The constants that are read off Dain's first table.
fn dain() -> TwoRegimes {
    TwoRegimes {
        asleep: Duration::from_nanos(17_300),
        busy: Duration::from_nanos(4_600),
        asleep_until: Duration::from_nanos(9_000),
        busy_from: Duration::from_nanos(18_000),
        batch: 20.0,
    }
}
