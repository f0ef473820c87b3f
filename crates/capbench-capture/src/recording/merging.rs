//! The thread that merges what several captures, or workers, give it, and records that.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use capbench_sys::packet::Frame;

use super::alone::wait_for_writer;
use super::board::{CaptureBoard, Granted, LaneBoard, Wishes};
use super::giving::{Marked, News, Told};
use super::losses::Unplaced;
use super::scribe::Scribe;
use crate::capture::Revisit;
use crate::capture::{Batch, Capture};
use crate::filter::SoftwareFilter;
use crate::merge::{Merge, MergeTally, Moment, Origin, PortPlan};
use crate::method::Method;
use crate::options::CaptureOptions;
use crate::pool::BUFFER_OCTETS;
use crate::units::ByteCount;

/// How often the merge looks at least: four times while the shortest window passes.
const ROUND: Duration = Duration::from_millis(10);

/// A batch whose frames the scribe can record.
pub(super) trait Lay: Revisit {
    /// What came with it.
    fn told(&self) -> Told;

    /// Records one of its frames; whether it is wanted.
    fn lay(&self, frame: &Frame<'_>, port: &Port, scribe: &mut Scribe) -> bool;
}

impl Lay for Marked {
    #[inline]
    fn told(&self) -> Told {
        self.told
    }

    #[inline]
    fn lay(&self, frame: &Frame<'_>, port: &Port, scribe: &mut Scribe) -> bool {
        let is_wanted = port.filter.as_ref().is_none_or(|filter| filter.matches(frame).is_some());
        if is_wanted {
            scribe.packet(port.interface, self.queue(), frame);
        }
        is_wanted
    }
}

/// How many batches a capture can give before it needs one back.
pub(super) fn batches_of<C: Capture>(capture: &mut C, options: &CaptureOptions) -> u32 {
    let batch = if capture.packing().is_some() { ByteCount(BUFFER_OCTETS as u64) } else { options.block };
    u32::try_from(options.ring.0 / batch.0.max(1)).unwrap_or(u32::MAX).max(2)
}

/// What the merge has to know of an open capture by this method.
pub(super) fn plan_of<C: Capture>(capture: &mut C, method: &Method, options: &CaptureOptions) -> PortPlan {
    let mut hold = capture.running().holds;
    if capture.packing().is_some() {
        // Frames are gathered that long behind the method.
        hold += options.retire_timeout;
    }
    let plan = PortPlan::new(hold, batches_of(capture, options));
    if method.has_queues { plan.of_several_queues() } else { plan }
}

/// What the thread that merges knows of a capture.
pub(super) struct Port {
    /// The interface in the file.
    pub(super) interface: u32,
    pub(super) plan: PortPlan,
    pub(super) filter: Option<SoftwareFilter>,
    /// What its capture tells.
    board: Arc<CaptureBoard>,
    losses: Unplaced,
    /// All that was told as lost with batches.
    lost: u64,
    /// What was lost behind its last batch.
    behind: u64,
    /// Frames that the filter left out.
    filtered: u64,
}

impl Port {
    pub(super) fn new(
        interface: u32,
        plan: PortPlan,
        filter: Option<SoftwareFilter>,
        board: Arc<CaptureBoard>,
    ) -> Self {
        Self { interface, plan, filter, board, losses: Unplaced::default(), lost: 0, behind: 0, filtered: 0 }
    }

    /// Frames lost that stand before this one.
    #[inline]
    fn lost_before<B: Lay>(&mut self, origin: Origin<'_, B>, frame: &Frame<'_>) -> u64 {
        let mut behind_capture = 0;
        if origin.first {
            let Told { lost, read_ns, number } = origin.batch.told();
            // Each batch of methods that mark frames comes with a reading behind all of them: one that found nothing more
            // says nothing of what still waits for its place.
            if lost > 0 || self.losses.is_empty() {
                self.lost += lost;
                self.losses.read(self.lost, read_ns);
            }
            behind_capture = self.board.gaps.before(number);
        }
        behind_capture + self.losses.before(frame, origin.batch.loss_mark(), origin.first)
    }
}

/// Merges what comes and records it, until the last capture has ended.
pub(super) fn merge<B: Lay>(
    mut ports: Vec<Port>,
    news: &Receiver<News<B>>,
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
                    ports[port].behind += lost;
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
        scribe.breathe();
        if gave == 0 {
            scribe.end_interval();
        }
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
        scribe.lost(port.interface, port.losses.rest() + port.behind + port.board.gaps.rest());
    }
    publish(&ports, lanes);
    (scribe, tally)
}

#[inline]
fn record<B: Lay>(ports: &mut [Port], scribe: &mut Scribe, from: Origin<'_, B>, frame: &Frame<'_>) {
    let port = &mut ports[from.port];
    let lost = port.lost_before(from, frame);
    if lost > 0 {
        scribe.lost(port.interface, lost);
    }
    let is_wanted = from.batch.lay(frame, port, scribe);
    port.filtered += u64::from(!is_wanted);
}

fn publish(ports: &[Port], lanes: &[Arc<LaneBoard>]) {
    for (interface, lane) in lanes.iter().enumerate() {
        let of_lane = ports.iter().filter(|port| port.interface as usize == interface);
        lane.filtered.store(of_lane.map(|port| port.filtered).sum(), Relaxed);
    }
}
