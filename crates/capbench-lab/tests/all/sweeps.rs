//! Sweeps on the bed: every trial stands in the outcome, and rings as small as 8 frames can be asked for.

use capbench_testing::network::privileges;
use std::time::Duration;

use capbench_judge::bursts::BurstEnd;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::Laboratory;
use capbench_model::placement::PlacementChoice;
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_plan::bursts::BurstSearch;
use capbench_plan::for_tests::{Collected, at, sweep_plan};
use capbench_plan::sweep::{Axis, BackToBackTest, Probe, SweepPlan, SweepRun};

fn laboratory() -> LiveLaboratory {
    live(virtual_link())
}

fn run(plan: &SweepPlan) -> SweepRun {
    plan.run(&mut laboratory(), &mut Collected::default()).unwrap()
}

fn plan(axis: Axis, methods: &[&str], pps: f64) -> SweepPlan {
    SweepPlan {
        base: live_setup("packet-v3", 1 << 20, Duration::from_millis(100)),
        placements: vec![PlacementChoice::Other],
        loads: vec![at(pps)],
        duration: Duration::from_millis(100),
        repeats: 2,
        refinement: 1,
        ..sweep_plan(axis, methods)
    }
}

#[test]
fn root_lengthy_bursts_are_found_for_rings_from_8_frames_on() {
    let Some(()) = privileges() else { return };
    let axis = Axis::rings(8, 128, ByteCount(2048)).unwrap();
    let test = BackToBackTest(BurstSearch {
        limit: Duration::from_millis(40),
        depletion: Duration::from_millis(20),
        ..BackToBackTest::default().0
    });
    let mut plan = plan(axis, &["packet-v2"], 50_000.0);
    plan.base.work = WorkModel::Nanoseconds(50_000).into();
    let run = run(&SweepPlan { probe: Probe::BackToBack(test), refinement: 0, repeats: 1, ..plan });
    let found: Vec<_> = run.outcome.series[0]
        .readings
        .iter()
        .filter_map(|reading| reading.back_to_back.as_ref())
        .filter(|test| test.searches.iter().any(|search| search.end == BurstEnd::Found))
        .filter_map(|test| test.mean_frames)
        .collect();
    assert!(found.len() >= 2, "{:?}", run.outcome.series[0].readings);
    assert!(found.last() > found.first(), "a larger ring holds more: {found:?}");
}

#[test]
fn root_alone_a_virtual_link_has_no_interrupts_to_hold_back() {
    let Some(()) = privileges() else { return };
    let mut setup = plan(Axis::rings(8, 8, ByteCount(2048)).unwrap(), &["recv"], 1000.0).base;
    setup.moderation = Some("50us".parse().unwrap());
    let text = laboratory().prepare(&setup).err().expect("a veth has none").to_string();
    assert!(text.contains("its driver has none (a virtual link has no interrupts)"), "{text}");
}
