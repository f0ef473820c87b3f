//! A comparison of two runs with a contrast of every judgement but one: no change is below the threshold.

use capbench_judge::comparison::note::{ComparisonNote, RunSide, RunsDifference};
use capbench_judge::comparison::{
    Change, Comparison, Contrast, Judgement, LeftOut, Measure, NotCompared, Setup, Side, Thresholds,
};
use capbench_model::environment::HostFact;

/// A set-up of 64-byte frames without work.
fn setup(method: &str, load: &str) -> Setup {
    Setup {
        method: Some(method.into()),
        placement: Some("same".into()),
        frame_size: Some("64".into()),
        work: Some("none".into()),
        load: Some(load.into()),
        ..Setup::default()
    }
}

/// A figure of one method at maximum load.
struct Figure {
    method: &'static str,
    measure: Measure,
    then: f64,
    now: f64,
    /// The change with the ends of its interval.
    change: Change,
    judgement: Judgement,
}

impl Figure {
    fn contrast(self) -> Contrast {
        let side = |median: f64| Side { trials: vec![1, 2], median: Some(median), lossy: None };
        Contrast {
            setup: setup(self.method, "maximum load"),
            setups: 1,
            measure: self.measure,
            then: side(self.then),
            now: side(self.now),
            change: self.change,
            by_chance: Some(0.0002),
            corrected: Some(if self.judgement == Judgement::NotShown { 0.4 } else { 0.0021 }),
            judgement: self.judgement,
        }
    }
}

/// The rate of packet-v3 is lower.
fn lower_rate() -> Contrast {
    let figure = Figure {
        method: "packet-v3",
        measure: Measure::DeliveredRate,
        then: 1_234_567.0,
        now: 1_012_345.0,
        change: Change { middle: -0.18, low: Some(-0.2244), high: Some(-0.1312) },
        judgement: Judgement::Regression,
    };
    figure.contrast()
}

/// The cost of recv is lower.
fn lower_cost() -> Contrast {
    let figure = Figure {
        method: "recv",
        measure: Measure::TotalCost,
        then: 2100.0,
        now: 1700.0,
        change: Change { middle: -0.19, low: Some(-0.25), high: Some(-0.11) },
        judgement: Judgement::Improvement,
    };
    figure.contrast()
}

/// The loss of recv is higher by no more than chance explains.
fn same_loss() -> Contrast {
    let figure = Figure {
        method: "recv",
        measure: Measure::LossRatio,
        then: 0.0,
        now: 0.0002,
        change: Change { middle: 0.0002, low: Some(0.0), high: Some(0.0004) },
        judgement: Judgement::NotShown,
    };
    figure.contrast()
}

/// The rate of packet-v2 is the same.
fn same_rate() -> Contrast {
    let figure = Figure {
        method: "packet-v2",
        measure: Measure::DeliveredRate,
        then: 900_000.0,
        now: 900_000.0,
        change: Change { middle: 0.001, low: Some(-0.02), high: Some(0.031) },
        judgement: Judgement::NotShown,
    };
    figure.contrast()
}

/// The latency of libpcap was measured too seldom to be judged.
fn undecided_latency() -> Contrast {
    let figure = Figure {
        method: "libpcap",
        measure: Measure::WorstLatency,
        then: 10_100.0,
        now: 10_443.0,
        change: Change { middle: 0.034, low: None, high: None },
        judgement: Judgement::TooFewVisits,
    };
    Contrast { by_chance: None, corrected: None, ..figure.contrast() }
}

/// The cost of all 14 set-ups together is higher. Such a contrast has no figures of its sides.
fn higher_cost_of_all() -> Contrast {
    let side = Side { trials: vec![1], ..Side::default() };
    Contrast {
        setup: Setup { placement: Some("same".into()), ..Setup::default() },
        setups: 14,
        measure: Measure::TotalCost,
        then: side.clone(),
        now: side,
        change: Change { middle: 0.21, low: Some(0.17), high: Some(0.26) },
        by_chance: Some(0.0002),
        corrected: Some(0.0021),
        judgement: Judgement::Regression,
    }
}

/// The comparison of two runs, `A` and `B`.
pub fn example() -> Comparison {
    Comparison {
        then: "A".into(),
        now: "B".into(),
        paired: false,
        hosts: None,
        disturbed: false,
        damaged: false,
        thresholds: Thresholds::default(),
        false_alarms: 0.05,
        differences: Vec::new(),
        difference_facts: vec![RunsDifference::Host {
            fact: HostFact::KernelRelease,
            then: "6.1.0".into(),
            now: "6.12.1".into(),
        }],
        notes: Vec::new(),
        note_facts: vec![ComparisonNote::Incomplete { run: RunSide::B }],
        contrasts: vec![
            lower_rate(),
            lower_cost(),
            same_loss(),
            same_rate(),
            undecided_latency(),
            higher_cost_of_all(),
        ],
        tested: 5,
        visits_needed: Some(9),
        only_then: vec![setup("recvmmsg", "maximum load")],
        only_now: Vec::new(),
        left_out: vec![LeftOut { subject: "A".into(), because: NotCompared::Invalid, trials: 1 }],
    }
}
