use proptest::prelude::*;

use super::*;

fn pps(rate: f64) -> Pps {
    Pps::new(rate).unwrap()
}

fn bursts(frames: u32, rate: f64) -> Schedule {
    Schedule::Bursts { frames: NonZeroU32::new(frames).unwrap(), rate: pps(rate) }
}

#[test]
fn planned_times_are_exact_after_a_thousand_seconds() {
    for (rate, number, time) in [
        (1e6, 1_000_000_000, 1_000_000_000_000),
        (3.0, 3_000, 1_000_000_000_000),
        (3.0, 1, 333_333_333),
        (3.0, 3_001, 1_000_333_333_333),
        (7.0, 7_000, 1_000_000_000_000),
        (1e9, 1_000_000_000_000, 1_000_000_000_000),
        (0.5, 500, 1_000_000_000_000),
        (14_880_952.0, 14_880_952_000, 1_000_000_000_000),
    ] {
        assert_eq!(Schedule::Constant(pps(rate)).planned_ns(number), Some(time), "{number} at {rate}");
    }
}

#[test]
fn intended_counts() {
    let second = Duration::from_secs(1);
    for (rate, duration, count) in [
        (1e6, second, 1_000_000),
        (3.0, Duration::from_millis(500), 2),
        (3.0, Duration::from_millis(466), 1),
        (1_488_095.238, Duration::from_secs(60), 89_285_714),
        (0.1, second, 0),
        (1e12, Duration::from_secs(3600), 3_600_000_000_000_000),
    ] {
        assert_eq!(Schedule::Constant(pps(rate)).intended(duration), Some(count), "{rate}");
    }
    assert_eq!(Schedule::Maximum.intended(second), None);
    assert_eq!(bursts(64, 1e6).intended(second), Some(1_000_000));
    assert!(Schedule::Maximum.check(Duration::from_secs(80 * 3600)).is_err());
    assert!(Schedule::Maximum.check(Duration::from_secs(78 * 3600)).is_ok());
}

#[test]
fn bursts_leave_together() {
    let schedule = bursts(4, 1e6);
    let times: Vec<u64> = (0..9).filter_map(|number| schedule.planned_ns(number)).collect();
    assert_eq!(times, [0, 0, 0, 0, 4_000, 4_000, 4_000, 4_000, 8_000]);
}

fn step(before: f64, at: Duration, after: f64) -> Schedule {
    Schedule::Step(Step { before: pps(before), at, after: pps(after) })
}

#[test]
fn a_step_changes_the_rate_at_its_time() {
    let schedule = step(1e6, Duration::from_micros(3), 5e5);
    let times: Vec<u64> = (0..6).filter_map(|number| schedule.planned_ns(number)).collect();
    assert_eq!(times, [0, 1_000, 2_000, 3_000, 5_000, 7_000]);
    assert_eq!(schedule.intended(Duration::from_micros(2)), Some(2));
    assert_eq!(schedule.intended(Duration::from_micros(9)), Some(6));
    assert_eq!(schedule.rate(), None);
    let late = step(1e-3, Duration::from_secs(1), 10.0);
    assert_eq!(
        (late.planned_ns(0), late.times(Turn::EVERY).unwrap().next_ns()),
        (Some(1_000_000_000), 1_000_000_000)
    );
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_variance_of_their_kind() {
    let schedule = Schedule::Poisson { rate: pps(1e5), seed: 1 };
    let mut times = schedule.times(Turn::EVERY).unwrap();
    let mut gaps = Vec::new();
    let mut last = times.next_ns();
    for _ in 0..200_000 {
        times.advance();
        gaps.push((times.next_ns() - last) as f64);
        last = times.next_ns();
    }
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
    assert!((mean / 10_000.0 - 1.0).abs() < 0.01, "{mean}");
    assert!((variance.sqrt() / 10_000.0 - 1.0).abs() < 0.02, "{variance}");
    let again = Schedule::Poisson { rate: pps(1e5), seed: 1 }.times(Turn::EVERY).unwrap();
    assert_eq!(again.next_ns(), schedule.times(Turn::EVERY).unwrap().next_ns());
}

proptest! {
    #[test]
    fn in_order_and_by_number_agree(
        rate in 1e-3..1e9_f64, burst in 1..100_u32, other in 1e-3..1e9_f64, at in 0..1_000_000_000_u64
    ) {
        let step = step(rate, Duration::from_nanos(at), other);
        for schedule in [Schedule::Constant(pps(rate)), bursts(burst, rate), step] {
            let mut times = schedule.times(Turn::EVERY).unwrap();
            for number in 0..1000 {
                prop_assert_eq!(Some(times.next_ns()), schedule.planned_ns(number));
                times.advance();
            }
        }
    }

    /// Every frame of the schedule is exactly one sender's, at its planned time.
    #[test]
    fn turns_split_a_schedule_exactly(
        rate in 1e-3..1e9_f64, burst in 1..100_u32, seed: u64, senders in 1..9_u32, frames in 0..500_u64
    ) {
        let senders = NonZeroU32::new(senders).unwrap();
        let shares: u64 = Turn::of_each(senders).map(|turn| turn.share(frames)).sum();
        prop_assert_eq!(shares, frames);
        let poisson = Schedule::Poisson { rate: pps(rate), seed };
        let step = step(rate, Duration::from_nanos(seed >> 34), rate / 3.0);
        for schedule in [Schedule::Constant(pps(rate)), bursts(burst, rate), poisson, step] {
            let mut whole = schedule.times(Turn::EVERY).unwrap();
            let mut planned = Vec::new();
            for _ in 0..frames {
                planned.push(whole.next_ns());
                whole.advance();
            }
            for turn in Turn::of_each(senders) {
                let mut times = schedule.times(turn).unwrap();
                for nth in 0..turn.share(frames) {
                    prop_assert_eq!(times.next_ns(), planned[turn.number(nth) as usize]);
                    times.advance();
                }
            }
        }
    }

    /// Against the definition: frame `i` is the last one with `time * rate <= i` seconds.
    #[test]
    fn times_are_floors(rate in 1..20_000_000_u32, number in 0..(1_u64 << 34)) {
        let time = Schedule::Constant(pps(f64::from(rate))).planned_ns(number).unwrap();
        let exact = u128::from(number) * 1_000_000_000 / u128::from(rate);
        prop_assert_eq!(u128::from(time), exact);
    }

    #[test]
    fn every_intended_frame_is_planned_within_the_duration(rate in 1e-3..1e8_f64, ns in 1..(1_u64 << 40), burst in 1..99_u32, at in 0..(1_u64 << 40)) {
        let step = step(rate, Duration::from_nanos(at), rate / 2.0);
        for schedule in [Schedule::Constant(pps(rate)), bursts(burst, rate), step] {
            let count = schedule.intended(Duration::from_nanos(ns)).unwrap();
            if count > 0 {
                prop_assert!(schedule.planned_ns(count - 1).unwrap() < ns);
            }
        }
    }
}
