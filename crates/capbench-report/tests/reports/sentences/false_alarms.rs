//! Sweeps hardly ever show what is not there, however many points and methods are compared. Tests whose names begin with `lengthy`
//! take long.

use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_model::units::ByteCount;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use capbench_plan::for_tests::{at, dain, sweep_plan as plan};
use capbench_plan::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, Point, SweepPlan, SweepRun};
use capbench_results::Finding;
use capbench_statistics::interval::Estimate;

use super::sweep::{find, run, work_up_to, works};

/// Number of sweeps with different noise that search for something that is not there.
const SEEDS: u64 = 200;
/// Up to one sweep in twenty may have a false alarm.
const MOST_FALSE_ALARMS: usize = SEEDS as usize / 20;

/// Number of sweeps of a path that has what is searched for. Each of them has to show it, or the test recognises no alarm.
const CONTROLS: u64 = 5;

/// Whether a finding claims what a test searches for.
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

/// The cheapest ring of many is named even if chance may explain it, but then without evidence.
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

/// Sweeps with different noise.
struct NoisySweeps<'p> {
    plan: &'p SweepPlan,
    methods: &'p [SimulatedMethod],
    /// The share by which trials differ.
    noise: f64,
    /// Number of sweeps.
    seeds: u64,
}

impl NoisySweeps<'_> {
    /// In how many of the sweeps each kind of alarm is found.
    fn count<const N: usize>(&self, kinds: [IsAlarm; N]) -> [usize; N] {
        let mut counts = [0; N];
        for seed in 1..=self.seeds {
            let noise = Noise { per_trial: self.noise, per_second: 0.0 };
            let mut path = SimulatedLaboratory::new(1e6, self.methods.to_vec()).noise(seed, noise);
            let found = find(&run(&SweepPlan { seed, ..self.plan.clone() }, &mut path));
            for (count, is_alarm) in counts.iter_mut().zip(kinds) {
                *count += usize::from(found.iter().any(is_alarm));
            }
        }
        counts
    }
}

/// Points that differ by a nanosecond of work, less than noise does, so that any of them may have the highest rate.
fn level(points: u32, repeats: u32, methods: &[&str]) -> SweepPlan {
    let axis = works(&(0..points).collect::<Vec<_>>());
    SweepPlan { repeats, loads: vec![at(300_000.0)], ..plan(axis, methods) }
}

#[test]
fn lengthy_one_regime_is_hardly_ever_taken_for_two() {
    let recv = [SimulatedMethod::new("recv", 200_000.0)];
    let shared = [SimulatedMethod::new("recv", 250_000.0).cost(4000, 2000).sharing_cpu()];
    let plan = work_up_to(20_000, 16, 300_000.0, &["recv"]);
    for (methods, noise) in [(&recv, 0.05), (&shared, 0.03)] {
        let one_regime = NoisySweeps { plan: &plan, methods, noise, seeds: SEEDS };
        let [false_alarms] = one_regime.count([has_two_regimes]);
        assert!(false_alarms <= MOST_FALSE_ALARMS, "{false_alarms} of {SEEDS} at noise {noise}");
    }
    let plan = work_up_to(36_000, 24, 300_000.0, &["recv"]);
    let methods = [SimulatedMethod::with_regimes("recv", dain())];
    let two_regimes = NoisySweeps { plan: &plan, methods: &methods, noise: 0.01, seeds: CONTROLS };
    assert_eq!(two_regimes.count([has_two_regimes]), [CONTROLS as usize]);
}

#[test]
fn lengthy_noise_is_hardly_ever_taken_for_a_rise() {
    let plan = level(12, 6, &["recv"]);
    let methods = [SimulatedMethod::new("recv", 200_000.0)];
    let [false_alarms] =
        NoisySweeps { plan: &plan, methods: &methods, noise: 0.05, seeds: SEEDS }.count([is_first_effect]);
    assert!(false_alarms <= MOST_FALSE_ALARMS, "{false_alarms} of {SEEDS}");

    // With more work the application never sleeps, and reads more frames.
    let plan = SweepPlan { repeats: 6, ..work_up_to(36_000, 12, 45_000.0, &["recv"]) };
    let methods = [SimulatedMethod::with_regimes("recv", dain())];
    let rising = NoisySweeps { plan: &plan, methods: &methods, noise: 0.01, seeds: CONTROLS };
    assert_eq!(rising.count([is_first_effect]), [CONTROLS as usize]);
}

#[test]
fn methods_that_are_alike_hardly_ever_cross_or_hurt() {
    let names = ["recv", "packet-v2"];
    let plan = level(8, 6, &names);
    let methods = names.map(|name| SimulatedMethod::new(name, 200_000.0));
    let alike = NoisySweeps { plan: &plan, methods: &methods, noise: 0.05, seeds: SEEDS };
    let false_alarms = alike.count([is_crossing, is_second_effect]);
    assert!(false_alarms.iter().all(|count| *count <= MOST_FALSE_ALARMS), "{false_alarms:?} of {SEEDS}");

    // The ring saves the application 2,000 ns per frame. It costs the kernel, which runs first, 1,200 ns more.
    let plan = SweepPlan { repeats: 8, ..work_up_to(24_000, 13, 167_000.0, &names) };
    let methods = [
        SimulatedMethod::new("recv", 1e9 / 2500.0).cost(2500, 1000).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 2200).sharing_cpu(),
    ];
    let crossing = NoisySweeps { plan: &plan, methods: &methods, noise: 0.001, seeds: CONTROLS };
    assert_eq!(crossing.count([is_crossing, is_second_effect]), [CONTROLS as usize; 2]);
}

/// A sweep of six loads from 300,000 frames per second on, in steps of `step_pps`.
fn rising_loads(step_pps: f64) -> SweepPlan {
    let loads = (0..6).map(|nth| Point::Load(at(300_000.0 + f64::from(nth) * step_pps))).collect();
    SweepPlan { repeats: 6, ..plan(Axis::new(loads).unwrap(), &["recv"]) }
}

#[test]
fn equal_rates_at_several_loads_are_hardly_ever_livelock() {
    let plan = rising_loads(1.0);
    let methods = [SimulatedMethod::new("recv", 200_000.0)];
    let [false_alarms] =
        NoisySweeps { plan: &plan, methods: &methods, noise: 0.1, seeds: SEEDS }.count([is_livelock]);
    assert!(false_alarms <= MOST_FALSE_ALARMS, "{false_alarms} of {SEEDS}");

    let plan = rising_loads(50_000.0);
    let methods = [SimulatedMethod::new("recv", 200_000.0).livelock(0.5)];
    let livelocked = NoisySweeps { plan: &plan, methods: &methods, noise: 0.01, seeds: CONTROLS };
    assert_eq!(livelocked.count([is_livelock]), [CONTROLS as usize]);
}

/// The sweep, whose costs vary from trial to trial by up to this share in both directions.
fn with_varying_costs(run: &SweepRun, spread: f64, seed: u64) -> SweepRun {
    let SweepRun { mut outcome, mut trials } =
        SweepRun { outcome: run.outcome.clone(), trials: run.trials.clone() };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    for trial in &mut trials {
        // Even from 0 to 1.
        let even = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        if let Some(ns) = &mut trial.cpu.total_ns_per_packet {
            *ns *= 1.0 + spread * (2.0 * even - 1.0);
        }
    }
    for reading in outcome.series.iter_mut().flat_map(|series| &mut series.readings) {
        let of_reading = trials.iter().filter(|trial| reading.trials.contains(&trial.number));
        reading.total_ns_per_packet =
            Estimate::of(of_reading.filter_map(|trial| trial.cpu.total_ns_per_packet));
    }
    SweepRun { outcome, trials }
}

const THREE_METHODS: [&str; 3] = ["recv", "packet-v2", "packet-v3"];

/// In how many sweeps one method is proven to be the cheapest, if a packet costs the applications this many nanoseconds.
fn sweeps_with_a_cheapest(plan: &SweepPlan, app_ns: [u64; 3], seeds: u64) -> usize {
    let mut methods = Vec::new();
    for (name, app_ns) in THREE_METHODS.into_iter().zip(app_ns) {
        methods.push(SimulatedMethod::new(name, 2e5).cost(app_ns, 500));
    }
    let run = run(plan, &mut SimulatedLaboratory::new(1e6, methods));
    let mut sweeps = 0;
    for seed in 1..=seeds {
        let found = find(&with_varying_costs(&run, 0.3, seed));
        sweeps += usize::from(found.iter().any(is_proven_cheapest));
    }
    sweeps
}

#[test]
fn lengthy_costs_that_are_alike_hardly_ever_have_a_cheapest() {
    let loads: Vec<_> = (1..=6).map(|nth| Point::Load(at(f64::from(nth) * 10_000.0))).collect();
    let loads = SweepPlan { repeats: 6, ..plan(Axis::new(loads).unwrap(), &THREE_METHODS) };
    let rings = Axis::rings(512, 16_384, ByteCount(2048)).unwrap();
    let rings = SweepPlan { repeats: 6, loads: vec![at(50_000.0)], ..plan(rings, &THREE_METHODS) };
    for plan in [loads, rings] {
        let false_alarms = sweeps_with_a_cheapest(&plan, [500; 3], SEEDS);
        assert!(false_alarms <= MOST_FALSE_ALARMS, "{false_alarms} of {SEEDS}");
        assert_eq!(sweeps_with_a_cheapest(&plan, [1500, 500, 1500], CONTROLS), CONTROLS as usize);
    }
}
