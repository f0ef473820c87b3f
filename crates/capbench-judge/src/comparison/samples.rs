//! The figures of a trial with the pace of its CPUs.

use std::collections::BTreeMap;

use super::measure::Measure;
use super::sampled::{MeasuredFigure, SampledTrial};
use super::setup::Setup;
use crate::thresholds::{HELD_UP_CORE, SHARED_CORE_PACE, SLOWED_CORE};
use capbench_model::disturbance::CoreSpeed;
use capbench_model::trial::{Cpus, TrialResult};

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

/// A CPU, and all measured CPUs of a trial, which are busy at the same time and slow each other.
type BusyTogether = (u32, Vec<u32>);

/// How the loop that shows the speed of a CPU was timed. Other threads of the host lengthen the time that passes, and not the CPU time of
/// the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timing {
    /// By the time that passed: files of versions that did not measure the clock of a core.
    TimePassed,
    /// By the CPU time of its thread.
    CpuTime,
}

impl Timing {
    /// The timing of a measured speed.
    pub fn of_speed(speed: &CoreSpeed) -> Self {
        if speed.clock.is_some() { Self::CpuTime } else { Self::TimePassed }
    }
}

/// The minimum time of a loop iteration on a CPU while certain others are busy, too, in nanoseconds. It is of a run of 10 us that nothing
/// interrupted, so that both timings give the same.
#[derive(Debug, Default)]
pub struct Fastest(BTreeMap<BusyTogether, f64>);

impl Fastest {
    /// Computes it from these trials, which are of one host.
    pub fn from_trials<'t>(trials: impl IntoIterator<Item = &'t TrialResult>) -> Self {
        let mut all = BTreeMap::new();
        for trial in trials {
            for cpu in &trial.disturbance.cpus {
                let Some(speed) = cpu.core_speed else { continue };
                let fastest_ns = all.entry((cpu.cpu, measured_cpus(trial))).or_insert(speed.fastest_ns);
                *fastest_ns = speed.fastest_ns.min(*fastest_ns);
            }
        }
        Self(all)
    }

    /// The pace of a trial: that of its slowest CPU which captures.
    pub fn pace(&self, trial: &TrialResult) -> Pace {
        let measured_cpus = measured_cpus(trial);
        let mut slowdown: f64 = 1.0;
        let mut timing = None;
        for cpu in &trial.disturbance.cpus {
            let Some(speed) = cpu.core_speed.filter(|_| captures(&trial.profile.cpus, cpu.cpu)) else {
                continue;
            };
            let Some(fastest_ns) = self.0.get(&(cpu.cpu, measured_cpus.clone())) else { continue };
            let loop_ns = f64::midpoint(speed.before_ns, speed.after_ns);
            slowdown = slowdown.max(loop_ns / fastest_ns.max(f64::MIN_POSITIVE));
            timing = Some(Timing::of_speed(&speed));
        }
        // Ascending.
        let bounds: [f64; SLOW_PACES] = [SLOWED_CORE, SHARED_CORE_PACE, HELD_UP_CORE];
        let slow = bounds.iter().filter(|bound| slowdown > **bound).count();
        match (slow, timing) {
            (0, _) | (_, None) => Pace(0),
            (_, Some(Timing::TimePassed)) => Pace(slow),
            (_, Some(Timing::CpuTime)) => Pace(SLOW_PACES + slow),
        }
    }
}

/// Whether a CPU does more in a trial than generate.
fn captures(cpus: &Cpus, cpu: u32) -> bool {
    cpus.generator != cpu || cpus.application == cpu || cpus.kernel == Some(cpu)
}

/// The approximate slowdown of the CPUs of the kernel's work and of the application during a trial, and how it was timed. Trials of one
/// pace can be compared. A difference between paces is not a difference between the runs. Unmeasured trials count as undisturbed.
///
/// Full speed is one pace: a core that is not slow in the time that passed is not slow in CPU time. A slower pace by the one is none by
/// the other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Pace(usize);

/// Number of paces below full speed, of each timing.
const SLOW_PACES: usize = 3;
/// Number of paces.
pub const PACES: usize = 1 + 2 * SLOW_PACES;

impl Pace {
    /// Its number, below [`PACES`]: full speed, then the slower ones of each timing, fastest first.
    pub fn number(self) -> usize {
        self.0
    }

    /// How the slowdown of the pace with this number was timed. `None` at full speed.
    pub fn timing(number: usize) -> Option<Timing> {
        match number {
            0 => None,
            1..=SLOW_PACES => Some(Timing::TimePassed),
            _ => Some(Timing::CpuTime),
        }
    }
}

/// The measured CPUs of a trial.
fn measured_cpus(trial: &TrialResult) -> Vec<u32> {
    trial.disturbance.cpus.iter().map(|cpu| cpu.cpu).collect()
}
