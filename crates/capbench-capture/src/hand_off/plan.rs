//! What a user can set about a hand-off.

use crate::record_error::{RecordError, Result};

/// Who gets a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Distribution {
    /// The worker that has the least to do; of several, the next in turn.
    #[default]
    NextFree,
    /// Always the same worker for a port: the port's number modulo that of the workers.
    ByPort,
}

/// What happens to a batch for which there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// Whoever gives it waits. The method's ring then loses frames, and its own counters say so.
    #[default]
    Wait,
    /// It is dropped, and its frames count as lost at that queue.
    Drop,
}

/// How batches are handed to workers.
///
/// Workers hold [`Plan::most_held`] batches at most. A V3 ring of fewer blocks runs full before a queue does: then the ring
/// loses, whatever is to happen when a queue is full. And the kernel fills blocks in their order: one that is held until the
/// ring has come round to it stops all of it. So the ring has to hold what arrives while a queue is worked off, or the batches
/// have to be copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Worker threads.
    pub workers: usize,
    /// Batches that may wait for each of them, beside the one that it works on.
    pub queue: usize,
    /// Who gets a batch.
    pub distribution: Distribution,
    /// What happens to a batch for which there is no room.
    pub when_full: WhenFull,
    /// Whether results come in the order in which the batches were given. Then a batch also has to wait while the oldest one
    /// that is not done lies as far back as all queues together hold.
    pub ordered: bool,
}

impl Plan {
    /// So many workers, each with a queue of 8 batches, results as they come.
    pub fn new(workers: usize) -> Self {
        Self {
            workers,
            queue: 8,
            distribution: Distribution::default(),
            when_full: WhenFull::default(),
            ordered: false,
        }
    }

    /// Batches that are with the workers at most, unless these keep some.
    pub fn most_held(&self) -> usize {
        self.workers * (self.queue + 1)
    }

    /// Whether it can be.
    pub(crate) fn check(&self) -> Result<()> {
        let refuse = |reason: &str| Err(RecordError::HandOff { reason: reason.into() });
        // As many threads and places as nobody has a use for, before they are allocated.
        match (self.workers, self.queue) {
            (0, _) => refuse("it takes at least one worker"),
            (_, 0) => refuse("it takes queues of at least one batch"),
            (4097.., _) => refuse("more than 4096 workers are not possible"),
            (_, 65_537..) => refuse("queues of more than 65536 batches are not possible"),
            _ => Ok(()),
        }
    }
}
