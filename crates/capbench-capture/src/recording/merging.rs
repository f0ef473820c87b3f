//! The loops for several captures: each has a thread that gives batches to one that merges and encodes them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender};
use std::time::Duration;

use capbench_sys::host::clock::realtime_ns;
use capbench_sys::packet::Frame;

use super::alone::wait_for_writer;
use super::board::{Granted, LaneBoard, Wishes};
use super::entrance::{Entrance, TICK};
use super::losses::Unplaced;
use super::scribe::Scribe;
use crate::capture::{Batch, Capture, LossMark, TimeSpan};
use crate::error::Result;
use crate::filter::SoftwareFilter;
use crate::merge::{Merge, MergeTally, Moment, Origin, Place, PortPlan, Revisit};
use crate::options::{ByteCount, CaptureOptions};
use crate::owned::OwnedBatch;
use crate::pool::BUFFER_OCTETS;

/// How often the merge looks at least: four times while the shortest window passes.
const ROUND: Duration = Duration::from_millis(10);

/// What capture threads say to the thread that merges, about the capture with a number.
#[derive(Debug)]
pub(super) enum News {
    /// A batch.
    Batch(usize, Marked),
    /// It looked for frames at this time, CLOCK_REALTIME in ns, and there were none.
    Idle(usize, u64),
    /// It gives nothing more; so many frames were lost behind its last one.
    Ended(usize, u64),
}

/// A batch with what was counted as lost when it came.
#[derive(Debug)]
pub(super) struct Marked {
    batch: OwnedBatch,
    /// Lost frames that nothing has been said of, as the counters told since the batch before.
    lost: u64,
    /// When they were last read, ns since the epoch.
    read_ns: u64,
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

    fn block_sequence(&self) -> Option<u64> {
        self.batch.block_sequence()
    }

    fn time_span(&self) -> Option<TimeSpan> {
        self.batch.time_span()
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

/// What the merge has to know of an open capture.
pub(super) fn plan_of<C: Capture>(capture: &mut C, options: &CaptureOptions) -> PortPlan {
    let running = capture.running();
    let (mut hold, has_queues) = (running.holds, running.method == "af-xdp");
    let is_packed = capture.packing().is_some();
    if is_packed {
        // Frames are gathered that long behind the method.
        hold += options.retire_timeout;
    }
    let batch = if is_packed { ByteCount(BUFFER_OCTETS as u64) } else { options.block };
    let batches = u32::try_from(options.ring.0 / batch.0.max(1)).unwrap_or(u32::MAX);
    let plan = PortPlan::new(hold, batches.max(2));
    if has_queues { plan.of_several_queues() } else { plan }
}

/// Gives what a capture has until it is to stop or cannot go on, then what is left.
pub(super) fn give<C: Capture>(
    mut capture: C,
    entrance: &Entrance,
    number: usize,
    merge: &SyncSender<News>,
    wishes: &Wishes,
) -> Result<()> {
    let mut giving = Giving { entrance, number, merge, known: 0, untold: 0, read_ns: 0, taken: 0 };
    let outcome = giving.until_stopped(&mut capture, wishes);
    if outcome.is_err() {
        // A recording without one of its interfaces is not what was asked for.
        wishes.stop();
    }
    let emptied = giving.empty(&mut capture);
    let read = giving.read(&mut capture);
    // Whoever merges may have ended before.
    let _ = merge.send(News::Ended(number, giving.untold));
    outcome.and(emptied).and(read)
}

struct Giving<'t> {
    entrance: &'t Entrance,
    number: usize,
    merge: &'t SyncSender<News>,
    /// Lost frames that were counted so far.
    known: u64,
    /// Those of them that go with the next batch.
    untold: u64,
    /// When they were counted.
    read_ns: u64,
    taken: u64,
}

impl Giving<'_> {
    fn until_stopped<C: Capture>(&mut self, capture: &mut C, wishes: &Wishes) -> Result<()> {
        let mut granted = Granted::default();
        while !wishes.is_stop() {
            let waited = Entrance::waited(capture);
            let gave = match self.once(capture, TICK) {
                Ok(gave) => gave,
                Err(error) => {
                    self.entrance.survive(error)?;
                    false
                }
            };
            if gave && self.entrance.board.is_down() {
                self.entrance.board.set_down(false);
            }
            if granted.are_statistics_due(wishes, || Entrance::is_calm(capture, gave, waited)) {
                self.read(capture)?;
            }
            if granted.is_look_due(wishes) {
                self.entrance.look(capture);
            }
        }
        Ok(())
    }

    fn empty<C: Capture>(&mut self, capture: &mut C) -> Result<()> {
        let drain = self.entrance.shut(capture);
        loop {
            let gave = match self.once(capture, TICK / 4) {
                Ok(gave) => gave,
                Err(error) => {
                    self.entrance.survive(error)?;
                    false
                }
            };
            let has_not_looked = capture.packing().is_some_and(|packing| packing.did_not_look());
            if drain.is_over(gave || has_not_looked) {
                return Ok(());
            }
        }
    }

    fn once<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool> {
        let looked_ns = realtime_ns();
        let Some(batch) = capture.next_owned(timeout)? else {
            if !capture.packing().is_some_and(|packing| packing.did_not_look()) {
                // There is always another one.
                let _ = self.merge.try_send(News::Idle(self.number, looked_ns));
            }
            return Ok(false);
        };
        self.taken += batch.frame_count() as u64;
        self.entrance.board.taken.store(self.taken, Relaxed);
        if batch.loss_mark() != LossMark::Batch(false) {
            match &self.entrance.intake {
                Some(intake) => self.lost(intake.lost()?),
                None => self.read(capture)?,
            }
        }
        let (lost, read_ns) = (std::mem::take(&mut self.untold), self.read_ns);
        // Without a reader the recording has ended, and what is left is only counted.
        let _ = self.merge.send(News::Batch(self.number, Marked { batch, lost, read_ns }));
        Ok(true)
    }

    /// Reads the counters and tells them; what was lost goes with the next batch.
    fn read<C: Capture>(&mut self, capture: &mut C) -> Result<()> {
        if let Some(lost) = self.entrance.read(capture)? {
            self.lost(lost);
        }
        Ok(())
    }

    /// So many frames were lost since the beginning.
    fn lost(&mut self, lost: u64) {
        self.untold += lost.saturating_sub(self.known);
        self.known = self.known.max(lost);
        self.read_ns = realtime_ns();
    }
}

/// What the thread that merges knows of a capture.
pub(super) struct Port {
    /// The interface in the file.
    pub(super) interface: u32,
    pub(super) plan: PortPlan,
    pub(super) filter: Option<SoftwareFilter>,
    losses: Unplaced,
    /// All that was told as lost.
    lost: u64,
    /// Frames that came out of the merge.
    came: u64,
}

impl Port {
    pub(super) fn new(interface: u32, plan: PortPlan, filter: Option<SoftwareFilter>) -> Self {
        Self { interface, plan, filter, losses: Unplaced::default(), lost: 0, came: 0 }
    }

    /// Frames lost that stand before this one.
    #[inline]
    fn lost_before(&mut self, origin: Origin<'_, Marked>, frame: &Frame<'_>) -> u64 {
        if origin.first && origin.batch.lost > 0 {
            self.lost += origin.batch.lost;
            self.losses.read(self.lost, origin.batch.read_ns);
        }
        if self.losses.is_empty() {
            return 0;
        }
        match origin.batch.loss_mark() {
            LossMark::Batch(true) if origin.first => self.losses.at_mark(),
            LossMark::Frames if frame.is_losing() => self.losses.at_mark(),
            mark => self.losses.at_frame(mark, origin.first, frame.time_ns),
        }
    }
}

/// Merges what captures give and records it, until the last of them has ended.
pub(super) fn merge(
    mut ports: Vec<Port>,
    news: &Receiver<News>,
    mut scribe: Scribe,
    lanes: &[Arc<LaneBoard>],
    wishes: &Wishes,
) -> (Scribe, MergeTally) {
    let plans: Vec<_> = ports.iter().map(|port| port.plan).collect();
    let window = PortPlan::window(&plans);
    let mut merge = Merge::new(plans, window);
    let (mut running, mut granted, gauge) = (ports.len(), Granted::default(), scribe.gauge());
    while running > 0 {
        let mut next = match news.recv_timeout(ROUND) {
            Ok(news) => Some(news),
            Err(RecvTimeoutError::Timeout) => None,
            // All of them are gone without a word.
            Err(RecvTimeoutError::Disconnected) => break,
        };
        while let Some(one) = next {
            match one {
                News::Batch(port, batch) => merge.push(port, batch),
                News::Idle(port, looked_ns) => merge.idle(port, looked_ns),
                News::Ended(port, lost) => {
                    merge.ended(port);
                    running -= 1;
                    let port = &mut ports[port];
                    port.lost += lost;
                    port.losses.read(port.lost, u64::MAX);
                }
            }
            next = news.try_recv().ok();
        }
        if wishes.is_stop() && !scribe.has_ended() {
            wait_for_writer(&gauge);
        }
        let gave = merge.drain_ready(Moment::now(), |from, frame| {
            record(&mut ports, &mut scribe, from, frame);
        });
        publish(&ports, lanes);
        scribe.breathe(gave == 0);
        if granted.are_statistics_due(wishes, || gave == 0) {
            scribe.statistics();
        }
        if granted.is_flush_due(wishes) {
            scribe.flush();
        }
        if scribe.has_ended() {
            wishes.stop();
        }
    }
    let tally = merge.finish(|from, frame| record(&mut ports, &mut scribe, from, frame));
    for port in &mut ports {
        scribe.lost(port.interface, port.losses.at_mark());
    }
    publish(&ports, lanes);
    (scribe, tally)
}

#[inline]
fn record(ports: &mut [Port], scribe: &mut Scribe, from: Origin<'_, Marked>, frame: &Frame<'_>) {
    let port = &mut ports[from.port];
    let lost = port.lost_before(from, frame);
    if lost > 0 {
        scribe.lost(port.interface, lost);
    }
    port.came += 1;
    if let Some(filter) = &mut port.filter
        && filter.pass(frame).is_none()
    {
        return;
    }
    scribe.packet(port.interface, from.batch.queue(), frame);
}

fn publish(ports: &[Port], lanes: &[Arc<LaneBoard>]) {
    for (interface, lane) in lanes.iter().enumerate() {
        let of_lane = || ports.iter().filter(|port| port.interface as usize == interface);
        lane.came.store(of_lane().map(|port| port.came).sum(), Relaxed);
        let filtered = |port: &Port| port.filter.as_ref().and_then(|filter| filter.filtered().count);
        lane.filtered.store(of_lane().filter_map(filtered).sum(), Relaxed);
    }
}
