//! What became of the batches that were given to workers.

use std::iter::Sum;
use std::ops::AddAssign;

use capbench_capture::counters::{Loss, LossPlace};

use super::plan::Plan;
use crate::error::RecordError;

/// Some batches, and the frames in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Batches.
    pub batches: u64,
    /// Their frames.
    pub frames: u64,
}

impl Tally {
    /// Counts a batch of so many frames.
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

/// The account of a worker: `given` is the sum of the others and of what is in its queue or in its hands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Meant for it, or lost for its sake.
    pub given: Tally,
    /// It has done its work on them.
    pub worked: Tally,
    /// Lost because its queue was full.
    pub refused: Tally,
    /// Lost although there was room in the queue of another worker: results come in order, all that may wait for the oldest
    /// did, and the oldest was with this one.
    pub out_of_window: Tally,
    /// Lost because it panicked: what it had, and what was for it alone afterwards.
    pub given_back: Tally,
}

impl WorkerCounts {
    /// All that was lost.
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

/// What a worker leaves.
#[derive(Debug)]
pub struct WorkerReport<S> {
    /// Its account.
    pub counts: WorkerCounts,
    /// What it returned in the end.
    ///
    /// # Errors
    /// Its panic ([`RecordError::Worker`]).
    pub summary: Result<S, RecordError>,
}

/// What a hand-off leaves.
#[derive(Debug)]
pub struct Report<S> {
    /// Each worker's part.
    pub workers: Vec<WorkerReport<S>>,
    /// How often a batch had to wait for room.
    pub waits: u64,
    /// Results that nobody got, as the sink had panicked.
    pub undelivered: u64,
    plan: Plan,
}

impl<S> Report<S> {
    pub(super) fn new(workers: Vec<WorkerReport<S>>, waits: u64, undelivered: u64, plan: Plan) -> Self {
        Self { workers, waits, undelivered, plan }
    }

    /// All that was given.
    pub fn given(&self) -> Tally {
        self.sum(|counts| counts.given)
    }

    /// All that was worked on.
    pub fn worked(&self) -> Tally {
        self.sum(|counts| counts.worked)
    }

    /// All that was lost. What was given is what was worked on and this.
    pub fn lost(&self) -> Tally {
        self.sum(WorkerCounts::lost)
    }

    /// The lines of the ledger: frames lost at each worker's queue.
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

/// The lines of the ledger.
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
        Loss { place: LossPlace::ApplicationQueue, count: Some(counts.lost().frames), source: source.into() }
    };
    counts.iter().enumerate().map(line).collect()
}
