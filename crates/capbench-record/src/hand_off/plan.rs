//! The options of a worker pool.

use crate::error::{RecordError, Result};

/// Which worker gets a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// The worker with the shortest load; of several, the next in turn.
    #[default]
    NextFree,
    /// Always the same worker for a port: port number modulo number of workers.
    ByPort,
}

/// What happens to a batch when its queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The caller waits. The ring of the capture method then loses frames, and the method's counters report them.
    #[default]
    Wait,
    /// The batch is dropped, and its frames count as lost at that queue.
    Drop,
}

/// How batches are distributed to workers.
///
/// Workers hold up to [`Plan::most_held`] batches. If a V3 ring has fewer blocks, it fills before a queue does: then the ring
/// loses frames, with either setting of [`WhenFull`]. The kernel fills blocks in order: if a worker still holds the next block,
/// the kernel stops at it. So the ring must hold all frames that arrive while a queue is processed, or the batches must be
/// copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Worker threads.
    pub workers: usize,
    /// Batches that may wait per worker, in addition to the one that it processes.
    pub queue: usize,
    /// Which worker gets a batch.
    pub distribution: Distribution,
    /// What happens to a batch when its queue is full.
    pub when_full: WhenFull,
    /// Whether results come in the order of the batches. Then a batch also waits while the oldest unfinished batch is as many
    /// batches behind as all queues together hold.
    pub ordered: bool,
}

impl Plan {
    /// This many workers, each with a queue of 8 batches, results in order of completion.
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            queue: 8,
            distribution: Distribution::default(),
            when_full: WhenFull::default(),
            ordered: false,
        }
    }

    /// Maximum number of batches with the workers, if workers keep none after processing.
    pub fn most_held(&self) -> usize {
        self.workers * (self.queue + 1)
    }

    /// Checks that the plan is valid.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |reason: &str| Err(RecordError::HandOff { reason: reason.into() });
        // Rejects senseless numbers of threads and places before allocating them.
        match (self.workers, self.queue) {
            (0, _) => refuse("it takes at least one worker"),
            (_, 0) => refuse("it takes queues of at least one batch"),
            (4097.., _) => refuse("more than 4096 workers are not possible"),
            (_, 65_537..) => refuse("queues of more than 65536 batches are not possible"),
            _ => Ok(()),
        }
    }
}
