//! A comparison of two runs in which everything is that one can say.

use capbench_judge::comparison::note::{ComparisonNote, RunSide, RunsDifference};
use capbench_judge::comparison::{
    Change, Comparison, Contrast, Judgement, LeftOut, Measure, NotCompared, Setup, Side, Thresholds,
};

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

fn contrast(
    method: &str,
    measure: Measure,
    medians: [f64; 2],
    change: [f64; 3],
    judgement: Judgement,
) -> Contrast {
    let side = |median: f64| Side { trials: vec![1, 2], median: Some(median), lossy: None };
    Contrast {
        setup: setup(method, "maximum load"),
        setups: 1,
        measure,
        then: side(medians[0]),
        now: side(medians[1]),
        change: Change { middle: change[0], low: Some(change[1]), high: Some(change[2]) },
        by_chance: Some(0.0002),
        corrected: Some(if judgement == Judgement::NotShown { 0.4 } else { 0.0021 }),
        judgement,
    }
}

pub fn example() -> Comparison {
    let pooled = Contrast {
        setup: Setup { placement: Some("same".into()), ..Setup::default() },
        setups: 14,
        then: Side { trials: vec![1], ..Side::default() },
        now: Side { trials: vec![1], ..Side::default() },
        ..contrast("", Measure::TotalCost, [0.0; 2], [0.21, 0.17, 0.26], Judgement::Regression)
    };
    let single = Contrast {
        change: Change { middle: 0.034, low: None, high: None },
        corrected: None,
        by_chance: None,
        ..contrast("libpcap", Measure::WorstLatency, [10_100.0, 10_443.0], [0.0; 3], Judgement::TooFewVisits)
    };
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
            fact: "kernel release".into(),
            then: "6.1.0".into(),
            now: "6.12.1".into(),
        }],
        notes: Vec::new(),
        note_facts: vec![ComparisonNote::Incomplete { run: RunSide::B }],
        contrasts: vec![
            contrast(
                "packet-v3",
                Measure::DeliveredRate,
                [1_234_567.0, 1_012_345.0],
                [-0.18, -0.2244, -0.1312],
                Judgement::Regression,
            ),
            contrast(
                "recv",
                Measure::TotalCost,
                [2100.0, 1700.0],
                [-0.19, -0.25, -0.11],
                Judgement::Improvement,
            ),
            contrast("recv", Measure::LossRatio, [0.0, 0.0002], [0.0002, 0.0, 0.0004], Judgement::NotShown),
            contrast(
                "packet-v2",
                Measure::DeliveredRate,
                [900_000.0; 2],
                [0.001, -0.02, 0.031],
                Judgement::NotShown,
            ),
            single,
            pooled,
        ],
        tested: 5,
        visits_needed: Some(9),
        only_then: vec![setup("recvmmsg", "maximum load")],
        only_now: Vec::new(),
        left_out: vec![LeftOut { subject: "A".into(), because: NotCompared::Invalid, trials: 1 }],
    }
}
