//! What sweeps show, as facts. The paths are built so that the expected facts can be computed; comments have the numbers. Their
//! words: `sentences/sweep/tests.rs`.

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
use capbench_plan::for_tests::sweep_plan as plan;
use capbench_plan::for_tests::{Collected, at, dain};
use capbench_plan::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, BackToBackTest, Point, Probe, Spacing, SweepPlan, SweepRun};
use capbench_report::sentences;
use capbench_results::{Finding, Results};

use super::run_of;

/// Work of these times per frame.
pub(crate) fn works(ns: &[u32]) -> Axis {
    Axis::new(ns.iter().map(|&ns| Point::Work(WorkModel::Nanoseconds(ns))).collect()).unwrap()
}

/// A sweep from no work to work of `most_ns` per frame, at this load, with four visits of each point.
pub(crate) fn work_up_to(most_ns: u32, points: usize, pps: f64, methods: &[&str]) -> SweepPlan {
    let most = WorkModel::Nanoseconds(most_ns);
    let axis = Axis::work(WorkModel::Nanoseconds(0), most, points, Spacing::Linear).unwrap();
    SweepPlan { repeats: 4, loads: vec![at(pps)], ..plan(axis, methods) }
}

/// A sweep of loads of these rates.
fn loads<const N: usize>(rates: [f64; N], methods: &[&str]) -> SweepPlan {
    plan(Axis::new(rates.map(|pps| Point::Load(at(pps))).to_vec()).unwrap(), methods)
}

/// Runs a sweep.
pub(crate) fn run(plan: &SweepPlan, laboratory: &mut SimulatedLaboratory) -> SweepRun {
    plan.run(laboratory, &mut Collected::default()).unwrap()
}

/// What a sweep shows besides what its trials show without it.
pub(crate) fn find(run: &SweepRun) -> Vec<Finding> {
    let results = run_of(run.trials.clone());
    let of_trials = sentences::find(&results).len();
    let mut found = sentences::find(&Results { sweeps: vec![run.outcome.clone()], ..results });
    // Findings about trials are the last ones.
    found.truncate(found.len() - of_trials);
    found
}

/// The facts that a sweep shows.
fn facts(run: &SweepRun) -> Vec<SweepFinding> {
    let mut facts = Vec::new();
    for finding in find(run) {
        assert!(!finding.trials.is_empty(), "{finding:?}");
        if let Some(Fact::Sweep(fact)) = finding.fact {
            facts.push(*fact);
        }
    }
    facts
}

/// The only fact of a kind, such as `LossBegins`.
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

/// The part of a second in which a trial lost frames.
#[derive(Clone, Copy, PartialEq)]
enum LossyPart {
    /// 100 ms in the middle.
    Middle,
    /// The last 100 ms.
    End,
}

/// The pattern of a trial that sent `sent` frames and lost `lost` of them in one part of its second.
fn lost_in(part: LossyPart, sent: u64, lost: u64) -> LossPattern {
    let (from_ns, lost_steadily, lost_at_end) = match part {
        LossyPart::Middle => (400_000_000, lost, 0),
        LossyPart::End => (900_000_000, 0, lost),
    };
    LossPattern {
        lost_steadily,
        lost_at_end,
        bursts: Spread { count: 1, total: lost, max: Some(lost), ..Spread::default() },
        worst_window: Some(Window { from_ns, length_ns: 100_000_000, sent: sent / 10, lost }),
        ..LossPattern::in_windows(sent, lost, 10, 1)
    }
}

/// The numbers of points on the axis.
fn coordinates(points: &[&SweepPoint]) -> Vec<f64> {
    points.iter().map(|point| point.at.unwrap()).collect()
}

/// A path on which each trial differs by up to this share.
fn noisy_path(seed: u64, per_trial: f64, methods: Vec<SimulatedMethod>) -> SimulatedLaboratory {
    SimulatedLaboratory::new(1e6, methods).noise(seed, Noise { per_trial, per_second: 0.0 })
}

#[test]
fn two_cost_regimes_are_found_with_what_changes_between_them() {
    // The costs of `dain`: 17,300 ns up to work of 9,000 ns, 4,600 ns from 18,000 ns on, where 20 frames are read at a time.
    let plan = work_up_to(36_000, 37, 45_000.0, &["recv"]);
    let mut path = noisy_path(1, 0.001, vec![SimulatedMethod::with_regimes("recv", dain())]);
    let facts = facts(&run(&plan, &mut path));
    let begins: LossBegins = only!(&facts, LossBegins);
    let kept = begins.keeps_up_to.unwrap();
    // At 45,000 frames per second, 22,222 ns are left for each: 17,300 and 4,922.
    assert_eq!(coordinates(&[&kept, &begins.first_loss.point]), [4000.0, 5000.0]);

    let cost: PacketCost = only!(&facts, PacketCost);
    let [asleep, busy] = &cost.regimes[..] else { panic!("{cost:?}") };
    assert_eq!(coordinates(&[&asleep.from, &asleep.to]), [6000.0, 9000.0]);
    assert_eq!(coordinates(&[&busy.from, &busy.to]), [18_000.0, 36_000.0]);
    assert!((asleep.cost_ns - 17_300.0).abs() < 100.0, "{cost:?}");
    assert!((busy.cost_ns - 4600.0).abs() < 100.0, "{cost:?}");

    let [change] = &cost.changes[..] else { panic!("{cost:?}") };
    assert_eq!(coordinates(&[&change.from, &change.to]), [9000.0, 18_000.0]);
    assert!(change.evidence.excludes_chance(), "{change:?}");
    let wakeups = change.wakeups_per_packet.unwrap();
    assert_eq!(wakeups.before, 1.0);
    assert_eq!(wakeups.after, 0.0);
    let batch = change.frames_per_batch.unwrap();
    assert!(batch.before < 1.1 && batch.after > 19.0, "{batch:?}");
    assert_eq!(change.backlog_share, None);
    assert_eq!(change.ring_share, None);
    assert_eq!(cost.slowed_work, None);
}

/// A sweep of two methods that share a CPU with the kernel. The ring saves the application 2,000 ns per delivered packet, and costs
/// the kernel 1,200 ns more per arriving one.
fn ring_and_socket() -> SweepRun {
    let methods = vec![
        SimulatedMethod::new("recv", 1e9 / 2500.0).cost(2500, 1000).sharing_cpu(),
        SimulatedMethod::new("packet-v2", 1e9 / 500.0).cost(500, 2200).sharing_cpu(),
    ];
    let plan = SweepPlan { repeats: 8, ..work_up_to(24_000, 13, 167_000.0, &["recv", "packet-v2"]) };
    run(&plan, &mut noisy_path(2, 0.001, methods))
}

#[test]
fn a_ring_that_falls_behind_once_frames_are_lost_crosses_the_socket() {
    let crossing: Crossing = only!(&facts(&ring_and_socket()), Crossing);
    assert_eq!(crossing.series.method, "packet-v2");
    assert_eq!(crossing.other, "recv");
    assert_eq!(coordinates(&[&crossing.ahead_up_to, &crossing.behind_from]), [4000.0, 6000.0]);
    assert!(crossing.ahead_evidence.excludes_chance() && crossing.behind_evidence.excludes_chance());
    assert!((crossing.loss_ratio - 0.42).abs() < 0.01, "{}", crossing.loss_ratio);
    let costs = crossing.costs.unwrap();
    assert!(costs.kernel_pays_for_lost, "{costs:?}");
    // The application's costs include 6,000 ns of work.
    assert_eq!(costs.first.kernel_ns_per_packet, 2200.0);
    assert_eq!(costs.first.app_ns_per_packet, 6500.0);
    assert_eq!(costs.other.kernel_ns_per_packet, 1000.0);
    assert_eq!(costs.other.app_ns_per_packet, 8500.0);
}

#[test]
fn the_application_has_the_share_of_its_cpu_that_the_kernel_leaves() {
    let mut shares = Vec::new();
    for fact in facts(&ring_and_socket()) {
        if let SweepFinding::PacketCost(cost) = fact {
            let part = cost.slowed_work.unwrap().of_alone.unwrap();
            shares.push((cost.series.method.to_string(), part.cpu_share));
        }
    }
    let [(first, of_recv), (second, of_ring)] = &shares[..] else { panic!("{shares:?}") };
    assert_eq!([first.as_str(), second.as_str()], ["recv", "packet-v2"]);
    // At 167,000 frames per second the kernel takes 167 ms of a second with 1,000 ns per frame, 367 ms with 2,200 ns.
    assert!((of_recv - 0.833).abs() < 0.001, "{shares:?}");
    assert!((of_ring - 0.633).abs() < 0.001, "{shares:?}");
}

#[test]
fn the_cheapest_method_is_named_where_both_keep_up() {
    let cheapest: CheapestAtPoints = only!(&facts(&ring_and_socket()), CheapestAtPoints);
    assert_eq!(coordinates(&[&cheapest.from, &cheapest.to]), [0.0, 2000.0]);
    assert_eq!(cheapest.cheapest[0].method, "packet-v2");
}

/// `recv` sustains 120,000 frames per second at 1,800 ns each, `packet-v2` 95,000 at 800 ns.
fn dear_and_cheap() -> SimulatedLaboratory {
    let slots = Room::Slots(ByteCount(2048));
    let methods = vec![
        SimulatedMethod::new("recv", 120_000.0).cost(900, 900).room(slots),
        SimulatedMethod::new("packet-v2", 95_000.0).cost(100, 700).room(slots),
    ];
    SimulatedLaboratory::new(1e6, methods)
}

#[test]
fn the_cheapest_ring_that_keeps_up_is_named() {
    let rings = plan(Axis::rings(512, 32_768, ByteCount(2048)).unwrap(), &["recv", "packet-v2"]);
    let facts = facts(&run(&SweepPlan { repeats: 6, ..rings }, &mut dear_and_cheap()));
    // The load is 100,000 packets/s. packet-v2, which reads 95,000, loses nothing of a second with a large ring.
    let ends = only!(&facts, LossBegins).ends.unwrap();
    assert!(ends.only_by_buffers.is_some() && ends.keeps_up_from.is_none(), "{ends:?}");
    // So only recv keeps up, with each of seven rings at the same cost: the smallest one is named.
    let cheapest: CheapestRing = only!(&facts, CheapestRing);
    assert_eq!(cheapest.pairs, 7);
    assert_eq!(cheapest.cheapest.method, "recv");
    assert_eq!(cheapest.cheapest.ring.index, 0);
    assert_eq!(cheapest.cheapest.ns_per_packet, 1800.0);
    assert_eq!(cheapest.evidence, None);
    assert_eq!(cheapest.smallest_alike, None);
}

#[test]
fn the_cheapest_method_is_named_for_each_range_of_loads() {
    let loads = loads([40_000.0, 60_000.0, 80_000.0, 110_000.0, 300_000.0], &["recv", "packet-v2"]);
    let mut cheapest = Vec::new();
    for fact in facts(&run(&SweepPlan { repeats: 6, ..loads }, &mut dear_and_cheap())) {
        if let SweepFinding::CheapestAtPoints(fact) = fact {
            cheapest.push(fact);
        }
    }
    let [both_keep_up, one_keeps_up] = &cheapest[..] else { panic!("{cheapest:?}") };
    assert_eq!(coordinates(&[&both_keep_up.from, &both_keep_up.to]), [40_000.0, 80_000.0]);
    assert_eq!(both_keep_up.cheapest[0].method, "packet-v2");
    assert!(!both_keep_up.is_only_one && both_keep_up.evidence.is_some(), "{both_keep_up:?}");
    assert_eq!(coordinates(&[&one_keeps_up.from, &one_keeps_up.to]), [110_000.0, 110_000.0]);
    assert_eq!(one_keeps_up.cheapest[0].method, "recv");
    assert!(one_keeps_up.is_only_one && one_keeps_up.evidence.is_none(), "{one_keeps_up:?}");
}

/// The facts of a plan with so many visits of each point. `recv` costs 1,800 ns per packet, `packet-v2` the usual 600 ns.
fn facts_with_visits(plan: &SweepPlan, repeats: u32) -> Vec<SweepFinding> {
    let methods =
        vec![SimulatedMethod::new("recv", 2e5).cost(900, 900), SimulatedMethod::new("packet-v2", 2e5)];
    let plan = SweepPlan { repeats, ..plan.clone() };
    facts(&run(&plan, &mut SimulatedLaboratory::new(1e6, methods)))
}

#[test]
fn one_visit_does_not_show_the_cheapest_method() {
    let loads = loads([40_000.0, 80_000.0], &["recv", "packet-v2"]);
    let fact: CheapestAtPoints = only!(&facts_with_visits(&loads, 1), CheapestAtPoints);
    let [recv, ring] = &fact.cheapest[..] else { panic!("{fact:?}") };
    assert_eq!(recv.method, "recv");
    assert_eq!(recv.most_ns_per_packet, 1800.0);
    assert_eq!(ring.method, "packet-v2");
    assert_eq!(ring.most_ns_per_packet, 600.0);
    assert_eq!(coordinates(&[&fact.from, &fact.to]), [40_000.0, 80_000.0]);
    assert_eq!(fact.evidence, None);
    assert!(!fact.is_only_one);
}

#[test]
fn several_visits_show_the_cheapest_ring_and_one_does_not() {
    let rings = plan(Axis::rings(512, 4096, ByteCount(2048)).unwrap(), &["recv", "packet-v2"]);
    let once: CheapestRing = only!(&facts_with_visits(&rings, 1), CheapestRing);
    assert_eq!(once.cheapest.method, "packet-v2");
    assert_eq!(once.cheapest.ns_per_packet, 600.0);
    let not_distinguished: Vec<_> = once.not_distinguished.iter().map(ToString::to_string).collect();
    assert_eq!(not_distinguished, ["recv"]);
    assert_eq!(once.evidence, None);

    let six_times: CheapestRing = only!(&facts_with_visits(&rings, 6), CheapestRing);
    assert_eq!(six_times.cheapest.method, "packet-v2");
    assert!(six_times.not_distinguished.is_empty(), "{six_times:?}");
    assert!(six_times.evidence.unwrap().by_chance < 1e-4, "{six_times:?}");
}

/// The limit of a sweep with one method, which has one limit; the generator if it is why no frame is lost.
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
fn the_place_of_the_losses_shows_the_limit() {
    let recv = || vec![SimulatedMethod::new("recv", 5e5)];
    let cases = [
        (SimulatedLaboratory::new(1e6, recv()), 9e5, Limit::Application),
        (SimulatedLaboratory::new(1e6, recv()).backlog(3e5), 4e5, Limit::Backlog),
        (SimulatedLaboratory::new(2e5, recv()), 4e5, Limit::Generator),
    ];
    for (mut path, too_high_pps, expected) in cases {
        assert_eq!(limit(&run(&loads([1000.0, too_high_pps], &["recv"]), &mut path)), expected);
    }
}

/// The limit at this load, whose trials lost all their lost frames in one part of their second; `None`: when is unknown.
fn limit_at(pps: f64, mut path: SimulatedLaboratory, lossy_part: Option<LossyPart>) -> Limit {
    let plan = SweepPlan { repeats: 3, ..loads([1000.0, pps], &["recv"]) };
    let mut run = run(&plan, &mut path);
    for trial in run.trials.iter_mut().filter(|trial| trial.lost() > 0) {
        trial.loss_pattern = lossy_part.map(|part| lost_in(part, trial.sent, trial.lost()));
    }
    limit(&run)
}

#[test]
fn a_ring_is_too_small_where_frames_are_lost_in_moments_only() {
    // The method sustains 500,000 frames per second. A burst of 5 frames is lost each second.
    let path = || {
        let bursts = LossBursts { per_second: 1.0, frames: 5 };
        SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 5e5)]).bursts(1, bursts)
    };
    assert_eq!(limit_at(4e5, path(), Some(LossyPart::Middle)), Limit::Ring);
    assert_eq!(limit_at(4e5, path(), None), Limit::RingOrApplication);
}

#[test]
fn a_ring_that_fills_late_is_not_too_small() {
    // 2,000 frames a second are too many. The ring of 1,600 is full after 0.8 s, and 400 frames are lost after that.
    let methods = vec![SimulatedMethod::new("recv", 100_000.0).room(Room::Frames(1600))];
    let path = SimulatedLaboratory::new(1e6, methods);
    assert_eq!(limit_at(102_000.0, path, Some(LossyPart::End)), Limit::Application);
}

#[test]
fn points_at_which_the_kernel_is_the_limit_show_no_cost_of_the_application() {
    // Half of 100,000 frames per second get through the backlog. recv takes 5,000 ns besides its work, so it reads them all with
    // work of up to 15,000 ns.
    let methods = vec![SimulatedMethod::new("recv", 200_000.0).cost(100, 2000)];
    let plan = SweepPlan { repeats: 2, ..plan(works(&[0, 5000, 10_000, 16_000, 30_000]), &["recv"]) };
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, methods).backlog(50_000.0));
    let readings = &run.outcome.series[0].readings;
    let is_kernel_the_limit: Vec<bool> =
        readings.iter().map(|reading| reading.is_limited_by_kernel()).collect();
    assert_eq!(is_kernel_the_limit, [true, true, true, false, false]);
    let is_application_the_limit: Vec<bool> = readings.iter().map(|reading| reading.is_saturated()).collect();
    assert_eq!(is_application_the_limit, [false, false, false, true, true]);
    let most_lost_at = readings[3].lost[0].place;
    assert!(
        !most_lost_at.holds_frames_for_application(),
        "the backlog loses most, and the ring overflows, too"
    );

    let facts = facts(&run);
    let fact = only!(&facts, LimitedByKernel);
    assert_eq!(fact.points, 3);
    assert_eq!(coordinates(&[&fact.first, &fact.last]), [0.0, 10_000.0]);
    assert_eq!(fact.place, Some(Place::Backlog));
    assert_eq!(fact.read_pps, 50_000.0);
    assert!((fact.loss_ratio - 0.5).abs() < 1e-3, "{fact:?}");
    let kernel = fact.kernel.unwrap();
    assert_eq!(kernel.ns_per_packet, 2000.0);
    // 50,000 frames of 2,000 ns in a second.
    assert_eq!(kernel.busy_ratio, 0.1);
    assert_eq!(only!(&facts, NoCost).points, 2);
}

#[test]
fn a_sweep_without_a_trial_shows_nothing() {
    let mut stopped = Collected::stopping_after(0);
    let mut path = SimulatedLaboratory::new(1e6, Vec::new());
    let run = plan(works(&[1, 2]), &["recv"]).run(&mut path, &mut stopped).unwrap();
    assert!(find(&run).is_empty());
}

#[test]
fn points_whose_loss_a_buffer_hides_are_named() {
    // At 45,000 frames per second, work of more than 20,222 ns and 2,000 ns besides take too long. The buffer holds 20 s of them.
    let recv = SimulatedMethod::new("recv", 1e9 / 2000.0).cost(2000, 0).room(Room::Frames(1_000_000));
    let plan = SweepPlan { repeats: 6, ..work_up_to(33_000, 12, 45_000.0, &["recv"]) };
    let facts = facts(&run(&plan, &mut SimulatedLaboratory::new(1e6, vec![recv])));
    let fact: HardlyAnyLoss = only!(&facts, HardlyAnyLoss);
    assert!(fact.lossy.is_empty(), "{fact:?}");
    let hidden = fact.hidden.unwrap();
    assert!(hidden.reaches_end);
    assert_eq!(hidden.first.point.at, Some(21_000.0));
    // 21,000 to 33,000 in steps of 3,000.
    assert_eq!(hidden.points.len(), 5);
    assert!(!facts.iter().any(|fact| matches!(fact, SweepFinding::Crossing(_))));
}

#[test]
fn several_visits_of_loads_show_livelock_and_one_does_not() {
    let once = loads([50_000.0, 100_000.0, 150_000.0, 200_000.0], &["recv"]);
    let facts_with_visits = |repeats: u32| {
        // Each frame beyond 100,000 per second costs half a delivered one.
        let method = SimulatedMethod::new("recv", 100_000.0).livelock(0.5);
        let plan = SweepPlan { repeats, ..once.clone() };
        facts(&run(&plan, &mut SimulatedLaboratory::new(1e6, vec![method])))
    };
    let single = facts_with_visits(1);
    assert!(!single.iter().any(|fact| matches!(fact, SweepFinding::Livelock(_))), "{single:?}");
    let fact = only!(&facts_with_visits(6), Livelock);
    assert_eq!(fact.peak.at, Some(100_000.0));
    assert_eq!(fact.lowest.at, Some(200_000.0));
    assert!((fact.lowest_pps / fact.peak_pps - 0.5).abs() < 0.001, "{fact:?}");
    assert!(fact.evidence.excludes_chance(), "{fact:?}");
}

#[test]
fn loss_at_points_without_an_order_is_listed() {
    let works = ["none", "parse", "ns:30000"].map(|model| Point::Work(model.parse().unwrap()));
    let plan = plan(Axis::new(works.to_vec()).unwrap(), &["recv"]);
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 1e5)]);
    let fact = only!(&facts(&run(&plan, &mut path)), LossAtNamedPoints);
    // Without work nothing is lost.
    let [parse, wait] = &fact.lossy[..] else { panic!("{fact:?}") };
    for (loss, index, loss_ratio) in [(parse, 1, 0.002), (wait, 2, 0.75)] {
        assert_eq!(loss.point.index, index);
        assert_eq!(loss.places.len(), 1, "{loss:?}");
        assert_eq!(loss.places[0].place, Place::Ring);
        assert!((loss.loss_ratio - loss_ratio).abs() < 1e-3, "{loss:?}");
    }
}

#[test]
fn a_sweep_has_findings_wherever_it_is_stopped() {
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

/// Searches for the longest burst with rings of `from` to `to` slots of 2,048 octets, at this load.
fn rings(from: u32, to: u32, pps: f64) -> SweepPlan {
    let search = BurstSearch { limit: Duration::from_millis(500), ..BackToBackTest::default().0 };
    let axis = Axis::rings(from, to, ByteCount(2048)).unwrap();
    SweepPlan {
        probe: Probe::BackToBack(BackToBackTest(search)),
        loads: vec![at(pps)],
        ..plan(axis, &["recv"])
    }
}

/// A path whose method reads half of the load of 1,000,000, and has room for up to 300 frames, whatever its ring.
fn path_with_room_for_300() -> SimulatedLaboratory {
    let method = SimulatedMethod::new("recv", 5e5).room(Room::Slots(ByteCount(2048))).room_at_most(300);
    SimulatedLaboratory::new(1e6, vec![method])
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
fn a_buffer_that_something_else_limits_stops_growing() {
    let growth = |repeats| {
        let plan = SweepPlan { repeats, ..rings(8, 4096, 1e6) };
        only!(&facts(&run(&plan, &mut path_with_room_for_300())), LongestBursts).growth
    };
    let stops = growth(2);
    let Some(BufferGrowth::Stops { from, full: Some(full) }) = stops else { panic!("{stops:?}") };
    // The first ring with more than 300 slots: 512 of 2,048 octets.
    assert_eq!(from.at, Some(1_048_576.0));
    assert_eq!(full.resource, Resource::RoomInRing);
    assert_eq!(full.place, Place::Ring);
    assert_eq!(full.share, 1.0);
    assert_eq!(growth(1), None, "one repeat shows nothing");
}

#[test]
fn the_place_of_the_losses_shows_what_ends_the_growth() {
    let plan = SweepPlan { repeats: 2, ..rings(8, 4096, 1e6) };
    let mut run = run(&plan, &mut path_with_room_for_300());
    for (place, resource) in [
        (Place::Backlog, Resource::KernelReceiveWork),
        (Place::Link, Resource::Link),
        (Place::ApplicationQueue, Resource::ApplicationQueue),
        (Place::Xdp, Resource::Unexplained),
    ] {
        // Three of four lost frames at this place.
        for reading in &mut run.outcome.series[0].readings {
            for search in reading.back_to_back.iter_mut().flat_map(|bursts| &mut bursts.searches) {
                search.lost = vec![LostAt { place, frames: 3 }, LostAt { place: Place::Ring, frames: 1 }];
            }
        }
        let fact: LongestBursts = only!(&facts(&run), LongestBursts);
        let Some(BufferGrowth::Stops { full: Some(full), .. }) = fact.growth else { panic!("{fact:?}") };
        assert_eq!(full.resource, resource);
        assert_eq!(full.place, place);
        assert_eq!(full.share, 0.75);
    }
}
