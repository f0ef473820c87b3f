//! The two effects of Dain (2004): every method at every load gets an answer.

use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_model::work::WorkModel;
use capbench_plan::for_tests::{at, dain};
use capbench_plan::simulated::{Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, Spacing, SweepPlan};

use super::sweep::{find, plan, run};

/// What is said of the effects, a line each.
fn texts_of(plan: &SweepPlan, methods: Vec<SimulatedMethod>) -> Vec<String> {
    let noise = Noise { per_trial: 0.002, per_second: 0.0 };
    let run = run(plan, &mut SimulatedLaboratory::new(1e6, methods).noise(3, noise));
    let mut texts = Vec::new();
    for finding in find(&run) {
        let Some(Fact::Sweep(fact)) = &finding.fact else { continue };
        if matches!(**fact, SweepFinding::Effect(_)) {
            assert!(!finding.trials.is_empty(), "{}", finding.text);
            texts.push(format!("[{}] {}", finding.scene.unwrap_or_default(), finding.text));
        }
    }
    texts
}

fn sweep(to: u32, points: usize, loads: &[f64], methods: &[&str]) -> SweepPlan {
    let axis =
        Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(to), points, Spacing::Linear).unwrap();
    SweepPlan { repeats: 6, loads: loads.iter().map(|&pps| at(pps)).collect(), ..plan(axis, methods) }
}

fn without_regimes() -> Vec<SimulatedMethod> {
    vec![
        SimulatedMethod::new("recv", 1e9 / 2500.0).cost(2500, 1000).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 1000).sharing_cpu(),
        SimulatedMethod::new("xdp-count", 1e9 / 100.0),
    ]
}

#[test]
fn effects_that_are_built_in_are_said_to_appear() {
    let methods = vec![
        SimulatedMethod::with_regimes("recv", dain()),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 8000).sharing_cpu(),
    ];
    insta::assert_snapshot!(
        texts_of(&sweep(36_000, 19, &[45_000.0], &["recv", "packet-v2"]), methods).join("\n")
    );
}

#[test]
fn effects_that_are_not_there_are_said_not_to_appear() {
    let plan = sweep(24_000, 13, &[20_000.0, 167_000.0], &["recv", "packet-v2", "xdp-count"]);
    insta::assert_snapshot!(texts_of(&plan, without_regimes()).join("\n"));
}

#[test]
fn what_cannot_be_told_is_not_told() {
    let few = SweepPlan { repeats: 1, ..sweep(24_000, 5, &[167_000.0], &["recv", "packet-v2"]) };
    let text = texts_of(&few, without_regimes()).join("\n");
    assert!(
        text.contains("first effect (more work per packet, more packets) cannot be decided: 1 visits"),
        "{text}"
    );
    assert!(text.contains("cannot be decided against recv with 1 visits"), "{text}");
    let alone = texts_of(&sweep(24_000, 13, &[167_000.0], &["packet-v2"]), without_regimes()).join("\n");
    assert!(alone.contains("cannot be decided: no method without a ring was measured next to it"), "{alone}");
}

#[test]
fn a_deep_buffer_is_no_effect() {
    let methods = || {
        vec![
            SimulatedMethod::new("recv", 1e9 / 2000.0).cost(2000, 0).room(Room::Frames(20_000)),
            SimulatedMethod::new("packet-v2", 1e9 / 2000.0).cost(2000, 0).room(Room::Frames(100)),
        ]
    };
    let plan = sweep(33_000, 12, &[45_000.0], &["recv", "packet-v2"]);
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods()));
    let delivered = |series: usize| run.outcome.series[series].readings[11].delivered_pps.median;
    assert!(delivered(0) > 1.2 * delivered(1), "the buffer delivers more of a short trial");
    let text = texts_of(&plan, methods()).join("\n");
    assert!(text.contains("does not appear against recv"), "{text}");
}
