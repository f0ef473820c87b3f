//! The figures of a trial with the pace of its CPUs.

use crate::thresholds::{HELD_UP_CORE, SLOWED_CORE};
use capbench_model::thresholds::SHARED_CORE;

use std::collections::BTreeMap;

use super::measure::Measure;
use super::sampled::{MeasuredFigure, SampledTrial};
use super::setup::Setup;
use capbench_model::trial::TrialResult;

/// One figure.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The set-up.
    pub setup: Setup,
    /// Which figure it is.
    pub measure: Measure,
    /// Its value, in the figure's unit.
    pub value: f64,
    /// Its trial; for a search, one of those at the lower bound.
    pub trial: u32,
    /// Whether the method may sustain more: it lost nothing at the generator's maximum.
    pub is_at_least: bool,
    /// The speed of its CPUs.
    pub pace: Pace,
}

/// The figures of a trial.
pub fn of_trial(trial: &SampledTrial, number: u32, pace: Pace) -> Vec<Sample> {
    let mut samples = Vec::new();
    for MeasuredFigure { measure, value, is_at_least } in trial.figures() {
        samples.push(Sample { setup: trial.setup.clone(), measure, value, trial: number, is_at_least, pace });
    }
    samples
}

/// A CPU, and the measured CPUs of a trial, which slow each other.
type BusyTogether = (u32, Vec<u32>);

/// Minimum time of a loop iteration on a CPU while certain others are busy, too, nanoseconds.
#[derive(Debug, Default)]
pub struct Fastest(BTreeMap<BusyTogether, f64>);

impl Fastest {
    /// Computes it from these trials, which are of one host.
    pub fn from_trials<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        let mut all = BTreeMap::new();
        for trial in trials {
            for (cpu, speed) in
                trial.disturbance.cpus.iter().filter_map(|cpu| Some((cpu.cpu, cpu.core_speed?)))
            {
                let fastest = all.entry((cpu, busy(trial))).or_insert(speed.fastest_ns);
                *fastest = speed.fastest_ns.min(*fastest);
            }
        }
        Self(all)
    }

    /// The pace of a trial.
    pub fn pace(&self, trial: &TrialResult) -> Pace {
        let busy = busy(trial);
        let cpus = trial.profile.cpus;
        // Every CPU of the trial but one that only generates.
        let captures =
            |cpu: u32| cpus.generator != cpu || cpus.application == cpu || cpus.kernel == Some(cpu);
        let capturing = trial.disturbance.cpus.iter().filter(|cpu| captures(cpu.cpu));
        let slowdowns = capturing.filter_map(|cpu| {
            let speed = cpu.core_speed?;
            let fastest_ns = self.0.get(&(cpu.cpu, busy.clone())).copied()?.max(f64::MIN_POSITIVE);
            Some(f64::midpoint(speed.before_ns, speed.after_ns) / fastest_ns)
        });
        let slowest = slowdowns.fold(1.0, f64::max);
        // Ascending. The one in the middle also marks a trial as noisy: it is a row of capbench-model.
        let bounds: [f64; PACES - 1] = [SLOWED_CORE, SHARED_CORE, HELD_UP_CORE];
        Pace(bounds.iter().filter(|bound| slowest > **bound).count())
    }
}

/// The approximate slowdown of the CPUs of the kernel's work and of the application during a trial. Trials of one pace can be
/// compared. A difference between paces is not a difference between the runs. Unmeasured trials count as undisturbed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pace(usize);

/// Number of paces.
pub const PACES: usize = 4;

impl Pace {
    /// Its number, below [`PACES`], fastest first.
    pub fn number(self) -> usize {
        self.0
    }
}

/// The measured CPUs of a trial, which slow each other.
fn busy(trial: &TrialResult) -> Vec<u32> {
    trial.disturbance.cpus.iter().map(|cpu| cpu.cpu).collect()
}
