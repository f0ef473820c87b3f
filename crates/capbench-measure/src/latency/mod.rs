//! How long a frame takes from its sender to the application (RFC 1242 3.8, RFC 2544 26.2, RFC 8219 7.2 and 7.3).
//!
//! | file | what |
//! |---|---|
//! | `recorder` | takes the times of frames while they arrive |
//! | `clocks` | the clock of kernel time stamps against that of the plan |
//! | `delays` | how delays are spread |
//! | `stored` | how that is stored, and what is looked at before it is read |
//!
//! For a capture, latency has two legs, and there is nothing behind the second one that could be a port:
//!
//! ```text
//! planned send time ──to_kernel──> kernel's time stamp ──to_application──> the application gets the batch
//! ```
//!
//! *Planned send time* is when the schedule wanted the frame on its way. What the generator is late is part of the
//! first leg, so that a stalled sender hides nothing; a trial's `lateness` says how much of it that is. *Kernel's time
//! stamp* is the one that the method gives with the frame. `recv` asks for it, so it is taken on entry into the stack;
//! the rings of AF_PACKET take it when they copy the frame, unless some socket of the host asks for stamps. The backlog
//! of the receiving CPU is in the first leg for the one, and after the stamp for the other. *Delivery* is read once for
//! each batch, before its first frame is handled: what a frame waits for those before it in its batch is the
//! application's work, and not in it.
//!
//! RFC 2544 tags one frame in the middle of a stream of 120 s and repeats that 20 times; RFC 8219 tags at least 500, and
//! takes every frame for delay variation. Every frame of capbench carries its planned time, so every frame is
//! recorded: the figures are those of RFC 8219, the typical latency being the median and the worst one the 99.9th
//! percentile, and delay variation the distance of that from the least. Both standards stop the clock when the frame has
//! left a port again, which a capture has none of.

mod clocks;
mod delays;
mod recorder;
mod stored;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use clocks::RealtimeReading;
pub use delays::{Delays, Recorded};
pub use recorder::{LatencyRecorder, Timekeeper};

use crate::loss_shape::Clock;

/// That the latency of frames is to be recorded. It costs time for each of them, so a trial that looks for a rate goes
/// without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// Frames planned earlier than this after the start are left out (RFC 2544 26.2: 60 s of 120).
    pub from: Duration,
}

/// How long the frames of a trial took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Latency {
    /// What planned times are.
    pub clock: Clock,
    /// Frames planned earlier than this were left out, nanoseconds since the start.
    pub from_ns: u64,
    /// From planned send time to the kernel's time stamp.
    pub to_kernel: Option<Delays>,
    /// From the kernel's time stamp to delivery.
    pub to_application: Option<Delays>,
    /// From planned send time to delivery.
    pub total: Option<Delays>,
    /// Why something of it is absent; absent where nothing is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub absent_because: Option<String>,
    /// By how much the two legs can be wrong, one at the cost of the other, because their clocks cannot be read at once.
    pub clock_error_ns: Option<u64>,
}

impl Latency {
    /// Of a method of which no times are known.
    pub(crate) fn unknown(recording: Recording, reason: &str) -> Self {
        Self {
            clock: Clock::PlannedSendTime,
            from_ns: recording.from.as_nanos() as u64,
            to_kernel: None,
            to_application: None,
            total: None,
            absent_because: Some(reason.into()),
            clock_error_ns: None,
        }
    }
}
