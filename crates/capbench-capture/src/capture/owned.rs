//! Batches that can outlive the call and move to other threads. Dropping a batch returns its memory.
//!
//! There are two kinds. A [`Block`] belongs to a V3 ring: nothing is copied, and the kernel cannot refill the block until it
//! is dropped. A [`Packed`] batch copies frames of any other method into a buffer of a pool. The pool has about as much
//! memory as the requested ring. A batch collects frames as long as a V3 block does
//! ([`capbench_model::options::CaptureOptions::retire_timeout`]), so that methods which return single frames still yield batches.
//!
//! The pool has a fixed bound. The method is read only while the pool has room for the most frames that one read can return.
//! Otherwise frames stay in the method's ring.

mod packing;

use std::sync::Arc;

use capbench_sys::packet::{Block, Frame};

use crate::capture::{Place, SeekableBatch};
use crate::pool::{Buffer, Pool};
use crate::{Batch, TimeSpan};
use capbench_model::counters::LossMark;

pub use packing::Packing;

/// Calls a method of whichever kind it is.
macro_rules! either {
    ($self:ident, $method:ident($($argument:ident)?)) => {
        match $self {
            Self::Block(block) => block.$method($($argument)?),
            Self::Packed(packed) => packed.$method($($argument)?),
        }
    };
}

/// A batch of frames with an owner.
#[derive(Debug)]
pub enum OwnedBatch {
    /// A block of a V3 ring, where the kernel filled it.
    Block(Block),
    /// Copies.
    Packed(Packed),
}

impl Batch for OwnedBatch {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        match self {
            Self::Block(block) => Either::Block(Batch::frames(block)),
            Self::Packed(packed) => Either::Packed(packed.frames()),
        }
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        either!(self, loss_mark())
    }

    #[inline]
    fn queue(&self) -> Option<u32> {
        either!(self, queue())
    }

    fn frame_count(&self) -> usize {
        either!(self, frame_count())
    }

    fn block_sequence(&self) -> Option<u64> {
        either!(self, block_sequence())
    }

    fn time_span(&self) -> Option<TimeSpan> {
        either!(self, time_span())
    }
}

/// The frames of either kind.
enum Either<B, P> {
    Block(B),
    Packed(P),
}

impl<'f, B, P> Iterator for Either<B, P>
where
    B: Iterator<Item = Frame<'f>>,
    P: Iterator<Item = Frame<'f>>,
{
    type Item = Frame<'f>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'f>> {
        either!(self, next())
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        either!(self, size_hint())
    }
}

/// Copies of frames of one receive queue, in memory of a pool. Dropping it returns the memory.
#[derive(Debug)]
pub struct Packed {
    buffer: Buffer,
    span: Option<TimeSpan>,
    mark: LossMark,
    queue: Option<u32>,
    pool: Arc<Pool<Buffer>>,
}

impl Packed {
    #[inline]
    fn push(&mut self, frame: &Frame<'_>) {
        self.span = Some(TimeSpan::widened(self.span, frame.time_ns));
        self.buffer.push(frame);
    }
}

impl Batch for Packed {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.buffer.frames()
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        self.mark
    }

    #[inline]
    fn queue(&self) -> Option<u32> {
        self.queue
    }

    fn frame_count(&self) -> usize {
        self.buffer.len()
    }

    fn time_span(&self) -> Option<TimeSpan> {
        self.span
    }
}

impl SeekableBatch for Packed {
    #[inline]
    fn start(&self) -> Place {
        Place::first_of(self.buffer.len())
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        place.step(|number| self.buffer.frame(number))
    }
}

impl SeekableBatch for OwnedBatch {
    #[inline]
    fn start(&self) -> Place {
        either!(self, start())
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        either!(self, frame_at(place))
    }
}

impl Drop for Packed {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.buffer));
    }
}
