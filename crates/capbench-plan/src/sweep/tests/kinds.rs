//! Every axis, exactly.

use std::time::Duration;

use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_model::units::ByteCount;

use super::*;
use crate::for_tests::INTERRUPTS;
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::{RingSize, Spacing, presets};
use capbench_judge::sweep::PointUnit;
use capbench_model::latency::Recording;
use capbench_model::places::Place;

fn path(methods: Vec<SimulatedMethod>) -> SimulatedLaboratory {
    SimulatedLaboratory::new(1e6, methods)
}

#[test]
fn a_work_sweep_takes_the_work_from_what_a_method_can_do() {
    let methods = vec![SimulatedMethod::new("recv", 200_000.0), SimulatedMethod::new("packet-v2", 500_000.0)];
    let plan = SweepPlan {
        loads: vec![at(100_000.0), Load::Maximum],
        ..plan(works(&[0, 5000, 15_000]), &["recv", "packet-v2"])
    };
    let run = run(&plan, &mut path(methods));
    assert_eq!(run.trials.len(), plan.trials());
    assert_eq!(delivered(&run, 0), [100_000.0, 100_000.0, 50_000.0]);
    assert_eq!(delivered(&run, 1), [100_000.0, 100_000.0, 58_824.0]);
    assert_eq!(delivered(&run, 2), [200_000.0, 100_000.0, 50_000.0]);
    assert_eq!(run.outcome.series[2].load.as_deref(), Some("maximum load"));
    let works: Vec<_> = run.outcome.points.iter().map(|point| point.label.as_str()).collect();
    assert_eq!(works, ["work ns:0", "work ns:5000", "work ns:15000"]);
    assert_eq!(run.outcome.unit, Some(PointUnit::Nanoseconds));
}

#[test]
fn work_without_a_number_is_swept_by_name() {
    let models = ["none", "parse", "touch"].map(|model| Point::Work(model.parse().unwrap()));
    let plan = plan(Axis::new(models.to_vec()).unwrap(), &["recv"]);
    let run = run(&SweepPlan { refinement: 5, ..plan }, &mut path(vec![SimulatedMethod::new("recv", 1e5)]));
    assert_eq!(run.trials.len(), 3, "there is nothing between names");
    assert_eq!(run.outcome.unit, None);
    // 10 us a frame, and 20 ns or 64 ns for the work.
    assert_eq!(delivered(&run, 0), [100_000.0, 99_800.0, 99_364.0]);
}

#[test]
fn a_size_sweep_changes_the_frames() {
    let size = |octets| Point::Size(Sizes::Fixed(FrameSize::new(octets).unwrap()));
    let methods = vec![SimulatedMethod::new("recv", 1e5).per_octet(Duration::from_nanos(10))];
    let plan = plan(Axis::new(vec![size(1500), size(64), size(1000)]).unwrap(), &["recv"]);
    let run = run(&plan, &mut path(methods));
    assert_eq!(delivered(&run, 0), [93_985.0, 50_000.0, 40_000.0]);
    assert_eq!(run.outcome.points[2].at, Some(1500.0), "from the least on");
}

#[test]
fn a_ring_sweep_changes_ring_and_blocks() {
    let ring = |ring, block| Point::Ring(RingSize { ring: ByteCount(ring), block: ByteCount(block) });
    let methods = vec![SimulatedMethod::new("packet-v3", 50_000.0).room(Room::Slots(ByteCount(2048)))];
    let plan = plan(
        Axis::new(vec![ring(1 << 14, 1 << 12), ring(1 << 20, 1 << 18), ring(1 << 26, 1 << 20)]).unwrap(),
        &["packet-v3"],
    );
    let run = run(&plan, &mut path(methods));
    let lost: Vec<_> = run
        .trials
        .iter()
        .map(|trial| trial.lost())
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    assert_eq!(lost, [50_000 - 32_768, 50_000 - 512, 50_000 - 8]);
}

#[test]
fn a_placement_sweep_moves_the_work() {
    let points = [PlacementChoice::Same, PlacementChoice::Other].map(Point::Placement);
    let methods = vec![SimulatedMethod::new("recv", 100_000.0).cost(100, 5000).sharing_cpu()];
    let run = run(&plan(Axis::new(points.to_vec()).unwrap(), &["recv"]), &mut path(methods));
    assert_eq!(delivered(&run, 0), [50_000.0, 100_000.0]);
    assert_eq!(
        (&run.outcome.series[0].placement, run.outcome.points[1].label.as_str()),
        (&None, "placement other")
    );
}

#[test]
fn a_load_sweep_shows_livelock() {
    let loads = [50_000.0, 100_000.0, 150_000.0, 200_000.0].map(|pps| Point::Load(at(pps)));
    let methods = vec![SimulatedMethod::new("recv", 100_000.0).livelock(0.5)];
    let run = run(&plan(Axis::new(loads.to_vec()).unwrap(), &["recv"]), &mut path(methods));
    assert_eq!(delivered(&run, 0), [50_000.0, 100_000.0, 75_000.0, 50_000.0]);
    assert_eq!(run.outcome.series[0].load, None);
}

#[test]
fn interrupt_moderation_is_a_matter_of_real_cards() {
    let points = ["0us", "50us", "adaptive"].map(|text| Point::Coalesce(text.parse().unwrap()));
    let plan = plan(Axis::new(points.to_vec()).unwrap(), &["recv"]);
    let mut record = Collected::expecting_skips();
    let run = plan.run(&mut path(vec![SimulatedMethod::new("recv", 1e5)]), &mut record).unwrap();
    assert_eq!((run.trials.len(), record.skipped.len(), run.outcome.unit), (0, 3, None));
    assert!(record.skipped[0].contains("has no interrupts"), "{:?}", record.skipped);
}

#[test]
fn a_sweep_of_interrupt_moderation_trades_latency_for_time() {
    let points =
        ["0us", "50us", "adaptive", "200us", "1000us"].map(|text| Point::Coalesce(text.parse().unwrap()));
    let asked = plan(Axis::new(points.to_vec()).unwrap(), &["recv"]);
    let base = Setup { latency: Some(Recording { from: Duration::ZERO }), ..setup(64) };
    let asked = SweepPlan { base, ..asked };
    let run = run(&asked, &mut path(vec![SimulatedMethod::new("recv", 1e6)]).interrupts(INTERRUPTS));
    let readings = &run.outcome.series[0].readings;
    let trial = |nth: usize| run.trials.iter().find(|trial| trial.number == readings[nth].trials[0]).unwrap();
    let values = |figure: &dyn Fn(&TrialResult) -> f64| -> Vec<f64> {
        (0..5).map(|nth| figure(trial(nth)).round()).collect()
    };
    // At 100,000 packets/s one more every 10 us; the driver aims at 11, which takes it 100 us.
    assert_eq!(values(&|trial| trial.cpu.frames_per_batch.unwrap()), [1.0, 6.0, 11.0, 21.0, 64.0]);
    // 500 ns a frame, and its part of 2 us.
    assert_eq!(
        values(&|trial| trial.cpu.kernel_ns_per_packet.unwrap()),
        [2500.0, 833.0, 682.0, 595.0, 531.0]
    );
    let latency =
        |trial: &TrialResult| trial.latency.as_ref().unwrap().total.as_ref().unwrap().p50_ns as f64 / 1e3;
    assert_eq!(values(&latency), [0.0, 30.0, 50.0, 100.0, 690.0]);
    // 101 frames came for 64 descriptors.
    assert_eq!(values(&|trial| trial.lost() as f64), [0.0, 0.0, 0.0, 0.0, 36_634.0]);
    assert_eq!(readings[4].lost[0].place, Place::Link);
    assert!(run.trials.iter().all(|trial| trial.unexplained == 0));
}

#[test]
fn presets_are_sweeps() {
    for preset in presets::WORK {
        let axis = preset.axis(12).unwrap();
        assert_eq!(axis.points().len(), 12);
        let plan =
            SweepPlan { base: preset.setup(&setup(64)), loads: vec![preset.load()], ..plan(axis, &["recv"]) };
        let run = run(&plan, &mut path(vec![SimulatedMethod::new("recv", 1e5)]));
        assert_eq!((run.trials.len(), run.trials[0].profile.mean_frame_size), (12, 62.0), "{}", preset.name);
    }
}

#[test]
fn steps_are_whole_and_keep_their_ends() {
    let ns = |axis: Axis| -> Vec<f64> {
        axis.points().iter().map(|point| point.coordinate().unwrap().0).collect()
    };
    let steps = |from, to, points, spacing| {
        Axis::work(WorkModel::Nanoseconds(from), WorkModel::Nanoseconds(to), points, spacing)
    };
    assert_eq!(ns(steps(0, 100, 5, Spacing::Linear).unwrap()), [0.0, 25.0, 50.0, 75.0, 100.0]);
    assert_eq!(ns(steps(1, 1000, 4, Spacing::Geometric).unwrap()), [1.0, 10.0, 100.0, 1000.0]);
    assert_eq!(ns(steps(0, 4, 4, Spacing::Geometric).unwrap()), [0.0, 2.0, 3.0, 4.0]);
    assert_eq!(ns(steps(0, 2, 9, Spacing::Linear).unwrap()), [0.0, 1.0, 2.0], "no step is narrower than 1");
    let rings = Axis::rings(8, 4096, ByteCount(2048)).unwrap();
    assert_eq!(rings.points()[0].to_string(), "ring 16KiB, one block");
    assert_eq!(rings.points()[9].to_string(), "ring 8MiB in blocks of 1MiB");
}

#[test]
fn contradictions_are_named() {
    let text = |result: Result<Axis>| result.unwrap_err().to_string();
    assert!(text(Axis::new(Vec::new())).contains("no point"));
    assert!(
        text(Axis::new(vec![Point::Work(WorkModel::None), Point::Work(WorkModel::None)])).contains("twice")
    );
    assert!(
        text(Axis::new(vec![Point::Work(WorkModel::None), Point::Load(at(1.0))])).contains("another axis")
    );
    assert!(text(Axis::work(WorkModel::Touch, WorkModel::Loop(1), 3, Spacing::Linear)).contains("no steps"));
    assert!(
        text(Axis::work(WorkModel::Loop(9), WorkModel::Loop(1), 3, Spacing::Linear)).contains("no range")
    );
    assert!(text(Axis::rings(0, 8, ByteCount(2048))).contains("are none"));
    let base = || plan(works(&[0, 1]), &["recv"]);
    let text = |plan: SweepPlan| plan.check().unwrap_err().to_string();
    assert!(text(SweepPlan { loads: Vec::new(), ..base() }).contains("no load"));
    assert!(text(SweepPlan { methods: Vec::new(), ..base() }).contains("no method"));
    assert!(text(SweepPlan { repeats: 0, ..base() }).contains("0 repeats"));
    let loads = Axis::new(vec![Point::Load(at(1.0))]).unwrap();
    assert!(text(SweepPlan { axis: loads, ..base() }).contains("loads are the axis"));
}
