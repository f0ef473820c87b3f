//! How many frames a count counts, exactly, although several threads count them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;

/// The limit that the threads of a count share. Of its frames each is counted, unclaimed, or claimed by a thread for its batch.
///
/// All loads and stores are Relaxed: no counter orders other memory.
#[derive(Debug)]
pub(super) struct Limit {
    frames: u64,
    threads: u64,
    unclaimed: AtomicU64,
    counted: AtomicU64,
}

impl Limit {
    /// Of this many frames, for this many threads.
    pub(super) fn new(frames: u64, threads: usize) -> Arc<Self> {
        let unclaimed = AtomicU64::new(frames);
        Arc::new(Self { frames, threads: threads as u64, unclaimed, counted: AtomicU64::default() })
    }

    fn is_reached(&self) -> bool {
        self.counted.load(Relaxed) >= self.frames
    }

    /// Takes frames for one thread, fewer and fewer towards the end, so that the others have some, too.
    fn claim(&self) -> u64 {
        let share = |unclaimed: u64| match self.threads {
            1 => unclaimed,
            threads => unclaimed.div_ceil(2 * threads),
        };
        let before = self.unclaimed.fetch_update(Relaxed, Relaxed, |all| Some(all - share(all)));
        before.map_or(0, share)
    }
}

/// What one thread may count.
#[derive(Debug)]
pub(super) struct Allowance {
    limit: Option<Arc<Limit>>,
    /// It may count frames up to this number.
    until: u64,
    /// Its frames that the limit knows of.
    reported: u64,
}

impl Allowance {
    /// `None`: it counts every frame.
    pub(super) fn of(limit: Option<Arc<Limit>>) -> Self {
        Self { until: if limit.is_some() { 0 } else { u64::MAX }, limit, reported: 0 }
    }

    /// Whether one more may be counted after these.
    #[inline]
    pub(super) fn allows(&mut self, counted: u64) -> bool {
        counted < self.until || self.claim(counted)
    }

    #[cold]
    fn claim(&mut self, counted: u64) -> bool {
        let Some(limit) = &self.limit else { return false };
        limit.counted.fetch_add(counted - self.reported, Relaxed);
        self.reported = counted;
        while !limit.is_reached() {
            let claimed = limit.claim();
            if claimed > 0 {
                self.until = counted + claimed;
                return true;
            }
            // Another thread has claimed the rest. After its batch it returns what it did not count.
            thread::yield_now();
        }
        false
    }

    /// Ends a batch, after which so many are counted: the others can have what this thread claimed and did not count.
    pub(super) fn end_batch(&mut self, counted: u64) {
        let Some(limit) = &self.limit else { return };
        limit.counted.fetch_add(counted - self.reported, Relaxed);
        limit.unclaimed.fetch_add(self.until.saturating_sub(counted), Relaxed);
        (self.reported, self.until) = (counted, counted);
    }

    /// Whether as many frames are counted as the user asked for.
    pub(super) fn is_used_up(&self) -> bool {
        self.limit.as_ref().is_some_and(|limit| limit.is_reached())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_count_exactly_the_limit_in_batches_of_any_size() {
        const FRAMES: u64 = 10_007;
        let limit = Limit::new(FRAMES, 4);
        let counted: Vec<u64> = thread::scope(|scope| {
            let member = |batch: u64| {
                let mut allowance = Allowance::of(Some(Arc::clone(&limit)));
                scope.spawn(move || {
                    let mut counted = 0;
                    while !allowance.is_used_up() {
                        for _ in 0..batch {
                            counted += u64::from(allowance.allows(counted));
                        }
                        allowance.end_batch(counted);
                    }
                    counted
                })
            };
            let threads: Vec<_> = [1, 7, 64, 1000].map(member).into();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(counted.iter().sum::<u64>(), FRAMES, "{counted:?}");
    }

    #[test]
    fn one_thread_counts_up_to_the_limit_and_without_one_everything() {
        let mut one = Allowance::of(Some(Limit::new(3, 1)));
        assert_eq!([0, 1, 2, 3].map(|counted| one.allows(counted)), [true, true, true, false]);
        // A method that counts in the kernel knows only afterwards how many there were.
        let mut kernel = Allowance::of(Some(Limit::new(3, 1)));
        kernel.end_batch(5);
        assert!(kernel.is_used_up());
        let mut all = Allowance::of(None);
        assert!(all.allows(u64::MAX - 1) && !all.is_used_up());
    }
}
