//! The two effects of Dain (2004): every method at every load gets an answer.

use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_model::work::WorkModel;
use capbench_plan::for_tests::{at, dain, sweep_plan as plan};
use capbench_plan::simulated::{Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, Spacing, SweepPlan};

use super::sweep::{find, run};

/// The findings about the effects, a line each: `[scene] text`.
fn effects(plan: &SweepPlan, methods: Vec<SimulatedMethod>) -> String {
    let noise = Noise { per_trial: 0.002, per_second: 0.0 };
    let run = run(plan, &mut SimulatedLaboratory::new(1e6, methods).noise(3, noise));
    let mut lines = Vec::new();
    for finding in find(&run) {
        let Some(Fact::Sweep(fact)) = &finding.fact else { continue };
        if matches!(**fact, SweepFinding::Effect(_)) {
            assert!(!finding.trials.is_empty(), "{}", finding.text);
            lines.push(format!("[{}] {}", finding.scene.unwrap_or_default(), finding.text));
        }
    }
    lines.join("\n")
}

/// A sweep from no work to work of `most_ns` per frame, at each of these loads, with six visits of each point.
fn sweep(most_ns: u32, points: usize, loads: &[f64], methods: &[&str]) -> SweepPlan {
    let most = WorkModel::Nanoseconds(most_ns);
    let axis = Axis::work(WorkModel::Nanoseconds(0), most, points, Spacing::Linear).unwrap();
    SweepPlan { repeats: 6, loads: loads.iter().map(|&pps| at(pps)).collect(), ..plan(axis, methods) }
}

/// Methods with neither effect: more work never means more frames, and the ring costs the kernel no more than the socket.
fn methods_without_effects() -> Vec<SimulatedMethod> {
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
    insta::assert_snapshot!(effects(&sweep(36_000, 19, &[45_000.0], &["recv", "packet-v2"]), methods));
}

#[test]
fn effects_that_are_not_there_are_said_not_to_appear() {
    let plan = sweep(24_000, 13, &[20_000.0, 167_000.0], &["recv", "packet-v2", "xdp-count"]);
    insta::assert_snapshot!(effects(&plan, methods_without_effects()));
}

#[test]
fn one_visit_decides_no_effect() {
    let one_visit = SweepPlan { repeats: 1, ..sweep(24_000, 5, &[167_000.0], &["recv", "packet-v2"]) };
    let text = effects(&one_visit, methods_without_effects());
    assert!(
        text.contains("first effect (more work per packet, more packets) cannot be decided: 1 visits"),
        "{text}"
    );
    assert!(text.contains("cannot be decided against recv with 1 visits"), "{text}");
}

#[test]
fn a_ring_without_a_socket_next_to_it_decides_no_second_effect() {
    let only_a_ring = sweep(24_000, 13, &[167_000.0], &["packet-v2"]);
    let text = effects(&only_a_ring, methods_without_effects());
    assert!(text.contains("cannot be decided: no method without a ring was measured next to it"), "{text}");
}

#[test]
fn a_deep_buffer_is_no_effect() {
    // Both methods cost the same, but the socket has room for 200 times as many frames as the ring.
    let methods = || {
        vec![
            SimulatedMethod::new("recv", 1e9 / 2000.0).cost(2000, 0).room(Room::Frames(20_000)),
            SimulatedMethod::new("packet-v2", 1e9 / 2000.0).cost(2000, 0).room(Room::Frames(100)),
        ]
    };
    let plan = sweep(33_000, 12, &[45_000.0], &["recv", "packet-v2"]);
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods()));
    let [socket, ring] = [0, 1].map(|series: usize| &run.outcome.series[series].readings[11]);
    assert!(
        socket.delivered_pps.median > 1.2 * ring.delivered_pps.median,
        "the buffer delivers more of a short trial"
    );
    let text = effects(&plan, methods());
    assert!(text.contains("does not appear against recv"), "{text}");
}
