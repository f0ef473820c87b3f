//! Resumable reading of a batch.

use std::sync::Arc;

use capbench_sys::packet::{Block, Frame};

use crate::Batch;

/// A position in a batch. Valid only for the batch that returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the next frame is, in the batch's unit.
    pub offset: u32,
    /// Upper bound of the frames from there on.
    pub left: u32,
}

impl Place {
    /// The position of the first of `frames` frames, for batches that count them.
    #[inline]
    pub fn first_of(frames: usize) -> Self {
        Self { offset: 0, left: frames as u32 }
    }

    /// Returns the frame at this position and advances.
    #[inline]
    pub fn step<'b>(&mut self, frame: impl FnOnce(usize) -> Option<Frame<'b>>) -> Option<Frame<'b>> {
        let frame = frame(self.offset as usize)?;
        *self = Self { offset: self.offset + 1, left: self.left.saturating_sub(1) };
        Some(frame)
    }
}

/// A batch whose reading can resume where an earlier reading stopped, at no extra cost.
pub trait SeekableBatch: Batch {
    /// The position of its first frame.
    fn start(&self) -> Place;

    /// Returns the frame at `place` and advances `place`. `None` after the last frame. Every reading returns the same frames
    /// in the order of [`Batch::frames`].
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>>;
}

impl<B: SeekableBatch> SeekableBatch for Arc<B> {
    #[inline]
    fn start(&self) -> Place {
        B::start(self)
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        B::frame_at(self, place)
    }
}

impl SeekableBatch for Block {
    #[inline]
    fn start(&self) -> Place {
        let (offset, left) = self.frames().rest();
        Place { offset, left }
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        let mut frames = self.frames_from(place.offset, place.left);
        let frame = frames.next();
        (place.offset, place.left) = frames.rest();
        frame
    }
}
