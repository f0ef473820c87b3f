//! Trials whose CPUs ran slower than they can, by what all trials of the same CPUs know together.

use std::collections::BTreeMap;

use crate::trial::TrialResult;

/// What an iteration of the wait loop takes at least on a CPU while certain others are busy, too, nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Fastest(BTreeMap<(u32, Vec<u32>), f64>);

impl Fastest {
    /// By these trials, which are of one host.
    pub(super) fn of<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        let mut all = BTreeMap::new();
        for trial in trials {
            for (cpu, pace) in trial.disturbance.cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.pace?))) {
                let fastest = all.entry((cpu, busy(trial))).or_insert(pace.fastest_ns);
                *fastest = pace.fastest_ns.min(*fastest);
            }
        }
        Self(all)
    }

    /// Whether a CPU of the trial ran slower than it can.
    pub(super) fn shows_slow(&self, trial: &TrialResult) -> bool {
        let busy = busy(trial);
        trial.disturbance.is_slow(|cpu| self.0.get(&(cpu, busy.clone())).copied())
    }
}

/// The CPUs of a trial.
fn busy(trial: &TrialResult) -> Vec<u32> {
    trial.disturbance.cpus.iter().map(|cpu| cpu.cpu).collect()
}
