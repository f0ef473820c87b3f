//! The two effects of Dain (2004): every method at every load gets an answer.

use super::*;
use crate::simulated::{Noise, Room, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::Spacing;
use capbench_judge::sweep::effects::{SupportedEffect, effects};
use capbench_judge::sweep::outcome::Swept;

/// What is said of the effects, a line each.
fn said(plan: &SweepPlan, methods: Vec<SimulatedMethod>) -> Vec<String> {
    let noise = Noise { per_trial: 0.002, per_second: 0.0 };
    let run = run(plan, &mut SimulatedLaboratory::new(1e6, methods).noise(3, noise));
    effects(&Swept::new(&run.outcome, &run.trials))
        .into_iter()
        .map(|SupportedEffect { effect, trials }| {
            assert!(!trials.is_empty(), "{}", effect.answer);
            format!("[{}] {}: {}", effect.scene.words().unwrap_or_default(), effect.method, effect.answer)
        })
        .collect()
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
        said(&sweep(36_000, 19, &[45_000.0], &["recv", "packet-v2"]), methods).join("\n")
    );
}

#[test]
fn effects_that_are_not_there_are_said_not_to_appear() {
    let plan = sweep(24_000, 13, &[20_000.0, 167_000.0], &["recv", "packet-v2", "xdp-count"]);
    insta::assert_snapshot!(said(&plan, without_regimes()).join("\n"));
}

#[test]
fn what_cannot_be_told_is_not_told() {
    let few = SweepPlan { repeats: 1, ..sweep(24_000, 5, &[167_000.0], &["recv", "packet-v2"]) };
    let text = said(&few, without_regimes()).join("\n");
    assert!(
        text.contains("first effect (more work per packet, more packets) cannot be decided: 1 visits"),
        "{text}"
    );
    assert!(text.contains("cannot be decided against recv with 1 visits"), "{text}");
    let alone = said(&sweep(24_000, 13, &[167_000.0], &["packet-v2"]), without_regimes()).join("\n");
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
    let text = said(&plan, methods()).join("\n");
    assert!(text.contains("does not appear against recv"), "{text}");
}
