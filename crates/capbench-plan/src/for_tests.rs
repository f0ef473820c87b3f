//! Shared parts of tests of runs, for this crate and those above it: an observer that collects its events, and plans, paths and
//! results to begin from.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use crate::Observer;
use crate::Result;
use crate::bench::{BenchPlan, Searching};
use crate::simulated::{Interrupts, SimulatedLaboratory, SimulatedMethod, TwoRegimes};
use crate::sweep::{Axis, Probe, SweepPlan};
use capbench_judge::reproduction::{LeftOut, Reproduction};
use capbench_judge::rfc2544::{NotTested, Tested, Untested};
use capbench_judge::search::{GoalResult, Ratio, SearchOutcome};
use capbench_judge::soak::record::{Interval, SoakRecord};
use capbench_judge::soak::segment::Segment;
use capbench_judge::sweep::SweepOutcome;
use capbench_model::TrialError;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Setup;
use capbench_model::not_measured::NotMeasured;
use capbench_model::placement::PlacementChoice;
use capbench_model::saved::Saved;
use capbench_model::trial::{Load, TrialResult};

/// Collects all events of an observer, for any kind of run.
#[derive(Debug, Default)]
pub struct Collected {
    /// Number of trials, or segments of a soak, after which it asks to stop; `None` lets the run end by itself.
    pub stop_after: Option<usize>,
    /// Whether it collects set-ups that cannot be measured. Otherwise they fail the test.
    pub expects_skips: bool,
    /// Whether it collects the state of searches after each trial.
    pub follows_searches: bool,
    /// The announcement of each trial.
    pub started: Vec<String>,
    /// The trials that ended.
    pub trials: Vec<TrialResult>,
    /// Method and reason of each set-up that could not be measured.
    pub skipped: Vec<String>,
    /// Number of segments of a soak that ended.
    pub segments: usize,
    /// The state of searches after each trial.
    pub searching: Vec<SearchOutcome>,
    /// The completed searches.
    pub searches: Vec<SearchOutcome>,
    /// The state of sweeps after each visit, and at their ends.
    pub swept: Vec<SweepOutcome>,
    /// The completed tests of RFC 2544.
    pub tested: Vec<Tested>,
    /// Tests of RFC 2544 that make no sense.
    pub untested: Vec<Untested>,
    /// Methods that are not available.
    pub not_measured: Vec<NotMeasured>,
    /// The state of publications after each step.
    pub reproduced: Vec<Reproduction>,
}

impl Collected {
    /// Asks to stop after this many trials.
    pub fn stopping_after(trials: usize) -> Self {
        Self { stop_after: Some(trials), ..Self::default() }
    }

    /// Collects set-ups that cannot be measured.
    pub fn expecting_skips() -> Self {
        Self { expects_skips: true, ..Self::default() }
    }
}

/// What a search concluded for a goal, without the numbers of trials and without parts of a frame per second.
pub fn conclusion(goal: &GoalResult) -> String {
    let lower = goal.lower.as_ref().map(|lower| lower.achieved_pps.floor());
    let upper = goal.upper.as_ref().map(|upper| upper.intended_pps.floor());
    let coarser = goal.so_far.as_ref().map(|so_far| so_far.relative_width);
    format!("{} {:?} {lower:?} {upper:?} {coarser:?} {:?}", goal.goal.name, goal.status, goal.reason)
}

impl Observer for Collected {
    fn starts(&mut self, what: &str) {
        self.started.push(what.into());
    }

    fn ends(&mut self, result: &TrialResult) -> Result<()> {
        self.trials.push(result.clone());
        Ok(())
    }

    fn skips(&mut self, setup: &Setup, load: Load, why: &TrialError) {
        assert!(self.expects_skips, "{} at {load}: {why}", setup.method);
        self.skipped.push(format!("{}: {why}", setup.method));
    }

    fn stopping(&self) -> bool {
        self.stop_after.is_some_and(|limit| self.trials.len() + self.segments >= limit)
    }

    fn keeps_searches(&self) -> bool {
        self.follows_searches
    }

    fn searching(&mut self, so_far: SearchOutcome) {
        self.searching.push(so_far);
    }

    fn searched(&mut self, outcome: SearchOutcome) -> Result<()> {
        self.searches.push(outcome);
        Ok(())
    }

    fn swept(&mut self, so_far: SweepOutcome) {
        self.swept.push(so_far);
    }

    fn segment(&mut self, _: &Segment, _: &Interval, _: &SoakRecord) -> Result<()> {
        self.segments += 1;
        Ok(())
    }

    fn tested(&mut self, tested: Tested) -> Result<()> {
        self.tested.push(tested);
        Ok(())
    }

    fn passes_over(&mut self, setup: &Setup, test: &'static str, because: NotTested) {
        self.untested.push(Untested { method: Saved::Known(setup.method.clone()), test, because });
    }

    fn leaves_out(&mut self, left: &LeftOut) {
        let LeftOut { method, placement, reason } = left;
        let method = Saved::Known(method.clone());
        self.not_measured.push(NotMeasured::new(method, Some(*placement), reason.clone()));
    }

    fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
        self.reproduced.push(so_far);
        Ok(())
    }
}

/// A rate in packets/s.
///
/// # Panics
/// When it is no rate.
pub fn pps(rate: f64) -> Pps {
    Pps::new(rate).unwrap()
}

/// A load at a constant rate in packets/s.
///
/// # Panics
/// When it is no rate.
pub fn at(rate: f64) -> Load {
    Load::Rate(pps(rate))
}

/// A card whose driver aims at 11 frames for each interrupt.
pub const INTERRUPTS: Interrupts = Interrupts {
    cost: Duration::from_micros(2),
    usual: Duration::from_micros(30),
    descriptors: 64,
    aim: 11.0,
    at_most: Duration::from_millis(1),
};

/// Methods by their names.
///
/// # Panics
/// When a text names no method.
pub fn specs(names: &[&str]) -> Vec<MethodSpec> {
    names.iter().map(|name| name.parse().expect("a method")).collect()
}

/// A method that livelocks, one that sustains most loads, and one that sustains every load.
pub fn methods() -> Vec<SimulatedMethod> {
    vec![
        SimulatedMethod::new("recv", 400_000.0).livelock(0.5).cost(500, 900),
        SimulatedMethod::new("packet-v2", 900_000.0).cost(90, 700),
        SimulatedMethod::new("packet-v3", 2_000_000.0).cost(60, 650),
    ]
}

/// A path with [`methods`]. Its generator reaches a million packets/s.
pub fn path() -> SimulatedLaboratory {
    SimulatedLaboratory::new(1_000_000.0, methods())
}

/// The methods that publications need, as on a host of today: without the cards of 2008.
pub fn publication_methods() -> Vec<SimulatedMethod> {
    vec![
        SimulatedMethod::new("recv", 400_000.0).livelock(0.3).cost(900, 1200),
        SimulatedMethod::new("libpcap", 1_100_000.0).cost(150, 900),
        SimulatedMethod::new("packet-v1", 800_000.0).cost(250, 900),
        SimulatedMethod::new("packet-v2", 900_000.0).cost(200, 900),
        SimulatedMethod::new("packet-v3", 1_600_000.0).cost(100, 700),
        SimulatedMethod::new("xdp-count+generic", 2_000_000.0).cost(0, 300),
        SimulatedMethod::new("xdp-count+generic+napi-defer", 2_000_000.0).cost(0, 250),
        SimulatedMethod::new("recv+napi-defer", 500_000.0).cost(900, 800),
        SimulatedMethod::new("recv+napi-thread", 450_000.0).cost(900, 900),
    ]
}

/// The constants of Dain's first table: a packet costs 17.3 us while each packet wakes the application, and 4.6 us while the
/// application never sleeps.
pub fn dain() -> TwoRegimes {
    TwoRegimes {
        asleep: Duration::from_nanos(17_300),
        busy: Duration::from_nanos(4_600),
        asleep_until: Duration::from_nanos(9_000),
        busy_from: Duration::from_nanos(18_000),
        batch: 20.0,
    }
}

/// A bench of 64-byte frames on the same CPU: trials of a second, one visit.
pub fn bench_plan(methods: &[&str]) -> BenchPlan {
    BenchPlan {
        methods: specs(methods),
        sizes: vec![setup(64)],
        placements: vec![PlacementChoice::Same],
        duration: Duration::from_secs(1),
        rate: None,
        visits: 1,
        seed: 1,
        against: None,
        left_out: Vec::new(),
        turns: None,
        searching: None,
    }
}

/// The same with searches of sustained rates, 5 % precise.
pub fn searching_bench_plan(methods: &[&str]) -> BenchPlan {
    let precision = Ratio::new(0.05).expect("a ratio");
    let trial = Searching::least_trial(precision);
    let (budget, quiet) = (Duration::from_secs(90), setup(64).quiet);
    BenchPlan {
        duration: Duration::from_millis(400),
        searching: Some(Searching { precision, budget, trial, quiet }),
        ..bench_plan(methods)
    }
}

/// A sweep of 64-byte frames at 100,000 packets/s on the same CPU, unless these are its axis: trials of a second, one visit, no
/// refinement.
pub fn sweep_plan(axis: Axis, methods: &[&str]) -> SweepPlan {
    let placements = if axis.kind().replaces_placements() { Vec::new() } else { vec![PlacementChoice::Same] };
    let loads = if axis.kind().replaces_loads() { Vec::new() } else { vec![at(100_000.0)] };
    SweepPlan {
        axis,
        methods: specs(methods),
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
