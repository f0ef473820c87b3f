//! The result of a sender: every intended frame is in exactly one of its counts.

use std::time::Duration;

use capbench_frames::Lateness;

use crate::TrafficError;

/// The counts of a sending phase. `intended = unsent + sent` and `sent = accepted + refused_lost`.
#[derive(Debug)]
pub struct SendReport {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Frames that the kernel accepted. It can still lose them: see the interface's counters.
    pub accepted: u64,
    /// Frames that the kernel refused with `ENOBUFS`, which are lost.
    pub refused_lost: u64,
    /// How often the kernel refused a frame with `ENOBUFS` but kept it in the ring and tried again. The interface's drop
    /// counter increased although no frame was lost.
    pub refused_repeated: u64,
    /// Frames that were not sent before the phase ended.
    pub unsent: u64,
    /// Frames among `accepted` that the driver had not completed when the sender stopped waiting.
    pub in_flight: u64,
    /// Octets of the frames sent, FCS included.
    pub octets: u64,
    /// From the start until the last frame was sent.
    pub elapsed: Duration,
    /// Lateness of the frames relative to their plan. Empty if nothing was planned.
    pub lateness: Lateness,
    /// Why the phase ended early, for example because the interface went down.
    pub failure: Option<TrafficError>,
}
