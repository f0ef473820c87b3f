//! The classes on computed clocks: with an offset, a skew, jitter, and hosts that state a wrong error.

use std::time::Duration;

use proptest::prelude::*;

use super::*;

const SECOND: u64 = 1_000_000_000;

/// A pair of clocks, and a way between them.
#[derive(Clone, Copy, Debug)]
struct World {
    /// By how much the receiver's clock is ahead at the start, in nanoseconds.
    offset_ns: i64,
    /// By how much faster it runs.
    skew_ppm: f64,
}

impl World {
    /// The receiver's time at a moment of the sender's clock.
    fn receiver_ns(self, sender_ns: u64) -> i64 {
        let drift = sender_ns as f64 * self.skew_ppm / 1e6;
        sender_ns as i64 + self.offset_ns + drift.round() as i64
    }

    /// The points of frames that take `least_ns` and these times more, evenly spaced over `duration_ns`.
    fn points(self, least_ns: u64, more_ns: &[u64], duration_ns: u64) -> Vec<Point> {
        let frames = more_ns.len() as u64;
        let at = |nth: u64| nth * duration_ns / frames;
        let point = |(nth, more): (usize, &u64)| {
            let at_ns = at(nth as u64);
            Point { at_ns, delay_ns: self.receiver_ns(at_ns + least_ns + more) - at_ns as i64 }
        };
        more_ns.iter().enumerate().map(point).collect()
    }

    /// An exchange at a moment of the sender's clock, which is the controller's, with these one-way times.
    fn exchange(self, at_ns: u64, there_ns: u64, back_ns: u64) -> FourStamps {
        let received = at_ns + there_ns;
        FourStamps {
            sent_ns: at_ns as i64,
            received_ns: self.receiver_ns(received),
            answered_ns: self.receiver_ns(received + 20_000),
            returned_ns: (received + 20_000 + back_ns) as i64,
        }
    }
}

fn synchronised(error_ns: u64) -> ClockState {
    ClockState::Synchronised { by: TimeService::Chrony, error_ns }
}

/// A host whose clock is ahead of the controller's by what an exchange shows, before and after a trial of ten seconds.
fn host(state: &ClockState, ahead_ns: i64, round_trip_ns: u64) -> HostClock {
    let half = round_trip_ns as i64 / 2;
    let ahead = Bounds { low_ns: ahead_ns - half, high_ns: ahead_ns + half };
    let reading = |at_ns| ClockReading { at_ns, state: state.clone(), ahead };
    HostClock { before: reading(0), after: reading(10 * SECOND) }
}

proptest! {
    #[test]
    fn skew_is_found_whatever_the_offset_and_the_jitter(
        skew_ppm in -400.0..400.0_f64,
        offset_ns in -90_000_000_000_000..90_000_000_000_000_i64,
        mut more_ns in prop::collection::vec(0..5_000_000_u64, 400..800),
    ) {
        // One frame in ten meets no queue, and so does one at either end.
        more_ns.iter_mut().step_by(10).for_each(|more| *more %= 1000);
        let last = more_ns.len() - 1;
        more_ns[last] %= 1000;
        let points = World { offset_ns, skew_ppm }.points(50_000, &more_ns, 10 * SECOND);
        let found = slope(&points).unwrap();
        // Jitter of up to 1 us at either end of some 10 s.
        prop_assert!((found.ppm - skew_ppm).abs() < 0.5, "{:?} for {}", found, skew_ppm);
        prop_assert!(found.error_ppm < 2.0, "{:?}", found);
    }

    #[test]
    fn the_line_is_below_every_point_and_no_other_such_line_is_closer(
        delays in prop::collection::vec(0..1_000_000_i64, 2..60),
    ) {
        let points: Vec<Point> =
            delays.iter().enumerate().map(|(nth, &delay_ns)| Point { at_ns: nth as u64 * 1000, delay_ns }).collect();
        let slope = slope(&points).unwrap().ppm / 1e6;
        let base = |slope: f64| {
            points.iter().map(|point| point.delay_ns as f64 - slope * point.at_ns as f64).fold(f64::INFINITY, f64::min)
        };
        let distance = |slope: f64| -> f64 {
            let base = base(slope);
            points.iter().map(|point| point.delay_ns as f64 - slope * point.at_ns as f64 - base).sum()
        };
        let found = distance(slope);
        for other in -200..=200 {
            prop_assert!(found <= distance(slope + f64::from(other) * 0.7) * (1.0 + 1e-9) + 1e-3);
        }
    }

    #[test]
    fn bounds_of_exchanges_hold_the_true_difference_however_unequal_the_ways(
        offset_ns in -90_000_000_000_000..90_000_000_000_000_i64,
        ways in prop::collection::vec((0..40_000_000_u64, 0..40_000_000_u64), 1..12),
    ) {
        let world = World { offset_ns, skew_ppm: 0.0 };
        let exchanges: Vec<_> =
            ways.iter().enumerate().map(|(nth, (there, back))| world.exchange(nth as u64 * SECOND, *there, *back)).collect();
        let bounds = Bounds::of(&exchanges).unwrap();
        prop_assert!(bounds.low_ns <= offset_ns && offset_ns <= bounds.high_ns);
        prop_assert!(bounds.offset_ns().abs_diff(offset_ns) <= bounds.error_ns());
        // Several are never worse than one of them.
        prop_assert!(bounds.error_ns() <= Bounds::of(&exchanges[..1]).unwrap().error_ns());
    }

    #[test]
    fn honest_hosts_are_believed_and_liars_found_once_the_lie_exceeds_the_round_trip(
        errors in (0..1_000_000_u64, 0..1_000_000_u64),
        share in -1.0..1.0_f64,
        round_trip_ns in 1000..2_000_000_u64,
        lie_ns in 1..1_000_000_000_i64,
    ) {
        let error_ns = errors.0 + errors.1;
        let apart = (error_ns as f64 * share) as i64;
        let sender = host(&synchronised(errors.0), 0, round_trip_ns);
        let honest = host(&synchronised(errors.1), apart, round_trip_ns);
        prop_assert_eq!(common_error(&sender, &honest), Ok(error_ns));
        let beyond = (error_ns + round_trip_ns) as i64 + lie_ns;
        for liar in [beyond, -beyond] {
            let reason = common_error(&sender, &host(&synchronised(errors.1), liar, round_trip_ns)).unwrap_err();
            prop_assert!(reason.contains("a stated error is wrong"), "{}", reason);
        }
    }
}

#[test]
fn without_two_times_there_is_no_skew() {
    assert_eq!(slope(&[]), None);
    let point = Point { at_ns: 5, delay_ns: 7 };
    assert_eq!(slope(&[point, Point { delay_ns: 9, ..point }]), None);
}

#[test]
fn a_floor_that_is_no_line_makes_the_skew_uncertain() {
    // The shortest delays of each fifth of a second differ by a millisecond.
    let uneven = [3, 0, 2, 4, 1].map(|level| level * 1_000_000);
    let point = |nth: u64| Point { at_ns: nth * 1_000_000, delay_ns: uneven[(nth / 200) as usize % 5] };
    let found = slope(&(0..1000).map(point).collect::<Vec<_>>()).unwrap();
    assert!(found.error_ppm > found.ppm.abs() && found.error_ppm > 1000.0, "{found:?}");
    let two = [Point { at_ns: 0, delay_ns: 0 }, Point { at_ns: 1000, delay_ns: 1 }];
    assert_eq!(slope(&two).unwrap().error_ppm, f64::INFINITY);
}

#[test]
fn exchanges_that_contradict_each_other_have_no_bounds() {
    let honest = World { offset_ns: 0, skew_ppm: 0.0 };
    let after_a_step = World { offset_ns: 40_000_000, ..honest };
    let exchanges = [honest.exchange(0, 1000, 1000), after_a_step.exchange(SECOND, 1000, 1000)];
    assert_eq!(Bounds::of(&exchanges), None);
}

#[test]
fn an_unsynchronised_host_is_named_with_its_reason() {
    let unsynchronised = ClockState::Unsynchronised { reason: "STA_UNSYNC".into() };
    let sender = host(&synchronised(1000), 0, 1000);
    let reason = common_error(&sender, &host(&unsynchronised, 0, 1000)).unwrap_err();
    assert_eq!(reason, "the clock of the host that receives is not synchronised: STA_UNSYNC");
    assert!(common_error(&host(&unsynchronised, 0, 1000), &sender).unwrap_err().contains("host that sends"));
}

#[test]
fn a_lie_that_begins_during_the_trial_is_found_after_it() {
    let sender = host(&synchronised(1000), 0, 10_000);
    let mut receiver = host(&synchronised(1000), 0, 10_000);
    assert_eq!(common_error(&sender, &receiver), Ok(2000));
    receiver.after.ahead = Bounds { low_ns: 5_000_000, high_ns: 5_010_000 };
    let reason = common_error(&sender, &receiver).unwrap_err();
    assert!(reason.contains("after the trial shows 5.005ms"), "{reason}");
    receiver.after.ahead = Bounds { low_ns: -5_010_000, high_ns: -5_000_000 };
    let reason = common_error(&sender, &receiver).unwrap_err();
    assert!(reason.contains("shows -5.005ms"), "{reason}");
}

#[test]
fn the_error_may_be_a_tenth_of_the_median_or_what_the_user_accepts() {
    let limit = Duration::from_micros;
    assert_eq!(is_accepted(1000, 0, 10_000, None), Ok(()));
    assert!(is_accepted(1001, 0, 10_000, None).unwrap_err().contains("a tenth of the median of 10µs"));
    assert_eq!(is_accepted(1001, 0, 10_000, Some(limit(2))), Ok(()));
    assert!(is_accepted(2001, 0, 1 << 40, Some(limit(2))).unwrap_err().contains("exceeds 2µs"));
    assert_eq!(is_accepted(1000, -1000, -500, Some(limit(2))), Ok(()), "negative within the error");
    let impossible = is_accepted(1000, -1001, 10_000, None).unwrap_err();
    assert!(impossible.contains("1.001µs before it was sent"), "{impossible}");
    assert!(is_accepted(1, 0, -5, None).unwrap_err().contains("of -5ns"));
}

#[test]
fn exchanges_bound_the_skew_that_delays_may_show() {
    let state = synchronised(1000);
    let sender = host(&state, 0, 1000);
    let mut receiver = host(&state, 0, 1000);
    // 100 ppm over 10 s.
    receiver.after.ahead = Bounds { low_ns: 999_500, high_ns: 1_000_500 };
    let bounds = skew_bounds(&sender, &receiver);
    assert!(bounds.contains(&100.0), "{bounds:?}");
    assert!(!bounds.contains(&99.0) && !bounds.contains(&101.0), "{bounds:?}");
}
