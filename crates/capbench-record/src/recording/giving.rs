//! Batches of a capture go on to other threads: to the one that merges, or to workers in front of it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use capbench_capture::capture::{Batch, Capture, LossMark, OwnedBatch, Place, Revisit};
use capbench_capture::error;
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::packet::Frame;

use super::encoded::Encoded;
use super::entrance::{Delivered, Entrance};
use super::losses::is_news;
use super::source::Consumer;
use super::working::Workers;
use crate::error::{RecordError, Result};

/// What the thread that merges is told about the capture with a number.
#[derive(Debug)]
pub(super) enum News<B> {
    /// A batch.
    Batch(usize, B),
    /// It looked for frames at this time, CLOCK_REALTIME in ns, and there were none.
    Idle(usize, u64),
    /// It gives nothing more; so many frames were lost behind its last one.
    Ended(usize, u64),
}

/// What a capture thread has to say with a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Told {
    /// Lost frames that nothing has been said of, as the counters told since the batch before.
    pub(super) lost: u64,
    /// When they were last read, ns since the epoch.
    pub(super) read_ns: u64,
    /// The batch's number among those of its capture.
    pub(super) number: u64,
}

/// A batch with what was counted as lost when it came.
#[derive(Debug)]
pub(super) struct Marked {
    pub(super) batch: OwnedBatch,
    pub(super) told: Told,
}

/// Whither batches go.
#[derive(Debug)]
pub(super) enum Onward {
    /// To the thread that merges.
    Merge(SyncSender<News<Marked>>),
    /// To workers, who have the way to it, too.
    Workers(Arc<Workers>, SyncSender<News<Encoded>>),
}

impl Onward {
    /// Without a reader the recording has ended, and what is left is only counted: that is no error.
    fn give(&self, number: usize, marked: Marked, entrance: &Entrance) -> Result<()> {
        match self {
            Self::Merge(merge) => {
                let _ = merge.send(News::Batch(number, marked));
                Ok(())
            }
            Self::Workers(workers, _) => workers.give(number, marked, &entrance.board),
        }
    }

    /// There is always another one of these reports.
    fn idle(&self, number: usize, looked_ns: u64) {
        match self {
            Self::Merge(merge) => drop(merge.try_send(News::Idle(number, looked_ns))),
            Self::Workers(workers, merge) => {
                // Frames that are with a worker are older.
                if workers.are_through(number) {
                    drop(merge.try_send(News::Idle(number, looked_ns)));
                }
            }
        }
    }

    fn ended(&self, number: usize, lost: u64) {
        match self {
            Self::Merge(merge) => drop(merge.send(News::Ended(number, lost))),
            Self::Workers(workers, merge) => {
                workers.wait_through(number);
                drop(merge.send(News::Ended(number, lost)));
            }
        }
    }
}

impl Batch for Marked {
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

impl Revisit for Marked {
    #[inline]
    fn start(&self) -> Place {
        self.batch.start()
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        self.batch.frame_at(place)
    }
}

/// Gives the batches of a capture to others.
#[derive(Debug)]
pub(super) struct Giving<'t> {
    entrance: &'t Entrance,
    number: usize,
    onward: &'t Onward,
    /// Lost frames that were counted so far.
    known: u64,
    /// Those of them that go with the next batch.
    untold: u64,
    /// When they were counted.
    read_ns: u64,
    taken: u64,
    /// Batches.
    given: u64,
    /// Why batches cannot go on. They are still taken, and count as lost.
    failure: Option<RecordError>,
}

impl<'t> Giving<'t> {
    pub(super) fn new(entrance: &'t Entrance, number: usize, onward: &'t Onward) -> Self {
        Self { entrance, number, onward, known: 0, untold: 0, read_ns: 0, taken: 0, given: 0, failure: None }
    }

    /// The capture gives nothing more; why batches could not go on.
    pub(super) fn finish(self) -> Result<()> {
        self.onward.ended(self.number, self.untold);
        self.failure.map_or(Ok(()), Err)
    }

    fn delivered(&self) -> Delivered {
        Delivered { frames: self.taken, outgoing: 0 }
    }

    /// So many frames were lost since the beginning, as counters tell that were read from this time on.
    fn lost(&mut self, lost: u64, now_ns: u64) {
        self.untold += lost.saturating_sub(self.known);
        self.known = self.known.max(lost);
        self.read_ns = now_ns;
    }
}

impl Consumer for Giving<'_> {
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> error::Result<bool> {
        let looked_ns = realtime_ns();
        let Some(batch) = capture.next_owned(timeout)? else {
            if !capture.packing().is_some_and(|packing| packing.did_not_look()) {
                self.onward.idle(self.number, looked_ns);
            }
            return Ok(false);
        };
        self.taken += batch.frame_count() as u64;
        self.entrance.board.taken.store(self.taken, Relaxed);
        let is_news = match batch.loss_mark() {
            LossMark::Unknown | LossMark::Frames => true,
            // A mark on a block from before the last reading is about losses that were told.
            LossMark::Batch(is_marked) => {
                is_marked && batch.frames().next().is_some_and(|first| is_news(first.time_ns, self.read_ns))
            }
        };
        if is_news {
            let now_ns = realtime_ns();
            match self.entrance.read_beside(self.delivered())? {
                Some(lost) => self.lost(lost, now_ns),
                None => self.read(capture)?,
            }
        }
        let told = Told { lost: std::mem::take(&mut self.untold), read_ns: self.read_ns, number: self.given };
        self.given += 1;
        if let Err(error) = self.onward.give(self.number, Marked { batch, told }, self.entrance) {
            self.failure.get_or_insert(error);
        }
        Ok(true)
    }

    /// What was lost goes with the next batch.
    fn read<C: Capture>(&mut self, capture: &mut C) -> error::Result<()> {
        let now_ns = realtime_ns();
        if let Some(lost) = self.entrance.read(capture, self.delivered())? {
            self.lost(lost, now_ns);
        }
        Ok(())
    }

    fn has_ended(&self) -> bool {
        self.failure.is_some()
    }
}
