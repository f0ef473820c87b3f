//! The estimated cost of sweeps.

use capbench_model::units::ByteCount;

use super::*;
use crate::sweep::BackToBackTest;

#[test]
fn the_estimate_counts_waiting_emptying_and_probing() {
    let base = Setup { quiet: Duration::from_millis(500), ..setup(64) };
    let estimate = |ns: &[u32]| {
        let axis = works(ns);
        let plan =
            SweepPlan { repeats: 2, loads: vec![at(1e6)], base: base.clone(), ..plan(axis, &["recv"]) };
        plan.estimate().unwrap()
    };
    // A frame takes 100 us, so what waits in a ring of 64 MiB takes seconds.
    let slow = estimate(&[100_000]);
    assert_eq!((slow.least.trials, slow.least.waits, slow.least.probes), (2, 2, 0));
    assert_eq!(slow.least.drain, Duration::ZERO, "where there is no buffer");
    assert!(slow.most.drain > Duration::from_secs(60), "{slow:?}");
    assert!(slow.most.time(base.quiet) > 20 * slow.least.time(base.quiet));
    let quick = estimate(&[0]);
    assert_eq!((quick.least.waits, quick.least.drain), (0, Duration::ZERO));
    assert!(estimate(&[0, 100_000, 200_000]).most.probes > 0);
    // A sweep over bursts rests before each of them.
    let rings = Axis::rings(8, 64, ByteCount(2048)).unwrap();
    let probe = Probe::BackToBack(BackToBackTest::default());
    let bursts = SweepPlan { probe, loads: vec![at(1e6)], base: base.clone(), ..plan(rings, &["recv"]) };
    let spread = bursts.estimate().unwrap();
    assert!(spread.most.idle > Duration::from_secs(4) && spread.most.waits > 4, "{spread:?}");
    // Placements and methods take their turns, and many points are as many.
    let one = SweepPlan { loads: vec![at(1e5)], base: base.clone(), ..plan(works(&[0]), &["recv"]) };
    let placements = vec![PlacementChoice::Same, PlacementChoice::Other];
    let four = SweepPlan {
        placements,
        methods: ["recv", "packet-v2"].map(MethodSpec::plain).to_vec(),
        ..one.clone()
    };
    assert_eq!(four.estimate().unwrap().least, one.estimate().unwrap().least.times(4));
    let many = SweepPlan { axis: works(&(0..640).collect::<Vec<_>>()), refinement: 0, ..one.clone() };
    assert_eq!(many.estimate().unwrap().least, one.estimate().unwrap().least.times(640));
}
