use std::time::Duration;

use super::queue::Queue;
use super::{pps, setup};
use crate::rfc2544::Finished;
use crate::rfc2544::latency::LatencyTest;
use crate::simulated::tampered::{Tampered, lose_one};
use capbench_judge::rfc2544::latency::Across;
use capbench_judge::rfc2544::{Ended, Found, Tested};
use capbench_model::trial::{Phase, TrialResult};

fn test() -> LatencyTest {
    LatencyTest {
        rate: pps(50_000.0),
        duration: Duration::from_millis(100),
        from: Duration::from_millis(50),
        repetitions: 5,
    }
}

fn at(ns: i64) -> Across {
    Across { median_ns: ns, min_ns: ns, max_ns: ns }
}

#[test]
fn a_path_that_delays_each_frame_alike_has_that_latency_and_no_variation() {
    let finished = test().run(&setup(), &mut Queue::new(10_000, 10), &mut ()).unwrap();
    let outcome = finished.outcome;
    let total = outcome.total.unwrap();
    assert_eq!(
        (total.mean_ns, total.typical, total.worst, total.pdv),
        (10_000.0, at(10_000), at(10_000), at(0))
    );
    assert_eq!((outcome.to_kernel, outcome.to_application), (None, None), "a queue stamps no frames");
    assert_eq!((outcome.repetitions, outcome.lossy.len(), &outcome.ended), (5, 0, &Ended::Complete));
    let latency = finished.trials[0].latency.as_ref().unwrap();
    assert_eq!(latency.total.as_ref().unwrap().frames, 2_500, "of the second half");
    assert!(finished.trials.iter().all(|trial| trial.phase == Phase::Latency));
    let tested = Finished { outcome, trials: finished.trials }.tested(Found::Latency, &setup(), None);
    let text = serde_json::to_string(&tested).unwrap();
    assert_eq!(serde_json::from_str::<Tested>(&text).unwrap(), tested);
    assert!(text.contains("\"test\":\"latency\"") && text.contains("\"trials\":[1,2,3,4,5]"), "{text}");
}

#[test]
fn figures_over_trials_are_medians_with_their_range() {
    let mut path = Tampered::new(Queue::new(10_000, 10), |trial, result: &mut TrialResult| {
        let total = result.latency.as_mut().unwrap().total.as_mut().unwrap();
        total.p50_ns = [30, 10, 50, 20, 40][trial as usize];
        if trial == 3 {
            lose_one(result);
        }
    });
    let outcome = test().run(&setup(), &mut path, &mut ()).unwrap().outcome;
    assert_eq!(outcome.total.unwrap().typical, Across { median_ns: 30, min_ns: 10, max_ns: 50 });
    assert_eq!(outcome.lossy, [4]);
}

#[test]
fn a_leg_that_one_trial_lacks_is_absent() {
    let mut path = Tampered::new(Queue::new(10_000, 10), |trial, result: &mut TrialResult| {
        if trial == 2 {
            result.latency.as_mut().unwrap().total = None;
        }
    });
    let outcome = test().run(&setup(), &mut path, &mut ()).unwrap().outcome;
    assert_eq!(outcome.total, None);
}

#[test]
fn a_trial_that_is_over_before_frames_are_recorded_is_refused() {
    let test = LatencyTest { from: Duration::from_millis(100), ..test() };
    let text = test.run(&setup(), &mut Queue::new(1, 1), &mut ()).unwrap_err().to_string();
    assert!(text.contains("from 100ms on"), "{text}");
}
