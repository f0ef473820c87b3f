//! What is not there is hardly ever found, however much is searched.

use super::*;
use crate::findings::Finding;
use crate::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::{Spacing, find};

const SEEDS: u64 = 200;
/// Of so many sweeps, one in twenty may say something false.
const FALSE: usize = SEEDS as usize / 20;

/// Of how many sweeps with different noise a finding has the words of each list.
fn said<const N: usize>(
    plan: &SweepPlan,
    methods: &[SimulatedMethod],
    noise: f64,
    lists: [&[&str]; N],
) -> [usize; N] {
    let mut counts = [0; N];
    for seed in 1..=SEEDS {
        let noise = Noise { per_trial: noise, per_second: 0.0 };
        let mut path = SimulatedLaboratory::new(1e6, methods.to_vec()).noise(seed, noise);
        let run = run(&SweepPlan { seed, ..plan.clone() }, &mut path);
        let found = find(&run.outcome, &run.trials);
        for (count, words) in counts.iter_mut().zip(lists) {
            let has_all = |finding: &Finding| words.iter().all(|word| finding.text.contains(word));
            *count += usize::from(found.iter().any(has_all));
        }
    }
    counts
}

/// Points that differ by less than noise does, so that any of them may come out highest.
fn level(points: u32, repeats: u32, methods: &[&str]) -> SweepPlan {
    let axis = works(&(0..points).collect::<Vec<_>>());
    SweepPlan { repeats, loads: vec![at(300_000.0)], ..plan(axis, methods) }
}

#[test]
fn one_regime_is_hardly_ever_taken_for_two() {
    let recv = [SimulatedMethod::new("recv", 200_000.0)];
    let shared = [SimulatedMethod::new("recv", 250_000.0).cost(4000, 2000).sharing_cpu()];
    for (methods, noise) in [(&recv, 0.05), (&shared, 0.03)] {
        let axis = Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(20_000), 16, Spacing::Linear);
        let plan = SweepPlan { repeats: 4, loads: vec![at(300_000.0)], ..plan(axis.unwrap(), &["recv"]) };
        let [false_alarms] = said(&plan, methods, noise, [&[" cost regimes: "]]);
        assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS} at noise {noise}");
    }
}

#[test]
fn noise_is_hardly_ever_taken_for_a_rise() {
    let [false_alarms] = said(
        &level(12, 6, &["recv"]),
        &[SimulatedMethod::new("recv", 200_000.0)],
        0.05,
        [&["first effect", " appears"]],
    );
    assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS}");
}

#[test]
fn methods_that_are_alike_hardly_ever_cross_or_hurt() {
    let names = ["recv", "packet-v2"];
    let methods = names.map(|name| SimulatedMethod::new(name, 200_000.0));
    let lists: [&[&str]; 2] = [&["delivers more than"], &["second effect", " appears"]];
    let false_alarms = said(&level(8, 6, &names), &methods, 0.05, lists);
    assert!(false_alarms.iter().all(|count| *count <= FALSE), "{lists:?}: {false_alarms:?} of {SEEDS}");
}

#[test]
fn load_that_is_held_is_hardly_ever_livelock() {
    let loads = (0..6).map(|nth| Point::Load(at(300_000.0 + f64::from(nth)))).collect();
    let plan = SweepPlan { repeats: 6, ..plan(Axis::new(loads).unwrap(), &["recv"]) };
    let recv = [SimulatedMethod::new("recv", 200_000.0)];
    let [false_alarms] = said(&plan, &recv, 0.1, [&["livelock"]]);
    assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS}");
}
