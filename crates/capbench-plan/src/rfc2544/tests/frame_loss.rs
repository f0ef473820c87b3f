use std::time::Duration;

use super::{maximum, setup};
use crate::for_tests::Collected;
use crate::rfc2544::frame_loss::FrameLossTest;
use crate::simulated::tampered::Tampered;
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::bursts::Percent;
use capbench_judge::rfc2544::Ended;
use capbench_judge::rfc2544::frame_loss::FrameLossOutcome;
use capbench_model::trial::{Phase, TrialResult};

fn test(step: f64) -> FrameLossTest {
    FrameLossTest {
        maximum: maximum(1e6),
        step: Percent::new(step).unwrap(),
        duration: Duration::from_secs(2),
    }
}

fn path(capacity: f64) -> SimulatedLaboratory {
    SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("packet-v3", capacity)])
}

#[test]
fn the_curve_goes_down_from_the_maximum_until_two_trials_lose_nothing() {
    let finished = test(10.0).run(&setup(), &mut path(730_000.0), &mut ()).unwrap();
    let FrameLossOutcome { points, ends_without_loss, ended, .. } = finished.outcome;
    let curve: Vec<_> =
        points.iter().map(|point| (point.load_percent, (point.loss_percent * 1e3).round() / 1e3)).collect();
    assert_eq!(curve, [(100.0, 27.0), (90.0, 18.889), (80.0, 8.75), (70.0, 0.0), (60.0, 0.0)]);
    assert!(ends_without_loss && ended == Ended::Complete);
    assert!(finished.trials.iter().all(|trial| trial.phase == Phase::FrameLoss));
    assert!(points.iter().zip(&finished.trials).all(|(point, trial)| point.trial == trial.number));
}

#[test]
fn a_method_that_loses_at_every_load_has_a_curve_all_the_same() {
    let finished = test(10.0).run(&setup(), &mut path(1000.0), &mut ()).unwrap();
    assert_eq!(finished.outcome.points.len(), 10);
    assert!(!finished.outcome.ends_without_loss);
    assert_eq!(finished.outcome.ended, Ended::Complete);
}

#[test]
fn one_trial_without_loss_between_two_with_is_not_the_end() {
    // 100 %, 90 % and 80 % of the maximum are more than the path takes.
    let mut path =
        Tampered::new(path(730_000.0), |earlier_trials, result: &mut TrialResult| match earlier_trials {
            // 80 %: nothing is lost, by chance.
            2 => result.delivered = result.sent,
            // 70 %: a frame is lost, so that the pair without loss begins at 60 %.
            3 => result.delivered -= 1,
            _ => {}
        });
    let points = test(10.0).run(&setup(), &mut path, &mut ()).unwrap().outcome.points;
    let loads: Vec<_> = points.iter().map(|point| point.load_percent).collect();
    assert_eq!(loads, [100.0, 90.0, 80.0, 70.0, 60.0, 50.0]);
}

#[test]
fn steps_are_exact_and_none_is_coarser_than_the_standard_allows() {
    let loads = test(3.0).loads().unwrap();
    assert_eq!((loads.len(), loads[33].get()), (34, 1.0));
    let tenths = test(0.1).loads().unwrap();
    assert_eq!(tenths.len(), 1000);
    let text = test(10.1).loads().unwrap_err().to_string();
    assert!(text.contains("steps of 10.1 %") && text.contains("up to 10 %"), "{text}");
}

#[test]
fn a_step_is_above_0() {
    assert!(Percent::new(0.0).is_err() && Percent::new(f64::NAN).is_err());
}

#[test]
fn a_generator_that_falls_short_shows_in_the_offered_load() {
    let mut slow = SimulatedLaboratory::new(8e5, vec![SimulatedMethod::new("packet-v3", 7.5e5)]);
    let points = test(10.0).run(&setup(), &mut slow, &mut ()).unwrap().outcome.points;
    assert_eq!((points[0].load_percent, points[0].offered_percent), (100.0, 80.0));
    assert_eq!(points[0].loss_percent, 6.25, "of the frames that were sent");
    assert_eq!(points[0].intended - points[0].sent, 400_000);
    let limited: Vec<_> = points.iter().map(|point| point.has_unsent_frames).collect();
    assert_eq!(limited, [true, true, false, false, false]);
}

#[test]
fn what_the_generator_did_not_offer_does_not_end_the_curve() {
    // It takes all that comes, and 700,000 is what comes at most.
    let mut slow = SimulatedLaboratory::new(7e5, vec![SimulatedMethod::new("packet-v3", 2e6)]);
    let outcome = test(10.0).run(&setup(), &mut slow, &mut ()).unwrap().outcome;
    let loads: Vec<_> =
        outcome.points.iter().map(|point| (point.load_percent, point.has_unsent_frames)).collect();
    assert_eq!(loads, [(100.0, true), (90.0, true), (80.0, true), (70.0, false), (60.0, false)]);
    assert!(outcome.ends_without_loss && outcome.points.iter().all(|point| point.loss_percent == 0.0));
    let mut stuck = SimulatedLaboratory::new(5e4, vec![SimulatedMethod::new("packet-v3", 2e6)]);
    let outcome = test(10.0).run(&setup(), &mut stuck, &mut ()).unwrap().outcome;
    assert_eq!((outcome.points.len(), outcome.ends_without_loss), (10, false));
}

#[test]
fn a_stop_keeps_the_points_and_a_path_without_the_method_says_so() {
    let mut collected = Collected::stopping_after(2);
    let finished = test(10.0).run(&setup(), &mut path(1000.0), &mut collected).unwrap();
    // The trial that was under way when it stopped shows nothing.
    assert_eq!((finished.outcome.ended, finished.outcome.points.len()), (Ended::Stopped, 2));
    let mut collected = Collected::expecting_skips();
    let mut absent = SimulatedLaboratory::new(1e6, Vec::new());
    let finished = test(10.0).run(&setup(), &mut absent, &mut collected).unwrap();
    assert_eq!((finished.outcome.ended, collected.skipped.len()), (Ended::NotRun, 1));
}
