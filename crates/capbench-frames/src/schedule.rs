//! Planned send times of frames, in whole nanoseconds since the trial started, without drift.
//!
//! A rate is the exact binary fraction of its `f64`. Frame `i` is planned at `floor(i / rate)` in integer arithmetic. After
//! 10^12 ns the plan is as exact as after the first frame.

mod recorded;

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use crate::{FrameError, Pps, Result};
use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use serde::{Deserialize, Serialize};

pub use recorded::{RecordedTimes, Speed};

/// Nanoseconds of a second.
const SECOND_NS: u128 = 1_000_000_000;

/// When to send frames.
#[derive(Debug, Clone, PartialEq)]
pub enum Schedule {
    /// Frames at equal intervals (RFC 2544: constant load).
    Constant(Pps),
    /// Each frame as soon as the previous one was sent. Nothing is planned.
    Maximum,
    /// Bursts at equal intervals, with no gap between frames of a burst (RFC 2544 21: 16, 64, 256 and 1024 frames).
    Bursts {
        /// Frames per burst.
        frames: NonZeroU32,
        /// Mean rate over all frames.
        rate: Pps,
    },
    /// Exponentially distributed intervals: independent arrivals (Poisson process).
    Poisson {
        /// Mean rate.
        rate: Pps,
        /// The seed. The same seed gives the same intervals on every host.
        seed: u64,
    },
    /// Frames at equal intervals, with one change of rate (RFC 2544 26.5: overload, then half of it).
    Step(Step),
    /// A busy loop of this many iterations after each frame, as in the sender of `dain-2004`. Nothing is planned.
    WaitLoop {
        /// Iterations between two frames.
        iterations: u32,
    },
    /// Frames at the times of a capture file, again and again.
    Recorded(Arc<RecordedTimes>),
}

/// Which frames of a schedule a sender has, if several send it: they take frames in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Turn {
    /// Number of its first frame.
    first: u32,
    /// Number of senders.
    of: NonZeroU32,
}

impl Turn {
    /// Every frame: the only sender.
    pub const EVERY: Self = Self { first: 0, of: NonZeroU32::MIN };

    /// The turns of this many senders.
    pub fn of_each(of: NonZeroU32) -> impl Iterator<Item = Self> {
        (0..of.get()).map(move |first| Self { first, of })
    }

    /// How many of the schedule's first `frames` frames it has.
    pub fn share(self, frames: u64) -> u64 {
        frames.saturating_sub(self.first.into()).div_ceil(self.of.get().into())
    }

    /// Whether it has the frame, or the flow, with this number.
    pub fn has(self, number: u64) -> bool {
        number % u64::from(self.of.get()) == u64::from(self.first)
    }

    /// Number in the schedule of the `nth` of its frames, from 0.
    pub fn number(self, nth: u64) -> u64 {
        nth.saturating_mul(self.of.get().into()).saturating_add(self.first.into())
    }
}

/// A constant rate that changes once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Step {
    /// The rate before the change.
    pub before: Pps,
    /// Time of the change, since the start.
    pub at: Duration,
    /// The rate after the change.
    pub after: Pps,
}

impl Step {
    /// Frames planned before the change. The first frame after it is planned for the moment of the change.
    pub fn frames_before(&self) -> u64 {
        Period::of(self.before).frames_in(self.at)
    }

    /// Planned send time of frame `number` in nanoseconds since the start.
    pub fn planned_ns(&self, number: u64) -> u64 {
        match number.checked_sub(self.frames_before()) {
            None => Period::of(self.before).times(number),
            Some(after) => self.at_ns().saturating_add(Period::of(self.after).times(after)),
        }
    }

    /// Frames planned in a sending phase of this length.
    pub fn intended(&self, duration: Duration) -> u64 {
        match duration.checked_sub(self.at) {
            None => Period::of(self.before).frames_in(duration),
            Some(after) => self.frames_before().saturating_add(Period::of(self.after).frames_in(after)),
        }
    }

    fn at_ns(&self) -> u64 {
        saturated(self.at.as_nanos())
    }
}

impl Schedule {
    /// Frames that a sending phase of this length should send: `round(rate * duration)`, or those recorded before its end. `None` if nothing is planned, or if
    /// it is known only after drawing every interval ([`Schedule::Poisson`]).
    pub fn intended(&self, duration: Duration) -> Option<u64> {
        match self {
            Self::Constant(rate) | Self::Bursts { rate, .. } => Some(Period::of(*rate).frames_in(duration)),
            Self::Step(step) => Some(step.intended(duration)),
            Self::Recorded(times) => Some(times.planned_before(duration.as_nanos())),
            Self::Maximum | Self::Poisson { .. } | Self::WaitLoop { .. } => None,
        }
    }

    /// The requested rate, if there is one and it does not change.
    pub fn rate(&self) -> Option<Pps> {
        match self {
            Self::Constant(rate) | Self::Bursts { rate, .. } | Self::Poisson { rate, .. } => Some(*rate),
            Self::Maximum | Self::Step(_) | Self::WaitLoop { .. } | Self::Recorded(_) => None,
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
            Self::Step(step) => Some(step.planned_ns(number)),
            Self::Recorded(times) => Some(times.planned_ns(number)),
            Self::Maximum | Self::Poisson { .. } | Self::WaitLoop { .. } => None,
        }
    }

    /// How many of the first `most` frames are planned before this time; `None` as for [`Self::intended`].
    pub fn planned_before(&self, end_ns: u64, most: u64) -> Option<u64> {
        let (mut low, mut high) = (0, most);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.planned_ns(middle)? < end_ns { low = middle + 1 } else { high = middle }
        }
        Some(low)
    }

    /// The planned times of the frames of a turn, without divisions. `None` if nothing is planned.
    pub fn times(&self, turn: Turn) -> Option<PlannedTimes> {
        let shape = match *self {
            Self::Recorded(ref times) => Shape::Recorded { times: Arc::clone(times), index: 0, begin_ns: 0 },
            Self::Constant(rate) => Shape::Grid { grid: Grid::of(rate, 1), burst: 1, left: 1 },
            Self::Bursts { frames, rate } => {
                Shape::Grid { grid: Grid::of(rate, frames.get()), burst: frames.get(), left: frames.get() }
            }
            Self::Step(step) => Shape::Step {
                grid: Grid::of(step.before, 1),
                left: step.frames_before(),
                at_ns: step.at_ns(),
                after: step.after,
            },
            Self::Poisson { rate, seed } => {
                Shape::Poisson { random: Box::new(Xoshiro256PlusPlus::seed_from_u64(seed)), rate, at: 0 }
            }
            Self::Maximum | Self::WaitLoop { .. } => return None,
        };
        let mut times = PlannedTimes { next_ns: 0, stride: turn.of, shape };
        match times.shape {
            // The first arrival of a Poisson process is not at its beginning.
            Shape::Poisson { .. } => times.advance_one(),
            // The rate is so low that no frame comes before the change.
            Shape::Step { left: 0, .. } => times.change(),
            _ => {}
        }
        (0..turn.first).for_each(|_| times.advance_one());
        Some(times)
    }

    /// Checks a schedule before a trial.
    ///
    /// # Errors
    /// A plan longer than a stamp can represent (2^48 ns, 78 hours).
    pub fn check(&self, duration: Duration) -> Result<()> {
        if duration.as_nanos() > u128::from(crate::stamp::Stamp::LAST_PLANNED_NS) {
            return Err(FrameError::Schedule("a sending phase of over 78 hours does not fit into the stamp"));
        }
        Ok(())
    }
}

/// The interval of two frames as an exact fraction: `dividend / divisor` nanoseconds.
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

/// Times beyond 584 years saturate.
fn saturated(number: u128) -> u64 {
    u64::try_from(number).unwrap_or(u64::MAX)
}

/// Points at equal intervals, computed by adding quotient and remainder.
#[derive(Debug, Clone, Copy)]
struct Grid {
    whole: u64,
    remainder: u64,
    divisor: u64,
    carried: u64,
}

impl Grid {
    /// Points at intervals of `frames` frames of the rate.
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

    /// The interval from the last point to the next.
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
    Step {
        grid: Grid,
        /// Frames left until the change.
        left: u64,
        at_ns: u64,
        after: Pps,
    },
    Poisson {
        random: Box<Xoshiro256PlusPlus>,
        rate: Pps,
        /// Exact time, in 2^-16 ns, so that rounding does not shift the mean.
        at: u64,
    },
    Recorded {
        times: Arc<RecordedTimes>,
        index: usize,
        /// Beginning of this repetition.
        begin_ns: u64,
    },
}

/// Planned send times, in order.
#[derive(Debug, Clone)]
pub struct PlannedTimes {
    next_ns: u64,
    /// Frames of the schedule from one of the turn to its next.
    stride: NonZeroU32,
    shape: Shape,
}

impl PlannedTimes {
    /// Planned time of the next frame, nanoseconds since the start.
    #[inline]
    pub fn next_ns(&self) -> u64 {
        self.next_ns
    }

    /// How many of the next `most` frames of the turn are planned before this time.
    pub fn before(&self, end_ns: u64, most: u64) -> u64 {
        // The count of a random schedule is known only by iterating it.
        let (mut times, mut count) = (self.clone(), 0);
        while count < most && times.next_ns < end_ns {
            times.advance();
            count += 1;
        }
        count
    }

    /// Advances to the next frame of the turn.
    #[inline]
    pub fn advance(&mut self) {
        for _ in 0..self.stride.get() {
            self.advance_one();
        }
    }

    /// Advances to the next frame of the schedule.
    #[inline]
    fn advance_one(&mut self) {
        match &mut self.shape {
            Shape::Grid { grid, burst, left } => {
                *left -= 1;
                if *left == 0 {
                    *left = *burst;
                    self.next_ns = self.next_ns.saturating_add(grid.step());
                }
            }
            Shape::Step { grid, left, .. } => {
                *left -= 1;
                if *left == 0 {
                    self.change();
                } else {
                    self.next_ns = self.next_ns.saturating_add(grid.step());
                }
            }
            Shape::Poisson { random, rate, at } => {
                // 53 random bits as a number in (0, 1], which has a logarithm.
                let uniform = ((random.next_u64() >> 11) + 1) as f64 * (1.0 / (1_u64 << 53) as f64);
                let distance_ns = -uniform.ln() * 1e9 / rate.get();
                *at = at.saturating_add((distance_ns * 65_536.0) as u64);
                self.next_ns = *at >> 16;
            }
            Shape::Recorded { times, index, begin_ns } => {
                (*index, *begin_ns) = times.after(*index, *begin_ns);
                self.next_ns = times.at(*index, *begin_ns);
            }
        }
    }

    /// Switches to the rate after the step.
    fn change(&mut self) {
        if let Shape::Step { at_ns, after, .. } = self.shape {
            self.next_ns = at_ns;
            self.shape = Shape::Grid { grid: Grid::of(after, 1), burst: 1, left: 1 };
        }
    }
}

#[cfg(test)]
mod tests;
