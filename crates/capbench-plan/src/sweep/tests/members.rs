//! Sweeps of members on paths whose constants and whose limit are known.

use capbench_frames::layout::{Flows, FrameLayout};
use capbench_statistics::scalability::{Law, ScalabilityFit, Unfit};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::*;
use crate::simulated::{Noise, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::MemberCount;
use capbench_judge::limit::Limit;
use capbench_judge::sweep::AxisKind;
use capbench_judge::sweep::scaling::{Needed, Scaling, Stop};

const METHOD: &str = "packet-v3+fanout=lb";
const NUMBERS: [u16; 10] = [1, 2, 3, 4, 6, 8, 12, 16, 24, 32];
/// Members that hardly disturb each other.
const FREE: Law = Law { lambda: 1e6, sigma: 0.01, kappa: 0.0 };

fn members(numbers: impl IntoIterator<Item = u16>) -> Axis {
    let point = |number: u16| Point::Members(MemberCount(number.try_into().unwrap()));
    Axis::new(numbers.into_iter().map(point).collect()).unwrap()
}

fn method(law: Law) -> Vec<SimulatedMethod> {
    vec![SimulatedMethod::with_scaling(METHOD, law).cost(0, 100)]
}

fn plan_of(numbers: impl IntoIterator<Item = u16>, load: Load) -> SweepPlan {
    let methods = vec![format!("{METHOD}+members=1").parse().unwrap()];
    SweepPlan { methods, loads: vec![load], repeats: 3, ..plan(members(numbers), &[METHOD]) }
}

/// How the method scales.
fn scaling(plan: &SweepPlan, mut path: SimulatedLaboratory) -> Scaling {
    let run = run(plan, &mut path);
    assert!(run.trials.iter().all(|trial| trial.unexplained == 0));
    let series = &run.outcome.series[0];
    assert_eq!(
        (series.method.to_string().as_str(), series.readings.len()),
        (METHOD, plan.axis.points().len())
    );
    series.scaling.clone().unwrap()
}

/// Checks that the constants are these within 5 %. Shares are also compared with what they do to the rate.
fn check(found: &ScalabilityFit, law: Law, what: &str) {
    let is_near = |found: f64, built_in: f64| (found - built_in).abs() <= 0.05 * built_in.abs();
    assert!(is_near(found.lambda_pps.value, law.lambda), "{what}: {found:?}, not {law:?}");
    assert!(is_near(found.sigma.value, law.sigma), "{what}: {found:?}, not {law:?}");
    assert!(is_near(found.kappa.value, law.kappa), "{what}: {found:?}, not {law:?}");
}

#[test]
fn the_constants_are_recovered_whatever_they_are() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(22);
    for round in 0..100 {
        let mut pick =
            |from: f64, to: f64| from + (to - from) * (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let law = Law { lambda: pick(1e5, 2e6), sigma: pick(0.005, 0.5), kappa: pick(0.0005, 0.05) };
        // Without noise a second visit shows nothing new.
        let plan = SweepPlan { repeats: 1, ..plan_of(NUMBERS, Load::Maximum) };
        let found = scaling(&plan, path(1e9, law));
        check(&found.law.unwrap(), law, &format!("seed 22, round {round}"));
        assert_eq!(found.no_law_because, None);
    }
}

fn path(generator: f64, law: Law) -> SimulatedLaboratory {
    SimulatedLaboratory::new(generator, method(law))
}

#[test]
fn the_constants_are_recovered_with_noise() {
    let law = Law { lambda: 1e6, sigma: 0.1, kappa: 0.01 };
    for seed in 1..=4 {
        let plan = SweepPlan { repeats: 9, seed, ..plan_of(NUMBERS, Load::Maximum) };
        let noise = Noise { per_trial: 0.003, per_second: 0.0 };
        check(&scaling(&plan, path(1e9, law).noise(seed, noise)).law.unwrap(), law, &format!("seed {seed}"));
    }
}

#[test]
fn the_generator_is_named_where_it_is_the_limit() {
    let found = scaling(&plan_of(1..=8, Load::Maximum), path(4.5e6, FREE));
    assert_eq!(found.stop, Some(Stop { after: 5, next: 6, cause: Limit::Generator }));
    assert_eq!((found.load_pps, found.needed), (4.5e6, Needed::Measured { members: 5 }));
    check(&found.law.unwrap(), FREE, "the points that it limits do not count");
}

#[test]
fn the_softirq_cpu_is_named_where_it_is_the_limit() {
    // 250 ns per packet.
    let methods = vec![SimulatedMethod::with_scaling(METHOD, FREE).cost(0, 250)];
    let path = SimulatedLaboratory::new(9.9e6, methods).backlog(4e6);
    let found = scaling(&plan_of(1..=8, Load::Maximum), path);
    assert_eq!(found.stop.map(|stop| (stop.after, stop.cause)), Some((4, Limit::Backlog)));
    assert_eq!(found.needed, Needed::ByLaw { members: 11 }, "for the 9.9 million packets/s that are sent");
}

#[test]
fn unequal_flows_are_named_where_they_are_the_limit() {
    let layout = FrameLayout { flows: Flows::new(3).unwrap(), ..FrameLayout::default() };
    let plan = plan_of(1..=8, Load::Maximum);
    let plan = SweepPlan {
        methods: vec!["packet-v3+members=1".parse().unwrap()],
        base: Setup { layout, ..setup(64) },
        ..plan
    };
    let methods = vec![SimulatedMethod::with_scaling("packet-v3", FREE).cost(0, 50)];
    let run = run(&plan, &mut SimulatedLaboratory::new(1e7, methods));
    let found = run.outcome.series[0].scaling.clone().unwrap();
    assert_eq!(found.stop, Some(Stop { after: 3, next: 4, cause: Limit::Sharing }));
    assert_eq!(found.no_law_because, Some(Unfit::TooFewNumbers { numbers: 3 }));
    assert_eq!(found.needed, Needed::Unknown);
}

#[test]
fn contention_and_coherence_are_distinguished() {
    let contended = Law { lambda: 1e6, sigma: 0.3, kappa: 0.0005 };
    let found = scaling(&plan_of(1..=12, Load::Maximum), path(1e9, contended));
    assert_eq!(found.stop.unwrap().cause, Limit::Contention);
    let coherent = Law { lambda: 1e6, sigma: 0.02, kappa: 0.02 };
    let found = scaling(&plan_of(1..=12, Load::Maximum), path(1e9, coherent));
    assert_eq!(found.stop.unwrap().cause, Limit::Coherence);
    let peak = found.law.unwrap().peak.unwrap();
    assert!((peak - 7.0).abs() < 0.1, "{peak}");
    assert!(matches!(found.needed, Needed::NoNumber { most_pps } if (2e6..5e6).contains(&most_pps)));
    let few = scaling(&plan_of([4, 8, 16], Load::Maximum), path(1e9, coherent));
    assert_eq!(few.stop.unwrap().cause, Limit::Members, "three numbers have no law");
}

#[test]
fn members_that_disturb_each_other_little_have_no_stop() {
    let found = scaling(&plan_of(1..=8, Load::Maximum), path(1e9, FREE));
    assert_eq!(found.stop, None);
    assert!(found.limits.iter().all(|limit| *limit == Limit::Members));
}

#[test]
fn the_fewest_members_that_hold_a_rate_are_named() {
    let held = scaling(&plan_of(1..=6, at(2.5e6)), path(1e9, FREE));
    assert_eq!((held.load_pps, held.needed), (2.5e6, Needed::Measured { members: 3 }));
    assert_eq!(held.stop, Some(Stop { after: 3, next: 4, cause: Limit::Load }));
    let beyond = scaling(&plan_of(1..=4, at(7.5e6)), path(1e9, FREE));
    assert_eq!(beyond.needed, Needed::ByLaw { members: 9 });
    let unsent = scaling(&plan_of(1..=4, at(7.5e6)), path(3.2e6, FREE));
    assert_eq!(unsent.stop, Some(Stop { after: 3, next: 4, cause: Limit::Generator }));
    assert_eq!(
        unsent.needed,
        Needed::Unknown,
        "the generator sent 3.2 million, and three numbers have no law"
    );
}

#[test]
fn numbers_of_members_are_requested_as_other_points_are() {
    let base = setup(64);
    let requested = |points: &[&str], ends: Option<(&str, &str)>, cpus: Option<usize>| {
        let points: Vec<String> = points.iter().map(|point| (*point).into()).collect();
        let request = crate::sweep::Request {
            points: &points,
            ends,
            steps: 5,
            spacing: crate::sweep::Spacing::Linear,
            base: &base,
            sizes: Vec::new(),
            placements: &[],
            loads: &[],
            cpus,
            read_load: &|_, _| Err("no load".into()),
        };
        let axis = Axis::requested(AxisKind::Members, &request).map_err(|error| error.to_string())?;
        Ok::<_, String>(
            axis.points().iter().map(|point| point.coordinate().unwrap().0 as u16).collect::<Vec<_>>(),
        )
    };
    assert_eq!(requested(&["4", "1", "2"], None, None), Ok(vec![1, 2, 4]));
    assert_eq!(requested(&[], Some(("2", "4")), None), Ok(vec![2, 3, 4]));
    assert_eq!(requested(&[], Some(("1", "9")), None), Ok(vec![1, 3, 5, 7, 9]));
    assert_eq!(requested(&[], None, Some(4)), Ok(vec![1, 2, 3, 4]));
    assert_eq!(requested(&[], None, Some(81)), Ok(vec![1, 3, 9, 27, 81]));
    for (points, ends, cpus, reason) in [
        (&["0"][..], None, None, "--points: \"0\" members"),
        (&["257"], None, None, "1 to 256"),
        (&[], Some(("4", "4")), None, "no range"),
        (&[], Some(("5", "4")), None, "no range"),
        (&[], Some(("1", "two")), None, "--to: \"two\" members"),
        (&[], None, Some(1), "may use one CPU"),
        (&[], None, None, "name --points"),
    ] {
        let refused = requested(points, ends, cpus).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
}
