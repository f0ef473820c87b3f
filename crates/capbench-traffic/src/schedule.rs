//! When each frame is to be sent, in whole nanoseconds since the trial started, without drift.
//!
//! A rate is taken as the exact binary fraction that its `f64` is, and frame `i` is planned at `floor(i / rate)` in
//! integer arithmetic. After 10^12 ns the plan is as exact as after the first frame.

use crate::error::{Result, TrafficError};
use crate::rates::Pps;
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};
use std::num::NonZeroU32;
use std::time::Duration;

/// Nanoseconds of a second.
const SECOND_NS: u128 = 1_000_000_000;

/// When frames are to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// Frames at equal distances (RFC 2544: constant load).
    Constant(Pps),
    /// Each frame as soon as the one before was handed over; nothing is planned.
    Maximum,
    /// Groups of frames without distance, at equal distances (RFC 2544 21: 16, 64, 256 and 1024 frames).
    Bursts {
        /// Frames of a group.
        frames: NonZeroU32,
        /// Mean rate over all.
        rate: Pps,
    },
    /// Exponentially distributed distances: arrivals that know nothing of each other.
    Poisson {
        /// Mean rate.
        rate: Pps,
        /// The seed: the same distances everywhere.
        seed: u64,
    },
    /// A busy loop of this many iterations after each frame, as `dain-2004` paced its sender; nothing is planned.
    WaitLoop {
        /// Iterations between two frames.
        iterations: u32,
    },
}

impl Schedule {
    /// How many frames a sending phase of this length is to have: `round(rate * duration)`; `None` where nothing is
    /// planned, or where it is known only after drawing every distance ([`Schedule::Poisson`]).
    pub fn intended(&self, duration: Duration) -> Option<u64> {
        match self {
            Self::Constant(rate) | Self::Bursts { rate, .. } => Some(Period::of(*rate).frames_in(duration)),
            Self::Maximum | Self::Poisson { .. } | Self::WaitLoop { .. } => None,
        }
    }

    /// The rate that was asked for, where there is one.
    pub fn rate(&self) -> Option<Pps> {
        match self {
            Self::Constant(rate) | Self::Bursts { rate, .. } | Self::Poisson { rate, .. } => Some(*rate),
            Self::Maximum | Self::WaitLoop { .. } => None,
        }
    }

    /// Planned send time of frame `number` in nanoseconds since the start; `None` as for [`Self::intended`].
    pub fn planned_ns(&self, number: u64) -> Option<u64> {
        match self {
            Self::Constant(rate) => Some(Period::of(*rate).times(number)),
            Self::Bursts { frames, rate } => {
                let burst = u64::from(frames.get());
                Some(Period::of(*rate).times(number / burst * burst))
            }
            Self::Maximum | Self::Poisson { .. } | Self::WaitLoop { .. } => None,
        }
    }

    /// The planned times from frame 0 on, without divisions; `None` where nothing is planned.
    pub fn times(&self) -> Option<PlannedTimes> {
        let shape = match *self {
            Self::Constant(rate) => Shape::Grid { grid: Grid::of(rate, 1), burst: 1, left: 1 },
            Self::Bursts { frames, rate } => {
                Shape::Grid { grid: Grid::of(rate, frames.get()), burst: frames.get(), left: frames.get() }
            }
            Self::Poisson { rate, seed } => {
                Shape::Poisson { random: Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)), rate, at: 0 }
            }
            Self::Maximum | Self::WaitLoop { .. } => return None,
        };
        let mut times = PlannedTimes { next_ns: 0, shape };
        if let Shape::Poisson { .. } = times.shape {
            // The first arrival of a Poisson process is not at its beginning.
            times.advance();
        }
        Some(times)
    }

    /// Checks a schedule before a trial.
    ///
    /// # Errors
    /// A plan longer than a stamp can tell (2^48 ns, 78 hours).
    pub fn check(&self, duration: Duration) -> Result<()> {
        if duration.as_nanos() > u128::from(crate::stamp::Stamp::LAST_PLANNED_NS) {
            return Err(TrafficError::Schedule(
                "a sending phase of over 78 hours does not fit into the stamp",
            ));
        }
        Ok(())
    }
}

/// The distance of two frames as an exact fraction: `dividend / divisor` nanoseconds.
#[derive(Debug, Clone, Copy)]
struct Period {
    dividend: u128,
    divisor: u64,
}

impl Period {
    /// A finite f64 is `mantissa * 2^exponent`; for the range of [`Pps`] neither number overflows.
    fn of(rate: Pps) -> Self {
        let bits = rate.get().to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i32 - 1075;
        let mantissa = (bits & ((1 << 52) - 1)) | 1 << 52;
        let even = mantissa.trailing_zeros() as i32;
        let (mantissa, exponent) = (mantissa >> even, exponent + even);
        if exponent >= 0 {
            Self { dividend: SECOND_NS, divisor: mantissa << exponent }
        } else {
            Self { dividend: SECOND_NS << -exponent, divisor: mantissa }
        }
    }

    /// `floor(number * period)`.
    fn times(self, number: u64) -> u64 {
        let divisor = u128::from(self.divisor);
        let number = u128::from(number);
        saturated(number * (self.dividend / divisor) + number * (self.dividend % divisor) / divisor)
    }

    /// `round(duration / period)`.
    fn frames_in(self, duration: Duration) -> u64 {
        let doubled = duration.as_nanos().saturating_mul(2 * u128::from(self.divisor));
        saturated(doubled.saturating_add(self.dividend) / (2 * self.dividend))
    }
}

/// Times beyond 584 years are that late.
fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Points at equal distances, by adding quotient and remainder.
#[derive(Debug, Clone, Copy)]
struct Grid {
    whole: u64,
    remainder: u64,
    divisor: u64,
    carried: u64,
}

impl Grid {
    /// Points as far apart as `frames` frames of the rate.
    fn of(rate: Pps, frames: u32) -> Self {
        let period = Period::of(rate);
        let (dividend, divisor) = (period.dividend, u128::from(period.divisor));
        let frames = u128::from(frames);
        let rest = dividend % divisor * frames;
        Self {
            whole: saturated(dividend / divisor * frames + rest / divisor),
            remainder: (rest % divisor) as u64,
            divisor: period.divisor,
            carried: 0,
        }
    }

    /// The distance from the last point to the next.
    #[inline]
    fn step(&mut self) -> u64 {
        // Both terms are below the divisor, which is below 2^63.
        self.carried += self.remainder;
        if self.carried >= self.divisor {
            self.carried -= self.divisor;
            self.whole.saturating_add(1)
        } else {
            self.whole
        }
    }
}

#[derive(Debug, Clone)]
enum Shape {
    Grid {
        grid: Grid,
        burst: u32,
        left: u32,
    },
    Poisson {
        random: Box<Xoshiro256PlusPlus>,
        rate: Pps,
        /// Exact time, in 2^-16 ns, so that rounding does not shift the mean.
        at: u64,
    },
}

/// Planned send times, in order.
#[derive(Debug, Clone)]
pub struct PlannedTimes {
    next_ns: u64,
    shape: Shape,
}

impl PlannedTimes {
    /// Planned time of the next frame, nanoseconds since the start.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// Goes on to the frame after it.
    #[inline]
    pub fn advance(&mut self) {
        match &mut self.shape {
            Shape::Grid { grid, burst, left } => {
                *left -= 1;
                if *left == 0 {
                    *left = *burst;
                    self.next_ns = self.next_ns.saturating_add(grid.step());
                }
            }
            Shape::Poisson { random, rate, at } => {
                // 53 random bits as a number in (0, 1], whose logarithm exists.
                let uniform = ((random.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64);
                let distance_ns = -uniform.ln() * 1e9 / rate.get();
                *at = at.saturating_add((distance_ns * 65_536.0) as u64);
                self.next_ns = *at >> 16;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

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

    #[test]
    fn poisson_arrivals_have_the_mean_and_the_variance_of_their_kind() {
        let schedule = Schedule::Poisson { rate: pps(1e5), seed: 1 };
        let mut times = schedule.times().unwrap();
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
        let again = Schedule::Poisson { rate: pps(1e5), seed: 1 }.times().unwrap();
        assert_eq!(again.next_ns(), schedule.times().unwrap().next_ns());
    }

    proptest! {
        #[test]
        fn in_order_and_by_number_agree(rate in 1e-3..1e9_f64, burst in 1..100_u32) {
            for schedule in [Schedule::Constant(pps(rate)), bursts(burst, rate)] {
                let mut times = schedule.times().unwrap();
                for number in 0..1000 {
                    prop_assert_eq!(Some(times.next_ns()), schedule.planned_ns(number));
                    times.advance();
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
        fn every_intended_frame_is_planned_within_the_duration(rate in 1e-3..1e8_f64, ns in 1..(1_u64 << 40), burst in 1..99_u32) {
            for schedule in [Schedule::Constant(pps(rate)), bursts(burst, rate)] {
                let count = schedule.intended(Duration::from_nanos(ns)).unwrap();
                if count > 0 {
                    prop_assert!(schedule.planned_ns(count - 1).unwrap() < ns);
                }
            }
        }
    }
}
