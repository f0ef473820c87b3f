//! What became of the frames that a generator was to send.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The frames of a sending phase: `intended = unsent + sent` and `sent = accepted + refused_lost`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SentFrames {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Frames that were not sent before the phase ended.
    pub unsent: u64,
    /// Frames that the kernel accepted. It can still lose them: see the interface's counters.
    pub accepted: u64,
    /// Frames that the kernel refused with `ENOBUFS`, or that a port of DPDK dropped: they are lost.
    pub refused_lost: u64,
    /// How often the kernel refused a frame with `ENOBUFS` but kept it in the ring and tried again. The interface's drop
    /// counter increased although no frame was lost.
    pub refused_repeated: u64,
    /// Frames among `accepted` that the driver had not completed when the sender stopped waiting.
    pub in_flight: u64,
}

impl SentFrames {
    /// Those of two senders that had parts of one schedule.
    pub fn plus(self, other: Self) -> Self {
        Self {
            intended: self.intended + other.intended,
            sent: self.sent + other.sent,
            unsent: self.unsent + other.unsent,
            accepted: self.accepted + other.accepted,
            refused_lost: self.refused_lost + other.refused_lost,
            refused_repeated: self.refused_repeated + other.refused_repeated,
            in_flight: self.in_flight + other.in_flight,
        }
    }
}
