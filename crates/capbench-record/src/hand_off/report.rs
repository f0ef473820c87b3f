//! Counts of the batches that were passed to workers.

use std::iter::Sum;
use std::ops::AddAssign;

use capbench_capture::counters::{Loss, Place};

use super::plan::Plan;
use crate::error::RecordError;

/// A number of batches, and the frames in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Batches.
    pub batches: u64,
    /// Frames in them.
    pub frames: u64,
}

impl Tally {
    /// Counts a batch with this many frames.
    pub(super) fn count(&mut self, frames: u64) {
        *self += Self { batches: 1, frames };
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.batches += more.batches;
        self.frames += more.frames;
    }
}

/// Counts of a worker: `given` is the sum of the others, plus batches in its queue or in work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Batches meant for it, including lost ones.
    pub given: Tally,
    /// Batches that it processed.
    pub worked: Tally,
    /// Lost because its queue was full.
    pub refused: Tally,
    /// Lost although another worker's queue had room: results come in order, the window behind the oldest batch was full, and
    /// this worker had the oldest batch.
    pub out_of_window: Tally,
    /// Lost because it panicked: the batches that it had, and later batches for it alone.
    pub given_back: Tally,
}

impl WorkerCounts {
    /// Sum of all losses.
    pub fn lost(&self) -> Tally {
        let mut lost = self.refused;
        lost += self.out_of_window;
        lost += self.given_back;
        lost
    }
}

impl Sum for WorkerCounts {
    fn sum<I: Iterator<Item = Self>>(several: I) -> Self {
        several.fold(Self::default(), |mut sum, one| {
            sum.given += one.given;
            sum.worked += one.worked;
            sum.refused += one.refused;
            sum.out_of_window += one.out_of_window;
            sum.given_back += one.given_back;
            sum
        })
    }
}

/// Final report of a worker.
#[derive(Debug)]
pub struct WorkerReport<S> {
    /// Its counts.
    pub counts: WorkerCounts,
    /// The return value of its [`super::Worker::finish`].
    ///
    /// # Errors
    /// Its panic ([`RecordError::Worker`]).
    pub summary: Result<S, RecordError>,
}

/// Final report of a worker pool.
#[derive(Debug)]
pub struct Report<S> {
    /// The report of each worker.
    pub workers: Vec<WorkerReport<S>>,
    /// How often passing a batch had to wait for room.
    pub waits: u64,
    /// Results that were dropped because the sink had panicked.
    pub undelivered: u64,
    plan: Plan,
}

impl<S> Report<S> {
    pub(super) fn new(workers: Vec<WorkerReport<S>>, waits: u64, undelivered: u64, plan: Plan) -> Self {
        Self { workers, waits, undelivered, plan }
    }

    /// Batches passed to all workers.
    pub fn given(&self) -> Tally {
        self.sum(|counts| counts.given)
    }

    /// Batches that all workers processed.
    pub fn worked(&self) -> Tally {
        self.sum(|counts| counts.worked)
    }

    /// Batches lost at all workers: `given` less `worked`.
    pub fn lost(&self) -> Tally {
        self.sum(WorkerCounts::lost)
    }

    /// Entries for the ledger: frames lost at each worker's queue.
    pub fn losses(&self) -> Vec<Loss> {
        let counts: Vec<_> = self.workers.iter().map(|worker| worker.counts).collect();
        losses(&counts, &self.plan)
    }

    fn sum(&self, part: impl Fn(&WorkerCounts) -> Tally) -> Tally {
        self.workers.iter().fold(Tally::default(), |mut sum, worker| {
            sum += part(&worker.counts);
            sum
        })
    }
}

/// Entries for the ledger.
pub(super) fn losses(counts: &[WorkerCounts], plan: &Plan) -> Vec<Loss> {
    let line = |(worker, counts): (usize, &WorkerCounts)| {
        let mut source = format!("worker {worker}: its queue of {} batches was full", plan.queue);
        for (tally, why) in [
            (counts.out_of_window, "because all results waited for its oldest batch"),
            (counts.given_back, "given back when it panicked and afterwards"),
        ] {
            if tally.frames > 0 {
                source.push_str(&format!("; {} of them {why}", tally.frames));
            }
        }
        Loss { place: Place::ApplicationQueue, count: Some(counts.lost().frames), source: source.into() }
    };
    counts.iter().enumerate().map(line).collect()
}
