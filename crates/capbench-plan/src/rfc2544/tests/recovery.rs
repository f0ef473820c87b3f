//! Recovery from an overload (RFC 2544 26.5), on a path that takes 10 us for a frame and has room for 100. Sending is overloaded
//! for 50 ms and then observed for 100 ms. The path has recovered if the last tenth of the observed time
//! (`RECOVERED_QUIET_SHARE`) has no loss.

use std::time::Duration;

use capbench_frames::LatenessSummary;
use capbench_frames::schedule::Step;
use proptest::prelude::*;

use super::queue::Queue;
use super::{maximum, pps, setup};
use crate::rfc2544::recovery::RecoveryTest;
use crate::simulated::tampered::Tampered;
use capbench_judge::bursts::Percent;
use capbench_judge::rfc2544::Ended;
use capbench_judge::rfc2544::recovery::{Recovery, RecoveryOutcome};
use capbench_judge::thresholds::RECOVERED_QUIET_SHARE;
use capbench_model::trial::{LoadShape, Phase, TrialResult};

fn path() -> Queue {
    Queue::new(10_000, 100)
}

/// The test with the throughput of that path.
fn test() -> RecoveryTest {
    RecoveryTest {
        overloaded: Duration::from_millis(50),
        observed: Duration::from_millis(100),
        ..RecoveryTest::standard(pps(100_000.0), maximum(1e6))
    }
}

fn run(test: RecoveryTest, path: &mut Queue) -> RecoveryOutcome {
    test.run(&setup(), path, &mut ()).unwrap().outcome
}

#[test]
fn the_overload_is_above_the_throughput_and_half_of_it_is_below() {
    let step = test().load().unwrap();
    assert!((step.before.get() - 110_000.0).abs() < 1e-6 && (step.after.get() - 55_000.0).abs() < 1e-6);
    let capped = RecoveryTest { maximum: maximum(105_000.0), ..test() }.load().unwrap();
    assert_eq!(capped.before.get(), 105_000.0);
}

#[test]
fn a_path_that_needs_a_while_is_found_to_need_just_that() {
    // It takes no frame for 7 ms from the end of the overload on.
    let mut path = Queue { stunned: Duration::from_millis(7), ..path() };
    let finished = RecoveryTest { repetitions: 3, ..test() }.run(&setup(), &mut path, &mut ()).unwrap();
    let outcome = finished.outcome;
    let expected = path.last_lost_ns.unwrap() as f64 / 1e9 - 0.05;
    assert!(expected > 0.0 && expected <= 0.007, "{expected}");
    assert_eq!(outcome.repetitions.len(), 3);
    assert!((outcome.average_s.unwrap() - expected).abs() < 1e-12);
    assert_eq!(outcome.ended, Ended::Complete);
    let trial = &finished.trials[0];
    assert_eq!((trial.phase, trial.intended_pps), (Phase::Recovery, None));
    let Some(LoadShape::Step { before_pps, at_s, after_pps }) = trial.load else {
        panic!("{:?}", trial.load)
    };
    assert_eq!((before_pps.round(), at_s, after_pps.round()), (110_000.0, 0.05, 55_000.0));
    let text = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<RecoveryOutcome>(&text).unwrap().repetitions, outcome.repetitions);
}

#[test]
fn a_path_that_recovers_at_once_needs_no_time() {
    let outcome = run(test(), &mut path());
    assert_eq!(outcome.repetitions[0].recovery, Recovery::Recovered { after_s: 0.0 });
    assert_eq!(outcome.average_s, Some(0.0));
}

#[test]
fn what_is_no_overload_or_has_no_end_or_was_not_sent_has_no_recovery_time() {
    let run_over = |path: &mut Queue| run(test(), path);
    let fast = run_over(&mut Queue::new(5_000, 100));
    assert_eq!((fast.repetitions[0].recovery.clone(), fast.average_s), (Recovery::NothingLost, None));
    // Longer than the 100 ms that are observed.
    let stunned = run_over(&mut Queue { stunned: Duration::from_millis(135), ..path() });
    let Recovery::NotRecovered { at_least_s } = stunned.repetitions[0].recovery else {
        panic!("{:?}", stunned.repetitions)
    };
    assert!(at_least_s > 0.09, "{at_least_s}");
    assert_eq!(stunned.average_s, None);
    // 5500 frames of overload, 5500 after it.
    let short = run_over(&mut Queue { unsent: 5_500, ..path() });
    assert!(matches!(short.repetitions[0].recovery, Recovery::Unknown { .. }));
    let tail = run_over(&mut Queue { unsent: 5_000, ..path() });
    assert_eq!(tail.repetitions[0].recovery, Recovery::Recovered { after_s: 0.0 });
}

#[test]
fn a_generator_that_was_late_leaves_the_end_of_the_overload_unknown() {
    let mut path = Tampered::new(path(), |trial, result: &mut TrialResult| {
        // A generator that is late by more than the quiet part, 10 ms, leaves none of it.
        let max_ns = [9_999_000, 10_001_000][trial as usize];
        result.lateness = Some(LatenessSummary { p50_ns: 0, p99_ns: 0, max_ns });
    });
    let test = RecoveryTest { repetitions: 2, ..test() };
    let outcome = test.run(&setup(), &mut path, &mut ()).unwrap().outcome;
    let recoveries: Vec<_> = outcome.repetitions.iter().map(|repetition| &repetition.recovery).collect();
    assert!(
        matches!(recoveries[..], [Recovery::Recovered { .. }, Recovery::Unknown { .. }]),
        "{recoveries:?}"
    );
    assert_eq!(outcome.average_s, None);
}

#[test]
fn loads_that_contradict_each_other_are_refused() {
    let refused = |test: RecoveryTest| test.load().unwrap_err().to_string();
    let percent = |percent| Percent::new(percent).unwrap();
    assert!(refused(RecoveryTest { overload: percent(100.0), ..test() }).contains("more than 100 %"));
    assert!(refused(RecoveryTest { after: percent(100.0), ..test() }).contains("less than 100 %"));
    assert!(refused(RecoveryTest { after: percent(95.0), ..test() }).contains("no less than the throughput"));
    assert!(refused(RecoveryTest { observed: Duration::ZERO, ..test() }).contains("0 s"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Whatever the rates and however long the path is stunned: the time is that of the last frame the path lost, by the plan.
    #[test]
    fn the_time_is_that_of_the_last_frame_lost(throughput in 20_000..150_000_u32, at_ms in 5..60_u64,
                                               stunned_us in 0..120_000_u64, room in 1..300_usize) {
        let throughput = f64::from(throughput);
        let mut path =
            Queue { stunned: Duration::from_micros(stunned_us), ..Queue::new((1e9 / throughput) as u64, room) };
        let at = Duration::from_millis(at_ms);
        let test = RecoveryTest { throughput: pps(throughput), overloaded: at, ..test() };
        let step = test.load().unwrap();
        let recovery = run(test, &mut path).repetitions[0].recovery.clone();
        let expected = path.last_lost_ns.map(|last| last.saturating_sub(at.as_nanos() as u64) as f64 / 1e9);
        let is_near = |stated: f64| (stated - expected.unwrap()).abs() < 1e-9;
        // The observed time is a whole number of intervals: 100 ms, give or take half of one. Its quiet part follows the last loss.
        let half_interval = 0.5 / step.after.get();
        let lossy = 1.0 - RECOVERED_QUIET_SHARE;
        let (earliest, latest) = (lossy * (0.1 - half_interval), lossy * (0.1 + half_interval));
        match recovery {
            Recovery::NothingLost => prop_assert_eq!(expected, None),
            Recovery::Recovered { after_s } => prop_assert!(is_near(after_s) && after_s <= latest),
            Recovery::NotRecovered { at_least_s } => {
                prop_assert!(is_near(at_least_s) && at_least_s > earliest);
            }
            Recovery::Unknown { because } => prop_assert!(false, "{}", because),
        }
    }

    #[test]
    fn the_rate_after_the_overload_is_never_an_overload(throughput in 1.0..1e7_f64, overload in 1.0..400.0_f64,
                                                        after in 1.0..200.0_f64, maximum_pps in 1.0..1e7_f64) {
        let test = RecoveryTest {
            throughput: pps(throughput),
            maximum: maximum(maximum_pps),
            overload: Percent::new(overload).unwrap(),
            after: Percent::new(after).unwrap(),
            ..test()
        };
        if let Ok(Step { before, after, .. }) = test.load() {
            prop_assert!(after < pps(throughput) && after < before && before <= pps(maximum_pps));
        }
    }
}
