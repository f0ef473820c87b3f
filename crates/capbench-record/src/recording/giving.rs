//! Passes the batches of a capture to other threads: to the merge, or to workers in front of it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use capbench_capture::capture::{Batch, Capture, OwnedBatch, Place, SeekableBatch};
use capbench_capture::error;
use capbench_model::counters::LossMark;
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::packet::Frame;

use super::capture_side::{CaptureSide, Delivered};
use super::encoded::Encoded;
use super::losses::is_news;
use super::source::Consumer;
use super::working::Workers;
use crate::error::{RecordError, Result};

/// An event of the capture with this number, for the merge.
#[derive(Debug)]
pub(super) enum MergeEvent<B> {
    /// A batch.
    Batch(usize, B),
    /// There were no frames at this time (CLOCK_REALTIME, ns).
    Idle(usize, u64),
    /// The capture has ended; the number is the frames lost after its last one.
    Ended(usize, u64),
}

/// The losses that a capture thread reports with a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossReport {
    /// Frames lost since the previous report, by the counters.
    pub(super) lost: u64,
    /// When the counters were read, ns since the epoch.
    pub(super) read_ns: u64,
    /// The batch's number in its capture.
    pub(super) number: u64,
}

/// A batch with the losses known when it arrived.
#[derive(Debug)]
pub(super) struct BatchWithLosses {
    pub(super) batch: OwnedBatch,
    pub(super) told: LossReport,
}

/// Where batches go.
#[derive(Debug)]
pub(super) enum Destination {
    /// To the thread that merges.
    Merge(SyncSender<MergeEvent<BatchWithLosses>>),
    /// To workers, and from there to the merge.
    Workers(Arc<Workers>, SyncSender<MergeEvent<Encoded>>),
}

impl Destination {
    /// If the receiver is gone, the recording has ended. The rest is only counted, so this is not an error.
    fn give(&self, number: usize, marked: BatchWithLosses, side: &CaptureSide) -> Result<()> {
        match self {
            Self::Merge(merge) => {
                let _ = merge.send(MergeEvent::Batch(number, marked));
                Ok(())
            }
            Self::Workers(workers, _) => workers.give(number, marked, &side.board),
        }
    }

    /// If the channel is full, the report is dropped: the next one follows soon.
    fn idle(&self, number: usize, looked_ns: u64) {
        match self {
            Self::Merge(merge) => drop(merge.try_send(MergeEvent::Idle(number, looked_ns))),
            Self::Workers(workers, merge) => {
                // Frames that a worker still has are older.
                if workers.are_through(number) {
                    drop(merge.try_send(MergeEvent::Idle(number, looked_ns)));
                }
            }
        }
    }

    fn ended(&self, number: usize, lost: u64) {
        match self {
            Self::Merge(merge) => drop(merge.send(MergeEvent::Ended(number, lost))),
            Self::Workers(workers, merge) => {
                workers.wait_through(number);
                drop(merge.send(MergeEvent::Ended(number, lost)));
            }
        }
    }
}

impl Batch for BatchWithLosses {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.batch.frames()
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        self.batch.loss_mark()
    }

    #[inline]
    fn queue(&self) -> Option<u32> {
        self.batch.queue()
    }

    fn frame_count(&self) -> usize {
        self.batch.frame_count()
    }
}

impl SeekableBatch for BatchWithLosses {
    #[inline]
    fn start(&self) -> Place {
        self.batch.start()
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        self.batch.frame_at(place)
    }
}

/// Passes the batches of a capture on.
#[derive(Debug)]
pub(super) struct Giving<'t> {
    side: &'t CaptureSide,
    number: usize,
    destination: &'t Destination,
    /// Lost frames counted so far.
    known: u64,
    /// Counted drops that the next batch reports.
    pending_drops: u64,
    /// When the counters were read.
    read_ns: u64,
    taken: u64,
    /// Number of batches.
    given: u64,
    /// Why batches cannot be passed on. They are still read, and count as lost.
    failure: Option<RecordError>,
}

impl<'t> Giving<'t> {
    pub(super) fn new(side: &'t CaptureSide, number: usize, destination: &'t Destination) -> Self {
        Self {
            side,
            number,
            destination,
            known: 0,
            pending_drops: 0,
            read_ns: 0,
            taken: 0,
            given: 0,
            failure: None,
        }
    }

    /// Ends the capture. Returns why batches could not be passed on.
    pub(super) fn finish(self) -> Result<()> {
        self.destination.ended(self.number, self.pending_drops);
        self.failure.map_or(Ok(()), Err)
    }

    fn delivered(&self) -> Delivered {
        Delivered { frames: self.taken, outgoing: 0 }
    }

    /// Notes that `lost` frames were lost since the beginning, by counters read after this time.
    fn lost(&mut self, lost: u64, now_ns: u64) {
        self.pending_drops += lost.saturating_sub(self.known);
        self.known = self.known.max(lost);
        self.read_ns = now_ns;
    }
}

impl Consumer for Giving<'_> {
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> error::Result<bool> {
        let looked_ns = realtime_ns();
        let Some(batch) = capture.next_owned(timeout)? else {
            if !capture.packing().is_some_and(|packing| packing.did_not_look()) {
                self.destination.idle(self.number, looked_ns);
            }
            return Ok(false);
        };
        self.taken += batch.frame_count() as u64;
        self.side.board.taken.store(self.taken, Relaxed);
        let is_news = match batch.loss_mark() {
            LossMark::Unknown | LossMark::Frames => true,
            // A mark on a block from before the last reading announces drops that were already reported.
            LossMark::Batch(is_marked) => {
                is_marked && batch.frames().next().is_some_and(|first| is_news(first.time_ns, self.read_ns))
            }
        };
        if is_news {
            let now_ns = realtime_ns();
            match self.side.read_stats_now(self.delivered())? {
                Some(lost) => self.lost(lost, now_ns),
                None => self.read(capture)?,
            }
        }
        let told = LossReport {
            lost: std::mem::take(&mut self.pending_drops),
            read_ns: self.read_ns,
            number: self.given,
        };
        self.given += 1;
        if let Err(error) = self.destination.give(self.number, BatchWithLosses { batch, told }, self.side) {
            self.failure.get_or_insert(error);
        }
        Ok(true)
    }

    /// The next batch reports these drops.
    fn read<C: Capture>(&mut self, capture: &mut C) -> error::Result<()> {
        let now_ns = realtime_ns();
        if let Some(lost) = self.side.read(capture, self.delivered())? {
            self.lost(lost, now_ns);
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.failure.is_some()
    }
}
