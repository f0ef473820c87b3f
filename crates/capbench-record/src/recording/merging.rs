//! Records the frames of all captures in time order. A single capture needs no heap and no thread.

mod many;
mod one;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::capture::Capture;
use capbench_capture::filter::SoftwareFilter;
use capbench_capture::method::Method;
use capbench_capture::pool::BUFFER_OCTETS;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_sys::packet::Frame;

use super::board::{CaptureBoard, InterfaceBoard};
use super::file_recorder::FileRecorder;
use super::losses::Unplaced;
use super::source::Due;
use crate::merge::PortPlan;
use crate::writing::WriterGauge;

pub(super) use many::{Encode, merge};
pub(super) use one::MergeOfOne;

/// How many batches a capture can deliver before it needs one back.
pub(super) fn batches_of<C: Capture>(capture: &mut C, options: &CaptureOptions) -> u32 {
    let batch = if capture.packing().is_some() { ByteCount(BUFFER_OCTETS as u64) } else { options.block };
    u32::try_from(options.ring.0 / batch.0.max(1)).unwrap_or(u32::MAX).max(2)
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

/// State of a capture in the merge.
pub(super) struct Port {
    /// The interface in the file.
    pub(super) interface: u32,
    pub(super) plan: PortPlan,
    pub(super) filter: Option<SoftwareFilter>,
    /// Status of its capture.
    board: Arc<CaptureBoard>,
    losses: Unplaced,
    /// All losses reported with batches.
    lost: u64,
    /// Losses after its last batch.
    behind: u64,
    /// Frames that the filter rejected.
    pub(super) filtered: u64,
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
    #[inline]
    fn record(&mut self, queue: Option<u32>, frame: &Frame<'_>, recorder: &mut FileRecorder) {
        if self.filter.as_ref().is_none_or(|filter| filter.matches(frame).is_some()) {
            recorder.packet(self.interface, queue, frame);
        } else {
            self.filtered += 1;
        }
    }
}

/// Periodic work after some frames were recorded, or none came.
#[inline]
fn tend(ports: &[Port], lanes: &[Arc<InterfaceBoard>], recorder: &mut FileRecorder, due: Due) {
    publish(ports, lanes);
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
fn settle(ports: &mut [Port], lanes: &[Arc<InterfaceBoard>], recorder: &mut FileRecorder) {
    for port in &mut *ports {
        recorder.lost(port.interface, port.losses.rest() + port.behind + port.board.gaps.rest());
    }
    publish(ports, lanes);
}

fn publish(ports: &[Port], lanes: &[Arc<InterfaceBoard>]) {
    for (interface, lane) in lanes.iter().enumerate() {
        let of_lane = ports.iter().filter(|port| port.interface as usize == interface);
        lane.filtered.store(of_lane.map(|port| port.filtered).sum(), Relaxed);
    }
}

/// Waits a limited time until half of the writer's buffers are empty. Returns how long it waited.
fn wait_for_writer(gauge: &WriterGauge) -> Duration {
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
