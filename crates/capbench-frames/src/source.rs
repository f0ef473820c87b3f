//! Where the frames of a sender come from. To add a source: a variant, and a type that implements [`WriteFrames`].

use crate::head::HEAD_ROOM;
use crate::plan::PlannedFrames;
use crate::recorded::RecordedSequence;
use crate::{FramePlan, FrameSize, FrameWriter, RecordedFrames, Stamp, Turn};

/// The frames of a sending phase, fixed before it starts.
#[derive(Debug, Clone, Copy)]
pub enum FrameSource<'a> {
    /// Stamped frames of a plan. Each sender has the whole plan as a stream.
    Generated(&'a FramePlan),
    /// Frames as they are, without stamps. Senders take them in turn.
    Recorded(&'a RecordedFrames),
}

impl<'a> From<&'a FramePlan> for FrameSource<'a> {
    fn from(plan: &'a FramePlan) -> Self {
        Self::Generated(plan)
    }
}

impl FrameSource<'_> {
    /// The longest frame.
    pub fn largest(self) -> FrameSize {
        match self {
            Self::Generated(plan) => plan.sizes().largest(),
            Self::Recorded(frames) => frames.largest(),
        }
    }

    /// Octets at the beginning of a frame that a ring copies even if it attaches the rest.
    pub fn head_octets(self) -> usize {
        match self {
            Self::Generated(plan) => plan.layout().minimum_size().captured(),
            Self::Recorded(_) => HEAD_ROOM,
        }
    }

    /// Mean frame size in octets, FCS included.
    pub fn mean_octets(self) -> f64 {
        match self {
            Self::Generated(plan) => plan.sizes().mean_octets(),
            Self::Recorded(frames) => frames.mean_octets(),
        }
    }

    /// Size of the `nth` frame of a turn, from 0.
    pub fn size(self, turn: Turn, nth: u64) -> FrameSize {
        match self {
            Self::Generated(plan) => plan.frame(nth).0,
            Self::Recorded(frames) => FrameSize::of_captured(frames.frame(turn.number(nth)).len() as u16),
        }
    }
}

/// Writes the frames of one sender in order. The loop of the sender is compiled for each implementation: no call per frame goes
/// through a table.
pub trait WriteFrames {
    /// Writes the next frame into a slot and returns its size. `stamp` is for frames that have one.
    ///
    /// # Panics
    /// On a slot shorter than the frame.
    fn write_next(&mut self, slot: &mut [u8], stamp: Stamp) -> FrameSize;
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
}

impl WriteFrames for RecordedSequence<'_> {
    #[inline]
    fn write_next(&mut self, slot: &mut [u8], _: Stamp) -> FrameSize {
        let frame = self.next_frame();
        slot[..frame.len()].copy_from_slice(frame);
        FrameSize::of_captured(frame.len() as u16)
    }
}
