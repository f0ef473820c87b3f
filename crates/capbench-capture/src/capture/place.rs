//! Reading a batch in several goes.

use std::sync::Arc;

use capbench_sys::packet::{Block, Frame};

use crate::capture::Batch;

/// Where in a batch an iteration stands. It means something to the batch that gave it only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Where the next frame lies, in whatever the batch counts.
    pub offset: u32,
    /// Frames from there on, at most.
    pub left: u32,
}

impl Place {
    /// The place of the first of so many frames, for batches that count them.
    #[inline]
    pub fn first_of(frames: usize) -> Self {
        Self { offset: 0, left: frames as u32 }
    }

    /// The frame with the number that is this place, and moves on to the next.
    #[inline]
    pub fn step<'b>(&mut self, frame: impl FnOnce(usize) -> Option<Frame<'b>>) -> Option<Frame<'b>> {
        let frame = frame(self.offset as usize)?;
        *self = Self { offset: self.offset + 1, left: self.left.saturating_sub(1) };
        Some(frame)
    }
}

/// A batch whose reading can be resumed at any place where an earlier reading stopped, at no extra cost.
pub trait SeekableBatch: Batch {
    /// The place of its first frame.
    fn start(&self) -> Place;

    /// The frame at `place`, which moves on to the next one; `None` behind the last. Every reading gives the same frames,
    /// those of [`Batch::frames`] in their order.
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
