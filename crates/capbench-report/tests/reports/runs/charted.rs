//! Runs of every kind on the simulated path, whose charts are tested. `methods()` sustain 400,000 (recv, which livelocks above),
//! 900,000 (packet-v2) and 2,000,000 (packet-v3) frames per second.

use std::sync::LazyLock;
use std::time::Duration;

use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_judge::search::{SearchPlan, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::Recording;
use capbench_model::loss_pattern::{Burst, LossInTime, LossPattern, Position, Spread, Window};
use capbench_model::moderation::Moderation;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::Load;
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_plan::bench::BenchPlan;
use capbench_plan::bursts::BurstSearch;
use capbench_plan::for_tests::{Collected, at, bench_plan, dain, methods, pps, sweep_plan};
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{Interrupts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_plan::sweep::{Axis, BackToBackTest, Point, Probe, Spacing, SweepPlan};
use capbench_results::Results;
use capbench_results::for_tests::results;

/// A bench of three methods with frames of these sizes, on a link with a line rate.
pub fn bench(sizes: &[u16]) -> Results {
    visited(sizes, 1)
}

/// The same with this number of visits of each method and load.
pub fn visited(sizes: &[u16], visits: u32) -> Results {
    let plan = BenchPlan {
        sizes: sizes.iter().map(|octets| setup(*octets)).collect(),
        visits,
        ..bench_plan(&["recv", "packet-v2", "packet-v3"])
    };
    let mut path = SimulatedLaboratory::new(1e6, methods()).backlog(950_000.0).line_rate(pps(1_488_095.0));
    results(plan.run(&mut path, &mut Collected::default()).unwrap().trials)
}

/// Searches of two methods, one of them twice.
pub fn searches() -> Results {
    let noise = Noise { per_trial: 0.01, ..Noise::default() };
    let mut path = SimulatedLaboratory::new(1e6, methods()).noise(3, noise);
    let plan = SearchPlan { maximum_pps: Some(pps(1e6)), ..SearchPlan::new(parse("quick").unwrap()) };
    let mut results = results(Vec::new());
    for (method, nth) in [("recv", Some(1)), ("recv", Some(2)), ("packet-v2", None)] {
        let setup = Setup { method: method.parse().unwrap(), ..setup(64) };
        let mut trial = path.prepare(&setup).unwrap();
        let found =
            search::run_nth(&plan, nth, method, &mut *trial, Stored::default(), &mut Collected::default())
                .unwrap();
        results.searches.push(found.outcome);
        results.trials.extend(found.trials);
    }
    results
}

/// A sweep with six visits of each point.
fn plan(axis: Axis, methods: &[&str]) -> SweepPlan {
    SweepPlan { repeats: 6, ..sweep_plan(axis, methods) }
}

/// The results of a sweep.
fn swept(plan: &SweepPlan, path: &mut SimulatedLaboratory) -> Results {
    let run = plan.run(path, &mut Collected::default()).unwrap();
    Results { sweeps: vec![run.outcome], ..results(run.trials) }
}

/// Dain's first table: a packet costs 17.3 µs while each wakes the application, and 4.6 µs while it never sleeps.
pub fn work() -> Results {
    let axis =
        Axis::work(WorkModel::Nanoseconds(0), WorkModel::Nanoseconds(40_000), 21, Spacing::Linear).unwrap();
    let path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::with_regimes("recv", dain())]);
    let noise = Noise { per_trial: 0.002, ..Noise::default() };
    swept(&plan(axis, &["recv"]), &mut path.noise(5, noise))
}

/// Loads of 100,000 to 1,000,000 frames per second: the methods sustain 400,000 and 900,000.
pub fn loads() -> Results {
    let axis = Axis::new((1..=10).map(|tenth| Point::Load(at(f64::from(tenth) * 1e5))).collect()).unwrap();
    swept(&plan(axis, &["recv", "packet-v2"]), &mut SimulatedLaboratory::new(1e6, methods()))
}

/// Frame sizes, on a link with a line rate.
pub fn sizes() -> Results {
    let size = |octets| Point::Size(Sizes::Fixed(FrameSize::new(octets).unwrap()));
    let axis = Axis::new([64, 512, 1518].map(size).to_vec()).unwrap();
    let plan = SweepPlan { loads: vec![Load::Maximum], ..plan(axis, &["packet-v2", "packet-v3"]) };
    swept(&plan, &mut SimulatedLaboratory::new(1e6, methods()).line_rate(pps(1.2e6)))
}

/// Placements, which are names.
pub fn placements() -> Results {
    let axis =
        Axis::new(vec![Point::Placement(PlacementChoice::Same), Point::Placement(PlacementChoice::Other)])
            .unwrap();
    let plan = SweepPlan { loads: vec![Load::Maximum], ..plan(axis, &["recv", "packet-v2"]) };
    swept(&plan, &mut SimulatedLaboratory::new(1e6, methods()))
}

/// Rings of 8 to 4,096 frames, and the longest burst that each holds.
pub fn rings() -> Results {
    const SLOT: ByteCount = ByteCount(2048);
    let test =
        BackToBackTest(BurstSearch { limit: Duration::from_millis(500), ..BackToBackTest::default().0 });
    let plan = SweepPlan {
        probe: Probe::BackToBack(test),
        loads: vec![at(1e6)],
        repeats: 2,
        ..plan(Axis::rings(8, 4096, SLOT).unwrap(), &["recv"])
    };
    let methods = vec![SimulatedMethod::new("recv", 750_000.0).room(Room::Slots(SLOT))];
    swept(&plan, &mut SimulatedLaboratory::new(1e6, methods))
}

/// A card that interrupts for a packet up to 50 µs after its arrival.
fn interrupts() -> Interrupts {
    Interrupts {
        cost: Duration::from_micros(2),
        usual: Duration::from_micros(50),
        descriptors: 512,
        aim: 32.0,
        at_most: Duration::from_micros(200),
    }
}

/// Interrupts held back for 10 to 400 µs, with latency.
pub fn coalesce() -> Results {
    let axis =
        Axis::new([10, 50, 100, 400].map(|us| Point::Coalesce(Moderation::Fixed(us))).to_vec()).unwrap();
    let mut plan = plan(axis, &["packet-v2"]);
    plan.base.latency = Some(Recording::default());
    swept(&plan, &mut SimulatedLaboratory::new(1e6, methods()).interrupts(interrupts()))
}

/// Latency of frames that a card's interrupts hold back for 50 µs.
pub fn latency() -> Results {
    let mut setup = setup(64);
    setup.latency = Some(Recording::default());
    let mut path = SimulatedLaboratory::new(1e6, methods()).interrupts(interrupts());
    let plan = BenchPlan {
        sizes: vec![setup],
        rate: Some(pps(200_000.0)),
        ..bench_plan(&["packet-v2", "packet-v3"])
    };
    results(plan.run(&mut path, &mut Collected::default()).unwrap().trials)
}

/// The bench, whose lossy trials lost their frames in two bursts.
pub fn moments() -> Results {
    let mut results = bench(&[64]);
    for trial in results.trials.iter_mut().filter(|trial| trial.lost() > 0) {
        trial.loss_pattern = Some(lost_in_two_bursts(trial.sent, trial.lost()));
    }
    results
}

/// The pattern of a trial of a second: a burst of 100 frames after 20 ms, and one of the others after 400 ms.
fn lost_in_two_bursts(sent: u64, lost: u64) -> LossPattern {
    let others = lost - 100;
    let burst = |frames, from_ms: u64, position| Burst {
        first: 1000,
        frames,
        from_ns: from_ms * 1_000_000,
        to_ns: from_ms * 1_000_000 + 5_000_000,
        position,
        marked: None,
    };
    LossPattern {
        last_lost: Some(2000),
        lost_at_start: 100,
        lost_steadily: others,
        bursts: Spread { count: 2, total: lost, max: Some(others), ..Spread::default() },
        longest: vec![burst(others, 400, Position::Steady), burst(100, 20, Position::Start)],
        worst_window: Some(Window {
            from_ns: 350_000_000,
            length_ns: 100_000_000,
            sent: sent / 10,
            lost: others.min(sent / 10),
        }),
        in_time: Some(LossInTime { length_ns: 100_000_000, lost: vec![100, 0, 0, 0, others, 0, 0, 0, 0, 0] }),
        ..LossPattern::in_windows(sent, lost, 10, 2)
    }
}

/// Every run, by its name; computed once.
pub fn all() -> Vec<(&'static str, Results)> {
    static ALL: LazyLock<Vec<(&str, Results)>> = LazyLock::new(|| {
        vec![
            ("bench", bench(&[64])),
            ("bench of sizes", bench(&[64, 128, 512, 1024, 1518])),
            ("searches", searches()),
            ("tests", crate::runs::rfc2544()),
            ("work", work()),
            ("loads", loads()),
            ("sizes", sizes()),
            ("placements", placements()),
            ("rings", rings()),
            ("latency", latency()),
            ("coalesce", coalesce()),
            ("moments", moments()),
            ("soak", crate::runs::soak()),
        ]
    });
    ALL.clone()
}
