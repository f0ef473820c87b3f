//! What a sender did: every intended frame is in exactly one of its counts.

use std::time::Duration;

use capbench_frames::Lateness;

use crate::error::TrafficError;

/// The account of a sending phase. `intended = unsent + sent` and `sent = accepted + refused_lost`.
#[derive(Debug)]
pub struct SendReport {
    /// Frames that were to be sent.
    pub intended: u64,
    /// Frames handed to the kernel.
    pub sent: u64,
    /// Frames that the kernel took without complaint. It may still lose them: see the interface's counters.
    pub accepted: u64,
    /// Frames that the kernel refused with `ENOBUFS` and lost.
    pub refused_lost: u64,
    /// How often the kernel refused a frame with `ENOBUFS` but kept it in the ring and tried again: the interface's
    /// drop counter rose although no frame was lost.
    pub refused_repeated: u64,
    /// Frames that were not handed over before the phase ended.
    pub unsent: u64,
    /// Frames among `accepted` that the driver had not let go of when the sender stopped waiting for it.
    pub in_flight: u64,
    /// Octets of the frames sent, FCS included.
    pub octets: u64,
    /// From the start to the moment when the last frame had been handed over.
    pub elapsed: Duration,
    /// How late frames were handed over, by their plan; empty where nothing was planned.
    pub lateness: Lateness,
    /// Why the phase ended before its time, for example because the interface went down.
    pub failure: Option<TrafficError>,
}
