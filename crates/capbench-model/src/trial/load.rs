//! The intended load of a trial: as requested and as stored.

use crate::figures::grouped;
use std::fmt;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::schedule::{Schedule, Step};
use serde::{Deserialize, Serialize};

/// The intended load of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Load {
    /// Frames at a constant rate.
    Rate(Pps),
    /// As many frames per second as the generator can send: best effort, FRMOL of RFC 2285.
    Maximum,
    /// A number of frames at a constant rate, from idle (RFC 2544 26.4). The trial's duration is that of the burst.
    Burst {
        /// Number of frames.
        frames: NonZeroU64,
        /// The rate in frames per second.
        rate: Pps,
    },
    /// Frames at a constant rate that changes once (RFC 2544 26.5).
    Step(Step),
}

impl Load {
    /// The part of one of several generators, which send it together. `None` if it is too small: a burst with fewer frames than
    /// generators, or a rate that no schedule has.
    pub fn part(self, share: Share) -> Option<Self> {
        Some(match self {
            Self::Rate(rate) => Self::Rate(share.of_rate(rate)?),
            Self::Maximum => Self::Maximum,
            Self::Burst { frames, rate } => {
                let frames = NonZeroU64::new(share.of_frames(frames.get()))?;
                Self::Burst { frames, rate: share.of_rate(rate)? }
            }
            Self::Step(Step { before, at, after }) => {
                Self::Step(Step { before: share.of_rate(before)?, at, after: share.of_rate(after)? })
            }
        })
    }

    /// The rate in frames per second, if there is a constant one.
    pub fn pps(self) -> Option<f64> {
        match self {
            Self::Rate(rate) | Self::Burst { rate, .. } => Some(rate.get()),
            Self::Maximum | Self::Step(_) => None,
        }
    }

    /// When the generator should send the frames.
    pub fn schedule(self) -> Schedule {
        match self {
            Self::Rate(rate) | Self::Burst { rate, .. } => Schedule::Constant(rate),
            Self::Maximum => Schedule::Maximum,
            Self::Step(step) => Schedule::Step(step),
        }
    }

    /// Frames that a sending phase of this length should send; absent at maximum load.
    pub fn intended(self, duration: Duration) -> Option<u64> {
        match self {
            Self::Burst { frames, .. } => Some(frames.get()),
            _ => self.schedule().intended(duration),
        }
    }

    /// Limits of the sending phase: time, and number of frames.
    pub fn limits(self, duration: Duration) -> (Option<Duration>, Option<u64>) {
        match self {
            // A late generator still sends the whole burst: half a burst is no evidence.
            Self::Burst { frames, .. } => (None, Some(frames.get())),
            _ => (Some(duration), None),
        }
    }

    /// Whether a timer tick meets the frames of a sending phase at few phases of their period only. Then it samples all of
    /// their work in interrupts, or none.
    pub fn is_in_step_with_a_tick(self, duration: Duration) -> bool {
        /// The values that the kernel's CONFIG_HZ can have on x86 and Arm.
        const TICKS_PER_SECOND: [f64; 4] = [100.0, 250.0, 300.0, 1000.0];
        let Some(pps) = self.pps() else { return false };
        // In step with every tick, or every second one.
        TICKS_PER_SECOND.iter().flat_map(|hz| [pps / hz, 2.0 * pps / hz].map(|periods| (hz, periods))).any(
            |(hz, periods)| {
                let phases_passed = (periods - periods.round()).abs() * hz * duration.as_secs_f64();
                phases_passed < 1.0
            },
        )
    }

    /// The highest planned rate.
    pub(super) fn highest(self) -> Option<f64> {
        match self {
            Self::Step(step) => Some(step.before.get().max(step.after.get())),
            _ => self.pps(),
        }
    }

    /// The shape of a load that is not a constant rate.
    pub(super) fn shape(self) -> Option<LoadShape> {
        match self {
            Self::Rate(_) | Self::Maximum => None,
            Self::Burst { frames, .. } => Some(LoadShape::Burst { frames: frames.get() }),
            Self::Step(Step { before, at, after }) => Some(LoadShape::Step {
                before_pps: before.get(),
                at_s: at.as_secs_f64(),
                after_pps: after.get(),
            }),
        }
    }
}

/// The share of one of several generators in a load: `weight` of `all`, after `before` of the generators before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    before: u64,
    weight: u64,
    all: u64,
}

impl Share {
    /// The shares of generators with these weights. A single one has all of it.
    pub fn of_each(weights: &[NonZeroU32]) -> Vec<Self> {
        let all = weights.iter().map(|weight| u64::from(weight.get())).sum();
        let mut before = 0;
        let share = |weight: &NonZeroU32| {
            let share = Self { before, weight: weight.get().into(), all };
            before += share.weight;
            share
        };
        weights.iter().map(share).collect()
    }

    fn of_rate(self, rate: Pps) -> Option<Pps> {
        Pps::new(rate.get() * (self.weight as f64 / self.all as f64)).ok()
    }

    /// Its frames; those of all shares add up to `frames`.
    fn of_frames(self, frames: u64) -> u64 {
        let until = |weights: u64| (u128::from(frames) * u128::from(weights) / u128::from(self.all)) as u64;
        until(self.before + self.weight) - until(self.before)
    }
}

/// A load that is not a constant rate, as stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadShape {
    /// [`Load::Burst`].
    Burst {
        /// Number of frames.
        frames: u64,
    },
    /// [`Load::Step`].
    Step {
        /// Frames per second before the change.
        before_pps: f64,
        /// Time of the change, in seconds since the start.
        at_s: f64,
        /// Frames per second after the change.
        after_pps: f64,
    },
}

/// Its figures with their units.
impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{} packets/s", grouped(rate.get())),
            Self::Maximum => f.write_str("maximum load"),
            Self::Burst { frames, rate } => write!(f, "{frames} frames at {} packets/s", grouped(rate.get())),
            Self::Step(Step { before, at, after }) => {
                write!(f, "{} to {} packets/s after {at:?}", grouped(before.get()), grouped(after.get()))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shares(weights: &[u32]) -> Vec<Share> {
        Share::of_each(&weights.iter().map(|weight| NonZeroU32::new(*weight).unwrap()).collect::<Vec<_>>())
    }

    #[test]
    fn round_loads_are_in_step_with_the_tick() {
        let at = |pps| Load::Rate(Pps::new(pps).unwrap()).is_in_step_with_a_tick(Duration::from_secs(2));
        // Measured with CONFIG_HZ=250 and 6.9 us of kernel work a frame: at 20,000 the tick sampled 0.5, 16 or 48.5 us, at
        // 20,500 0 us, at 20,011 6.7 to 7.2 us.
        assert!([20_000.0, 20_500.0, 100_000.0, 3_000.0].into_iter().all(at));
        assert!(![20_011.0, 20_123.0, 99_983.0].into_iter().any(at));
        assert!(!Load::Maximum.is_in_step_with_a_tick(Duration::from_secs(2)));
    }

    #[test]
    fn a_load_is_written_with_its_units() {
        let pps = |rate| Pps::new(rate).unwrap();
        let frames = NonZeroU64::new(64).unwrap();
        let step = Step { before: pps(2000.0), at: Duration::from_secs(1), after: pps(1000.0) };
        for (load, text) in [
            (Load::Rate(pps(1000.0)), "1,000 packets/s"),
            (Load::Maximum, "maximum load"),
            (Load::Burst { frames, rate: pps(1000.0) }, "64 frames at 1,000 packets/s"),
            (Load::Step(step), "2,000 to 1,000 packets/s after 1s"),
        ] {
            assert_eq!(load.to_string(), text);
        }
    }

    #[test]
    fn the_parts_of_a_burst_are_all_of_it() {
        let rate = Pps::new(1000.0).unwrap();
        for (weights, frames, parts) in [
            (&[1][..], 17, vec![Some(17)]),
            (&[1, 1, 1], 100, vec![Some(33), Some(33), Some(34)]),
            (&[3, 1], 8, vec![Some(6), Some(2)]),
            (&[1, 1, 1], 2, vec![None, Some(1), Some(1)]),
        ] {
            let load = Load::Burst { frames: NonZeroU64::new(frames).unwrap(), rate };
            let split = shares(weights).into_iter().map(|share| load.part(share));
            let split: Vec<_> = split.map(|part| part?.intended(Duration::ZERO)).collect();
            assert_eq!(split, parts, "{weights:?}");
        }
    }

    #[test]
    fn rates_are_split_by_weight_and_one_generator_sends_exactly_the_load() {
        let pps = |load: Option<Load>| load.unwrap().pps().unwrap();
        let load = Load::Rate(Pps::new(1e6 / 3.0).unwrap());
        assert_eq!(load.part(shares(&[7])[0]), Some(load));
        let parts: Vec<_> = shares(&[3, 1]).into_iter().map(|share| pps(load.part(share))).collect();
        assert_eq!(parts, [1e6 / 3.0 * 0.75, 1e6 / 3.0 * 0.25]);
        assert_eq!(Load::Maximum.part(shares(&[1, 1])[1]), Some(Load::Maximum));
    }
}
