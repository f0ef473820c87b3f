//! The seam between ways to capture and everything that uses captured frames.

mod owned;
mod place;

use std::sync::Arc;
use std::time::Duration;

use capbench_sys::packet::Frame;

use crate::counters::{Counters, WaitCounts};
use crate::error::Result;
use crate::mark::Tally;
use crate::occupancy::Occupancy;
use crate::running::Running;
use crate::stats_socket::StatsSocket;

pub use owned::{OwnedBatch, Packed, Packing};
pub use place::{Place, SeekableBatch};

/// An open capture.
///
/// It is used by static dispatch: a loop over batches and frames is compiled for each method, so that no call per
/// frame goes through a table. [`crate::open_with`] is how a method chosen at run time gets there.
pub trait Capture {
    /// Frames borrowed from the capture.
    type Batch<'a>: Batch
    where
        Self: 'a;

    /// The next frames, waiting for them at most about `timeout`. `Ok(None)` when there were none, or a signal came:
    /// neither is an error.
    ///
    /// # Errors
    /// When the interface goes down or away, or the kernel refuses a call.
    fn next_batch(&mut self, timeout: Duration) -> Result<Option<Self::Batch<'_>>>;

    /// Gives the next frames to `taker`, waiting for them at most about `timeout`; whether there were any. At least once
    /// in a while it comes back although frames keep coming.
    ///
    /// This is how loops that are measured take frames: a method whose library calls back for each frame, as libpcap's
    /// does, has its frames only while the callback runs, and would have to copy them into a batch. Such a method
    /// overrides it.
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

    /// Calls `each` with the next frames: [`Capture::take_with`] for those who want nothing but frames.
    ///
    /// # Errors
    /// As for [`Capture::next_batch`].
    #[inline]
    fn for_each(&mut self, timeout: Duration, each: impl FnMut(&Frame<'_>)) -> Result<bool> {
        self.take_with(timeout, &mut Each(each))
    }

    /// The next frames as a batch that may go to another thread and be kept as long as is needed, waiting for them at most
    /// about `timeout`. `Ok(None)` when there were none, a signal came, or so many batches are out that there is no memory for
    /// another one until one of them is dropped: frames wait in the method's ring meanwhile, and what that cannot hold its
    /// counters tell.
    ///
    /// A V3 ring gives its block as it is. For all other methods frames are copied, with all that is known of them, into
    /// memory of a bounded pool; see [`OwnedBatch`].
    ///
    /// # Errors
    /// As for [`Capture::next_batch`], and where the method hands no frames over at all.
    #[inline]
    fn next_owned(&mut self, timeout: Duration) -> Result<Option<OwnedBatch>> {
        Packing::next(self, timeout, |capture, timeout, taker| capture.take_with(timeout, taker))
    }

    /// Where [`Capture::next_owned`] copies frames to; absent for methods that have none to copy.
    fn packing(&mut self) -> Option<&mut Packing> {
        None
    }

    /// Counters since the capture was opened.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    fn counters(&mut self) -> Result<Counters>;

    /// The capture's packet socket by a second descriptor, to read its counters while frames are borrowed. `None` for methods
    /// without one.
    ///
    /// # Errors
    /// When the process has no descriptor left.
    fn stats_socket(&self) -> Result<Option<StatsSocket>> {
        Ok(None)
    }

    /// How full it is now, by a few looks at what the kernel shares or one call: for tens of times in a second, not for each
    /// frame. `None` for methods that cannot tell, and for kernels that do not.
    fn fill(&mut self) -> Option<Occupancy> {
        None
    }

    /// What it counted in the kernel, for methods that count frames where they are and hand none over.
    ///
    /// # Errors
    /// When the kernel refuses to tell.
    fn tally(&mut self) -> Result<Option<Tally>> {
        Ok(None)
    }

    /// How often it waited.
    fn waits(&self) -> WaitCounts;

    /// What really runs, found out rather than believed.
    fn running(&self) -> &Running;
}

/// Some frames. Dropping it gives their memory back to where it came from.
pub trait Batch {
    /// The frames, in the order in which the method gives them.
    fn frames(&self) -> impl Iterator<Item = Frame<'_>>;

    /// What the method says of frames that it lost before these.
    #[inline]
    fn loss_mark(&self) -> LossMark {
        LossMark::Unknown
    }

    /// The receive queue of the interface through which all of them came, where the method knows.
    #[inline]
    fn queue(&self) -> Option<u32> {
        None
    }

    /// How many there are.
    fn frame_count(&self) -> usize {
        self.frames().count()
    }

    /// The kernel's running number of the block that they lie in, where they lie in one (V3). A gap would be a fault of the
    /// reader.
    fn block_sequence(&self) -> Option<u64> {
        None
    }

    /// Least and greatest time of the frames, by looking at each: frames of one ring are now and then out of order, and the
    /// times in a V3 block's own header are those at which the kernel opened and closed it. `None` without frames.
    fn time_span(&self) -> Option<TimeSpan> {
        self.frames().fold(None, |span, frame| Some(TimeSpan::widened(span, frame.time_ns)))
    }
}

/// A batch that several hold: the last one to let go of it gives its memory back.
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

/// Least and greatest time of some frames, in nanoseconds since the epoch, as [`Frame::time_ns`] has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeSpan {
    /// The least.
    pub least_ns: u64,
    /// The greatest.
    pub greatest_ns: u64,
}

impl TimeSpan {
    /// A span, or none yet, with one time more.
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

/// Whoever takes frames.
pub trait Taker {
    /// The frames from here on are those of another batch: see [`Batch::loss_mark`] and [`Batch::queue`]. Methods without
    /// batches never call it.
    #[inline]
    fn begin(&mut self, _mark: LossMark, _queue: Option<u32>) {}

    /// A frame.
    fn take(&mut self, frame: &Frame<'_>);
}

/// A closure that takes frames.
struct Each<F>(F);

impl<F: FnMut(&Frame<'_>)> Taker for Each<F> {
    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        (self.0)(frame);
    }
}

/// How a method tells where in the stream of frames it lost some. A mark says that frames were lost since the counters
/// were last read, all of them before the place that bears it: [`Capture::counters`] takes it off what comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LossMark {
    /// It does not tell.
    Unknown,
    /// It marks a batch as a whole, and loses nothing within one.
    Batch(bool),
    /// It marks each frame: see [`Frame::is_losing`].
    Frames,
}

impl LossMark {
    /// Whether a frame, or the batch that it begins, is marked.
    #[inline]
    pub fn is_on(self, frame: &Frame<'_>, begins_batch: bool) -> bool {
        match self {
            Self::Unknown => false,
            Self::Batch(is_marked) => is_marked && begins_batch,
            Self::Frames => frame.is_losing(),
        }
    }
}
