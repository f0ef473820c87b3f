//! Benches on simulated paths.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_model::method_spec::MethodSpec;

use super::BenchPlan;
use crate::for_tests::{Collected, bench_plan, path};
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_model::for_tests::{measured, profile, setup};
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

#[test]
fn every_method_runs_at_maximum_load_and_at_one_common_load() {
    let mut record = Collected::default();
    let outcome = bench_plan(&["recv", "packet-v2", "packet-v3"]).run(&mut path(), &mut record).unwrap();
    assert_eq!((outcome.trials.len(), record.trials.len()), (6, 6));
    assert!(outcome.trials.iter().all(|trial| trial.unexplained == 0));
    let common: Vec<_> = outcome.trials.iter().filter(|trial| trial.phase == Phase::CommonLoad).collect();
    assert!(common.iter().all(|trial| trial.verdict == Verdict::Lossless));
    // recv delivers 400,000 - 0.5 x 600,000 excess = 100,000 at maximum load.
    assert!(common.iter().all(|trial| trial.intended_pps == Some(70_000.0)), "{:?}", common[0].intended_pps);
}

#[test]
fn a_common_load_that_loses_is_lowered_until_all_hold_it() {
    let mut laboratory = SimulatedLaboratory::new(
        1_000_000.0,
        vec![SimulatedMethod::new("recv", 400_000.0).bursts_lost_above(100_000.0)],
    );
    let outcome = bench_plan(&["recv"]).run(&mut laboratory, &mut Collected::default()).unwrap();
    let rates: Vec<_> = outcome.trials.iter().filter_map(|trial| trial.intended_pps).collect();
    assert_eq!(rates, [279_300.0, 279_300.0, 167_580.0, 167_580.0, 100_548.0, 100_548.0, 60_329.0]);
    assert_eq!(outcome.trials.last().unwrap().verdict, Verdict::Lossless);
}

/// The common loads of a bench, each once.
fn common_loads(method: SimulatedMethod) -> Vec<f64> {
    let mut laboratory = SimulatedLaboratory::new(1_000_000.0, vec![method]);
    let outcome = bench_plan(&["recv"]).run(&mut laboratory, &mut Collected::default()).unwrap();
    let mut rates: Vec<f64> = outcome.trials.iter().filter_map(|trial| trial.intended_pps).collect();
    rates.dedup();
    rates
}

#[test]
fn the_common_load_is_lowered_four_times_and_not_below_a_thousand_packets_a_second() {
    let lossy = SimulatedMethod::new("recv", 400_000.0).bursts_lost_above(1.0);
    assert_eq!(common_loads(lossy).len(), 5);
    // 0.7 of what it delivers are 910 packets/s.
    assert_eq!(common_loads(SimulatedMethod::new("recv", 1300.0)), [1000.0]);
}

/// The methods and loads of the trials at common loads.
fn common_trials(methods: Vec<SimulatedMethod>, names: &[&str]) -> Vec<(String, f64)> {
    let mut laboratory = SimulatedLaboratory::new(1_000_000.0, methods);
    let outcome = bench_plan(names).run(&mut laboratory, &mut Collected::default()).unwrap();
    let mut trials = Vec::new();
    for trial in outcome.trials.iter().filter(|trial| trial.phase == Phase::CommonLoad) {
        trials.push((trial.profile.method.to_string(), trial.intended_pps.unwrap()));
    }
    trials
}

#[test]
fn the_common_load_is_at_least_a_fiftieth_of_the_fastest_rate() {
    let slow = SimulatedMethod::new("recv", 51_000.0).bursts_lost_above(1.0);
    let methods = vec![SimulatedMethod::new("packet-v3", 2_000_000.0), slow];
    let last = common_trials(methods, &["packet-v3", "recv"]).pop().unwrap();
    assert_eq!(last, ("recv".into(), 20_000.0));
}

#[test]
fn a_method_below_a_twentieth_of_the_fastest_is_not_compared_at_a_common_load() {
    for (slow_pps, compared) in [(52_000.0, 2), (48_000.0, 1)] {
        let slow = SimulatedMethod::new("recv", slow_pps);
        let methods = vec![SimulatedMethod::new("packet-v3", 2_000_000.0), slow];
        let trials = common_trials(methods, &["packet-v3", "recv"]);
        let mut names: Vec<&str> = trials.iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), compared, "{slow_pps} packets/s");
    }
}

#[test]
fn a_method_that_delivers_next_to_nothing_does_not_set_the_common_load() {
    let mut laboratory = SimulatedLaboratory::new(
        1_000_000.0,
        vec![
            SimulatedMethod::new("packet-v3", 2_000_000.0),
            SimulatedMethod::new("recv", 500_000.0),
            SimulatedMethod::new("livelocked", 520_000.0).livelock(1.0),
        ],
    );
    let outcome = bench_plan(&["packet-v3", "recv", "livelocked"])
        .run(&mut laboratory, &mut Collected::default())
        .unwrap();
    let common: Vec<_> = outcome
        .trials
        .iter()
        .filter(|trial| trial.phase == Phase::CommonLoad)
        .map(|trial| (trial.profile.method.clone(), trial.intended_pps.unwrap()))
        .collect();
    assert_eq!(common, [("packet-v3".into(), 350_000.0), ("recv".into(), 350_000.0)]);
}

#[test]
fn every_visit_measures_every_method_at_every_load_in_another_order() {
    let visited =
        BenchPlan { visits: 4, sizes: vec![setup(64), setup(512)], ..bench_plan(&["recv", "packet-v2"]) };
    let outcome = visited.run(&mut path(), &mut Collected::default()).unwrap();
    assert_eq!(outcome.trials.len(), visited.trials());
    assert!(outcome.pairs.is_empty());
    let size_and_phase = |trial: &TrialResult| (trial.profile.frame_size.to_string(), trial.phase as u8);
    let passes: Vec<Vec<_>> =
        outcome.trials.chunks(8).map(|pass| pass.iter().map(size_and_phase).collect()).collect();
    let sorted = |pass: &Vec<(String, u8)>| {
        let mut pass = pass.clone();
        pass.sort();
        pass
    };
    assert!(passes.iter().all(|pass| sorted(pass) == sorted(&passes[0])), "{passes:?}");
    assert!(passes[1..].windows(2).any(|pair| pair[0] != pair[1]), "{passes:?}");
    // Methods take turns at each place, and another one begins in each pass.
    for (number, pass) in outcome.trials.chunks(8).enumerate().skip(1) {
        let first = ["recv", "packet-v2"][(number - 1) % 2];
        assert!(pass.iter().step_by(2).all(|trial| trial.profile.method == first), "pass {number}");
    }
    let again = visited.run(&mut path(), &mut Collected::default()).unwrap();
    assert_eq!(again.trials, outcome.trials, "a seed names an order");
}

#[test]
fn a_load_that_is_given_needs_no_opening() {
    let given = BenchPlan {
        visits: 3,
        rate: Some(Pps::new(50_000.0).unwrap()),
        ..bench_plan(&["recv", "packet-v2"])
    };
    let outcome = given.run(&mut path(), &mut Collected::default()).unwrap();
    assert_eq!((outcome.trials.len(), given.trials()), (6, 6));
    assert!(outcome.trials.iter().all(|trial| trial.phase == Phase::FixedLoad));
}

#[test]
fn a_method_takes_turns_with_the_one_that_it_is_compared_with() {
    let against = Some(MethodSpec::plain("recv"));
    let paired = BenchPlan { visits: 3, against, ..bench_plan(&["packet-v2", "packet-v3"]) };
    let outcome = paired.run(&mut path(), &mut Collected::default()).unwrap();
    assert_eq!(outcome.trials.len(), paired.trials());
    // Two loads, two methods, three visits.
    assert_eq!(outcome.pairs.len(), 12);
    let method = |number: u32| {
        outcome.trials.iter().find(|trial| trial.number == number).unwrap().profile.method.clone()
    };
    for pair in &outcome.pairs {
        assert_eq!(pair.then.abs_diff(pair.now), 1, "they run one after the other");
        assert_eq!(method(pair.then), "recv");
        assert_ne!(method(pair.now), "recv");
    }
    let first = outcome.pairs.iter().filter(|pair| pair.then < pair.now).count();
    assert_eq!(first, 8, "the other one is first in the second of three visits");
}

#[test]
fn a_method_that_cannot_run_is_left_out_with_its_reason() {
    let mut record = Collected::expecting_skips();
    let outcome = bench_plan(&["absent", "packet-v3"]).run(&mut path(), &mut record).unwrap();
    assert_eq!(outcome.trials.len(), 2);
    assert!(record.skipped[0].contains("absent"), "{:?}", record.skipped);
}

#[test]
fn a_stop_keeps_what_is_measured() {
    let mut record = Collected::stopping_after(2);
    let outcome = bench_plan(&["recv", "packet-v2", "packet-v3"]).run(&mut path(), &mut record).unwrap();
    assert!(outcome.stopped);
    assert_eq!(outcome.trials.len(), 2);
}

#[test]
fn a_loss_below_one_percent_can_be_a_stall() {
    for (lost, is_small) in [(800, true), (1250, false)] {
        let measured = measured(100_000, 100_000, 100_000 - lost, lost);
        let load = Load::Rate("100k".parse().unwrap());
        let trial = measured.result(1, Phase::CommonLoad, &profile("recv"), load, Duration::from_secs(1));
        assert_eq!(super::has_small_loss(&trial), is_small, "{lost} of 100,000 frames");
    }
}

#[test]
fn a_bench_of_few_methods_takes_turns_for_as_long_as_one_of_many() {
    let seconds = Duration::from_secs;
    let plan = crate::for_tests::searching_bench_plan(&["recv", "packet-v3"]);
    let searching =
        plan.searching.map(|searching| crate::bench::Searching { budget: seconds(80), ..searching });
    let plan = crate::bench::BenchPlan { searching, turns: Some(seconds(80)), ..plan };
    // Opening the test bed takes two more.
    assert_eq!(plan.estimate(), seconds(82));
    assert!(crate::bench::BenchPlan { turns: None, ..plan }.estimate() < seconds(30));
}
