//! Cost regimes are found where they were built in.

use super::*;
use crate::simulated::{Noise, Room, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::{Spacing, presets};
use capbench_judge::sweep::outcome::Swept;
use capbench_judge::sweep::regimes::cost_regimes;
use capbench_judge::sweep::regimes::{Regimes, Saturated, find};

/// Points of a series at which the application is the limit.
fn saturated(run: &SweepRun) -> Vec<Saturated> {
    run.outcome.series[0]
        .readings
        .iter()
        .filter(|reading| reading.is_saturated())
        .map(|reading| {
            let rate = reading.taken_pps;
            let time_ns = 1e9 / rate.median;
            Saturated {
                work: run.outcome.points[reading.point].at.unwrap(),
                time_ns,
                spread_ns: time_ns * rate.half_width() / rate.median,
            }
        })
        .collect()
}

/// Work of nanoseconds from 0 on, in so many points.
fn up_to(ns: u32, points: usize) -> Axis {
    Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(ns), points, Spacing::Linear).unwrap()
}

/// A sweep with repeats of a method on a path with noise.
fn noisy(axis: Axis, load: Load, method: SimulatedMethod, seed: u64, noise: Noise) -> SweepRun {
    let plan = SweepPlan { repeats: 5, seed, loads: vec![load], ..plan(axis, &["recv"]) };
    run(&plan, &mut SimulatedLaboratory::new(1e6, vec![method]).noise(seed, noise))
}

fn sweep(work: fn(u32) -> WorkModel, load: Load, seed: u64, noise: f64) -> SweepRun {
    let axis = Axis::work(work(0), work(36_000), 40, Spacing::Linear).unwrap();
    let noise = Noise { per_trial: noise, per_second: noise };
    noisy(axis, load, SimulatedMethod::with_regimes("recv", dain()), seed, noise)
}

fn is_near(found: f64, built_in: f64) -> bool {
    (found / built_in - 1.0).abs() < 0.05
}

/// Whether these are the two costs of a packet that are built in.
fn are(costs: &[f64], built_in: [f64; 2]) -> bool {
    costs.len() == 2 && is_near(costs[0], built_in[0]) && is_near(costs[1], built_in[1])
}

const DAIN: [f64; 2] = [17_300.0, 4600.0];

fn costs(found: &Regimes) -> Vec<f64> {
    found.plateaus.iter().map(|plateau| plateau.cost_ns).collect()
}

fn check(found: &Regimes, seed: u64) {
    assert!(are(&costs(found), DAIN), "seed {seed}: {found:?}");
}

#[test]
fn both_constants_are_recovered_exactly_without_noise() {
    let run = sweep(WorkModel::Nanoseconds, Load::Maximum, 1, 0.0);
    let points = saturated(&run);
    let found = find(&points, Some(1.0)).unwrap();
    check(&found, 1);
    assert!((found.plateaus[0].cost_ns - 17_300.0).abs() < 5.0, "{found:?}");
    let (first, second) = (found.plateaus[0], found.plateaus[1]);
    // 9 and 18 us are where the slide between them begins and ends.
    let at = |nth: usize| points[nth].work;
    assert!((8000.0..10_000.0).contains(&at(first.last)), "{first:?}");
    assert!((17_000.0..19_000.0).contains(&at(second.first)), "{second:?}");
}

#[test]
fn both_constants_are_recovered_with_noise() {
    // A packet has 22.2 us at 45,000 packets/s. So its cost is known where frames are lost: not below 4.9 us of work, where 17.3 us and the
    // work fit, nor where the lower cost and the work do. A loop that was measured needs no slope.
    let nanoseconds: fn(u32) -> WorkModel = WorkModel::Nanoseconds;
    let (maximum, dains) = (Load::Maximum, at(45_000.0));
    for (work, load, seeds) in
        [(nanoseconds, maximum, 60), (nanoseconds, dains, 20), (WorkModel::Loop, dains, 20)]
    {
        for seed in 1..=seeds {
            check(&find(&saturated(&sweep(work, load, seed, 0.01)), Some(1.0)).unwrap(), seed);
        }
    }
}

#[test]
fn the_time_of_an_iteration_is_read_off_the_slope() {
    // An iteration takes 1 ns on the simulated path, which the analysis is not told.
    for seed in 1..=20 {
        let run = sweep(WorkModel::Loop, Load::Maximum, seed, 0.001);
        let found = find(&saturated(&run), None).unwrap();
        assert!(found.unit.is_fitted && is_near(found.unit.ns, 1.0), "{:?}", found.unit);
        check(&found, seed);
    }
}

#[test]
fn constants_are_recovered_whatever_they_are() {
    for seed in 1..=60_u64 {
        // Constants that repeat in no pattern, from the seed.
        let pick = |nth: u64, from: f64, to: f64| {
            from + (to - from) * ((seed * 7919 * nth * nth + nth * 104_729) % 1000) as f64 / 1000.0
        };
        let busy = pick(1, 1000.0, 8000.0);
        let asleep = busy * pick(2, 1.5, 5.0);
        let until = pick(3, 5000.0, 12_000.0);
        let from = until + pick(4, 0.0, 8000.0);
        let ns = |ns: f64| Duration::from_nanos(ns as u64);
        let regimes = TwoRegimes {
            asleep: ns(asleep),
            busy: ns(busy),
            asleep_until: ns(until),
            busy_from: ns(from),
            batch: 10.0,
        };
        let plan =
            SweepPlan { repeats: 5, seed, loads: vec![Load::Maximum], ..plan(up_to(36_000, 40), &["recv"]) };
        let mut path = SimulatedLaboratory::new(5e6, vec![SimulatedMethod::with_regimes("recv", regimes)])
            .noise(seed, Noise { per_trial: 0.003, per_second: 0.003 });
        let found = costs(&find(&saturated(&run(&plan, &mut path)), Some(1.0)).unwrap());
        assert!(are(&found, [asleep, busy]), "seed {seed}, {asleep} and {busy}: {found:?}");
    }
}

#[test]
fn what_lay_in_a_large_ring_at_the_end_does_not_make_packets_look_cheap() {
    let plan = SweepPlan { loads: vec![Load::Maximum], ..plan(up_to(20_000, 11), &["recv"]) };
    let plan = SweepPlan { base: Setup { quiet: Duration::from_millis(500), ..setup(64) }, ..plan };
    let methods = vec![SimulatedMethod::new("recv", 200_000.0).room(Room::Frames(32_768))];
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods));
    let found = find(&saturated(&run), Some(1.0)).unwrap();
    assert!(found.plateaus.len() == 1 && is_near(found.plateaus[0].cost_ns, 5000.0), "{found:?}");
}

#[test]
fn one_regime_is_one_plateau_whatever_the_noise() {
    for seed in 1..=60 {
        let noise = Noise { per_trial: 0.005, per_second: 0.0 };
        let method = SimulatedMethod::new("recv", 200_000.0);
        let run = noisy(up_to(20_000, 20), Load::Maximum, method, seed, noise);
        let found = find(&saturated(&run), Some(1.0)).unwrap();
        assert!(
            found.plateaus.len() == 1 && is_near(found.plateaus[0].cost_ns, 5000.0),
            "seed {seed}: {found:?}"
        );
    }
}

#[test]
fn a_shared_cpu_stretches_the_work() {
    // At 100,000 packets/s the kernel takes 5 of 10 us, so a nanosecond of work takes 2, and so does the application's cost of 4 us.
    let methods = vec![SimulatedMethod::new("recv", 250_000.0).cost(4000, 5000).sharing_cpu()];
    let run = run(&plan(up_to(20_000, 21), &["recv"]), &mut SimulatedLaboratory::new(1e6, methods));
    let found = find(&saturated(&run), Some(1.0)).unwrap();
    assert!(found.unit.is_fitted && is_near(found.unit.ns, 2.0), "{:?}", found.unit);
    assert!(found.plateaus.len() == 1 && is_near(found.plateaus[0].cost_ns, 8000.0), "{found:?}");
}

#[test]
fn a_slope_that_leaves_less_than_nothing_for_a_packet_is_noise() {
    let points = |slope: f64, level: f64| -> Vec<Saturated> {
        let point = |work: f64| Saturated { work, time_ns: slope * work + level, spread_ns: 20.0 };
        [24_000.0, 27_000.0, 30_000.0, 33_000.0].map(point).to_vec()
    };
    let unit = |points: &[Saturated]| find(points, Some(1.0)).unwrap().unit;
    assert!(!unit(&points(1.13, -2700.0)).is_fitted);
    assert!(unit(&points(1.13, 2700.0)).is_fitted);
    assert!(unit(&points(2.0, -50.0)).is_fitted, "a shared CPU, and noise");
}

#[test]
fn the_published_table_has_the_regimes_that_were_read_off_it() {
    // Dain's first table at 45,000 packets/s: iterations and the share captured.
    let table = [
        (1800, 0.99),
        (1900, 0.97),
        (2000, 0.95),
        (3000, 0.81),
        (4000, 0.84),
        (5000, 0.87),
        (6000, 0.98),
        (7000, 0.88),
        (8000, 0.78),
        (9000, 0.71),
        (10_000, 0.65),
    ];
    let points: Vec<_> = table
        .iter()
        .map(|&(work, share)| Saturated {
            work: f64::from(work),
            time_ns: 1e9 / (45_000.0 * share),
            spread_ns: 0.0,
        })
        .collect();
    let found = find(&points, None).unwrap();
    assert!((found.unit.ns - 2.96).abs() < 0.1, "{:?}", found.unit);
    let costs = costs(&found);
    // Shares with two digits leave the slope open to 0.1 ns, and so the second cost to 0.8 us.
    assert!(
        costs.len() == 2 && (costs[0] - 17_300.0).abs() < 300.0 && (costs[1] - 4600.0).abs() < 800.0,
        "{costs:?}"
    );
}

#[test]
fn too_few_points_show_nothing() {
    let point = |work: f64| Saturated { work, time_ns: 5000.0 + work, spread_ns: 0.0 };
    assert_eq!(find(&[], Some(1.0)), None);
    assert_eq!(find(&[point(1.0), point(2.0)], Some(1.0)), None);
    assert_eq!(find(&[point(1.0), point(2.0), point(3.0)], None), None, "no slope without four points");
    assert!(find(&[point(1.0), point(2.0), point(3.0)], Some(1.0)).is_some());
}

/// What is said of a sweep: its plateaus as far as chance does not explain their difference.
fn regime_costs(run: &SweepRun) -> Vec<f64> {
    let swept = Swept::new(&run.outcome, &run.trials);
    costs(&cost_regimes(&swept, &run.outcome.series[0]).unwrap().found)
}

#[test]
fn twelve_points_recover_both_constants_with_the_refinement() {
    // As `capbench sweep work` does it where nothing is said of points, visits and refinement.
    let mut right = 0;
    for seed in 1..=60 {
        let plan = SweepPlan {
            repeats: 6,
            refinement: 4,
            seed,
            loads: vec![Load::Maximum],
            ..plan(up_to(36_000, 12), &["recv"])
        };
        let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::with_regimes("recv", dain())])
            .noise(seed, Noise { per_trial: 0.01, per_second: 0.01 });
        right += usize::from(are(&regime_costs(&run(&plan, &mut path)), DAIN));
    }
    assert_eq!(right, 60);
}

#[test]
fn a_preset_shows_both_regimes_of_a_host_like_dains() {
    // An iteration takes 1 ns on the simulated path and took 2.96 ns on his host, so all is that much faster here.
    const FASTER: f64 = 2.96;
    let [preset, _] = presets::WORK;
    let quicker = |time: Duration| time.div_f64(FASTER);
    let his = dain();
    let regimes = TwoRegimes {
        asleep: quicker(his.asleep),
        busy: quicker(his.busy),
        asleep_until: quicker(his.asleep_until),
        busy_from: quicker(his.busy_from),
        ..his
    };
    for seed in 1..=20 {
        let axis = preset.axis(presets::POINTS.into()).unwrap();
        let loads = vec![at((preset.pps * FASTER).round())];
        let plan = SweepPlan { repeats: 6, refinement: 4, seed, loads, ..plan(axis, &["recv"]) };
        let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::with_regimes("recv", regimes)])
            .noise(seed, Noise { per_trial: 0.01, per_second: 0.01 });
        let costs: Vec<_> = regime_costs(&run(&plan, &mut path)).into_iter().map(|ns| ns * FASTER).collect();
        assert!(are(&costs, DAIN), "seed {seed}: {costs:?}");
    }
}
