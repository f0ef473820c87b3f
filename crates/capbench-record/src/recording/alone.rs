//! Records a single capture without heap and merging thread: the capture's thread encodes frames in the ring, or writes ring
//! blocks unchanged.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use capbench_capture::capture::{Batch, Capture, OwnedBatch, Taker};
use capbench_capture::error::{CaptureError, Result};
use capbench_model::counters::LossMark;
use capbench_model::running::TimeSource;
use capbench_sys::packet::{Block, Frame, PacketType};

use super::board::InterfaceBoard;
use super::capture_loop::{Consumer, Due};
use super::capture_side::{CaptureSide, Delivered};
use super::file_recorder::FileRecorder;
use super::merging::{Port, settle, tend, wait_for_writer};

/// A block is written straight from the ring if at least one `WORTH_WRITING`th of it is in use. With little traffic, pages of a
/// block would be mostly empty.
const WORTH_WRITING: usize = 8;

/// Maximum length of one wait for the writer: the ring fills meanwhile.
const MOMENT: Duration = Duration::from_millis(1);

/// Reads between two checks of a ring that is too full, for methods that deliver few frames at once.
const TAKES: u32 = 64;

/// Records the frames of the only capture.
pub(super) struct Alone<'e> {
    recorder: FileRecorder,
    port: Port,
    board: Arc<InterfaceBoard>,
    /// Whether to record blocks of a ring unchanged, if they are full enough.
    by_block: bool,
    side: &'e CaptureSide,
    hold_up: HoldUp,
    mark: LossMark,
    queue: Option<u32>,
    /// Batches so far, the current one included.
    batches: u64,
    begins_batch: bool,
    delivered: Delivered,
    /// Why the counters could not be read between frames.
    failure: Option<CaptureError>,
}

impl Taker for Alone<'_> {
    #[inline]
    fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        (self.mark, self.queue, self.begins_batch) = (mark, queue, true);
        self.batches += 1;
    }

    #[inline(always)]
    fn take(&mut self, frame: &Frame<'_>) {
        self.delivered.frames += 1;
        self.delivered.outgoing += u64::from(frame.packet_type == PacketType::Outgoing);
        self.record_lost_before(frame);
        self.port.record(self.queue, frame, &mut self.recorder);
    }
}

impl<'e> Alone<'e> {
    pub(super) fn new(
        capture: &mut impl Capture,
        side: &'e CaptureSide,
        port: Port,
        recorder: FileRecorder,
        board: Arc<InterfaceBoard>,
        by_block: bool,
    ) -> Self {
        Self {
            recorder,
            port,
            board,
            by_block,
            side,
            hold_up: HoldUp::of(capture),
            mark: LossMark::Unknown,
            queue: None,
            batches: 0,
            begins_batch: true,
            delivered: Delivered::default(),
            failure: None,
        }
    }

    /// Returns the recorder, to be finished.
    pub(super) fn finish(mut self) -> FileRecorder {
        settle(std::slice::from_mut(&mut self.port), std::slice::from_ref(&self.board), &mut self.recorder);
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
        self.record_lost_before(&first);
        let (first_ns, frames) = (first.time_ns, block.len() as u64);
        match self.recorder.block(block, first_ns) {
            Ok(()) => self.delivered.frames += frames,
            Err(block) => block.frames().for_each(|frame| self.take(&frame)),
        }
    }

    /// Frames lost before a frame. It is the first of its batch if it is the first since [`Taker::begin`].
    #[inline(always)]
    fn record_lost_before(&mut self, frame: &Frame<'_>) {
        // A method without batches never begins one: all its frames are of batch 0.
        let batch = self.batches.saturating_sub(1);
        if self.mark.is_on(frame, self.begins_batch) && self.port.losses.is_news(frame.time_ns, batch) {
            self.count_lost();
        }
        let lost = self.port.losses.before(frame, batch, self.mark, self.begins_batch);
        if lost > 0 {
            self.recorder.lost(self.port.interface, lost);
        }
        self.begins_batch = false;
    }

    /// Reads the number of lost frames, after a mark announced a loss.
    #[cold]
    fn count_lost(&mut self) {
        match self.side.read_stats_now(self.delivered) {
            Ok(Some((lost, reading))) => self.port.losses.read(lost, reading),
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
    }
}

impl Consumer for Alone<'_> {
    /// A ring block of 1 MiB is full earlier even at 10,000 packets/s of 1,500 octets, so that a wait ends by frames.
    const WAIT: Duration = Duration::from_millis(80);

    #[inline]
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool> {
        let outcome = self.take_next(capture, timeout);
        self.side.board.delivered.store(self.delivered.frames, Relaxed);
        self.failure.take().map_or(outcome, Err)
    }

    fn read<C: Capture>(&mut self, capture: &mut C) -> Result<()> {
        self.side
            .read(capture, self.delivered, self.batches, |lost, reading| self.port.losses.read(lost, reading))
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.recorder.has_ended()
    }

    #[inline]
    fn is_blocked<C: Capture>(&mut self, capture: &mut C) -> bool {
        self.hold_up.is_due(capture, &self.recorder)
    }

    #[inline]
    fn tend(&mut self, due: Due) {
        tend(std::slice::from_ref(&self.port), std::slice::from_ref(&self.board), &mut self.recorder, due);
    }

    fn wait_for_room(&self) -> Duration {
        if self.recorder.has_ended() { Duration::ZERO } else { wait_for_writer(&self.recorder.gauge()) }
    }
}

/// A quarter of the ring stays free for frames that arrive until the next check: one part of this number of parts.
const FREE_PART: u64 = 4;

/// Decides whether to leave frames in the ring for a moment, because the writer would drop them now. If less than [`FREE_PART`] of it is
/// free, frames are read, and lost at the writer.
#[derive(Clone, Copy, Debug)]
struct HoldUp {
    /// Absent if frames cannot wait.
    takes: Option<u32>,
    unasked: u32,
}

impl HoldUp {
    fn of(capture: &mut impl Capture) -> Self {
        // Frames that are stamped when they are read would get a time that depends on the writer.
        let have_times = matches!(capture.running().time_source, TimeSource::Kernel(_));
        let takes = if capture.packing().is_some() { TAKES } else { 1 };
        Self { takes: have_times.then_some(takes), unasked: 0 }
    }

    /// Whether the next frames should wait; waits a moment for the writer.
    #[inline]
    fn is_due(&mut self, capture: &mut impl Capture, recorder: &FileRecorder) -> bool {
        match self.takes {
            Some(takes) if recorder.is_short() => self.waited(takes, capture, recorder),
            _ => false,
        }
    }

    #[cold]
    fn waited(&mut self, takes: u32, capture: &mut impl Capture, recorder: &FileRecorder) -> bool {
        if self.unasked > 0 {
            self.unasked -= 1;
            return false;
        }
        if capture.fill().is_some_and(|fill| fill.has_free_part(FREE_PART)) {
            return recorder.stays_short(MOMENT);
        }
        self.unasked = takes - 1;
        false
    }
}
