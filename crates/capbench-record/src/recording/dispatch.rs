//! Passes the batches of a capture to other threads: to the merge, or to workers in front of it.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use capbench_capture::capture::{Batch, Capture, OwnedBatch};
use capbench_capture::error;
use capbench_model::counters::LossMark;
use capbench_sys::host::clock::realtime_ns;

use super::capture_loop::Consumer;
use super::capture_side::{CaptureSide, Delivered};
use super::losses::Boundary;
use super::merging::{BatchWithLosses, Frames, LossReport, MergeEvent};
use super::workers::{Unencoded, Workers};
use crate::error::{RecordError, Result};

/// Where batches go: to the thread that merges, through workers if there are any.
#[derive(Debug)]
pub(super) struct Destination {
    pub(super) merge: SyncSender<MergeEvent>,
    pub(super) workers: Option<Arc<Workers>>,
}

impl Destination {
    /// If the receiver is gone, the recording has ended. The rest is only counted, so this is not an error.
    fn give(&self, number: usize, batch: OwnedBatch, losses: LossReport, side: &CaptureSide) -> Result<()> {
        if let Some(workers) = &self.workers {
            let frames = batch.frame_count() as u64;
            return workers.give(number, frames, Unencoded::new(batch, losses, &side.board));
        }
        let batch = BatchWithLosses { frames: Frames::Captured(batch), losses };
        let _ = self.merge.send(MergeEvent::Batch(number, batch));
        Ok(())
    }

    /// If the channel is full, the report is dropped: the next one follows soon.
    fn idle(&self, number: usize, looked_ns: u64) {
        // Frames that a worker still has are older.
        if self.workers.as_ref().is_none_or(|workers| workers.is_through(number)) {
            drop(self.merge.try_send(MergeEvent::Idle(number, looked_ns)));
        }
    }

    fn ended(&self, number: usize, lost: u64) {
        if let Some(workers) = &self.workers {
            workers.wait_through(number);
        }
        drop(self.merge.send(MergeEvent::Ended(number, lost)));
    }
}

/// Passes the batches of a capture on.
#[derive(Debug)]
pub(super) struct Dispatch<'t> {
    side: &'t CaptureSide,
    number: usize,
    destination: &'t Destination,
    /// Lost frames counted so far.
    known: u64,
    /// Counted drops that the next batch reports.
    pending_drops: u64,
    /// The last reading of the counters.
    latest: Boundary,
    /// The reading that found the first of the pending drops.
    found: Boundary,
    frames_read: u64,
    batches: u64,
    /// Why batches cannot be passed on. They are still read, and count as lost.
    failure: Option<RecordError>,
}

impl<'t> Dispatch<'t> {
    pub(super) fn new(side: &'t CaptureSide, number: usize, destination: &'t Destination) -> Self {
        Self {
            side,
            number,
            destination,
            known: 0,
            pending_drops: 0,
            latest: Boundary::default(),
            found: Boundary::default(),
            frames_read: 0,
            batches: 0,
            failure: None,
        }
    }

    /// Ends the capture. Returns why batches could not be passed on.
    pub(super) fn finish(self) -> Result<()> {
        self.destination.ended(self.number, self.pending_drops);
        self.failure.map_or(Ok(()), Err)
    }

    fn delivered(&self) -> Delivered {
        Delivered { frames: self.frames_read, outgoing: 0 }
    }

    /// Notes a reading of the counters: `lost` frames since the start.
    fn lost(&mut self, lost: u64, reading: Boundary) {
        // A later reading does not move the drops that are pending.
        if self.pending_drops == 0 {
            self.found = reading;
        }
        self.latest = reading;
        let more = lost.saturating_sub(self.known);
        self.pending_drops += more;
        self.known += more;
    }
}

impl Consumer for Dispatch<'_> {
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> error::Result<bool> {
        let looked_ns = realtime_ns();
        let Some(batch) = capture.next_owned(timeout)? else {
            if !capture.packing().is_some_and(|packing| packing.did_not_look()) {
                self.destination.idle(self.number, looked_ns);
            }
            return Ok(false);
        };
        self.frames_read += batch.frame_count() as u64;
        self.side.board.delivered.store(self.frames_read, Relaxed);
        let mark = batch.loss_mark();
        let is_news = match mark {
            LossMark::Unknown | LossMark::Frames => true,
            // A mark on a block from before the last reading announces drops that were already reported.
            LossMark::Batch(is_marked) => {
                is_marked
                    && batch
                        .frames()
                        .next()
                        .is_some_and(|first| self.latest.is_before(first.time_ns, self.batches))
            }
        };
        if is_news {
            match self.side.read_stats_now(self.delivered())? {
                Some((lost, reading)) => self.lost(lost, reading),
                None => self.read(capture)?,
            }
        }
        let lost = std::mem::take(&mut self.pending_drops);
        let losses = LossReport { lost, reading: self.found, number: self.batches, mark };
        self.batches += 1;
        if let Err(error) = self.destination.give(self.number, batch, losses, self.side) {
            self.failure.get_or_insert(error);
        }
        Ok(true)
    }

    /// The next batch reports these drops.
    fn read<C: Capture>(&mut self, capture: &mut C) -> error::Result<()> {
        let (side, delivered, batches) = (self.side, self.delivered(), self.batches);
        side.read(capture, delivered, batches, |lost, reading| self.lost(lost, reading))
    }

    fn has_ended(&self) -> bool {
        self.failure.is_some()
    }
}
