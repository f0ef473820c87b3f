//! The loop for one capture: its frames are encoded where they lie, by the thread that takes them; or blocks of its ring go to
//! the file as they are.

use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::clock::realtime_ns;
use capbench_sys::packet::{Block, Frame, PacketType};

use super::board::{Granted, LaneBoard, Wishes};
use super::entrance::{Delivered, Entrance, TICK};
use super::hold_up::HoldUp;
use super::losses::Unplaced;
use super::scribe::Scribe;
use crate::capture::OwnedBatch;
use crate::capture::{Batch, Capture, LossMark, Taker};
use crate::error::{CaptureError, Result};
use crate::filter::SoftwareFilter;
use crate::writing::WriterGauge;

/// What is done with frames.
pub(super) struct How {
    /// A filter that the method does not run itself.
    pub(super) filter: Option<SoftwareFilter>,
    /// Whether blocks of a ring are recorded as they are, where they are large enough.
    pub(super) by_block: bool,
}

/// Which part of a block has to be in use for it to be written from where it lies: one in so many. Others come where there is
/// little traffic: their pages would be mostly empty.
const WORTH_WRITING: usize = 8;

/// Lays frames into the output.
struct Laying<'s> {
    scribe: &'s mut Scribe,
    filter: Option<SoftwareFilter>,
    by_block: bool,
    entrance: &'s Entrance,
    losses: Unplaced,
    mark: LossMark,
    queue: Option<u32>,
    begins_batch: bool,
    taken: Delivered,
    failure: Option<CaptureError>,
}

impl Taker for Laying<'_> {
    #[inline]
    fn begin(&mut self, mark: LossMark, queue: Option<u32>) {
        (self.mark, self.queue, self.begins_batch) = (mark, queue, true);
    }

    #[inline]
    fn take(&mut self, frame: &Frame<'_>) {
        self.taken.frames += 1;
        self.taken.outgoing += u64::from(frame.packet_type == PacketType::Outgoing);
        self.tell_lost_before(frame);
        if let Some(filter) = &mut self.filter
            && filter.pass(frame).is_none()
        {
            return;
        }
        self.scribe.packet(0, self.queue, frame);
    }
}

impl Laying<'_> {
    /// The next frames, one by one or as a block.
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool> {
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
        match self.scribe.block(block, first_ns) {
            Ok(()) => self.taken.frames += frames,
            Err(block) => block.frames().for_each(|frame| self.take(&frame)),
        }
    }

    /// What was lost before a frame, which is the first of its batch if it is the first since [`Taker::begin`].
    #[inline]
    fn tell_lost_before(&mut self, frame: &Frame<'_>) {
        if self.mark.is_on(frame, self.begins_batch) && self.losses.is_news(frame.time_ns) {
            self.count_lost();
        }
        let lost = self.losses.before(frame, self.mark, self.begins_batch);
        if lost > 0 {
            self.scribe.lost(0, lost);
        }
        self.begins_batch = false;
    }

    /// Reads how many frames were lost, since a mark says that some were.
    #[cold]
    fn count_lost(&mut self) {
        // What comes while the counters are read may follow a loss that they do not know of.
        let now_ns = realtime_ns();
        match self.entrance.read_beside(self.taken) {
            Ok(Some(lost)) => self.losses.read(lost, now_ns),
            Ok(None) => {}
            Err(error) => self.failure = Some(error),
        }
    }

    fn publish(&self, lane: &LaneBoard, entrance: &Entrance) {
        entrance.board.taken.store(self.taken.frames, Relaxed);
        let filtered = self.filter.as_ref().and_then(|filter| filter.filtered().count);
        lane.filtered.store(filtered.unwrap_or(0), Relaxed);
    }

    fn read<C: Capture>(&mut self, capture: &mut C, entrance: &Entrance) -> Result<()> {
        let now_ns = realtime_ns();
        if let Some(lost) = entrance.read(capture, self.taken)? {
            self.losses.read(lost, now_ns);
        }
        Ok(())
    }
}

/// Records until it is to stop, or cannot go on; the scribe, to be finished, and why it could not.
pub(super) fn run<C: Capture>(
    mut capture: C,
    entrance: &Entrance,
    how: How,
    mut scribe: Scribe,
    lane: &LaneBoard,
    wishes: &Wishes,
) -> (Scribe, Result<()>) {
    let gauge = scribe.gauge();
    let mut laying = Laying {
        scribe: &mut scribe,
        filter: how.filter,
        by_block: how.by_block,
        entrance,
        losses: Unplaced::default(),
        mark: LossMark::Unknown,
        queue: None,
        begins_batch: true,
        taken: Delivered::default(),
        failure: None,
    };
    let recorded = record(&mut capture, entrance, &mut laying, lane, wishes);
    let emptied = empty(&mut capture, entrance, &mut laying, &gauge);
    // What was found lost, and no frame came after it.
    let read = laying.read(&mut capture, entrance);
    let untold = laying.losses.rest();
    laying.scribe.lost(0, untold);
    laying.publish(lane, entrance);
    (scribe, recorded.and(emptied).and(read))
}

fn record<C: Capture>(
    capture: &mut C,
    entrance: &Entrance,
    laying: &mut Laying<'_>,
    lane: &LaneBoard,
    wishes: &Wishes,
) -> Result<()> {
    let (mut granted, mut hold_up) = (Granted::default(), HoldUp::of(capture));
    // A file may end before a second has passed.
    laying.read(capture, entrance)?;
    while !wishes.is_stop() && !laying.scribe.has_ended() {
        let waited = Entrance::waited(capture);
        // Frames that wait are as good as frames that came: no statistics are read meanwhile, unless they are late.
        let is_held_up = hold_up.is_due(capture, laying.scribe);
        let gave = is_held_up
            || match laying.next(capture, TICK) {
                Ok(gave) => gave,
                Err(error) => {
                    entrance.survive(error)?;
                    false
                }
            };
        if let Some(error) = laying.failure.take() {
            return Err(error);
        }
        if gave {
            entrance.gave();
        }
        laying.publish(lane, entrance);
        laying.scribe.breathe();
        if !gave {
            laying.scribe.end_interval();
        }
        if granted.are_statistics_due(wishes, || Entrance::is_calm(capture, gave, waited)) {
            laying.read(capture, entrance)?;
            laying.scribe.statistics();
        }
        if granted.is_look_due(wishes) {
            entrance.look(capture)?;
        }
        if granted.is_flush_due(wishes) {
            laying.scribe.flush();
        }
    }
    Ok(())
}

/// Takes out what is left. The writer gets time meanwhile: what lies in the ring is not lost.
fn empty<C: Capture>(
    capture: &mut C,
    entrance: &Entrance,
    laying: &mut Laying<'_>,
    gauge: &WriterGauge,
) -> Result<()> {
    let mut drain = entrance.shut(capture);
    loop {
        if !laying.scribe.has_ended() {
            drain.prolong(wait_for_writer(gauge));
        }
        let gave = match laying.next(capture, TICK / 4) {
            Ok(gave) => gave,
            Err(error) => {
                entrance.survive(error)?;
                false
            }
        };
        if drain.is_over(gave) {
            laying.read(capture, entrance)?;
            if !drain.is_incomplete(entrance.board.reading().unread()) {
                return Ok(());
            }
        }
    }
}

/// Waits until half of the buffers are empty, for a while; how long.
pub(super) fn wait_for_writer(gauge: &WriterGauge) -> Duration {
    const PATIENCE: Duration = Duration::from_secs(5);
    let start = Instant::now();
    loop {
        let counts = gauge.read();
        if counts.in_use * 2 <= counts.pool || start.elapsed() >= PATIENCE {
            return start.elapsed();
        }
        thread::sleep(Duration::from_millis(1));
    }
}
