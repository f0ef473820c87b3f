//! Hand-off: one thread takes batches, others work on them, and each batch gives its memory back when the last of them lets
//! go of it.
//!
//! | file | what |
//! |---|---|
//! | [`plan`] | how many workers, how long their queues, who gets what, and what a full queue means |
//! | [`report`] | what became of the batches: worked on, lost, or given back |
//! | `queues` | the queues and their accounts, shared by all threads |
//! | `order` | results, as they come or in the order of their batches |
//! | `work` | what a worker's thread does |
//!
//! Locks are taken and threads woken once per batch, never per frame, and nothing is allocated once it runs. A batch can go
//! to several workers at once as an [`Arc`], which is a batch, too.
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
use capbench_capture::counters::Loss;

use crate::error::{RecordError, Result};

pub use plan::{Distribution, Plan, WhenFull};
pub use report::{Report, Tally, WorkerCounts, WorkerReport};
pub use work::{Job, Worker};

use order::Stage;
use queues::Shared;

/// Gives batches to worker threads. Dropping it lets them finish what they have.
#[derive(Debug)]
pub struct HandOff<B, S> {
    shared: Arc<Shared<B>>,
    threads: Vec<JoinHandle<Option<S>>>,
}

/// What became of a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    /// It is in the queue of this worker.
    Queued(usize),
    /// It was dropped and its memory given back, and its frames count as lost: its worker's queue was full, or its worker is
    /// gone.
    Lost,
}

impl<B: Batch + Send + 'static, S: Send + 'static> HandOff<B, S> {
    /// Starts the workers. `make` makes each in its own thread, where it can choose its CPU, and `sink` gets their results
    /// with the numbers of the batches, one at a time: in the order of the batches when the plan says so, else as they come.
    /// Workers wait while it works.
    ///
    /// # Errors
    /// A plan that cannot be, or no thread to be had.
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

    /// Gives a batch of a port to a worker. With [`WhenFull::Wait`] it waits for room.
    ///
    /// # Errors
    /// When no worker is left; the batch's frames count as lost.
    pub fn give(&self, port: usize, batch: B) -> Result<Given> {
        let frames = batch.frame_count() as u64;
        self.shared.give(port, batch, frames)
    }

    /// What became of the batches of each worker so far.
    pub fn counts(&self) -> Vec<WorkerCounts> {
        self.shared.counts()
    }

    /// The lines of the ledger: frames lost at each worker's queue.
    pub fn losses(&self) -> Vec<Loss> {
        report::losses(&self.counts(), self.shared.plan())
    }

    /// What became of the batches of some ports at each worker so far.
    pub fn counts_of(&self, ports: &[usize]) -> Vec<WorkerCounts> {
        self.shared.counts_of(ports)
    }

    /// The lines of the ledger of some ports: their frames lost at each worker's queue.
    pub fn losses_of(&self, ports: &[usize]) -> Vec<Loss> {
        report::losses(&self.counts_of(ports), self.shared.plan())
    }

    /// Whether results of all batches that a port gave have come to the sink, or will not.
    pub fn is_through(&self, port: usize) -> bool {
        self.shared.is_through(port)
    }

    /// Waits for that. Who goes on giving for the port meanwhile may make it wait longer.
    pub fn wait_through(&self, port: usize) {
        self.shared.wait_through(port);
    }

    /// How batches are handed over.
    pub fn plan(&self) -> Plan {
        *self.shared.plan()
    }

    /// Workers that have panicked since this was last asked.
    pub fn take_failures(&self) -> Vec<RecordError> {
        self.shared.take_failures()
    }

    /// Lets the workers finish what they have, and ends them.
    pub fn finish(mut self) -> Report<S> {
        let summaries = self.close();
        self.shared.report(summaries)
    }
}

impl<B, S> HandOff<B, S> {
    fn close(&mut self) -> Vec<Option<S>> {
        self.shared.close();
        // A worker's panic was caught and is in its account; a thread that could not even do that is one more of them.
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
