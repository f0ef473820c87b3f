//! Merges several captures, or workers, in a thread.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use capbench_capture::capture::{Batch, SeekableBatch};
use capbench_sys::packet::Frame;

use super::super::board::{HandledRequests, InterfaceBoard, Requests};
use super::super::file_recorder::FileRecorder;
use super::super::giving::{BatchWithLosses, LossReport, MergeEvent};
use super::super::source::Due;
use super::{Port, settle, tend, wait_for_writer};
use crate::merge::{Merge, MergeTally, Moment, Origin, PortPlan};

/// Maximum time between two rounds: a quarter of the shortest window.
const ROUND: Duration = Duration::from_millis(10);

/// A batch whose frames the recorder can record.
pub(in super::super) trait Encode: SeekableBatch {
    /// The loss report of the batch.
    fn told(&self) -> LossReport;

    /// Records a frame of the batch, unless the filter of its port rejects it.
    fn lay(&self, frame: &Frame<'_>, port: &mut Port, recorder: &mut FileRecorder);
}

impl Encode for BatchWithLosses {
    #[inline]
    fn told(&self) -> LossReport {
        self.told
    }

    #[inline]
    fn lay(&self, frame: &Frame<'_>, port: &mut Port, recorder: &mut FileRecorder) {
        port.record(self.queue(), frame, recorder);
    }
}

impl Port {
    /// Lost frames to record before this frame.
    #[inline]
    fn lost_before<B: Encode>(&mut self, origin: Origin<'_, B>, frame: &Frame<'_>) -> u64 {
        let mut behind_capture = 0;
        if origin.first {
            let LossReport { lost, read_ns, number } = origin.batch.told();
            // With methods that mark frames, each batch has a reading from after all its frames. A reading without new losses
            // says nothing about the drops that are still pending.
            if lost > 0 || self.losses.is_empty() {
                self.lost += lost;
                self.losses.read(self.lost, read_ns);
            }
            behind_capture = self.board.gaps.before(number);
        }
        behind_capture + self.losses.before(frame, origin.batch.loss_mark(), origin.first)
    }
}

/// Merges and records batches until the last capture has ended.
pub(in super::super) fn merge<B: Encode>(
    mut ports: Vec<Port>,
    news: &Receiver<MergeEvent<B>>,
    mut recorder: FileRecorder,
    lanes: &[Arc<InterfaceBoard>],
    requests: &Requests,
) -> (FileRecorder, MergeTally) {
    let plans: Vec<_> = ports.iter().map(|port| port.plan).collect();
    let window = PortPlan::window(&plans);
    let mut merge = Merge::new(plans, window);
    let (mut running, mut granted, gauge) = (ports.len(), HandledRequests::default(), recorder.gauge());
    while running > 0 {
        let mut next = match news.recv_timeout(ROUND) {
            Ok(news) => Some(news),
            Err(RecvTimeoutError::Timeout) => None,
            // All senders ended without an end event.
            Err(RecvTimeoutError::Disconnected) => break,
        };
        while let Some(one) = next {
            match one {
                MergeEvent::Batch(port, batch) => merge.push(port, batch),
                MergeEvent::Idle(port, looked_ns) => merge.idle(port, looked_ns),
                MergeEvent::Ended(port, lost) => {
                    merge.ended(port);
                    running -= 1;
                    ports[port].behind += lost;
                }
            }
            next = news.try_recv().ok();
        }
        if requests.is_stop() && !recorder.has_ended() {
            wait_for_writer(&gauge);
        }
        let gave = merge.drain_ready(Moment::now(), |from, frame| {
            record(&mut ports, &mut recorder, from, frame);
        });
        let due = Due {
            is_idle: gave == 0,
            statistics: granted.are_statistics_due(requests, || gave == 0),
            flush: granted.is_flush_due(requests),
        };
        tend(&ports, lanes, &mut recorder, due);
        if recorder.has_ended() {
            requests.stop();
        }
    }
    let tally = merge.finish(|from, frame| record(&mut ports, &mut recorder, from, frame));
    settle(&mut ports, lanes, &mut recorder);
    (recorder, tally)
}

#[inline]
fn record<B: Encode>(
    ports: &mut [Port],
    recorder: &mut FileRecorder,
    from: Origin<'_, B>,
    frame: &Frame<'_>,
) {
    let port = &mut ports[from.port];
    let lost = port.lost_before(from, frame);
    if lost > 0 {
        recorder.lost(port.interface, lost);
    }
    from.batch.lay(frame, port, recorder);
}
