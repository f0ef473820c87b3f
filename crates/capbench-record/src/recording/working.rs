//! Workers between captures and the merge: they filter and encode batches in place, and return them at once.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use capbench_capture::capture::Batch;
use capbench_capture::filter::SoftwareFilter;
use capbench_capture::pool::Pool;
use capbench_model::counters::Loss;
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::pin_current_thread;
use capbench_sys::packet::Frame;

use super::board::CaptureBoard;
use super::encoded::{Chunk, Encoded};
use super::encoding::Encoding;
use super::giving::{BatchWithLosses, MergeEvent};
use crate::error::{RecordError, Result};
use crate::hand_off::{HandOff, Job, Plan, Worker};
use crate::merge::PortPlan;

/// A batch for a worker to encode. If dropped before that, its frames are counted as a gap.
#[derive(Debug)]
pub(super) struct Entrusted {
    marked: BatchWithLosses,
    board: Arc<CaptureBoard>,
    is_encoded: bool,
}

impl Batch for Entrusted {
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.marked.frames()
    }

    fn frame_count(&self) -> usize {
        self.marked.frame_count()
    }
}

impl Drop for Entrusted {
    fn drop(&mut self) {
        if !self.is_encoded {
            let told = self.marked.told;
            self.board.gaps.lost(told.number, self.marked.frame_count() as u64, told.lost);
        }
    }
}

/// A port as workers see it.
#[derive(Debug)]
pub(super) struct Lane {
    /// The interface in the file.
    pub(super) interface: u32,
    pub(super) filter: Option<SoftwareFilter>,
}

/// Encodes batches.
#[derive(Debug)]
pub(super) struct EncodingWorker {
    encoding: Encoding,
    lanes: Arc<[Lane]>,
    pool: Arc<Pool<Chunk>>,
}

impl Worker<Entrusted> for EncodingWorker {
    type Output = (usize, Encoded);
    type Summary = ();

    fn work(&mut self, mut job: Job<Entrusted>) -> Self::Output {
        let Lane { interface, filter } = &self.lanes[job.port];
        let encoded = Encoded::of(&job.batch.marked, *interface, filter.as_ref(), &self.encoding, &self.pool);
        job.batch.is_encoded = true;
        (job.port, encoded)
    }

    fn finish(self) {}
}

/// What workers need to start.
pub(super) struct Setup {
    pub(super) plan: Plan,
    pub(super) encoding: Encoding,
    /// By port.
    pub(super) lanes: Vec<Lane>,
    /// The merge's plan for each port.
    pub(super) held: Vec<PortPlan>,
    /// By worker.
    pub(super) cpus: Vec<Option<CpuId>>,
}

impl Setup {
    /// The constructor of workers. They share memory for as many records as the merge and they can hold. The merge drops batches
    /// beyond that, so the next batch in order always finds memory.
    fn maker(self) -> impl Fn(usize) -> EncodingWorker + Send + Sync + 'static {
        let held: usize = self.held.iter().map(|port| port.batches as usize).sum();
        let pool = Arc::new(Pool::new(self.plan.most_held() + held));
        let lanes: Arc<[Lane]> = self.lanes.into();
        let (encoding, cpus) = (self.encoding, self.cpus);
        move |worker| {
            if let Some(cpu) = cpus.get(worker).copied().flatten() {
                // The captures' threads were pinned before.
                let _ = pin_current_thread(cpu);
            }
            EncodingWorker { encoding: encoding.clone(), lanes: Arc::clone(&lanes), pool: Arc::clone(&pool) }
        }
    }
}

/// The workers of a recording.
#[derive(Debug)]
pub(super) struct Workers(HandOff<Entrusted, ()>);

impl Workers {
    /// Starts the workers. Their results go to the merging thread.
    pub(super) fn start(setup: Setup, merge: SyncSender<MergeEvent<Encoded>>) -> Result<Self> {
        Self::start_as(setup, merge, |_, worker| worker)
    }

    /// As `start`, with a wrapper for each worker.
    fn start_as<W>(
        setup: Setup,
        merge: SyncSender<MergeEvent<Encoded>>,
        become_of: impl Fn(usize, EncodingWorker) -> W + Send + Sync + 'static,
    ) -> Result<Self>
    where
        W: Worker<Entrusted, Output = (usize, Encoded), Summary = ()> + 'static,
    {
        let plan = setup.plan;
        let make = setup.maker();
        let sink = move |_sequence, (port, encoded)| {
            // If the receiver is gone, the recording has ended.
            let _ = merge.send(MergeEvent::Batch(port, encoded));
        };
        HandOff::start(plan, move |worker| become_of(worker, make(worker)), sink).map(Self)
    }

    /// Passes a batch of a port to a worker.
    ///
    /// # Errors
    /// If no worker is left; the batch counts as lost.
    pub(super) fn give(&self, port: usize, marked: BatchWithLosses, board: &Arc<CaptureBoard>) -> Result<()> {
        let entrusted = Entrusted { marked, board: Arc::clone(board), is_encoded: false };
        self.0.give(port, entrusted).map(drop)
    }

    /// Whether all batches of a port have reached the merge, or never will.
    pub(super) fn are_through(&self, port: usize) -> bool {
        self.0.is_through(port)
    }

    pub(super) fn wait_through(&self, port: usize) {
        self.0.wait_through(port);
    }

    /// Frames of these ports lost at each worker's queue.
    pub(super) fn losses_of(&self, ports: &[usize]) -> Vec<Loss> {
        self.0.losses_of(ports)
    }

    /// Workers that panicked since the last call.
    pub(super) fn take_failures(&self) -> Vec<RecordError> {
        self.0.take_failures()
    }

    /// Ends the workers. Returns those that panicked.
    pub(super) fn finish(self) -> Vec<RecordError> {
        let report = self.0.finish();
        report.workers.into_iter().filter_map(|worker| worker.summary.err()).collect()
    }
}

#[cfg(test)]
mod tests;
