//! Records a single capture without heap and thread: the capturing thread encodes frames in the ring, or writes ring blocks
//! unchanged.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use capbench_capture::capture::{Batch, Capture, OwnedBatch, Taker};
use capbench_capture::error::{CaptureError, Result};
use capbench_model::counters::LossMark;
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::packet::{Block, Frame, PacketType};

use super::super::board::InterfaceBoard;
use super::super::capture_side::{CaptureSide, Delivered};
use super::super::file_recorder::FileRecorder;
use super::super::hold_up::HoldUp;
use super::super::source::{Consumer, Due};
use super::{Port, settle, tend, wait_for_writer};

/// A block is written straight from the ring if at least one `WORTH_WRITING`th of it is in use. With little traffic, pages of a
/// block would be mostly empty.
const WORTH_WRITING: usize = 8;

/// Records the frames of the only capture.
pub(in super::super) struct MergeOfOne<'e> {
    recorder: FileRecorder,
    port: Port,
    lane: Arc<InterfaceBoard>,
    /// Whether to record blocks of a ring unchanged, if they are full enough.
    by_block: bool,
    side: &'e CaptureSide,
    hold_up: HoldUp,
    mark: LossMark,
    queue: Option<u32>,
    begins_batch: bool,
    taken: Delivered,
    /// Why the counters could not be read between frames.
    failure: Option<CaptureError>,
}

impl Taker for MergeOfOne<'_> {
    #[inline]
    fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        (self.mark, self.queue, self.begins_batch) = (mark, queue, true);
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        self.taken.frames += 1;
        self.taken.outgoing += u64::from(frame.packet_type == PacketType::Outgoing);
        self.tell_lost_before(frame);
        self.port.record(self.queue, frame, &mut self.recorder);
    }
}

impl<'e> MergeOfOne<'e> {
    pub(in super::super) fn new(
        capture: &mut impl Capture,
        side: &'e CaptureSide,
        port: Port,
        recorder: FileRecorder,
        lane: Arc<InterfaceBoard>,
        by_block: bool,
    ) -> Self {
        Self {
            recorder,
            port,
            lane,
            by_block,
            side,
            hold_up: HoldUp::of(capture),
            mark: LossMark::Unknown,
            queue: None,
            begins_batch: true,
            taken: Delivered::default(),
            failure: None,
        }
    }

    /// Returns the recorder, to be finished.
    pub(in super::super) fn finish(mut self) -> FileRecorder {
        settle(std::slice::from_mut(&mut self.port), std::slice::from_ref(&self.lane), &mut self.recorder);
        self.recorder
    }

    /// Records the next frames, one by one or as a block.
    fn take_next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool> {
        if !self.by_block {
            return capture.take_with(timeout, self);
        }
        let Some(batch) = capture.next_owned(timeout)? else { return Ok(false) };
        self.begin(batch.loss_mark(), batch.queue());
        match batch {
            OwnedBatch::Block(block) if block.used() * WORTH_WRITING >= block.octets().len() => {
                self.take_block(block);
            }
            other => other.frames().for_each(|frame| self.take(&frame)),
        }
        Ok(true)
    }

    fn take_block(&mut self, block: Block) {
        let Some(first) = block.frames().next() else { return };
        self.tell_lost_before(&first);
        let (first_ns, frames) = (first.time_ns, block.len() as u64);
        match self.recorder.block(block, first_ns) {
            Ok(()) => self.taken.frames += frames,
            Err(block) => block.frames().for_each(|frame| self.take(&frame)),
        }
    }

    /// Frames lost before a frame. It is the first of its batch if it is the first since [`Taker::begin`].
    #[inline]
    fn tell_lost_before(&mut self, frame: &Frame<'_>) {
        if self.mark.is_on(frame, self.begins_batch) && self.port.losses.is_news(frame.time_ns) {
            self.count_lost();
        }
        let lost = self.port.losses.before(frame, self.mark, self.begins_batch);
        if lost > 0 {
            self.recorder.lost(self.port.interface, lost);
        }
        self.begins_batch = false;
    }

    /// Reads the number of lost frames, after a mark announced a loss.
    #[cold]
    fn count_lost(&mut self) {
        // A frame that arrives while the counters are read may follow a loss that the reading missed.
        let now_ns = realtime_ns();
        match self.side.read_stats_now(self.taken) {
            Ok(Some(lost)) => self.port.losses.read(lost, now_ns),
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
    }
}

impl Consumer for MergeOfOne<'_> {
    #[inline]
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool> {
        let outcome = self.take_next(capture, timeout);
        self.side.board.taken.store(self.taken.frames, Relaxed);
        self.failure.take().map_or(outcome, Err)
    }

    fn read<C: Capture>(&mut self, capture: &mut C) -> Result<()> {
        let now_ns = realtime_ns();
        if let Some(lost) = self.side.read(capture, self.taken)? {
            self.port.losses.read(lost, now_ns);
        }
        Ok(())
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.recorder.has_ended()
    }

    #[inline]
    fn is_held_up<C: Capture>(&mut self, capture: &mut C) -> bool {
        self.hold_up.is_due(capture, &self.recorder)
    }

    #[inline]
    fn tend(&mut self, due: Due) {
        tend(std::slice::from_ref(&self.port), std::slice::from_ref(&self.lane), &mut self.recorder, due);
    }

    fn wait_for_room(&self) -> Duration {
        if self.recorder.has_ended() { Duration::ZERO } else { wait_for_writer(&self.recorder.gauge()) }
    }
}
