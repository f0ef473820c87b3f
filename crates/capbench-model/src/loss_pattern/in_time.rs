//! Lost frames over the time of a trial, in bounded memory.

use serde::{Deserialize, Serialize};

/// Largest number of intervals. In a longer trial each two intervals become one.
const STRETCHES: usize = 600;

/// Lost frames of each interval of a trial; all intervals have the same length.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossInTime {
    /// Length of an interval in nanoseconds: 100 ms in the first minute; it doubles whenever 600 intervals are full.
    pub length_ns: u64,
    /// Frames lost in each interval, from the beginning of the trial to its end; their sum is all lost frames.
    pub lost: Vec<u64>,
}

/// Counts lost frames as they are found, by steps of time.
#[derive(Clone, Debug)]
pub(super) struct Stretches {
    /// Steps per interval.
    steps: u64,
    lost: Vec<u64>,
}

impl Stretches {
    /// Intervals of `steps` steps at first. All memory is allocated here.
    pub(super) fn new(steps: u64) -> Self {
        Self { steps, lost: Vec::with_capacity(STRETCHES) }
    }

    pub(super) fn add(&mut self, step: u64, lost: u64) {
        let at = self.reach(step);
        self.lost[at] += lost;
    }

    /// The intervals up to the last step.
    pub(super) fn finish(mut self, last_step: u64, step_ns: u64) -> LossInTime {
        self.reach(last_step);
        LossInTime { length_ns: self.steps * step_ns, lost: self.lost }
    }

    /// The interval of a step; created if it does not exist yet.
    fn reach(&mut self, step: u64) -> usize {
        while step / self.steps >= STRETCHES as u64 {
            for nth in 0..self.lost.len().div_ceil(2) {
                let second = self.lost.get(2 * nth + 1).copied().unwrap_or(0);
                self.lost[nth] = self.lost[2 * nth] + second;
            }
            self.lost.truncate(self.lost.len().div_ceil(2));
            self.steps *= 2;
        }
        let at = (step / self.steps) as usize;
        if at >= self.lost.len() {
            self.lost.resize(at + 1, 0);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::{LossInTime, STRETCHES, Stretches};

    #[test]
    fn stretches_without_loss_are_there_too() {
        let mut stretches = Stretches::new(10);
        stretches.add(3, 5);
        stretches.add(25, 7);
        let expected = LossInTime { length_ns: 100, lost: vec![5, 0, 7, 0] };
        assert_eq!(stretches.finish(39, 10), expected);
    }

    #[test]
    fn a_long_trial_has_longer_stretches_in_the_same_memory_and_loses_no_count() {
        let mut stretches = Stretches::new(10);
        let capacity = stretches.lost.capacity();
        for step in 0..36_000 {
            stretches.add(step, 1);
        }
        assert_eq!(stretches.lost.capacity(), capacity);
        let found = stretches.finish(35_999, 10_000_000);
        assert_eq!(found.length_ns, 800_000_000);
        assert!(found.lost.len() <= STRETCHES && found.lost.iter().all(|lost| *lost == 80), "{found:?}");
        assert_eq!(found.lost.iter().sum::<u64>(), 36_000);
        let mut idle = Stretches::new(10);
        idle.add(0, 3);
        idle.add(u64::MAX / 2, 4);
        let idle = idle.finish(u64::MAX / 2, 1);
        assert_eq!((idle.lost[0], idle.lost.iter().sum::<u64>()), (3, 7));
    }
}
