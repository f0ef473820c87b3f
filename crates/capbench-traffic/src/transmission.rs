//! The interface between the pacer and a transmit method.

use std::ops::AddAssign;

use crate::Result;

/// The largest batch.
pub const MOST_BATCH: usize = 256;

/// Passes frames to the kernel. The pacer calls `room`, then `slot` for each frame, then `submit`.
pub trait Transmit {
    /// Number of slots that can be written now: up to [`MOST_BATCH`], and 0 while a ring is full.
    fn room(&mut self) -> usize;

    /// Slot `index` of the next batch, `index` below [`Self::room`]. It holds zeros or what an earlier phase of this sender wrote.
    /// All phases of a sender have frames of one kind: a [`FrameWriter`](capbench_frames::frame::FrameWriter) relies on it.
    ///
    /// # Panics
    /// Beyond the room.
    fn slot(&mut self, index: usize) -> &mut [u8];

    /// Sends the first `lengths.len()` slots, each with its length without FCS. An empty `lengths` offers frames again that
    /// the kernel left in a ring.
    ///
    /// # Errors
    /// Every error of the kernel except "no buffer space" (`ENOBUFS`), which is counted.
    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts>;

    /// Ends a sending phase: waits briefly for the frames in a ring and withdraws the rest, so that the next trial cannot
    /// send frames of this one.
    ///
    /// # Errors
    /// As [`Self::submit`].
    fn finish(&mut self) -> Result<Finish>;
}

/// Outcome of submitted frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SubmitCounts {
    /// Frames that the kernel accepted.
    pub accepted: u64,
    /// Frames refused with `ENOBUFS`, which are lost.
    pub refused_lost: u64,
    /// Refusals with `ENOBUFS` after which the frame was offered again.
    pub refused_repeated: u64,
}

/// Outcome of the end of a sending phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finish {
    /// Outcome of frames in the meantime.
    pub counts: SubmitCounts,
    /// Frames that were accepted, and then dropped by the port, as it counts: these are lost.
    pub dropped: u64,
    /// Frames that the kernel accepted and the driver has not completed yet.
    pub in_flight: u64,
}

impl SubmitCounts {
    /// Frames passed to the kernel.
    pub const fn sent(self) -> u64 {
        self.accepted + self.refused_lost
    }
}

impl AddAssign for SubmitCounts {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused_lost += other.refused_lost;
        self.refused_repeated += other.refused_repeated;
    }
}
