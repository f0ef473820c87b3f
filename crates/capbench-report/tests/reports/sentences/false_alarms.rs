//! What is not there is hardly ever found, however much is searched.

use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_model::units::ByteCount;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use capbench_model::statistics::interval::Estimate;
use capbench_plan::for_tests::{at, dain};
use capbench_plan::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, Point, SweepPlan, SweepRun};
use capbench_results::Finding;

use super::sweep::{find, plan, run, up_to, works};

const SEEDS: u64 = 200;
/// Of so many sweeps, one in twenty may say something false.
const FALSE: usize = SEEDS as usize / 20;

/// Sweeps of a path that has what is looked for: each of them has to show it, or the alarm is not recognised.
const CONTROLS: u64 = 5;

/// Whether a finding says what may be a false alarm.
type IsAlarm = fn(&Finding) -> bool;

fn sweep_fact(finding: &Finding) -> Option<&SweepFinding> {
    match &finding.fact {
        Some(Fact::Sweep(fact)) => Some(fact.as_ref()),
        _ => None,
    }
}

fn has_two_regimes(finding: &Finding) -> bool {
    matches!(sweep_fact(finding), Some(SweepFinding::PacketCost(fact)) if fact.regimes.len() > 1)
}

fn is_crossing(finding: &Finding) -> bool {
    matches!(sweep_fact(finding), Some(SweepFinding::Crossing(_)))
}

fn is_livelock(finding: &Finding) -> bool {
    matches!(sweep_fact(finding), Some(SweepFinding::Livelock(_)))
}

/// Of rings the least of many is named all the same, without the evidence.
fn is_proven_cheapest(finding: &Finding) -> bool {
    match sweep_fact(finding) {
        Some(SweepFinding::CheapestAtPoints(fact)) => fact.evidence.is_some(),
        Some(SweepFinding::CheapestRing(fact)) => fact.evidence.is_some(),
        _ => false,
    }
}

fn is_first_effect(finding: &Finding) -> bool {
    finding.text.contains("first effect") && finding.text.contains(" appears")
}

fn is_second_effect(finding: &Finding) -> bool {
    finding.text.contains("second effect") && finding.text.contains(" appears")
}

/// In how many sweeps with different noise there is each alarm.
fn alarms<const N: usize>(
    plan: &SweepPlan,
    methods: &[SimulatedMethod],
    noise: f64,
    seeds: u64,
    wanted: [IsAlarm; N],
) -> [usize; N] {
    let mut counts = [0; N];
    for seed in 1..=seeds {
        let noise = Noise { per_trial: noise, per_second: 0.0 };
        let mut path = SimulatedLaboratory::new(1e6, methods.to_vec()).noise(seed, noise);
        let run = run(&SweepPlan { seed, ..plan.clone() }, &mut path);
        let found = find(&run);
        for (count, is_alarm) in counts.iter_mut().zip(wanted) {
            *count += usize::from(found.iter().any(is_alarm));
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
fn lengthy_one_regime_is_hardly_ever_taken_for_two() {
    let wanted: [IsAlarm; 1] = [has_two_regimes];
    let recv = [SimulatedMethod::new("recv", 200_000.0)];
    let shared = [SimulatedMethod::new("recv", 250_000.0).cost(4000, 2000).sharing_cpu()];
    for (methods, noise) in [(&recv, 0.05), (&shared, 0.03)] {
        let [false_alarms] = alarms(&up_to(20_000, 16, 300_000.0, &["recv"]), methods, noise, SEEDS, wanted);
        assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS} at noise {noise}");
    }
    let two = [SimulatedMethod::with_regimes("recv", dain())];
    let plan = up_to(36_000, 24, 300_000.0, &["recv"]);
    assert_eq!(alarms(&plan, &two, 0.01, CONTROLS, wanted), [CONTROLS as usize]);
}

#[test]
fn lengthy_noise_is_hardly_ever_taken_for_a_rise() {
    let wanted: [IsAlarm; 1] = [is_first_effect];
    let recv = [SimulatedMethod::new("recv", 200_000.0)];
    let [false_alarms] = alarms(&level(12, 6, &["recv"]), &recv, 0.05, SEEDS, wanted);
    assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS}");
    let rising = [SimulatedMethod::with_regimes("recv", dain())];
    let plan = SweepPlan { repeats: 6, ..up_to(36_000, 12, 45_000.0, &["recv"]) };
    assert_eq!(alarms(&plan, &rising, 0.01, CONTROLS, wanted), [CONTROLS as usize]);
}

#[test]
fn methods_that_are_alike_hardly_ever_cross_or_hurt() {
    let names = ["recv", "packet-v2"];
    let methods = names.map(|name| SimulatedMethod::new(name, 200_000.0));
    let wanted: [IsAlarm; 2] = [is_crossing, is_second_effect];
    let false_alarms = alarms(&level(8, 6, &names), &methods, 0.05, SEEDS, wanted);
    assert!(false_alarms.iter().all(|count| *count <= FALSE), "{false_alarms:?} of {SEEDS}");
    // The ring saves the application 2 us and costs the kernel 1.2 us more, and the kernel goes first.
    let crossing = [
        SimulatedMethod::new("recv", 1e9 / 2500.0).cost(2500, 1000).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 2200).sharing_cpu(),
    ];
    let plan = SweepPlan { repeats: 8, ..up_to(24_000, 13, 167_000.0, &names) };
    assert_eq!(alarms(&plan, &crossing, 0.001, CONTROLS, wanted), [CONTROLS as usize; 2]);
}

#[test]
fn load_that_is_held_is_hardly_ever_livelock() {
    let wanted: [IsAlarm; 1] = [is_livelock];
    let loads = |step: f64| (0..6).map(|nth| Point::Load(at(300_000.0 + f64::from(nth) * step))).collect();
    let sweep = |step| SweepPlan { repeats: 6, ..plan(Axis::new(loads(step)).unwrap(), &["recv"]) };
    let recv = SimulatedMethod::new("recv", 200_000.0);
    let [false_alarms] = alarms(&sweep(1.0), std::slice::from_ref(&recv), 0.1, SEEDS, wanted);
    assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS}");
    assert_eq!(alarms(&sweep(50_000.0), &[recv.livelock(0.5)], 0.01, CONTROLS, wanted), [CONTROLS as usize]);
}

/// The same sweep with costs that vary by so much from trial to trial, by this seed.
fn with_varying_costs(mut run: SweepRun, spread: f64, seed: u64) -> SweepRun {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for trial in &mut run.trials {
        let even = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let cost = trial.cpu.total_ns_per_packet.map(|ns| ns * (1.0 + spread * (2.0 * even - 1.0)));
        trial.cpu.total_ns_per_packet = cost;
    }
    for series in &mut run.outcome.series {
        for reading in &mut series.readings {
            let trials = run.trials.iter().filter(|trial| reading.trials.contains(&trial.number));
            reading.total_ns_per_packet =
                Estimate::of(trials.filter_map(|trial| trial.cpu.total_ns_per_packet));
        }
    }
    run
}

#[test]
fn lengthy_costs_that_are_alike_hardly_ever_have_a_cheapest() {
    let names = ["recv", "packet-v2", "packet-v3"];
    let loads: Vec<_> = (1..=6).map(|nth| Point::Load(at(f64::from(nth) * 10_000.0))).collect();
    let loads = SweepPlan { repeats: 6, ..plan(Axis::new(loads).unwrap(), &names) };
    let rings = Axis::rings(512, 16_384, ByteCount(2048)).unwrap();
    let rings = SweepPlan { repeats: 6, loads: vec![at(50_000.0)], ..plan(rings, &names) };
    let methods = |costs: [u64; 3]| -> Vec<_> {
        let method = |(name, cost): (&str, u64)| SimulatedMethod::new(name, 2e5).cost(cost, 500);
        names.into_iter().zip(costs).map(method).collect()
    };
    for plan in [loads, rings] {
        let alarms = |costs: [u64; 3], seeds: u64| {
            let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods(costs)));
            let is_told = |seed: &u64| {
                let SweepRun { outcome, trials } = &run;
                let run = SweepRun { outcome: outcome.clone(), trials: trials.clone() };
                let run = with_varying_costs(run, 0.3, *seed);
                find(&run).iter().any(is_proven_cheapest)
            };
            (1..=seeds).filter(is_told).count()
        };
        let false_alarms = alarms([500; 3], SEEDS);
        assert!(false_alarms <= FALSE, "{false_alarms} of {SEEDS}");
        assert_eq!(alarms([1500, 500, 1500], CONTROLS), CONTROLS as usize);
    }
}
