//! What sweeps show, as facts. Their words: `sentences/sweep/tests.rs`.

use std::time::Duration;

use capbench_judge::bursts::BurstEnd;
use capbench_judge::finding::Finding as Fact;
use capbench_judge::finding::sweep::SweepFinding;
use capbench_judge::finding::sweep::buffers::{BufferGrowth, LongestBursts, Resource};
use capbench_judge::finding::sweep::cheapest::{CheapestAtPoints, CheapestRing};
use capbench_judge::finding::sweep::cost::PacketCost;
use capbench_judge::finding::sweep::crossing::Crossing;
use capbench_judge::finding::sweep::onset::{HardlyAnyLoss, LossBegins};
use capbench_judge::finding::sweep::point::SweepPoint;
use capbench_judge::limit::Limit;
use capbench_judge::sweep::back_to_back::InvalidTrial;
use capbench_model::ledger::LostAt;
use capbench_model::loss_pattern::{LossPattern, Spread, Window};
use capbench_model::places::Place;
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_plan::bursts::BurstSearch;
pub(crate) use capbench_plan::for_tests::sweep_plan as plan;
use capbench_plan::for_tests::{Collected, at, dain};
use capbench_plan::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, BackToBackTest, Point, Probe, Spacing, SweepPlan, SweepRun};
use capbench_report::sentences;
use capbench_results::{Finding, Results};

use super::run_of;

pub(crate) fn works(ns: &[u32]) -> Axis {
    Axis::new(ns.iter().map(|&ns| Point::Work(WorkModel::Nanoseconds(ns))).collect()).unwrap()
}

/// Work up to so many nanoseconds.
pub(crate) fn up_to(ns: u32, points: usize, pps: f64, methods: &[&str]) -> SweepPlan {
    let axis = Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(ns), points, Spacing::Linear);
    SweepPlan { repeats: 4, loads: vec![at(pps)], ..plan(axis.unwrap(), methods) }
}

/// Loads of these rates.
fn loads<const N: usize>(rates: [f64; N], methods: &[&str]) -> SweepPlan {
    plan(Axis::new(rates.map(|pps| Point::Load(at(pps))).to_vec()).unwrap(), methods)
}

pub(crate) fn run(plan: &SweepPlan, laboratory: &mut SimulatedLaboratory) -> SweepRun {
    plan.run(laboratory, &mut Collected::default()).unwrap()
}

/// What the sweep shows beyond what its trials show by themselves.
pub(crate) fn find(run: &SweepRun) -> Vec<Finding> {
    let results = run_of(run.trials.clone());
    let of_trials = sentences::find(&results).len();
    let mut found = sentences::find(&Results { sweeps: vec![run.outcome.clone()], ..results });
    found.truncate(found.len() - of_trials);
    found
}

/// The facts that the sweep shows, as they are read from its results file.
fn facts(run: &SweepRun) -> Vec<SweepFinding> {
    let mut facts = Vec::new();
    for finding in find(run) {
        assert!(!finding.trials.is_empty(), "{finding:?}");
        let saved = serde_json::to_string(&finding).unwrap();
        let read: Finding = serde_json::from_str(&saved).unwrap();
        assert_eq!(read, finding);
        if let Some(Fact::Sweep(fact)) = read.fact {
            facts.push(*fact);
        }
    }
    facts
}

/// The only fact of a kind.
macro_rules! only {
    ($facts:expr, $kind:ident) => {{
        let facts: &[SweepFinding] = $facts;
        let mut found = Vec::new();
        for fact in facts {
            if let SweepFinding::$kind(fact) = fact {
                found.push(fact.clone());
            }
        }
        assert_eq!(found.len(), 1, "{facts:?}");
        found.remove(0)
    }};
}

/// Of a trial that sent so many frames: all that it lost in one tenth of it, the last one or another.
fn in_one_window(sent: u64, lost: u64, is_at_end: bool) -> LossPattern {
    let from_ns = if is_at_end { 900_000_000 } else { 400_000_000 };
    LossPattern {
        lost_steadily: if is_at_end { 0 } else { lost },
        lost_at_end: if is_at_end { lost } else { 0 },
        bursts: Spread { count: 1, total: lost, max: Some(lost), ..Spread::default() },
        worst_window: Some(Window { from_ns, length_ns: 100_000_000, sent: sent / 10, lost }),
        ..LossPattern::in_windows(sent, lost, 10, 1)
    }
}

/// The coordinates of points.
fn coordinates(points: &[&SweepPoint]) -> Vec<f64> {
    points.iter().map(|point| point.at.unwrap()).collect()
}

#[test]
fn two_regimes_are_found_with_what_changes_between_them() {
    let plan = up_to(36_000, 37, 45_000.0, &["recv"]);
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::with_regimes("recv", dain())])
        .noise(1, Noise { per_trial: 0.001, per_second: 0.0 });
    let facts = facts(&run(&plan, &mut path));
    let begins: LossBegins = only!(&facts, LossBegins);
    let kept = begins.keeps_up_to.unwrap();
    assert_eq!(coordinates(&[&kept, &begins.first_loss.point]), [4000.0, 5000.0]);
    let cost: PacketCost = only!(&facts, PacketCost);
    let [asleep, busy] = &cost.regimes[..] else { panic!("{cost:?}") };
    assert_eq!(
        coordinates(&[&asleep.from, &asleep.to, &busy.from, &busy.to]),
        [6000.0, 9000.0, 18_000.0, 36_000.0]
    );
    assert!((asleep.cost_ns - 17_300.0).abs() < 100.0 && (busy.cost_ns - 4600.0).abs() < 100.0, "{cost:?}");
    let [change] = &cost.changes[..] else { panic!("{cost:?}") };
    assert_eq!(coordinates(&[&change.from, &change.to]), [9000.0, 18_000.0]);
    assert!(change.evidence.excludes_chance(), "{change:?}");
    let (wakeups, batch) = (change.wakeups_per_packet.unwrap(), change.frames_per_batch.unwrap());
    assert_eq!((wakeups.before, wakeups.after), (1.0, 0.0));
    assert!(batch.before < 1.1 && batch.after > 19.0, "{batch:?}");
    assert_eq!((change.backlog_share, change.ring_share), (None, None));
    assert_eq!(cost.slowed_work, None);
}

#[test]
fn a_ring_that_hurts_once_it_drops_is_seen_to_cross() {
    // The ring takes 2 us from the application per delivered packet and puts 1.2 us more on the kernel per arriving one.
    let methods = vec![
        SimulatedMethod::new("recv", 1e9 / 2500.0).cost(2500, 1000).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 2200).sharing_cpu(),
    ];
    let plan = SweepPlan { repeats: 8, ..up_to(24_000, 13, 167_000.0, &["recv", "packet-v2"]) };
    let mut path =
        SimulatedLaboratory::new(1e6, methods).noise(2, Noise { per_trial: 0.001, per_second: 0.0 });
    let facts = facts(&run(&plan, &mut path));
    let crossing: Crossing = only!(&facts, Crossing);
    assert_eq!((crossing.series.method, crossing.other), ("packet-v2".into(), "recv".into()));
    assert_eq!(coordinates(&[&crossing.ahead_up_to, &crossing.behind_from]), [4000.0, 6000.0]);
    assert!(crossing.ahead_evidence.excludes_chance() && crossing.behind_evidence.excludes_chance());
    assert!((crossing.loss_ratio - 0.42).abs() < 0.01, "{}", crossing.loss_ratio);
    let costs = crossing.costs.unwrap();
    assert!(costs.kernel_pays_for_lost, "{costs:?}");
    let parts = [costs.first, costs.other].map(|parts| (parts.kernel_ns_per_packet, parts.app_ns_per_packet));
    assert_eq!(parts, [(2200.0, 6500.0), (1000.0, 8500.0)]);
    // The kernel takes from each the CPU time that it needs for what arrives.
    let mut shares = Vec::new();
    for fact in &facts {
        if let SweepFinding::PacketCost(cost) = fact {
            let part = cost.slowed_work.clone().unwrap().of_alone.unwrap();
            shares.push((cost.series.method.to_string(), part.cpu_share));
        }
    }
    let [(recv, of_recv), (ring, of_ring)] = &shares[..] else { panic!("{shares:?}") };
    assert_eq!((recv.as_str(), ring.as_str()), ("recv", "packet-v2"));
    assert!((of_recv - 0.833).abs() < 0.001 && (of_ring - 0.633).abs() < 0.001, "{shares:?}");
    let cheapest: CheapestAtPoints = only!(&facts, CheapestAtPoints);
    assert_eq!(coordinates(&[&cheapest.from, &cheapest.to]), [0.0, 2000.0]);
    assert_eq!(cheapest.cheapest[0].method, "packet-v2");
}

#[test]
fn the_cheapest_lossless_method_and_ring_are_named() {
    let slot = Room::Slots(ByteCount(2048));
    let methods = vec![
        SimulatedMethod::new("recv", 120_000.0).cost(900, 900).room(slot),
        SimulatedMethod::new("packet-v2", 95_000.0).cost(100, 700).room(slot),
    ];
    let path = || SimulatedLaboratory::new(1e6, methods.clone());
    let rings = plan(Axis::rings(512, 32_768, ByteCount(2048)).unwrap(), &["recv", "packet-v2"]);
    let of_rings = facts(&run(&SweepPlan { repeats: 6, ..rings }, &mut path()));
    // At 100,000 packets/s packet-v2, which reads 95,000, loses nothing of a second with a large ring.
    let ends = only!(&of_rings, LossBegins).ends.unwrap();
    assert!(ends.only_by_buffers.is_some() && ends.keeps_up_from.is_none(), "{ends:?}");
    let cheapest: CheapestRing = only!(&of_rings, CheapestRing);
    assert_eq!((cheapest.pairs, cheapest.cheapest.method), (7, "recv".into()));
    assert_eq!((cheapest.cheapest.ring.index, cheapest.cheapest.ns_per_packet), (0, 1800.0));
    assert_eq!((cheapest.evidence, cheapest.smallest_alike), (None, None));

    let loads = loads([40_000.0, 60_000.0, 80_000.0, 110_000.0, 300_000.0], &["recv", "packet-v2"]);
    let of_loads = facts(&run(&SweepPlan { repeats: 6, ..loads }, &mut path()));
    let mut cheapest = Vec::new();
    for fact in &of_loads {
        if let SweepFinding::CheapestAtPoints(fact) = fact {
            let method = fact.cheapest[0].method.to_string();
            cheapest.push((
                coordinates(&[&fact.from, &fact.to]),
                method,
                fact.is_only_one,
                fact.evidence.is_some(),
            ));
        }
    }
    let expected = [
        (vec![40_000.0, 80_000.0], "packet-v2".into(), false, true),
        (vec![110_000.0, 110_000.0], "recv".into(), true, false),
    ];
    assert_eq!(cheapest, expected);
}

#[test]
fn what_chance_can_explain_is_not_the_cheapest() {
    let methods =
        || vec![SimulatedMethod::new("recv", 2e5).cost(900, 900), SimulatedMethod::new("packet-v2", 2e5)];
    let loads = loads([40_000.0, 80_000.0], &["recv", "packet-v2"]);
    let rings = plan(Axis::rings(512, 4096, ByteCount(2048)).unwrap(), &["recv", "packet-v2"]);
    let repeated = |plan: &SweepPlan, repeats: u32| {
        let plan = SweepPlan { repeats, ..plan.clone() };
        facts(&run(&plan, &mut SimulatedLaboratory::new(1e6, methods())))
    };

    let fact: CheapestAtPoints = only!(&repeated(&loads, 1), CheapestAtPoints);
    let costs: Vec<_> =
        fact.cheapest.iter().map(|one| (one.method.to_string(), one.most_ns_per_packet)).collect();
    assert_eq!(costs, [("recv".into(), 1800.0), ("packet-v2".into(), 600.0)]);
    assert_eq!(coordinates(&[&fact.from, &fact.to]), [40_000.0, 80_000.0]);
    assert_eq!((fact.evidence, fact.is_only_one), (None, false));

    let fact: CheapestRing = only!(&repeated(&rings, 1), CheapestRing);
    assert_eq!((fact.cheapest.method.to_string(), fact.cheapest.ns_per_packet), ("packet-v2".into(), 600.0));
    let names: Vec<_> = fact.not_distinguished.iter().map(ToString::to_string).collect();
    assert_eq!((names, fact.evidence), (vec!["recv".to_string()], None));

    let several: CheapestRing = only!(&repeated(&rings, 6), CheapestRing);
    assert_eq!(several.cheapest.method.to_string(), "packet-v2");
    assert!(
        several.not_distinguished.is_empty() && several.evidence.unwrap().by_chance < 1e-4,
        "{several:?}"
    );
}

/// What limits at the points with loss; the generator where none is lost because of it.
fn limit(run: &SweepRun) -> Limit {
    let facts = facts(run);
    for fact in &facts {
        let limits = match fact {
            SweepFinding::HardlyAnyLoss(fact) if fact.generator_limits.is_some() => return Limit::Generator,
            SweepFinding::LossBegins(fact) => &fact.limits,
            SweepFinding::HardlyAnyLoss(fact) => &fact.limits,
            _ => continue,
        };
        assert_eq!(limits.len(), 1, "{fact:?}");
        return limits[0].limit;
    }
    panic!("{facts:?}");
}

#[test]
fn the_limit_is_known_by_where_frames_are_lost() {
    let recv = || vec![SimulatedMethod::new("recv", 5e5)];
    let cases = [
        (SimulatedLaboratory::new(1e6, recv()), 9e5, Limit::Application),
        (SimulatedLaboratory::new(1e6, recv()).backlog(3e5), 4e5, Limit::Backlog),
        (SimulatedLaboratory::new(2e5, recv()), 4e5, Limit::Generator),
    ];
    for (mut path, pps, limits) in cases {
        assert_eq!(limit(&run(&loads([1000.0, pps], &["recv"]), &mut path)), limits);
    }
}

/// What limits at the higher of two loads, of which all that is lost is lost in one tenth of a second.
fn limits_at_once(path: SimulatedLaboratory, pps: f64, is_at_end: Option<bool>) -> Limit {
    let plan = SweepPlan { repeats: 3, ..loads([1000.0, pps], &["recv"]) };
    let mut run = run(&plan, &mut { path });
    for trial in run.trials.iter_mut().filter(|trial| trial.lost() > 0) {
        trial.loss_pattern = is_at_end.map(|is_at_end| in_one_window(trial.sent, trial.lost(), is_at_end));
    }
    limit(&run)
}

#[test]
fn a_ring_is_too_small_where_frames_are_lost_in_moments_only() {
    let recv = || vec![SimulatedMethod::new("recv", 5e5)];
    let path = || SimulatedLaboratory::new(1e6, recv()).bursts(1, LossBursts { per_second: 1.0, frames: 5 });
    assert_eq!(limits_at_once(path(), 4e5, Some(false)), Limit::Ring);
    assert_eq!(
        limits_at_once(path(), 4e5, None),
        Limit::RingOrApplication,
        "where nobody saw when they were lost"
    );
}

#[test]
fn a_ring_that_fills_late_is_not_too_small() {
    // 2000 frames a second are too many, so that it is full after 0.8 s, and 400 are lost in the end.
    let methods = vec![SimulatedMethod::new("recv", 100_000.0).room(Room::Frames(1600))];
    let path = SimulatedLaboratory::new(1e6, methods);
    assert_eq!(limits_at_once(path, 102_000.0, Some(true)), Limit::Application);
}

#[test]
fn what_the_kernel_refuses_is_no_limit_of_the_application() {
    // Half of the frames get through the backlog. recv takes 5 us beside its work, so it keeps up to 15 us of that.
    let methods = vec![SimulatedMethod::new("recv", 200_000.0).cost(100, 2000)];
    let plan = SweepPlan { repeats: 2, ..plan(works(&[0, 5000, 10_000, 16_000, 30_000]), &["recv"]) };
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods).backlog(50_000.0));
    let readings = &run.outcome.series[0].readings;
    let limits: Vec<_> =
        readings.iter().map(|reading| (reading.is_limited_by_kernel(), reading.is_saturated())).collect();
    let (kernel, application) = ((true, false), (false, true));
    assert_eq!(limits, [kernel, kernel, kernel, application, application]);
    let most = readings[3].lost[0].place;
    assert!(
        !most.is_before_application(),
        "most is lost in the backlog, and the ring overflows all the same"
    );
    let facts = facts(&run);
    let fact = only!(&facts, LimitedByKernel);
    assert_eq!((fact.points, coordinates(&[&fact.first, &fact.last])), (3, vec![0.0, 10_000.0]));
    assert_eq!((fact.place, fact.read_pps), (Some(Place::Backlog), 50_000.0));
    assert!((fact.loss_ratio - 0.5).abs() < 1e-3, "{fact:?}");
    let kernel = fact.kernel.unwrap();
    assert_eq!((kernel.ns_per_packet, kernel.busy_ratio), (2000.0, 0.1));
    assert_eq!(only!(&facts, NoCost).points, 2);
}

#[test]
fn nothing_measured_nothing_found() {
    let mut stopped = Collected::stopping_after(0);
    let mut path = SimulatedLaboratory::new(1e6, Vec::new());
    assert!(find(&plan(works(&[1, 2]), &["recv"]).run(&mut path, &mut stopped).unwrap()).is_empty());
}

#[test]
fn what_only_a_buffer_holds_is_no_loss_and_is_named() {
    let plan = SweepPlan { repeats: 6, ..up_to(33_000, 12, 45_000.0, &["recv"]) };
    let recv = SimulatedMethod::new("recv", 1e9 / 2000.0).cost(2000, 0).room(Room::Frames(1_000_000));
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, vec![recv]));
    let facts = facts(&run);
    let fact: HardlyAnyLoss = only!(&facts, HardlyAnyLoss);
    assert!(fact.lossy.is_empty(), "{fact:?}");
    let hidden = fact.hidden.unwrap();
    assert_eq!((hidden.reaches_end, hidden.first.point.at), (true, Some(21_000.0)));
    assert_eq!(hidden.points.len(), 5);
    assert!(!facts.iter().any(|fact| matches!(fact, SweepFinding::Crossing(_))));
}

#[test]
fn a_load_sweep_shows_where_livelock_is() {
    let once = loads([50_000.0, 100_000.0, 150_000.0, 200_000.0], &["recv"]);
    let repeated = |repeats: u32| {
        let method = SimulatedMethod::new("recv", 100_000.0).livelock(0.5);
        run(&SweepPlan { repeats, ..once.clone() }, &mut SimulatedLaboratory::new(1e6, vec![method]))
    };
    let single = facts(&repeated(1));
    assert!(
        !single.iter().any(|fact| matches!(fact, SweepFinding::Livelock(_))),
        "one repeat shows nothing: {single:?}"
    );
    let fact = only!(&facts(&repeated(6)), Livelock);
    assert_eq!((fact.peak.at, fact.lowest.at), (Some(100_000.0), Some(200_000.0)));
    assert!(
        (fact.lowest_pps / fact.peak_pps - 0.5).abs() < 0.001 && fact.evidence.excludes_chance(),
        "{fact:?}"
    );
}

#[test]
fn loss_at_points_without_an_order_is_listed() {
    let works = ["none", "parse", "ns:30000"].map(|model| Point::Work(model.parse().unwrap()));
    let recv = || vec![SimulatedMethod::new("recv", 1e5)];
    let run =
        run(&plan(Axis::new(works.to_vec()).unwrap(), &["recv"]), &mut SimulatedLaboratory::new(1e6, recv()));
    let fact = only!(&facts(&run), LossAtNamedPoints);
    let places: Vec<_> = fact
        .lossy
        .iter()
        .map(|there| (there.point.index, there.places.iter().map(|part| part.place).collect::<Vec<_>>()))
        .collect();
    assert_eq!(places, [(1, vec![Place::Ring]), (2, vec![Place::Ring])]);
    let [few, most] = [0, 1].map(|nth: usize| fact.lossy[nth].loss_ratio);
    assert!((few - 0.002).abs() < 1e-3 && (most - 0.75).abs() < 1e-3, "{few} {most}");
}

#[test]
fn a_sweep_is_put_into_words_wherever_it_is_stopped() {
    let plan =
        SweepPlan { repeats: 4, refinement: 3, ..plan(works(&[0, 9000, 20_000]), &["recv", "packet-v2"]) };
    for stop_after in [0, 1, 5, 7, 13] {
        let mut stopped = Collected::stopping_after(stop_after);
        let methods = ["recv", "packet-v2"].map(|name| SimulatedMethod::new(name, 2e5));
        let mut path = SimulatedLaboratory::new(1e6, methods.to_vec());
        let found = find(&plan.run(&mut path, &mut stopped).unwrap());
        assert_eq!(found.is_empty(), stop_after == 0, "{found:?}");
        assert!(found.iter().all(|finding| !finding.trials.is_empty()), "{found:?}");
    }
}

fn rings(from: u32, to: u32, pps: f64) -> SweepPlan {
    let search = BurstSearch { limit: Duration::from_millis(500), ..BackToBackTest::default().0 };
    let axis = Axis::rings(from, to, ByteCount(2048)).unwrap();
    SweepPlan {
        probe: Probe::BackToBack(BackToBackTest(search)),
        loads: vec![at(pps)],
        ..plan(axis, &["recv"])
    }
}

#[test]
fn a_buffer_grows_with_the_ring() {
    let recv = SimulatedMethod::new("recv", 750_000.0).room(Room::Slots(ByteCount(2048)));
    let plan = SweepPlan { repeats: 2, ..rings(8, 4096, 1e6) };
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, vec![recv]));
    let fact: LongestBursts = only!(&facts(&run), LongestBursts);
    assert_eq!(fact.growth, Some(BufferGrowth::AtEveryStep));
    let (first, last) = (fact.first.unwrap(), fact.last.unwrap());
    assert!(last.mean_frames > 100.0 * first.mean_frames, "{first:?} {last:?}");
}

#[test]
fn a_search_for_bursts_that_ends_early_has_its_reason() {
    let recv = SimulatedMethod::new("recv", 5e5).room(Room::Slots(ByteCount(2048)));
    let mut run = run(&rings(8, 8, 1e6), &mut SimulatedLaboratory::new(1e6, vec![recv]));
    let invalid = InvalidTrial { trial: Some(4), because: "it was tampered with".into() };
    for (end, invalid) in [(BurstEnd::Invalid, Some(invalid)), (BurstEnd::NotRun, None)] {
        let test = run.outcome.series[0].readings[0].back_to_back.as_mut().unwrap();
        test.searches[0].end = end;
        test.searches[0].because_fact = invalid.clone();
        let fact: LongestBursts = only!(&facts(&run), LongestBursts);
        let [ended] = fact.without_burst.as_slice() else { panic!("{fact:?}") };
        assert_eq!((ended.end, &ended.invalid), (end, &invalid));
    }
}

#[test]
fn a_buffer_that_another_place_limits_stops_growing() {
    let methods =
        vec![SimulatedMethod::new("recv", 5e5).room(Room::Slots(ByteCount(2048))).room_at_most(300)];
    let mut path = SimulatedLaboratory::new(1e6, methods);
    let mut growth = |repeats| {
        let run = run(&SweepPlan { repeats, ..rings(8, 4096, 1e6) }, &mut path);
        only!(&facts(&run), LongestBursts).growth
    };
    let stops = growth(2);
    let Some(BufferGrowth::Stops { from, full: Some(full) }) = stops else { panic!("{stops:?}") };
    assert_eq!(from.at, Some(1_048_576.0));
    assert_eq!((full.resource, full.place, full.share), (Resource::RoomInRing, Place::Ring, 1.0));
    assert_eq!(growth(1), None, "one repeat shows nothing");
}

#[test]
fn what_ends_the_growth_is_known_by_the_bursts_that_lost() {
    let methods =
        vec![SimulatedMethod::new("recv", 5e5).room(Room::Slots(ByteCount(2048))).room_at_most(300)];
    let mut run =
        run(&SweepPlan { repeats: 2, ..rings(8, 4096, 1e6) }, &mut SimulatedLaboratory::new(1e6, methods));
    for (place, resource) in [
        (Place::Backlog, Resource::KernelReceiveWork),
        (Place::Link, Resource::Link),
        (Place::ApplicationQueue, Resource::ApplicationQueue),
        (Place::Xdp, Resource::Unexplained),
    ] {
        let tests =
            run.outcome.series[0].readings.iter_mut().filter_map(|reading| reading.back_to_back.as_mut());
        for search in tests.flat_map(|test| &mut test.searches) {
            search.lost = vec![LostAt { place, frames: 3 }, LostAt { place: Place::Ring, frames: 1 }];
        }
        let fact: LongestBursts = only!(&facts(&run), LongestBursts);
        let Some(BufferGrowth::Stops { full: Some(full), .. }) = fact.growth else { panic!("{fact:?}") };
        assert_eq!((full.resource, full.place, full.share), (resource, place, 0.75));
    }
}
