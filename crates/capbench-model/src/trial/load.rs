//! The intended load of a trial: as requested and as stored.

use crate::figures::grouped;
use std::fmt;
use std::num::NonZeroU64;
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
