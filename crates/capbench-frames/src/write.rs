//! How a sender writes the frames of any source, and learns when they are to be sent.

use crate::plan::PlannedFrames;
use crate::recorded::RecordedSequence;
use crate::schedule::PlannedTimes;
use crate::{FramePlan, FrameSize, FrameWriter, Stamp};

/// Writes the frames of one sender in order. The loop of the sender is compiled for each implementation: no call per frame goes
/// through a table.
pub trait WriteFrames {
    /// Writes the next frame into a slot and returns its size. `stamp` is for frames that have one.
    ///
    /// # Panics
    /// On a slot shorter than the frame.
    fn write_next(&mut self, slot: &mut [u8], stamp: Stamp) -> FrameSize;

    /// Octets of the last frames, FCS included. Frames that were withdrawn are the last ones.
    fn octets_of_last(&self, frames: u64) -> u64;

    /// Called before each batch, with the time since the start of the phase.
    fn begin_batch(&mut self, _now_ns: u64) {}

    /// Called when `sent` frames since the beginning are known to have been sent.
    fn note_sent(&mut self, _sent: u64) {}

    /// Whether a frame can be written now.
    fn has_next(&self) -> bool {
        true
    }

    /// Whether no frame is left to write, now or later.
    fn is_over(&self) -> bool {
        false
    }

    /// Frames that are left to write, up to `most` and before `end_ns`; `None` without a limit.
    fn left(&self, most: u64, end_ns: u64) -> Option<u64> {
        (most < u64::MAX && end_ns == u64::MAX).then_some(most)
    }
}

/// Frames with planned times.
pub trait PlanFrames: WriteFrames {
    /// When the next frame is to be sent, in nanoseconds since the start of the phase.
    fn next_ns(&self) -> u64;

    /// Whether no frame is left to write before this time.
    #[inline]
    fn is_over_at(&self, end_ns: u64) -> bool {
        self.next_ns() >= end_ns
    }
}

/// Frames at the times of a schedule.
#[derive(Debug, Clone)]
pub struct Scheduled<W> {
    /// The frames.
    pub frames: W,
    /// Their times.
    pub times: PlannedTimes,
}

impl<W: WriteFrames> WriteFrames for Scheduled<W> {
    #[inline]
    fn write_next(&mut self, slot: &mut [u8], stamp: Stamp) -> FrameSize {
        self.times.advance();
        self.frames.write_next(slot, stamp)
    }

    fn octets_of_last(&self, frames: u64) -> u64 {
        self.frames.octets_of_last(frames)
    }

    fn left(&self, most: u64, end_ns: u64) -> Option<u64> {
        match (most, end_ns) {
            (u64::MAX, u64::MAX) => None,
            (most, u64::MAX) => Some(most),
            _ => Some(self.times.before(end_ns, most)),
        }
    }
}

impl<W: WriteFrames> PlanFrames for Scheduled<W> {
    #[inline]
    fn next_ns(&self) -> u64 {
        self.times.next_ns()
    }
}

/// The frames of a plan.
#[derive(Debug, Clone)]
pub struct GeneratedFrames<'a> {
    writer: &'a FrameWriter,
    frames: PlannedFrames<'a>,
}

impl<'a> GeneratedFrames<'a> {
    /// From the first frame of the plan on.
    pub fn new(plan: &'a FramePlan) -> Self {
        Self { writer: plan.writer(), frames: plan.frames() }
    }
}

impl WriteFrames for GeneratedFrames<'_> {
    #[inline]
    fn write_next(&mut self, slot: &mut [u8], stamp: Stamp) -> FrameSize {
        let (size, flow) = self.frames.next_frame();
        self.writer.write(slot, size, flow, stamp);
        size
    }

    fn octets_of_last(&self, frames: u64) -> u64 {
        self.frames.octets_of_last(frames)
    }
}

impl WriteFrames for RecordedSequence<'_> {
    #[inline]
    fn write_next(&mut self, slot: &mut [u8], _: Stamp) -> FrameSize {
        let frame = self.next_frame();
        slot[..frame.len()].copy_from_slice(frame);
        FrameSize::of_captured(frame.len() as u16)
    }

    fn octets_of_last(&self, frames: u64) -> u64 {
        Self::octets_of_last(self, frames)
    }
}
