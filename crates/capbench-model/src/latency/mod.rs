//! How long a frame takes from its sender to the application (RFC 1242 3.8, RFC 2544 26.2, RFC 8219 7.2 and 7.3).
//!
//! | file | content |
//! |---|---|
//! | `delays` | the distribution of delays |
//! | `stored` | the stored form, and the checks before reading it |
//! | `samples` | the times of frames that two hosts' clocks measured |
//! | `one_way` | their delays: relative, and absolute as far as the clocks agree |
//!
//! The latency of a capture has two parts. Behind the second one there is no output port:
//!
//! ```text
//! planned send time ──to_kernel──> kernel's time stamp ──to_application──> the application gets the batch
//! ```
//!
//! *Planned send time* is when the schedule wanted to send the frame. The generator's lateness belongs to the first part, so that
//! a stalled sender hides nothing. A trial's `lateness` reports its amount. *Kernel's time stamp* is the timestamp that the
//! method delivers with the frame. `recv` requests it, so the kernel takes it on entry into the stack. The rings of AF_PACKET
//! take it when they copy the frame, unless a socket of the host requests timestamps. The backlog of the receiving CPU is in the
//! first part for the rings, and after the stamp for `recv`. *Delivery* is read once per batch, before its first frame is
//! processed. So it does not include a frame's wait for earlier frames of its batch, which is the application's work.
//!
//! RFC 2544 tags one frame in the middle of a stream of 120 s and repeats that 20 times. RFC 8219 tags at least 500 frames, and
//! uses every frame for delay variation. Every frame of capbench has its planned time, so every frame is recorded. The figures
//! are those of RFC 8219: typical latency is the median, worst-case latency the 99.9th percentile. Delay variation is the
//! difference of that percentile and the minimum. Both standards stop the clock when the frame has left a port again; a capture
//! has no such port.

mod delays;
mod one_way;
mod samples;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use delays::{DelayRecorder, Delays, Recorded};
pub use one_way::{Began, Legs, OneWay, Skew};
pub use samples::{Sample, Samples};

use crate::loss_pattern::Clock;

/// Requests that the latency of frames is recorded. Recording costs time per frame, so trials that search for a rate do not use
/// it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recording {
    /// Frames planned earlier than this after the start are excluded (RFC 2544 26.2: 60 s of 120).
    pub from: Duration,
}

/// The delay of a trial's frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Latency {
    /// Meaning of planned times.
    pub clock: Clock,
    /// Frames planned earlier than this are excluded, in nanoseconds since the start.
    pub from_ns: u64,
    /// From planned send time to the kernel's timestamp. Between two hosts only if their clocks are synchronised well enough.
    pub to_kernel: Option<Delays>,
    /// From the kernel's timestamp to delivery.
    pub to_application: Option<Delays>,
    /// From planned send time to delivery. Between two hosts only if their clocks are synchronised well enough.
    pub total: Option<Delays>,
    /// Between two hosts: the same one-way times less their minimum, without the difference of the clocks' rates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative: Option<Relative>,
    /// Why a part of it is absent; absent if all parts exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent_because: Option<String>,
    /// Largest error of `to_kernel` and `to_application`, with opposite signs, because their clocks cannot be read at once. Between
    /// two hosts: the largest error of `to_kernel` and `total`, as the hosts state it.
    pub clock_error_ns: Option<u64>,
}

/// One-way times between two hosts, less their minimum (RFC 5481 4.2).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Relative {
    /// From planned send time to the kernel's timestamp.
    pub to_kernel: Option<Delays>,
    /// From planned send time to delivery.
    pub total: Option<Delays>,
    /// The difference of the clocks' rates, for each generator.
    pub skew: Vec<Skew>,
    /// One frame in so many is in these figures, chosen at random.
    pub one_in: u64,
}

impl Latency {
    /// The latency of a method without known times.
    pub fn unknown(recording: Recording, reason: &str) -> Self {
        Self {
            clock: Clock::PlannedSendTime,
            from_ns: recording.from.as_nanos() as u64,
            to_kernel: None,
            to_application: None,
            total: None,
            relative: None,
            absent_because: Some(reason.into()),
            clock_error_ns: None,
        }
    }
}
