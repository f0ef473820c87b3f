//! Worker pool: one thread passes batches to worker threads. Each batch returns its memory when its last user drops it.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | number of workers, length of queues, distribution, and behaviour when a queue is full |
//! | [`report`] | what became of the batches: processed, lost, or returned |
//! | `queues` | the queues and their accounts, shared by all threads |
//! | `order` | results, in order of completion or in order of batches |
//! | `work` | the loop of a worker thread |
//!
//! The pool locks and wakes threads once per batch, never per frame. It allocates nothing while it runs. An [`Arc`] of a batch is
//! a batch, too: it can go to several workers at once.
//!
//! ```
//! use capbench_record::hand_off::{HandOff, Job, Plan};
//! use capbench_capture::{Batch, OwnedBatch};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let count = |_worker| |job: Job<OwnedBatch>| job.batch.frame_count();
//! let hand_off = HandOff::start(Plan::new(2), count, |_sequence, frames| println!("{frames} frames"))?;
//! // while let Some(batch) = capture.next_owned(timeout)? { hand_off.give(0, batch)?; }
//! let report = hand_off.finish();
//! assert_eq!(report.lost().frames, 0);
//! # Ok(())
//! # }
//! ```

mod order;
pub mod plan;
mod queues;
pub mod report;
mod work;

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use capbench_capture::capture::Batch;
use capbench_model::counters::Loss;

use crate::error::{RecordError, Result};

pub use plan::{Distribution, Plan, WhenFull};
pub use report::{Report, Tally, WorkerCounts, WorkerReport};
pub use work::{Job, Worker};

use order::Stage;
use queues::Shared;

/// Passes batches to worker threads. Drop it to let them process the remaining batches and end.
#[derive(Debug)]
pub struct HandOff<B, S> {
    shared: Arc<Shared<B>>,
    threads: Vec<JoinHandle<Option<S>>>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is in this worker's queue.
    Queued(usize),
    /// It was dropped, its memory was returned, and its frames count as lost: its worker's queue was full, or its worker has
    /// ended.
    Lost,
}

impl<B: Batch + Send + 'static, S: Send + 'static> HandOff<B, S> {
    /// Starts the workers. `make` runs in each worker's thread, where it can set the CPU affinity. `sink` gets each result with
    /// its batch number, one at a time: in the order of batches if the plan says so, otherwise in order of completion. Workers
    /// wait while `sink` runs.
    ///
    /// # Errors
    /// The plan is invalid, or a thread cannot be started.
    pub fn start<W, R>(
        plan: Plan,
        make: impl Fn(usize) -> W + Send + Sync + 'static,
        sink: impl FnMut(u64, R) + Send + 'static,
    ) -> Result<Self>
    where
        W: Worker<B, Output = R, Summary = S> + 'static,
        R: Send + 'static,
    {
        plan.check()?;
        let shared = Arc::new(Shared::new(plan));
        let stage = Arc::new(Stage::new(plan, sink));
        let make = Arc::new(make);
        let mut started = Self { shared, threads: Vec::with_capacity(plan.workers) };
        for index in 0..plan.workers {
            let (shared, stage, make) = (Arc::clone(&started.shared), Arc::clone(&stage), Arc::clone(&make));
            let thread = thread::Builder::new()
                .name(format!("capbench-w{index}"))
                .spawn(move || work::run(&shared, &stage, index, &*make))
                .map_err(|error| RecordError::HandOff {
                    reason: format!("the system starts no thread for worker {index}: {error}"),
                })?;
            started.threads.push(thread);
        }
        Ok(started)
    }

    /// Passes a batch of a port to a worker. With [`WhenFull::Wait`] it waits for room.
    ///
    /// # Errors
    /// If no worker is left; the batch's frames count as lost.
    pub fn give(&self, port: usize, batch: B) -> Result<Given> {
        let frames = batch.frame_count() as u64;
        self.shared.give(port, batch, frames)
    }

    /// Counts of each worker so far.
    pub fn counts(&self) -> Vec<WorkerCounts> {
        self.shared.counts()
    }

    /// Entries for the ledger: frames lost at each worker's queue.
    pub fn losses(&self) -> Vec<Loss> {
        report::losses(&self.counts(), self.shared.plan())
    }

    /// Counts of each worker so far, for these ports only.
    pub fn counts_of(&self, ports: &[usize]) -> Vec<WorkerCounts> {
        self.shared.counts_of(ports)
    }

    /// Entries for the ledger, for these ports only: frames lost at each worker's queue.
    pub fn losses_of(&self, ports: &[usize]) -> Vec<Loss> {
        report::losses(&self.counts_of(ports), self.shared.plan())
    }

    /// Whether the sink has got the results of all batches of this port, or never will.
    pub fn is_through(&self, port: usize) -> bool {
        self.shared.is_through(port)
    }

    /// Waits until [`Self::is_through`]. Passing more batches for the port meanwhile can prolong the wait.
    pub fn wait_through(&self, port: usize) {
        self.shared.wait_through(port);
    }

    /// The plan of this pool.
    pub fn plan(&self) -> Plan {
        *self.shared.plan()
    }

    /// Workers that panicked since the last call.
    pub fn take_failures(&self) -> Vec<RecordError> {
        self.shared.take_failures()
    }

    /// Lets the workers process the remaining batches, and ends them.
    pub fn finish(mut self) -> Report<S> {
        let summaries = self.close();
        self.shared.report(summaries)
    }
}

impl<B, S> HandOff<B, S> {
    fn close(&mut self) -> Vec<Option<S>> {
        self.shared.close();
        // The pool caught the panic of a worker and counted it. A thread that could not even do that counts as panicked, too.
        self.threads.drain(..).map(|thread| thread.join().ok().flatten()).collect()
    }
}

impl<B, S> Drop for HandOff<B, S> {
    fn drop(&mut self) {
        self.close();
    }
}

#[cfg(test)]
mod tests;
