//! Order, repeats, refinement, stops.

use super::*;
use crate::simulated::{Noise, Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::sweep::{Reading, SweepOutcome};

fn path() -> SimulatedLaboratory {
    SimulatedLaboratory::new(
        1e6,
        vec![SimulatedMethod::new("recv", 200_000.0), SimulatedMethod::new("packet-v2", 500_000.0)],
    )
}

#[test]
fn passes_are_permutations_with_methods_in_turn() {
    let plan = SweepPlan { repeats: 3, seed: 9, ..plan(works(&[0, 1, 2, 3, 4, 5]), &["recv", "packet-v2"]) };
    let run = run(&plan, &mut path());
    let order: Vec<_> = run
        .trials
        .iter()
        .map(|trial| (trial.profile.work.to_string(), trial.profile.method.to_string()))
        .collect();
    let mut orders = Vec::new();
    let turns = [("recv", "packet-v2"), ("packet-v2", "recv")];
    for (pass, turn) in order.chunks(12).zip(turns.into_iter().cycle()) {
        assert!(pass.chunks(2).all(|two| two[0].0 == two[1].0 && (&*two[0].1, &*two[1].1) == turn));
        let points: Vec<_> = pass.iter().step_by(2).map(|turn| turn.0.clone()).collect();
        let mut sorted = points.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, ["ns:0", "ns:1", "ns:2", "ns:3", "ns:4", "ns:5"]);
        orders.push(points);
    }
    assert!(orders.len() == 3 && orders[0] != orders[1], "{orders:?}");
    assert!(run.outcome.series[1].readings.iter().all(|reading| reading.trials.len() == 3));
}

#[test]
fn the_same_seed_gives_the_same_sweep() {
    let with = |seed| {
        let plan = SweepPlan {
            repeats: 3,
            seed,
            refinement: 4,
            ..plan(works(&[0, 5000, 10_000, 20_000]), &["recv"])
        };
        run(&plan, &mut path().noise(3, Noise { per_trial: 0.05, per_second: 0.0 })).outcome
    };
    assert_eq!(with(4), with(4));
    assert_ne!(with(4), with(5));
}

#[test]
fn repeats_become_a_median_with_its_interval() {
    let plan = SweepPlan { repeats: 5, ..plan(works(&[20_000]), &["recv"]) };
    let run = run(&plan, &mut path().noise(3, Noise { per_trial: 0.02, per_second: 0.0 }));
    let estimate = run.outcome.series[0].readings[0].delivered_pps;
    assert_eq!((estimate.repeats, estimate.level), (5, Some(0.9375)));
    assert!(estimate.low.unwrap() < estimate.median && estimate.median < estimate.high.unwrap());
    assert!((estimate.median / 40_000.0 - 1.0).abs() < 0.02, "{estimate:?}");
}

#[test]
fn refinement_finds_where_only_buffers_hold_what_comes() {
    let loads = (1..=6).map(|nth| Point::Load(at(f64::from(nth) * 50_000.0))).collect();
    let plan = SweepPlan { refinement: 4, ..plan(Axis::new(loads).unwrap(), &["recv"]) };
    let recv = SimulatedMethod::new("recv", 160_000.0).room(Room::Frames(1_000_000));
    let run = run(&plan, &mut SimulatedLaboratory::new(1e6, vec![recv]));
    let readings = &run.outcome.series[0].readings;
    assert!(readings.iter().all(Reading::is_clean), "no trial is long enough to lose anything");
    let added = run.outcome.points.iter().filter(|point| point.refined).map(|point| point.at.unwrap());
    assert!(added.clone().count() == 4 && added.clone().all(|pps| (150_000.0..=200_000.0).contains(&pps)));
}

#[test]
fn refinement_finds_the_knee_and_repeats_what_it_added() {
    // recv takes 5 us a frame, so 100,000 frames/s leave 5 us of work.
    let axis = works(&(0..=10).map(|nth| nth * 3000).collect::<Vec<_>>());
    let plan = SweepPlan { refinement: 8, repeats: 2, ..plan(axis, &["recv"]) };
    let run = run(&plan, &mut path());
    assert_eq!(run.outcome.points.iter().filter(|point| point.refined).count(), 8);
    assert!(run.outcome.series[0].readings.iter().all(|reading| reading.trials.len() == 2));
    let at = |lossy: bool| {
        let readings = run.outcome.series[0].readings.iter().filter(move |reading| reading.loses() == lossy);
        readings.map(|reading| run.outcome.points[reading.point].at.unwrap())
    };
    let (last, first) = (at(false).fold(0.0, f64::max), at(true).fold(f64::INFINITY, f64::min));
    assert!(last <= 5000.0 && 5000.0 < first && first - last <= 400.0, "{last} {first}");
    assert!(run.outcome.points.is_sorted_by(|a, b| a.at < b.at));
    assert_eq!(run.trials.len(), plan.trials());
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let plan =
        SweepPlan { repeats: 4, refinement: 3, ..plan(works(&[0, 9000, 20_000]), &["recv", "packet-v2"]) };
    for stop_after in [0, 1, 5, 7, 13] {
        let mut record = Collected::stopping_after(stop_after);
        let run = plan.run(&mut path(), &mut record).unwrap();
        assert!(run.outcome.stopped && run.trials.len() == stop_after);
        let in_series: usize = run
            .outcome
            .series
            .iter()
            .flat_map(|series| &series.readings)
            .map(|reading| reading.trials.len())
            .sum();
        assert_eq!(in_series, stop_after, "every trial stands in a reading");
    }
}

#[test]
fn whatever_ends_a_sweep_what_it_showed_until_then_is_known() {
    let plan = SweepPlan { repeats: 2, refinement: 1, ..plan(works(&[0, 9000]), &["recv", "packet-v2"]) };
    let mut record = Collected::default();
    let run = plan.run(&mut path(), &mut record).unwrap();
    assert_eq!(run.trials.len(), 12);
    let readings = |outcome: &SweepOutcome| -> usize {
        let readings = outcome.series.iter().flat_map(|series| &series.readings);
        readings.map(|reading| reading.trials.len()).sum()
    };
    // Once before the first visit, and once more when it is over.
    assert_eq!(
        record.swept.iter().map(readings).collect::<Vec<_>>(),
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 12]
    );
    let (last, before) = record.swept.split_last().unwrap();
    assert!(last == &run.outcome && !last.stopped && before.iter().all(|so_far| so_far.stopped));
}

#[test]
fn a_method_that_cannot_be_had_is_left_out_and_tried_no_more() {
    let plan = SweepPlan { repeats: 3, ..plan(works(&[0, 1]), &["absent", "recv"]) };
    let mut record = Collected::expecting_skips();
    let run = plan.run(&mut path(), &mut record).unwrap();
    assert_eq!((record.skipped.len(), run.trials.len()), (2, 6), "{:?}", record.skipped);
    assert!(run.outcome.series[0].readings.is_empty());
    let known = SweepPlan { left_out: vec![(PlacementChoice::Same, "absent".parse().unwrap())], ..plan };
    let mut record = Collected::default();
    assert_eq!((known.run(&mut path(), &mut record).unwrap().trials.len(), known.trials()), (6, 6));
    assert!(record.skipped.is_empty());
}

#[test]
fn trials_are_announced_with_their_point() {
    let mut record = Collected::default();
    plan(works(&[700]), &["recv"]).run(&mut path(), &mut record).unwrap();
    assert_eq!(record.started, ["recv, 64 B, same, 100,000 packets/s, work ns:700"]);
}

#[test]
fn the_estimate_counts_every_trial() {
    let plan = SweepPlan {
        repeats: 5,
        refinement: 2,
        loads: vec![at(1e5), at(2e5)],
        ..plan(works(&[0, 1, 2]), &["recv", "packet-v2"])
    };
    assert_eq!(plan.trials(), (3 + 2) * 2 * 2 * 5);
    let least = plan.estimate().unwrap().least;
    assert_eq!(least.trials, 3 * 2 * 2 * 5, "nothing bends where nothing is lost");
    assert_eq!(least.least_time(plan.base.quiet), Duration::from_millis(1300) * 60);
}
