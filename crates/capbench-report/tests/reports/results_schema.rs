//! Results of every kind of run, saved as capbench saves them, are valid by `docs/results.schema.json`. The runs are on the
//! simulated path.

use std::num::NonZeroU16;
use std::sync::Arc;
use std::time::Duration;

use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_judge::livelock;
use capbench_judge::search::{SearchPlan, parse};
use capbench_judge::sweep::AxisKind;
use capbench_model::environment::Environment;
use capbench_model::environment::interface::{InterfaceFacts, PathInterface, Role};
use capbench_model::environment::program::Program;
use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::Recording;
use capbench_model::placement::PlacementChoice;
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_plan::bench::BenchPlan;
use capbench_plan::bursts::BurstSearch;
use capbench_plan::for_tests::{
    Collected, INTERRUPTS, at, bench_plan, dain, pps, searching_bench_plan, specs, sweep_plan,
};
use capbench_plan::guards::{Guarded, Policy};
use capbench_plan::rfc2544::{Extent, Suite, Test, Throughput};
use capbench_plan::search::{self, Stored};
use capbench_plan::simulated::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod, TwoRegimes};
use capbench_plan::soak::SoakPlan;
use capbench_plan::sweep::{Axis, BackToBackTest, MemberCount, Point, Probe, RingSize, SweepPlan};
use capbench_report::sentences;
use capbench_results::{Results, RunDirectory};
use capbench_testing::Scratch;
use serde_json::Value;

use crate::results_file::assert_valid;

/// A method that livelocks, one that shares its CPU and has two cost regimes, and one with a ring.
fn methods() -> Vec<SimulatedMethod> {
    let regimes = TwoRegimes { batch: 8.0, ..dain() };
    vec![
        SimulatedMethod::new("recv", 400_000.0).livelock(0.5).cost(500, 900),
        SimulatedMethod::with_regimes("packet-v2", regimes).per_octet(Duration::from_nanos(1)).sharing_cpu(),
        SimulatedMethod::new("packet-v3", 500_000.0).cost(60, 650).room(Room::Slots(ByteCount(2048))),
    ]
}

/// A noisy path with [`methods`]. Its generator sends up to 1,000,000 frames per second.
fn path() -> SimulatedLaboratory {
    SimulatedLaboratory::new(1e6, methods()).noise(3, Noise { per_trial: 0.01, per_second: 0.01 })
}

/// The path with the guards of a real run, but without their pauses: no time passes on a simulated path.
fn guarded(path: SimulatedLaboratory) -> Guarded<SimulatedLaboratory> {
    Guarded::new(path, Policy { pause: Duration::ZERO, ..Policy::default() }, Arc::default())
}

/// The results of what a run collected, with the environment of this host.
fn results(collected: Collected, laboratory: &dyn Laboratory) -> Results {
    let interface = PathInterface {
        role: Role::Receive,
        name: "sim0".into(),
        made_by_capbench: true,
        placements: vec!["same".into()],
        facts: InterfaceFacts { mtu_bytes: Some(1500), ..InterfaceFacts::default() },
    };
    let environment = Environment {
        program: Some(Program::default()),
        interfaces: Some(vec![interface]),
        ..capbench_host::environment::read().unwrap()
    };
    Results {
        environment,
        statement_facts: laboratory.statements(),
        not_measured: [collected.not_measured, sentences::not_measured(&collected.untested)].concat(),
        searches: collected.searches,
        rfc2544: collected.tested,
        ..capbench_results::for_tests::results(collected.trials)
    }
}

/// Concludes and saves results. Checks that the file is valid by the schema, and that what is read of it leads to the same
/// conclusions. Returns the file.
fn saved_and_checked(results: &Results) -> Value {
    let mut results = results.clone();
    sentences::conclude(&mut results);
    assert!(!results.answers.is_empty());
    let scratch = Scratch::new();
    let folder = scratch.file("run");
    let mut directory = RunDirectory::create(&folder).unwrap();
    directory.save(&results).unwrap();
    let saved: Value = serde_json::from_slice(&std::fs::read(folder.join("results.json")).unwrap()).unwrap();
    assert_valid(&saved);
    let (_, mut read) = RunDirectory::resume(&folder).unwrap();
    sentences::conclude(&mut read);
    assert_eq!(serde_json::to_value(&read).unwrap(), saved);
    saved
}

/// A bench of three methods with two frame sizes.
fn bench() -> Results {
    let plan =
        BenchPlan { sizes: vec![setup(64), setup(1518)], ..bench_plan(&["recv", "packet-v2", "packet-v3"]) };
    let (mut path, mut collected) = (guarded(path()), Collected::default());
    plan.run(&mut path, &mut collected).unwrap();
    results(collected, &path)
}

#[test]
fn a_bench_is_valid() {
    let saved = saved_and_checked(&bench());
    let trials = saved["trials"].as_array().unwrap();
    let has_probes = trials.iter().any(|trial| trial["guarding"]["recovery"].is_object());
    assert!(has_probes, "probes follow an overload");
    assert!(!saved["findings"].as_array().unwrap().is_empty());
}

#[test]
fn a_recommendation_is_valid() {
    let plan = BenchPlan {
        sizes: vec![setup(64), setup(1518)],
        ..searching_bench_plan(&["recv", "packet-v2", "packet-v3"])
    };
    let outcome = plan.run(&mut guarded(path()), &mut Collected::default()).unwrap();
    let results = capbench_results::for_tests::bench(outcome.trials, outcome.searches);
    let saved = saved_and_checked(&results);
    let recommended = &saved["recommended"];
    assert_eq!(recommended["question"]["what"], "highest_rate");
    assert_eq!(recommended["rankings"].as_array().unwrap().len(), 2);
    assert_eq!(recommended["method"], "packet-v3");
    assert_eq!(recommended["certainty"], "certain");
    assert!(!saved["searches"].as_array().unwrap().is_empty());
}

/// The results of this number of searches on a path.
fn searched(searches: u32, path: SimulatedLaboratory) -> Results {
    let plan = SearchPlan::new(parse("ndr,pdr,rfc2544").unwrap());
    let (mut path, mut collected) = (guarded(path), Collected::default());
    let mut outcomes = Vec::new();
    for number in 1..=searches {
        // A single search has no number.
        let nth = if searches > 1 { Some(number) } else { None };
        let mut trial = path.prepare(&setup(64)).unwrap();
        let stored = Stored::default();
        let search =
            search::run_nth(&plan, nth, "simulated", trial.as_mut(), stored, &mut collected).unwrap();
        outcomes.push(search.outcome);
    }
    collected.searches = outcomes;
    results(collected, &path)
}

#[test]
fn searches_are_valid() {
    let lossy_path = path().bursts(5, LossBursts { per_second: 0.05, frames: 40 });
    let slow_link = path().line_rate(pps(400_000.0));
    for (searches, path) in [(1, path()), (3, lossy_path), (1, slow_link)] {
        let saved = saved_and_checked(&searched(searches, path));
        assert_eq!(saved["searches"].as_array().unwrap().len(), searches as usize);
    }
}

/// An axis of every kind.
fn axes() -> Vec<Axis> {
    let size = |octets| Point::Size(Sizes::Fixed(FrameSize::new(octets).unwrap()));
    [
        [0, 5000, 30_000].map(|ns| Point::Work(WorkModel::Nanoseconds(ns))).to_vec(),
        [64, 512, 1518].map(size).to_vec(),
        [8, 512].map(|frames| Point::Ring(RingSize::of_frames(frames, ByteCount(2048)).unwrap())).to_vec(),
        [PlacementChoice::Same, PlacementChoice::Other].map(Point::Placement).to_vec(),
        [50_000.0, 400_000.0, 900_000.0].map(|rate| Point::Load(at(rate))).to_vec(),
        ["0us", "50us", "adaptive"].map(|text| Point::Coalesce(text.parse().unwrap())).to_vec(),
        [1, 2, 3, 4].map(|count| Point::Members(MemberCount(NonZeroU16::new(count).unwrap()))).to_vec(),
    ]
    .map(|points| Axis::new(points).unwrap())
    .to_vec()
}

/// A sweep of all methods at 350,000 frames per second, unless the axis has the loads.
fn plan(axis: Axis) -> SweepPlan {
    let plan = sweep_plan(axis, &["recv", "packet-v2", "packet-v3"]);
    let loads = plan.loads.iter().map(|_| at(350_000.0)).collect();
    SweepPlan { loads, repeats: 3, refinement: 1, ..plan }
}

/// The saved and checked results of a sweep.
fn swept(plan: &SweepPlan, path: SimulatedLaboratory) -> Value {
    let (mut path, mut collected) = (guarded(path), Collected::default());
    let run = plan.run(&mut path, &mut collected).unwrap();
    let mut results = results(collected, &path);
    livelock::mark(&mut results.trials);
    results.sweeps = vec![run.outcome];
    saved_and_checked(&results)
}

#[test]
fn sweeps_of_every_kind_are_valid() {
    assert_eq!(axes().len(), AxisKind::ALL.len());
    for axis in axes() {
        let kind = axis.kind();
        let path = if kind == AxisKind::Coalesce { path().interrupts(INTERRUPTS) } else { path() };
        let base = Setup { latency: Some(Recording { from: Duration::ZERO }), ..setup(64) };
        let saved = swept(&SweepPlan { base, ..plan(axis) }, path);
        assert_eq!(saved["sweeps"][0]["axis"], serde_json::to_value(kind).unwrap());
        // What only sweeps of one kind have.
        let trials = saved["trials"].as_array().unwrap();
        match kind {
            AxisKind::Coalesce => {
                assert!(trials.iter().any(|trial| trial["latency"]["total"]["histogram"].is_string()));
            }
            AxisKind::Load => assert!(trials.iter().any(|trial| trial["livelock"].is_object())),
            _ => {}
        }
        let limits = &saved["sweeps"][0]["series"][0]["scaling"]["limits"];
        let has_limits = limits.as_array().is_some_and(|limits| limits.len() >= 4);
        assert_eq!(has_limits, kind == AxisKind::Members);
    }
}

#[test]
fn a_sweep_of_bursts_is_valid() {
    let test = BackToBackTest(BurstSearch { depletion: Duration::ZERO, ..BackToBackTest::default().0 });
    let plan = SweepPlan {
        methods: specs(&["packet-v3"]),
        probe: Probe::BackToBack(test),
        refinement: 0,
        loads: vec![at(900_000.0)],
        ..plan(Axis::rings(8, 512, ByteCount(2048)).unwrap())
    };
    let saved = swept(&plan, path());
    let readings = &saved["sweeps"][0]["series"][0]["readings"];
    assert!(readings[0]["back_to_back"]["searches"].is_array(), "{readings}");
}

/// The saved and checked results of all tests of RFC 2544 of a method that reads up to this rate. The generator sends up to
/// 1,000,000 frames per second.
fn rfc2544(capacity_pps: f64) -> Value {
    let suite = Suite {
        tests: vec![Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery],
        extent: Extent { depletion: Duration::ZERO, ..Extent::quick() },
        throughput: Throughput::Search(SearchPlan::new(parse("quick").unwrap())),
    };
    let method = SimulatedMethod::new("packet-v3", capacity_pps).room(Room::Frames(4096));
    let mut path = guarded(SimulatedLaboratory::new(1e6, vec![method]));
    let mut collected = Collected::default();
    let is_stopped = suite.run(&setup(64), &mut path, &mut collected).unwrap();
    assert!(!is_stopped);
    saved_and_checked(&results(collected, &path))
}

#[test]
fn tests_of_rfc_2544_are_valid() {
    let saved = rfc2544(300_000.0);
    let mut tests = Vec::new();
    for tested in saved["rfc2544"].as_array().unwrap() {
        tests.push(tested["test"].as_str().unwrap());
    }
    assert_eq!(tests, ["latency", "frame-loss", "back-to-back", "recovery"]);
    assert!(saved["searches"].is_array());
}

#[test]
fn tests_of_rfc_2544_without_an_overload_are_not_measured() {
    let saved = rfc2544(2e6);
    assert!(saved["rfc2544"].is_array() && saved["searches"].is_array());
    assert!(!saved["not_measured"].as_array().unwrap().is_empty());
}

#[test]
fn a_soak_is_valid() {
    let plan = SoakPlan {
        setup: setup(64),
        rate: pps(100_000.0),
        length: Duration::from_secs(5),
        interval: Duration::from_secs(1),
    };
    let mut path = guarded(path().bursts(5, LossBursts { per_second: 0.5, frames: 40 }));
    let mut collected = Collected::default();
    let outcome = plan.run(&mut path, &mut collected).unwrap();
    let mut results = results(collected, &path);
    results.trials = outcome.record.kept.clone();
    results.soak = Some(outcome.record);
    let saved = saved_and_checked(&results);
    assert!(saved["soak"]["worst"].is_object(), "{}", saved["soak"]);
}

/// A change of valid results that makes them invalid.
type Mistake = fn(&mut Value);

#[test]
fn results_with_other_members_or_values_are_not_valid() {
    let saved = saved_and_checked(&bench());
    let mistakes: [(&str, Mistake); 8] = [
        ("a member of results", |results| results["later"] = 1.into()),
        ("another version", |results| results["schema_version"] = 2.into()),
        ("a member of a trial", |results| results["trials"][0]["later"] = 1.into()),
        ("a negative count", |results| results["trials"][0]["delivered"] = (-1).into()),
        ("another verdict", |results| results["trials"][0]["verdict"] = "good".into()),
        ("a member of the environment", |results| results["environment"]["cpu"]["later"] = Value::Null),
        ("a trial without a count", |results| {
            results["trials"][0].as_object_mut().unwrap().remove("sent").unwrap();
        }),
        ("an environment without a member", |results| {
            results["environment"].as_object_mut().unwrap().remove("kernel_release").unwrap();
        }),
    ];
    for (mistake, make_mistake) in mistakes {
        let mut wrong = saved.clone();
        make_mistake(&mut wrong);
        assert!(std::panic::catch_unwind(|| assert_valid(&wrong)).is_err(), "{mistake} is accepted");
    }
}
