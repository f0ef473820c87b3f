//! The intended load of a trial, as it is asked for and as it is stored.

use capbench_model::figures::grouped;
use std::fmt;
use std::num::NonZeroU64;
use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::schedule::{Schedule, Step};
use serde::{Deserialize, Serialize};

/// The intended load of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Load {
    /// Frames at a constant rate.
    Rate(Pps),
    /// As many frames as the generator can send; best effort, FRMOL of RFC 2285.
    Maximum,
    /// So many frames at a constant rate, from idle (RFC 2544 26.4). The trial's duration is that of the burst.
    Burst {
        /// How many.
        frames: NonZeroU64,
        /// The rate: the highest there is, or another one.
        rate: Pps,
    },
    /// Frames at a constant rate that changes once (RFC 2544 26.5).
    Step(Step),
}

impl Load {
    /// The rate, where there is one and it does not change.
    pub fn pps(self) -> Option<f64> {
        match self {
            Self::Rate(rate) | Self::Burst { rate, .. } => Some(rate.get()),
            Self::Maximum | Self::Step(_) => None,
        }
    }

    /// When its frames are to be sent.
    pub fn schedule(self) -> Schedule {
        match self {
            Self::Rate(rate) | Self::Burst { rate, .. } => Schedule::Constant(rate),
            Self::Maximum => Schedule::Maximum,
            Self::Step(step) => Schedule::Step(step),
        }
    }

    /// How many frames that is in a sending phase of this length; absent at maximum load.
    pub fn intended(self, duration: Duration) -> Option<u64> {
        match self {
            Self::Burst { frames, .. } => Some(frames.get()),
            _ => self.schedule().intended(duration),
        }
    }

    /// What limits its sending phase: time, and number of frames.
    pub(crate) fn limits(self, duration: Duration) -> (Option<Duration>, Option<u64>) {
        match self {
            // However late its generator is, all of it is sent: what became of half a burst shows nothing.
            Self::Burst { frames, .. } => (None, Some(frames.get())),
            _ => (Some(duration), None),
        }
    }

    /// The highest rate that it plans.
    pub(super) fn highest(self) -> Option<f64> {
        match self {
            Self::Step(step) => Some(step.before.get().max(step.after.get())),
            _ => self.pps(),
        }
    }

    /// What its rate does not tell.
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

/// A load that is no constant rate, as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadShape {
    /// [`Load::Burst`].
    Burst {
        /// Its frames.
        frames: u64,
    },
    /// [`Load::Step`].
    Step {
        /// Frames per second at first.
        before_pps: f64,
        /// When that changes, in seconds since the start.
        at_s: f64,
        /// Frames per second from then on.
        after_pps: f64,
    },
}

impl fmt::Display for Load {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rate(rate) => write!(f, "{} packets/s", grouped(rate.get())),
            Self::Maximum => f.write_str("maximum load"),
            Self::Burst { frames, rate } => {
                write!(f, "a burst of {frames} frames at {} packets/s", grouped(rate.get()))
            }
            Self::Step(Step { before, at, after }) => {
                let (before, after) = (grouped(before.get()), grouped(after.get()));
                write!(f, "{before} packets/s for {at:?}, then {after} packets/s")
            }
        }
    }
}
