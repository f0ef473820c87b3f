//! How fast the CPUs of trials ran, by what all trials of the same CPUs know together.

use std::collections::BTreeMap;

use crate::trial::TrialResult;

/// What an iteration of the loop takes at least on a CPU while certain others are busy, too, nanoseconds.
#[derive(Debug, Default)]
pub(crate) struct Fastest(BTreeMap<(u32, Vec<u32>), f64>);

impl Fastest {
    /// By these trials, which are of one host.
    pub(crate) fn of<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        let mut all = BTreeMap::new();
        for trial in trials {
            for (cpu, pace) in trial.disturbance.cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.pace?))) {
                let fastest = all.entry((cpu, busy(trial))).or_insert(pace.fastest_ns);
                *fastest = pace.fastest_ns.min(*fastest);
            }
        }
        Self(all)
    }

    /// The pace of a trial.
    pub(crate) fn pace(&self, trial: &TrialResult) -> Pace {
        let busy = busy(trial);
        let cpus = trial.profile.cpus;
        let captures =
            |cpu: u32| cpus.generator != cpu || cpus.application == cpu || cpus.kernel == Some(cpu);
        let own = trial.disturbance.cpus.iter().filter(|cpu| captures(cpu.cpu));
        let slowdowns = own.filter_map(|cpu| {
            let pace = cpu.pace?;
            let fastest_ns = self.0.get(&(cpu.cpu, busy.clone())).copied()?.max(f64::MIN_POSITIVE);
            Some(f64::midpoint(pace.before_ns, pace.after_ns) / fastest_ns)
        });
        let slowest = slowdowns.fold(1.0, f64::max);
        Pace(BOUNDS.iter().filter(|bound| slowest > **bound).count())
    }
}

/// How slow the CPUs of the kernel's work and of the application ran beside a trial, roughly: trials of one pace can be compared, and
/// what differs between paces is no difference between the runs. Where nobody measured, they count as undisturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Pace(usize);

/// Times the loop took, as multiples of the least. On a core that is shared it takes 1.3 to 1.5 times as long, and of a measurement
/// that may be so for a part.
const BOUNDS: [f64; 3] = [1.05, 1.15, 1.3];
/// Paces that there are.
pub(crate) const PACES: usize = BOUNDS.len() + 1;

impl Pace {
    /// Its number, below [`PACES`], the fastest first.
    pub(crate) fn number(self) -> usize {
        self.0
    }
}

/// The CPUs of a trial.
fn busy(trial: &TrialResult) -> Vec<u32> {
    trial.disturbance.cpus.iter().map(|cpu| cpu.cpu).collect()
}
