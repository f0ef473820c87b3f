//! The trait between the capture methods and the users of captured frames.

mod owned;
mod place;

use std::sync::Arc;
use std::time::Duration;

use capbench_sys::packet::Frame;

use crate::{Occupancy, Result, StatsSocket};
use capbench_model::counters::{Counters, LossMark, WaitCounts};
use capbench_model::mark::Tally;
use capbench_model::running::Running;

pub use owned::{OwnedBatch, Packed, Packing};
pub use place::{Place, SeekableBatch};

/// An open capture.
///
/// Calls use static dispatch: the loop over batches and frames is compiled for each method, without a dynamic call per frame.
/// [`crate::open_with`] opens a method chosen at run time.
pub trait Capture {
    /// Frames borrowed from the capture.
    type Batch<'a>: Batch
    where
        Self: 'a;

    /// Returns the next frames. Waits up to about `timeout`. `Ok(None)` means no frames or a signal; neither is an error.
    ///
    /// # Errors
    /// When the interface goes down or away, or the kernel refuses a call.
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Self::Batch<'_>>>;

    /// Passes the next frames to `taker` and returns whether there were any. Waits up to about `timeout`. It returns now and
    /// then even if frames keep coming.
    ///
    /// Measured loops use this. Some libraries, like libpcap, call back for each frame, and the frame is valid only during
    /// the callback. A batch would need a copy. Such a method overrides this function.
    ///
    /// # Errors
    /// As for [`Capture::next_batch`].
    #[inline]
    fn take_with(&mut self, timeout: Duration, taker: &mut impl Taker) -> Result<bool> {
        let Some(batch) = self.next_batch(timeout)? else { return Ok(false) };
        taker.begin(batch.loss_mark(), batch.queue());
        for frame in batch.frames() {
            taker.take(&frame);
        }
        Ok(true)
    }

    /// Calls `each` with the next frames: [`Capture::take_with`] for callers that need only the frames.
    ///
    /// # Errors
    /// As for [`Capture::next_batch`].
    #[inline]
    fn for_each(&mut self, timeout: Duration, each: impl FnMut(&Frame<'_>)) -> Result<bool> {
        self.take_with(timeout, &mut Each(each))
    }

    /// Returns the next frames as a batch that can move to another thread and live as long as needed. Waits up to about
    /// `timeout`. `Ok(None)` means: no frames, a signal, or no memory until a batch is dropped. Without memory, frames wait
    /// in the method's ring, and the counters report what the ring loses.
    ///
    /// A V3 ring returns its block without a copy. All other methods copy frames and their metadata into memory of a bounded
    /// pool; see [`OwnedBatch`].
    ///
    /// # Errors
    /// As for [`Capture::next_batch`], and where the method returns no frames at all.
    #[inline]
    fn next_owned(&mut self, timeout: Duration) -> Result<Option<OwnedBatch>> {
        Packing::next(self, timeout, |capture, timeout, taker| capture.take_with(timeout, taker))
    }

    /// The buffers into which [`Capture::next_owned`] copies frames. `None` for methods that copy none.
    fn packing(&mut self) -> Option<&mut Packing> {
        None
    }

    /// Counters since the capture was opened.
    ///
    /// # Errors
    /// When the kernel refuses to report them.
    fn counters(&mut self) -> Result<Counters>;

    /// A second descriptor of the capture's packet socket, to read its counters while frames are borrowed. `None` for methods
    /// without a packet socket.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        Ok(None)
    }

    /// How full the capture is now. Costs a few reads of shared memory or one system call: call it tens of times per second,
    /// not per frame. `None` where the method or the kernel does not report it.
    fn fill(&mut self) -> Option<Occupancy> {
        None
    }

    /// Batches that are complete and wait to be read. `None` for methods whose batches are made when they are read.
    fn complete_batches(&mut self) -> Option<u32> {
        None
    }

    /// Frames counted in the kernel, for methods that count frames there and return none.
    ///
    /// # Errors
    /// When the kernel refuses to report them.
    fn tally(&mut self) -> Result<Option<Tally>> {
        Ok(None)
    }

    /// How often it waited.
    fn waits(&self) -> WaitCounts;

    /// What runs, as verified after opening.
    fn running(&self) -> &Running;
}

/// Some frames. Dropping the batch returns their memory to its owner.
pub trait Batch {
    /// The frames, in the method's order.
    fn frames(&self) -> impl Iterator<Item = Frame<'_>>;

    /// What the method reports about frames lost before these.
    #[inline]
    fn loss_mark(&self) -> LossMark {
        LossMark::Unknown
    }

    /// The receive queue of the interface that received all of them, where the method knows it.
    #[inline]
    fn queue(&self) -> Option<u32> {
        None
    }

    /// Number of frames.
    fn frame_count(&self) -> usize {
        self.frames().count()
    }

    /// The kernel's sequence number of the block (V3), if the frames are in one. A gap would be a bug of the reader.
    fn block_sequence(&self) -> Option<u64> {
        None
    }

    /// Earliest and latest time of the frames. Reads every frame, because frames of one ring are sometimes out of order. A V3 block
    /// header only has the times at which the kernel opened and closed the block. `None` without frames.
    fn time_span(&self) -> Option<TimeSpan> {
        self.frames().fold(None, |span, frame| Some(TimeSpan::widened(span, frame.time_ns)))
    }
}

/// A batch with several owners. Dropping the last one returns its memory.
impl<B: Batch> Batch for Arc<B> {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        B::frames(self)
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        B::loss_mark(self)
    }

    #[inline]
    fn queue(&self) -> Option<u32> {
        B::queue(self)
    }

    fn frame_count(&self) -> usize {
        B::frame_count(self)
    }

    fn block_sequence(&self) -> Option<u64> {
        B::block_sequence(self)
    }

    fn time_span(&self) -> Option<TimeSpan> {
        B::time_span(self)
    }
}

/// Earliest and latest time of some frames, in nanoseconds since the epoch, as in [`Frame::time_ns`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// The earliest time.
    pub least_ns: u64,
    /// The latest time.
    pub greatest_ns: u64,
}

impl TimeSpan {
    /// Extends the span, if any, to include one more time.
    #[inline]
    pub(crate) fn widened(span: Option<Self>, time_ns: u64) -> Self {
        match span {
            None => Self { least_ns: time_ns, greatest_ns: time_ns },
            Some(span) => {
                Self { least_ns: span.least_ns.min(time_ns), greatest_ns: span.greatest_ns.max(time_ns) }
            }
        }
    }
}

/// A receiver of frames.
pub trait Taker {
    /// The next frames belong to another batch: see [`Batch::loss_mark`] and [`Batch::queue`]. Methods without batches never
    /// call it.
    #[inline]
    fn begin(&mut self, _mark: LossMark, _queue: Option<u32>) {}

    /// Receives one frame.
    fn take(&mut self, frame: &Frame<'_>);
}

/// A closure that receives frames.
struct Each<F>(F);

impl<F: FnMut(&Frame<'_>)> Taker for Each<F> {
    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        (self.0)(frame);
    }
}
