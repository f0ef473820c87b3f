//! What the pacer needs of a way to transmit.

use crate::error::Result;
use std::ops::AddAssign;

/// The largest batch.
pub const MOST_BATCH: usize = 256;

/// A way to hand frames to the kernel, as the pacer drives it: `room`, then `slot` for each frame, then `submit`.
pub trait Transmit {
    /// How many slots may be written now; at most [`MOST_BATCH`], and 0 while a ring is full.
    fn room(&mut self) -> usize;

    /// Slot `index` of the next batch, `index` below [`Self::room`]. It holds zeros or what a
    /// [`FrameWriter`](capbench_frames::frame::FrameWriter) wrote.
    ///
    /// # Panics
    /// Beyond the room.
    fn slot(&mut self, index: usize) -> &mut [u8];

    /// Hands over the first `lengths.len()` slots, each with its length without FCS. Without lengths it offers
    /// frames again that the kernel left in a ring.
    ///
    /// # Errors
    /// Whatever the kernel says but "no buffer space" (`ENOBUFS`), which is counted.
    fn submit(&mut self, lengths: &[u16]) -> Result<Handed>;

    /// Ends a sending phase: waits a moment for what is in a ring and takes back the rest, so that nothing of this
    /// trial can be sent in the next one.
    ///
    /// # Errors
    /// As [`Self::submit`].
    fn finish(&mut self) -> Result<Finish>;
}

/// What became of submitted frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handed {
    /// Frames that the kernel took.
    pub accepted: u64,
    /// Frames refused with `ENOBUFS` and lost.
    pub refused_lost: u64,
    /// Refusals with `ENOBUFS` after which the same frame was offered again.
    pub refused_repeated: u64,
}

/// How a sending phase ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finish {
    /// What became of frames in the meantime.
    pub handed: Handed,
    /// Frames that were submitted but never taken by the kernel, and are taken back now.
    pub withdrawn: u64,
    /// Frames that the kernel took and the driver has not let go of yet.
    pub in_flight: u64,
}

impl Handed {
    /// Frames handed to the kernel.
    pub const fn sent(self) -> u64 {
        self.accepted + self.refused_lost
    }
}

impl AddAssign for Handed {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused_lost += other.refused_lost;
        self.refused_repeated += other.refused_repeated;
    }
}
