//! Workers between captures and the merge: they filter and encode batches in place, and return them at once.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use capbench_capture::capture::{Batch, OwnedBatch};
use capbench_capture::pool::Pool;
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::pin_current_thread;

use super::board::CaptureBoard;
use super::encoded::{Encoded, Lane};
use super::merging::{BatchWithLosses, Frames, LossReport, MergeEvent};
use crate::error::Result;
use crate::file::Encoder;
use crate::worker_pool::{Job, Plan, WorkerPool};

pub(super) type Workers = WorkerPool<Unencoded>;

/// A batch for a worker to encode. If dropped before that, its frames are counted as a gap.
#[derive(Debug)]
pub(super) struct Unencoded {
    batch: OwnedBatch,
    losses: LossReport,
    board: Arc<CaptureBoard>,
    is_encoded: bool,
}

impl Unencoded {
    pub(super) fn new(batch: OwnedBatch, losses: LossReport, board: &Arc<CaptureBoard>) -> Self {
        Self { batch, losses, board: Arc::clone(board), is_encoded: false }
    }
}

impl Drop for Unencoded {
    fn drop(&mut self) {
        if !self.is_encoded {
            let LossReport { number, lost, .. } = self.losses;
            self.board.gaps.lost(number, self.batch.frame_count() as u64, lost);
        }
    }
}

/// What workers need to start.
pub(super) struct Setup {
    pub(super) plan: Plan,
    pub(super) encoder: Encoder,
    /// By port.
    pub(super) lanes: Vec<Lane>,
    /// Batches that the merge holds. It drops batches beyond that, so the next batch in order always finds memory.
    pub(super) merge_holds: usize,
    /// By worker.
    pub(super) cpus: Vec<Option<CpuId>>,
}

impl Setup {
    /// Starts the workers. Their results go to the merging thread.
    pub(super) fn start(self, merge: SyncSender<MergeEvent>) -> Result<Workers> {
        self.start_as(merge, |_, _| {})
    }

    /// As `start`. `before` is called with the number of a worker, and with each job before it is done.
    fn start_as(
        self,
        merge: SyncSender<MergeEvent>,
        before: impl Fn(usize, &Job<Unencoded>) + Send + Sync + 'static,
    ) -> Result<Workers> {
        let Self { plan, encoder, lanes, merge_holds, cpus } = self;
        let pool = Arc::new(Pool::new(plan.most_held() + merge_holds));
        let shared = Arc::new((encoder, lanes, before));
        let make = move |worker| {
            if let Some(cpu) = cpus.get(worker).copied().flatten() {
                // The captures' threads were pinned before.
                let _ = pin_current_thread(cpu);
            }
            let (shared, pool) = (Arc::clone(&shared), Arc::clone(&pool));
            move |mut job: Job<Unencoded>| {
                let (encoder, lanes, before) = &*shared;
                before(worker, &job);
                let Unencoded { batch, losses, .. } = &job.batch;
                let encoded = Encoded::of(batch, &lanes[job.port], encoder, &pool);
                let encoded = BatchWithLosses { frames: Frames::Encoded(encoded), losses: *losses };
                job.batch.is_encoded = true;
                MergeEvent::Batch(job.port, encoded)
            }
        };
        // If the receiver is gone, the recording has ended.
        WorkerPool::start(plan, make, move |batch| drop(merge.send(batch)))
    }
}

#[cfg(test)]
mod tests;
