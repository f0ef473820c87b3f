//! Runs of every kind on the simulated path, saved as the product saves them, are what `docs/results.schema.json` says.

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

fn methods() -> Vec<SimulatedMethod> {
    let regimes = TwoRegimes { batch: 8.0, ..dain() };
    vec![
        SimulatedMethod::new("recv", 400_000.0).livelock(0.5).cost(500, 900),
        SimulatedMethod::with_regimes("packet-v2", regimes).per_octet(Duration::from_nanos(1)).sharing_cpu(),
        SimulatedMethod::new("packet-v3", 500_000.0).cost(60, 650).room(Room::Slots(ByteCount(2048))),
    ]
}

fn path() -> SimulatedLaboratory {
    SimulatedLaboratory::new(1e6, methods()).noise(3, Noise { per_trial: 0.01, per_second: 0.01 })
}

/// As the product has it, but for the pauses: no time passes here.
fn guarded(path: SimulatedLaboratory) -> Guarded<SimulatedLaboratory> {
    Guarded::new(path, Policy { pause: Duration::ZERO, ..Policy::default() }, Arc::default())
}

/// What every run has.
fn results(kept: Collected, laboratory: &dyn Laboratory) -> Results {
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
        statements: laboratory.statements(),
        not_measured: [kept.not_measured, sentences::not_measured(&kept.untested)].concat(),
        searches: kept.searches,
        rfc2544: kept.tested,
        ..capbench_results::for_tests::results(kept.trials)
    }
}

/// Concludes and saves results, and looks that they are what the schema says and are read again as they were, each fact
/// included.
fn check(results: &Results) -> Value {
    let mut results = results.clone();
    sentences::conclude(&mut results);
    assert!(!results.answers.is_empty());
    let scratch = Scratch::new();
    let folder = scratch.file("run");
    let mut directory = RunDirectory::create(&folder).unwrap();
    directory.save(&results).unwrap();
    let saved: Value = serde_json::from_slice(&std::fs::read(folder.join("results.json")).unwrap()).unwrap();
    assert_valid(&saved);
    let (_, read) = RunDirectory::resume(&folder).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), saved);
    saved
}

fn bench() -> Results {
    let plan =
        BenchPlan { sizes: vec![setup(64), setup(1518)], ..bench_plan(&["recv", "packet-v2", "packet-v3"]) };
    let (mut path, mut kept) = (guarded(path()), Collected::default());
    plan.run(&mut path, &mut kept).unwrap();
    results(kept, &path)
}

#[test]
fn a_bench_is_what_the_schema_says() {
    let saved = check(&bench());
    let trials = saved["trials"].as_array().unwrap();
    assert!(
        trials.iter().any(|trial| trial["guarding"]["recovery"].is_object()),
        "an overload was probed after"
    );
    assert!(!saved["findings"].as_array().unwrap().is_empty());
}

#[test]
fn a_recommendation_is_what_the_schema_says() {
    let plan = BenchPlan {
        sizes: vec![setup(64), setup(1518)],
        ..searching_bench_plan(&["recv", "packet-v2", "packet-v3"])
    };
    let outcome = plan.run(&mut guarded(path()), &mut Collected::default()).unwrap();
    let saved = check(&capbench_results::for_tests::bench(outcome.trials, outcome.searches));
    let recommended = &saved["recommended"];
    assert_eq!(recommended["question"]["what"], "highest_rate");
    assert_eq!(recommended["rankings"].as_array().unwrap().len(), 2);
    assert_eq!((&recommended["method"], &recommended["certainty"]), (&"packet-v3".into(), &"certain".into()));
    assert!(!saved["searches"].as_array().unwrap().is_empty());
}

#[test]
fn searches_are_what_the_schema_says() {
    let plan = SearchPlan::new(parse("ndr,pdr,rfc2544").unwrap());
    for (searches, path) in [
        (1, path()),
        (3, path().bursts(5, LossBursts { per_second: 0.05, frames: 40 })),
        (1, path().line_rate(pps(400_000.0))),
    ] {
        let (mut path, mut kept) = (guarded(path), Collected::default());
        let mut outcomes = Vec::new();
        for nth in 1..=searches {
            let mut trial = path.prepare(&setup(64)).unwrap();
            let nth = (searches > 1).then_some(nth);
            outcomes.push(
                search::run_nth(&plan, nth, "simulated", trial.as_mut(), Stored::default(), &mut kept)
                    .unwrap()
                    .outcome,
            );
        }
        kept.searches = outcomes;
        let saved = check(&results(kept, &path));
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

fn plan(axis: Axis) -> SweepPlan {
    let plan = sweep_plan(axis, &["recv", "packet-v2", "packet-v3"]);
    let loads = plan.loads.iter().map(|_| at(350_000.0)).collect();
    SweepPlan { loads, repeats: 3, refinement: 1, ..plan }
}

fn swept(plan: &SweepPlan, path: SimulatedLaboratory) -> Value {
    let (mut path, mut kept) = (guarded(path), Collected::default());
    let run = plan.run(&mut path, &mut kept).unwrap();
    let mut results = results(kept, &path);
    livelock::mark(&mut results.trials);
    results.sweeps = vec![run.outcome];
    check(&results)
}

#[test]
fn sweeps_of_every_kind_are_what_the_schema_says() {
    assert_eq!(axes().len(), AxisKind::ALL.len());
    for axis in axes() {
        let kind = axis.kind();
        let path = if kind == AxisKind::Coalesce { path().interrupts(INTERRUPTS) } else { path() };
        let base = Setup { latency: Some(Recording { from: Duration::ZERO }), ..setup(64) };
        let saved = swept(&SweepPlan { base, ..plan(axis) }, path);
        assert_eq!(saved["sweeps"][0]["axis"], serde_json::to_value(kind).unwrap());
        let has_latency = |trial: &Value| trial["latency"]["total"]["histogram"].is_string();
        assert!(kind != AxisKind::Coalesce || saved["trials"].as_array().unwrap().iter().any(has_latency));
        let has_limits =
            saved["sweeps"][0]["series"][0]["scaling"]["limits"].as_array().is_some_and(|all| all.len() >= 4);
        assert_eq!(kind == AxisKind::Members, has_limits);
        let is_livelock = |trial: &Value| trial["livelock"].is_object();
        assert!(kind != AxisKind::Load || saved["trials"].as_array().unwrap().iter().any(is_livelock));
    }
}

#[test]
fn a_sweep_of_bursts_is_what_the_schema_says() {
    let test = BackToBackTest(BurstSearch { depletion: Duration::ZERO, ..BackToBackTest::default().0 });
    let plan = SweepPlan {
        methods: specs(&["packet-v3"]),
        probe: Probe::BackToBack(test),
        refinement: 0,
        ..plan(Axis::rings(8, 512, ByteCount(2048)).unwrap())
    };
    let plan = SweepPlan { loads: vec![at(900_000.0)], ..plan };
    let saved = swept(&plan, path());
    let readings = &saved["sweeps"][0]["series"][0]["readings"];
    assert!(readings[0]["back_to_back"]["searches"].is_array(), "{readings}");
}

#[test]
fn tests_of_rfc_2544_are_what_the_schema_says() {
    let extent = Extent { depletion: Duration::ZERO, ..Extent::quick() };
    let plan = SearchPlan::new(parse("quick").unwrap());
    let suite = Suite {
        tests: vec![Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery],
        extent,
        throughput: Throughput::Search(plan),
    };
    // One whose throughput is found, and one that the generator cannot bring to lose: tests are passed over.
    for capacity in [300_000.0, 2e6] {
        let path = SimulatedLaboratory::new(
            1e6,
            vec![SimulatedMethod::new("packet-v3", capacity).room(Room::Frames(4096))],
        );
        let (mut path, mut kept) = (guarded(path), Collected::default());
        assert!(!suite.run(&setup(64), &mut path, &mut kept).unwrap());
        let saved = check(&results(kept, &path));
        assert!(saved["rfc2544"].is_array() && saved["searches"].is_array());
        if capacity < 1e6 {
            let tests: Vec<&str> = saved["rfc2544"]
                .as_array()
                .unwrap()
                .iter()
                .map(|tested| tested["test"].as_str().unwrap())
                .collect();
            assert_eq!(tests, ["latency", "frame-loss", "back-to-back", "recovery"]);
        } else {
            assert!(!saved["not_measured"].as_array().unwrap().is_empty());
        }
    }
}

#[test]
fn a_soak_is_what_the_schema_says() {
    let plan = SoakPlan {
        setup: setup(64),
        rate: pps(100_000.0),
        length: Duration::from_secs(5),
        interval: Duration::from_secs(1),
    };
    let path = path().bursts(5, LossBursts { per_second: 0.5, frames: 40 });
    let (mut path, mut kept) = (guarded(path), Collected::default());
    let outcome = plan.run(&mut path, &mut kept).unwrap();
    let mut results = results(kept, &path);
    results.trials = outcome.record.kept.clone();
    results.soak = Some(outcome.record);
    let saved = check(&results);
    assert!(saved["soak"]["worst"].is_object(), "{}", saved["soak"]);
}

#[test]
fn what_the_schema_does_not_say_is_refused() {
    let saved = check(&bench());
    let refused = |change: fn(&mut Value)| {
        let mut changed = saved.clone();
        change(&mut changed);
        assert!(std::panic::catch_unwind(|| assert_valid(&changed)).is_err(), "it was taken");
    };
    refused(|results| results["later"] = 1.into());
    refused(|results| results["schema_version"] = 2.into());
    refused(|results| results["trials"][0]["later"] = 1.into());
    refused(|results| results["trials"][0]["delivered"] = (-1).into());
    refused(|results| results["trials"][0]["verdict"] = "good".into());
    refused(|results| results["environment"]["cpu"]["later"] = Value::Null);
    refused(|results| drop(results["trials"][0].as_object_mut().unwrap().remove("sent")));
    refused(|results| drop(results["environment"].as_object_mut().unwrap().remove("kernel_release")));
}
