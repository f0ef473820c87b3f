//! The speed of the CPUs of trials, computed from all trials of the same CPUs.

use std::collections::BTreeMap;

use capbench_model::trial::TrialResult;

/// Minimum time of a loop iteration on a CPU while certain others are busy, too, nanoseconds.
#[derive(Debug, Default)]
pub struct Fastest(BTreeMap<(u32, Vec<u32>), f64>);

impl Fastest {
    /// Computes it from these trials, which are of one host.
    pub fn of<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
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
    pub fn pace(&self, trial: &TrialResult) -> Pace {
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

/// The approximate slowdown of the CPUs of the kernel's work and of the application during a trial. Trials of one pace can be
/// compared. A difference between paces is not a difference between the runs. Unmeasured trials count as undisturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pace(usize);

/// Times of the loop, as multiples of the minimum. On a shared core it takes 1.3 to 1.5 times as long, possibly for only a part
/// of a measurement.
const BOUNDS: [f64; 3] = [1.05, 1.15, 1.3];
/// Number of paces.
pub const PACES: usize = BOUNDS.len() + 1;

impl Pace {
    /// Its number, below [`PACES`], fastest first.
    pub fn number(self) -> usize {
        self.0
    }
}

/// The CPUs of a trial.
fn busy(trial: &TrialResult) -> Vec<u32> {
    trial.disturbance.cpus.iter().map(|cpu| cpu.cpu).collect()
}
