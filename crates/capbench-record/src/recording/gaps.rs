//! Frames that were lost between a capture and the merge: those of batches that no worker could take, or that one had when it
//! panicked.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// What batches of a capture leave that were lost, until it is told with a later batch.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    frames: AtomicU64,
    /// Lost frames that nothing has been said of.
    untold: AtomicU64,
    gaps: Mutex<Vec<Gap>>,
}

/// Batches in a row.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The number of the last one.
    batch: u64,
    /// Frames in them, and those whose loss was to be told with them.
    untold: u64,
}

impl Gaps {
    /// A batch of so many frames was lost, with what was to be told with it.
    pub(super) fn lost(&self, batch: u64, frames: u64, told: u64) {
        let mut gaps = self.lock();
        match gaps.last_mut().filter(|last| last.batch + 1 == batch) {
            Some(last) => *last = Gap { batch, untold: last.untold + frames + told },
            None => gaps.push(Gap { batch, untold: frames + told }),
        }
        self.frames.fetch_add(frames, Relaxed);
        self.untold.fetch_add(frames + told, Relaxed);
    }

    /// What is to be told before the first frame of a batch that was not lost.
    #[inline]
    pub(super) fn before(&self, batch: u64) -> u64 {
        // What concerns a batch was counted before it went on its way here.
        if self.untold.load(Relaxed) == 0 { 0 } else { self.tell(|gap| gap.batch < batch) }
    }

    /// What no batch came after.
    pub(super) fn rest(&self) -> u64 {
        self.tell(|_| true)
    }

    /// All frames of lost batches.
    pub(super) fn frames(&self) -> u64 {
        self.frames.load(Relaxed)
    }

    #[cold]
    fn tell(&self, is_due: impl Fn(&Gap) -> bool) -> u64 {
        let mut gaps = self.lock();
        let due = gaps.iter().filter(|gap| is_due(gap)).map(|gap| gap.untold).sum();
        gaps.retain(|gap| !is_due(gap));
        self.untold.fetch_sub(due, Relaxed);
        due
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Gap>> {
        // Nothing in here can panic half-way.
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Gaps;

    #[test]
    fn a_gap_is_told_once_and_with_the_batch_behind_it() {
        let gaps = Gaps::default();
        assert_eq!((gaps.before(9), gaps.rest()), (0, 0));
        for (batch, frames, told) in [(3, 10, 0), (4, 20, 5), (7, 1, 0), (2, 100, 0)] {
            gaps.lost(batch, frames, told);
        }
        assert_eq!([1, 3, 5, 6].map(|batch| gaps.before(batch)), [0, 100, 35, 0]);
        assert_eq!((gaps.rest(), gaps.rest(), gaps.frames()), (1, 0, 131));
    }
}
