//! Records the frames of several captures in time order, in a thread.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::capture::{Batch, Capture, OwnedBatch, Place, SeekableBatch};
use capbench_capture::filter::SoftwareFilter;
use capbench_capture::method::Method;
use capbench_capture::pool::BUFFER_OCTETS;
use capbench_model::counters::LossMark;
use capbench_model::options::CaptureOptions;
use capbench_model::running::RingGeometry;
use capbench_sys::packet::Frame;

use super::board::{CaptureBoard, HandledRequests, InterfaceBoard, Requests};
use super::capture_loop::Due;
use super::encoded::Encoded;
use super::file_recorder::FileRecorder;
use super::losses::{Boundary, Unplaced};
use crate::merge::{Merge, MergeTally, Moment, Origin, PortPlan};
use crate::writing::WriterGauge;

/// Maximum time between two rounds: a quarter of the shortest window.
const ROUND: Duration = Duration::from_millis(10);

/// An event of the capture with this number.
#[derive(Debug)]
pub(super) enum MergeEvent {
    Batch(usize, BatchWithLosses),
    /// There were no frames at this time (CLOCK_REALTIME, ns).
    Idle(usize, u64),
    /// The capture has ended; the number is the frames lost after its last one.
    Ended(usize, u64),
}

/// A batch with the losses known when it arrived.
#[derive(Debug)]
pub(super) struct BatchWithLosses {
    pub(super) frames: Frames,
    pub(super) losses: LossReport,
}

#[derive(Debug)]
pub(super) enum Frames {
    Captured(OwnedBatch),
    Encoded(Encoded),
}

/// The losses that a capture thread reports with a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct LossReport {
    /// Frames lost since the previous report, by the counters.
    pub(super) lost: u64,
    /// Where the losses of the reading that found the first of them end.
    pub(super) reading: Boundary,
    /// The batch's number in its capture.
    pub(super) number: u64,
    pub(super) mark: LossMark,
}

impl Batch for BatchWithLosses {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let mut place = self.start();
        std::iter::from_fn(move || self.frame_at(&mut place))
    }
}

impl SeekableBatch for BatchWithLosses {
    #[inline]
    fn start(&self) -> Place {
        match &self.frames {
            Frames::Captured(batch) => batch.start(),
            Frames::Encoded(encoded) => Place::first_of(encoded.frames()),
        }
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        match &self.frames {
            Frames::Captured(batch) => batch.frame_at(place),
            Frames::Encoded(encoded) => place.step(|number| encoded.frame(number)),
        }
    }
}

/// How many batches a capture can deliver before it needs one back.
pub(super) fn batches_of<C: Capture>(capture: &mut C, options: &CaptureOptions) -> u32 {
    let are_packed = capture.packing().is_some();
    let batches = match capture.running().ring {
        RingGeometry::Blocks { blocks, .. } if !are_packed => u64::from(blocks),
        _ => options.ring.0 / BUFFER_OCTETS as u64,
    };
    u32::try_from(batches).unwrap_or(u32::MAX).max(2)
}

/// The merge's plan for an open capture of this method.
pub(super) fn plan_of<C: Capture>(capture: &mut C, method: &Method, options: &CaptureOptions) -> PortPlan {
    let mut hold = capture.running().holds;
    if capture.packing().is_some() {
        // The recorder gathers frames for that long after the method.
        hold += options.retire_timeout;
    }
    let plan = PortPlan::new(hold, batches_of(capture, options));
    if method.has_queues { plan.of_several_queues() } else { plan }
}

/// State of a capture whose frames are recorded.
pub(super) struct Port {
    /// The interface in the file.
    pub(super) interface: u32,
    pub(super) plan: PortPlan,
    pub(super) filter: Option<SoftwareFilter>,
    board: Arc<CaptureBoard>,
    pub(super) losses: Unplaced,
    /// All losses reported with batches.
    lost: u64,
    /// Losses after its last batch.
    behind: u64,
    /// Frames that the filter rejected.
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

    /// Records a frame, unless the filter rejects it.
    #[inline(always)]
    pub(super) fn record(&mut self, queue: Option<u32>, frame: &Frame<'_>, recorder: &mut FileRecorder) {
        if self.filter.as_ref().is_none_or(|filter| filter.matches(frame).is_some()) {
            recorder.packet(self.interface, queue, frame);
        } else {
            self.filtered += 1;
        }
    }

    /// Records a frame of a batch, with the losses before it.
    #[inline]
    fn record_merged(
        &mut self,
        from: Origin<'_, BatchWithLosses>,
        frame: &Frame<'_>,
        recorder: &mut FileRecorder,
    ) {
        let lost = self.lost_before(&from.batch.losses, from.first, frame);
        if lost > 0 {
            recorder.lost(self.interface, lost);
        }
        match &from.batch.frames {
            Frames::Captured(batch) => self.record(batch.queue(), frame, recorder),
            // The worker's filter rejected it.
            Frames::Encoded(_) if frame.data.is_empty() => self.filtered += 1,
            Frames::Encoded(_) => recorder.record(self.interface, frame),
        }
    }

    /// Lost frames to record before this frame, which `is_first` of its batch.
    #[inline]
    fn lost_before(&mut self, report: &LossReport, is_first: bool, frame: &Frame<'_>) -> u64 {
        let mut behind_capture = 0;
        if is_first {
            // With methods that mark frames, each batch has a reading from after all its frames. A reading without new losses
            // says nothing about the drops that are still pending.
            if report.lost > 0 || self.losses.is_empty() {
                self.lost += report.lost;
                self.losses.read(self.lost, report.reading);
            }
            behind_capture = self.board.gaps.before(report.number);
        }
        behind_capture + self.losses.before(frame, report.number, report.mark, is_first)
    }
}

/// Merges and records batches until the last capture has ended.
pub(super) fn merge(
    mut ports: Vec<Port>,
    events: &Receiver<MergeEvent>,
    mut recorder: FileRecorder,
    boards: &[Arc<InterfaceBoard>],
    requests: &Requests,
) -> (FileRecorder, MergeTally) {
    let plans: Vec<_> = ports.iter().map(|port| port.plan).collect();
    let window = PortPlan::window(&plans);
    let mut merge = Merge::new(plans, window);
    let (mut running, mut handled, gauge) = (ports.len(), HandledRequests::default(), recorder.gauge());
    while running > 0 {
        let mut next = match events.recv_timeout(ROUND) {
            Ok(event) => Some(event),
            Err(RecvTimeoutError::Timeout) => None,
            // All senders ended without an end event.
            Err(RecvTimeoutError::Disconnected) => break,
        };
        while let Some(event) = next {
            match event {
                MergeEvent::Batch(port, batch) => merge.push(port, batch),
                MergeEvent::Idle(port, looked_ns) => merge.idle(port, looked_ns),
                MergeEvent::Ended(port, lost) => {
                    merge.ended(port);
                    running -= 1;
                    ports[port].behind += lost;
                }
            }
            next = events.try_recv().ok();
        }
        if requests.is_stop() && !recorder.has_ended() {
            wait_for_writer(&gauge);
        }
        let recorded = merge.drain_ready(Moment::now(), |from, frame| {
            ports[from.port].record_merged(from, frame, &mut recorder);
        });
        let due = Due {
            is_idle: recorded == 0,
            statistics: handled.are_statistics_due(requests, || recorded == 0),
            flush: handled.is_flush_due(requests),
        };
        tend(&ports, boards, &mut recorder, due);
        if recorder.has_ended() {
            requests.stop();
        }
    }
    let tally = merge.finish(|from, frame| ports[from.port].record_merged(from, frame, &mut recorder));
    settle(&mut ports, boards, &mut recorder);
    (recorder, tally)
}

/// Periodic work after some frames were recorded, or none came.
#[inline]
pub(super) fn tend(ports: &[Port], boards: &[Arc<InterfaceBoard>], recorder: &mut FileRecorder, due: Due) {
    publish(ports, boards);
    recorder.publish_and_flush();
    if due.is_idle {
        recorder.end_interval();
    }
    if due.statistics {
        recorder.statistics();
    }
    if due.flush {
        recorder.flush();
    }
}

/// No more frames come: records the losses after the last ones.
pub(super) fn settle(ports: &mut [Port], boards: &[Arc<InterfaceBoard>], recorder: &mut FileRecorder) {
    for port in &mut *ports {
        recorder.lost(port.interface, port.losses.rest() + port.behind + port.board.gaps.rest());
    }
    publish(ports, boards);
}

fn publish(ports: &[Port], boards: &[Arc<InterfaceBoard>]) {
    for (interface, board) in boards.iter().enumerate() {
        let of_interface = ports.iter().filter(|port| port.interface as usize == interface);
        board.filtered.store(of_interface.map(|port| port.filtered).sum(), Relaxed);
    }
}

/// Waits a limited time until half of the writer's buffers are empty. Returns how long it waited.
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
