use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use proptest::prelude::*;

use super::queue::Queue;
use super::{maximum, pps, setup};
use crate::bursts::BurstSearch;
use crate::for_tests::Collected;
use crate::rfc2544::back_to_back::BackToBackTest;
use crate::simulated::tampered::{Tampered, lose_one};
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::bursts::BurstEnd;
use capbench_judge::bursts::Percent;
use capbench_judge::rfc2544::Ended;
use capbench_judge::rfc2544::back_to_back::BackToBackOutcome;
use capbench_model::laboratory::Laboratory;
use capbench_model::trial::{LoadShape, Phase, TrialResult};

fn test(resolution: f64, searches: u32) -> BackToBackTest {
    let mut test = BackToBackTest::standard(maximum(1e6), pps(5e5));
    test.search.resolution = Percent::new(resolution).unwrap();
    test.repetitions = NonZeroU32::new(searches).unwrap();
    test
}

/// The same, with other settings of the search for each burst.
fn with(mut test: BackToBackTest, change: impl FnOnce(&mut BurstSearch)) -> BackToBackTest {
    change(&mut test.search);
    test
}

/// A ring of 1000 frames that is emptied half as fast as it is filled: full after 2000 frames.
fn path() -> SimulatedLaboratory {
    let method = SimulatedMethod::new("packet-v3", 5e5).room(Room::Frames(1000));
    SimulatedLaboratory::new(1e6, vec![method])
}

fn run(test: BackToBackTest, path: &mut dyn Laboratory) -> BackToBackOutcome {
    test.run(&setup(), path, &mut ()).unwrap().outcome
}

#[test]
fn the_longest_burst_is_found_to_the_frame_and_the_buffer_time_is_corrected() {
    let finished = test(0.01, 3).run(&setup(), &mut path(), &mut ()).unwrap();
    let outcome = finished.outcome;
    assert!(outcome.searches.iter().all(|search| (search.frames, search.step_frames) == (2000, Some(1))));
    let benchmark = outcome.benchmark.unwrap();
    assert_eq!((benchmark.average_frames, benchmark.stdev_frames), (2000.0, Some(0.0)));
    assert_eq!((benchmark.min_frames, benchmark.max_frames), (2000, 2000));
    // 2000 frames are 2 ms at a million a second; half of them were taken out meanwhile.
    assert!((benchmark.implied_buffer_s - 2e-3).abs() < 1e-12);
    assert!((benchmark.corrected_buffer_s - 1e-3).abs() < 1e-12);
    assert!((benchmark.offered_percent.unwrap() - 100.0).abs() < 1e-6);
    assert_eq!((outcome.invalid_because, outcome.ended), (None, Ended::Complete));
    let trial = &finished.trials[0];
    assert_eq!((trial.phase, trial.intended_pps), (Phase::BackToBack, Some(1e6)));
    assert_eq!((trial.load, trial.intended), (Some(LoadShape::Burst { frames: 64 }), 64));
}

#[test]
fn a_coarser_resolution_says_how_coarse_it_is() {
    let outcome = run(test(1.0, 1), &mut path());
    let search = &outcome.searches[0];
    let step = search.step_frames.unwrap();
    assert!(search.frames <= 2000 && search.frames + step > 2000 && step <= 20, "{search:?}");
    assert_eq!(outcome.benchmark.unwrap().stdev_frames, None);
}

#[test]
fn a_length_that_loses_once_is_tried_again() {
    // Every second trial loses a frame, whatever its length.
    let flaky = |trial, result: &mut TrialResult| {
        if trial % 2 == 0 {
            lose_one(result);
        }
    };
    assert_eq!(run(test(0.01, 1), &mut Tampered::new(path(), flaky)).searches[0].frames, 2000);
    let strict = with(test(0.01, 1), |search| search.verifications = 0);
    // The first burst, of 64 frames, fails.
    assert!(run(strict, &mut Tampered::new(path(), flaky)).searches[0].frames < 64);
}

#[test]
fn the_path_is_idle_between_bursts_for_as_long_as_a_burst_and_at_least_for_the_depletion_time() {
    let mut path = Tampered::new(path(), |_, _: &mut TrialResult| {});
    let test = with(test(1.0, 2), |search| search.depletion = Duration::from_millis(1));
    let trials = test.run(&setup(), &mut path, &mut ()).unwrap().trials;
    assert_eq!(path.rests.len(), trials.len(), "before the first, too: others may have run before");
    for (rest, trial) in path.rests.iter().zip(&trials) {
        assert!(*rest >= Duration::from_millis(1) && rest.as_secs_f64() >= trial.duration_s, "{rest:?}");
    }
}

#[test]
fn a_burst_near_the_limit_is_no_result() {
    let never = SimulatedMethod::new("packet-v3", 1e6);
    let mut path = SimulatedLaboratory::new(1e6, vec![never]);
    let test = with(test(1.0, 1), |search| search.limit = Duration::from_secs(1));
    let outcome = run(test, &mut path);
    assert_eq!((outcome.limit_frames, outcome.searches[0].frames), (1_000_000, 1_000_000));
    assert_eq!(outcome.searches[0].step_frames, None);
    assert!(outcome.invalid_because.unwrap().contains("1 of 1 searches came near"));
}

#[test]
fn a_burst_is_near_the_limit_from_95_percent_of_it_on() {
    // The longest burst has 2000 frames.
    for (limit_us, is_near) in [(2090, true), (2120, false)] {
        let test = with(test(0.01, 1), |search| search.limit = Duration::from_micros(limit_us));
        let outcome = run(test, &mut path());
        assert_eq!(outcome.searches[0].frames, 2000);
        assert_eq!(outcome.invalid_because.is_some(), is_near, "2000 of {limit_us} frames");
    }
}

#[test]
fn a_generator_that_is_late_has_six_tries_of_a_burst() {
    for (late_tries, end) in [(5, BurstEnd::Found), (6, BurstEnd::GeneratorLimited)] {
        let mut path = Tampered::new(path(), |trial, result: &mut TrialResult| {
            if trial < late_tries {
                result.sending_s *= 3.0;
            }
        });
        let test = with(test(1.0, 1), |search| search.verifications = 1);
        assert_eq!(run(test, &mut path).searches[0].end, end, "{late_tries} tries");
    }
}

#[test]
fn where_nothing_fits_the_burst_is_empty() {
    let method = SimulatedMethod::new("packet-v3", 10.0);
    let mut path = SimulatedLaboratory::new(1e6, vec![method]);
    let outcome = run(test(1.0, 2), &mut path);
    assert!(outcome.searches.iter().all(|search| search.frames == 0 && search.offered_pps.is_none()));
    assert_eq!(outcome.benchmark.unwrap().corrected_buffer_s, 0.0);
}

#[test]
fn a_limit_below_the_first_burst_is_refused() {
    let refused = |test: BackToBackTest| test.run(&setup(), &mut path(), &mut ()).unwrap_err().to_string();
    let text = refused(with(test(1.0, 1), |search| search.limit = Duration::from_micros(10)));
    assert!(text.contains("first burst has 64 frames"), "{text}");
}

#[test]
fn a_burst_is_sent_at_the_rate_that_its_time_is_worked_out_with_however_fast_the_generator_is() {
    // Four frames come in the time of one that is taken: room for 1000 is full after 1333, at whatever rate.
    let methods = || vec![SimulatedMethod::new("packet-v3", 1e4).room(Room::Frames(1000))];
    let at = |generator| {
        let test = BackToBackTest { maximum: maximum(4e4), throughput: pps(1e4), ..test(0.01, 1) };
        run(test, &mut SimulatedLaboratory::new(generator, methods()))
    };
    let (usual, fast) = (at(4e4), at(1e6));
    assert_eq!(usual, fast);
    let benchmark = fast.benchmark.unwrap();
    assert!((benchmark.corrected_buffer_s - 1000.0 / 4e4).abs() < 1e-4, "{benchmark:?}");
    // A generator that is slower has no burst to send.
    let slow = at(3e4);
    assert_eq!(slow.searches[0].end, BurstEnd::GeneratorLimited);
    assert!(slow.invalid_because.unwrap().contains("did not send at 40,000 packets/s"));
}

#[test]
fn a_stop_keeps_the_searches_that_went_through() {
    let one = test(1.0, 1).run(&setup(), &mut path(), &mut ()).unwrap().trials.len();
    let mut collected = Collected::stopping_after(one + 2);
    let outcome = test(1.0, 50).run(&setup(), &mut path(), &mut collected).unwrap().outcome;
    assert_eq!((outcome.ended.clone(), outcome.searches.len()), (Ended::Stopped, 1));
    let text = serde_json::to_string(&outcome).unwrap();
    assert_eq!(serde_json::from_str::<BackToBackOutcome>(&text).unwrap(), outcome);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// On a queue that is worked out frame by frame, the burst found loses nothing, and the next length tried does.
    #[test]
    fn a_queue_holds_the_burst_found_and_not_the_next(service_ns in 101..2000_u64, room in 0..500_usize,
                                                      first in 1..200_u64, resolution in 0.1..20.0_f64) {
        let (maximum, throughput) = (maximum(1e7), pps(1e9 / service_ns as f64));
        let test = with(BackToBackTest { maximum, throughput, ..test(resolution, 1) }, |search| {
            search.first = NonZeroU64::new(first).unwrap();
            search.limit = Duration::from_millis(3);
        });
        let outcome = run(test, &mut Queue::new(service_ns, room));
        let search = &outcome.searches[0];
        // The longest burst, by trying all of them.
        let longest = longest(100, service_ns, room as u64).min(outcome.limit_frames);
        match search.step_frames {
            Some(step) => {
                prop_assert!(search.frames <= longest && longest < search.frames + step, "{} {:?}", longest, search);
                prop_assert!(step == 1 || step as f64 <= search.frames as f64 * resolution / 100.0);
            }
            None => prop_assert_eq!(search.frames, outcome.limit_frames),
        }
    }
}

/// Frames that come every `gap_ns` until one finds the room taken: before frame `n` comes, `n` have come and
/// `floor(n * gap / service)` of them have gone.
fn longest(gap_ns: u64, service_ns: u64, room: u64) -> u64 {
    (0..1_000_000).find(|n| n - n * gap_ns / service_ns > room).unwrap_or(u64::MAX)
}
