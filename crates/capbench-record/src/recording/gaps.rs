//! Frames lost between a capture and the merge: in batches that no worker had room for, or that a worker had when it panicked.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

/// Frames of dropped batches that no record has reported yet. The next batch of that capture reports them.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    frames: AtomicU64,
    /// Lost frames that no record has reported.
    pending_drops: AtomicU64,
    gaps: Mutex<Vec<Gap>>,
}

/// Consecutive lost batches.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The number of the last batch.
    batch: u64,
    /// Their frames, and the drops that they should have reported.
    pending_drops: u64,
}

impl Gaps {
    /// Counts a lost batch: its frames, and the drops that it should have reported.
    pub(super) fn lost(&self, batch: u64, frames: u64, told: u64) {
        let mut gaps = self.lock();
        match gaps.last_mut().filter(|last| last.batch + 1 == batch) {
            Some(last) => *last = Gap { batch, pending_drops: last.pending_drops + frames + told },
            None => gaps.push(Gap { batch, pending_drops: frames + told }),
        }
        self.frames.fetch_add(frames, Relaxed);
        self.pending_drops.fetch_add(frames + told, Relaxed);
    }

    /// Drops to report before the first frame of this delivered batch.
    #[inline]
    pub(super) fn before(&self, batch: u64) -> u64 {
        // Losses before a batch were counted before the batch was passed on.
        if self.pending_drops.load(Relaxed) == 0 { 0 } else { self.tell(|gap| gap.batch < batch) }
    }

    /// Drops that no later batch reports.
    pub(super) fn rest(&self) -> u64 {
        self.tell(|_| true)
    }

    /// Frames of all lost batches.
    pub(super) fn frames(&self) -> u64 {
        self.frames.load(Relaxed)
    }

    #[cold]
    fn tell(&self, is_due: impl Fn(&Gap) -> bool) -> u64 {
        let mut gaps = self.lock();
        let due = gaps.iter().filter(|gap| is_due(gap)).map(|gap| gap.pending_drops).sum();
        gaps.retain(|gap| !is_due(gap));
        self.pending_drops.fetch_sub(due, Relaxed);
        due
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Gap>> {
        // No panic can leave this data inconsistent.
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
