//! What the clocks of two hosts allow to be known of a frame's way between them.
//!
//! A frame carries its planned send time by the sender's clock; the receiver has another clock. Three classes of figures follow:
//!
//! | class | what is known | it needs |
//! |---|---|---|
//! | `none` | counts, places, loss pattern, CPU time, kernel's timestamp to application | nothing |
//! | `relative` | also: delay less its minimum, and its variation | clocks that nobody sets during a trial |
//! | `absolute` | also: one-way delay, with its largest error | synchronised clocks, which state that error |
//!
//! | file | content |
//! |---|---|
//! | `skew` | the difference of two clocks' rates, found in the delays |
//! | `exchange` | bounds of the difference of two clocks, from four timestamps |
//! | `judgement` | whether one-way times may be stated, and with which error |

mod exchange;
mod judgement;
mod skew;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use exchange::{Bounds, FourStamps};
pub use judgement::{common_error, is_accepted, skew_bounds};
pub use skew::{Point, Slope, slope};

/// What the clocks of a trial's hosts allowed to be known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockClass {
    /// No one-way time.
    None,
    /// One-way delay less its minimum.
    Relative,
    /// One-way delay, with its largest error.
    Absolute,
}

/// What keeps a host's clock right.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeService {
    /// The precision time protocol, as pmc(8) reports it.
    Ptp,
    /// chronyd(8), as chronyc(1) reports it.
    Chrony,
    /// Some other service, as the kernel reports it: adjtimex(2).
    Kernel,
    /// Nothing: both hosts are one kernel, whose clock both read.
    OneClock,
}

impl fmt::Display for TimeService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ptp => "PTP (pmc)",
            Self::Chrony => "chrony",
            Self::Kernel => "the kernel (adjtimex)",
            Self::OneClock => "one kernel",
        })
    }
}

/// Whether a host's CLOCK_REALTIME is synchronised, as that host says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClockState {
    /// It is.
    Synchronised {
        /// What says so.
        by: TimeService,
        /// The largest error that it states, in nanoseconds.
        error_ns: u64,
    },
    /// It is not, for this reason.
    Unsynchronised {
        /// One line.
        reason: String,
    },
}

/// What is known of a host's CLOCK_REALTIME at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClockReading {
    /// The moment, in nanoseconds by the controller's clock.
    pub at_ns: u64,
    /// What the host says.
    pub state: ClockState,
    /// By how much the host's clock is ahead of the controller's.
    pub ahead: Bounds,
}

/// What is known of a host's CLOCK_REALTIME around a trial. Nothing is read while frames are sent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostClock {
    /// Before the first frame.
    pub before: ClockReading,
    /// After the last one.
    pub after: ClockReading,
}
