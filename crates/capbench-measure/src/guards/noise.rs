//! What the host did during a trial that the trial did not ask for, and from when on that spoils it.

use serde::{Deserialize, Serialize};

use crate::accounts::clocks::ClockDrift;

/// Steal above this share of a CPU's time spoils a trial, from two ticks on: one tick is a large share of a short trial
/// and proves nothing.
const STEAL: f64 = 0.01;
/// Time of other threads above this share of a CPU's time spoils a trial. The times are counted in ticks, which can be
/// off by one at each end and for each of the trial's own threads, so that they count from four ticks on.
const FOREIGN: f64 = 0.05;
const FOREIGN_TICKS: u64 = 4;
/// A step of CLOCK_REALTIME: far more than reading the clocks one by one can be off (microseconds), far less than
/// anybody steps a clock by (chrony and ntpd slew below about 100 ms).
const STEP_NS: u64 = 1_000_000;
/// NTP slews by 500 ppm at most (adjtimex(2)); more means that the clock that paces the trial is being pulled, and rates
/// are off by as much.
const SLEW_PPM: f64 = 500.0;
/// Reading two clocks one after the other is off by so much at most: what it can make of a slew over a short trial.
const READING_NS: f64 = 50_000.0;

/// What happened on the host during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Disturbance {
    /// The CPUs of generator, kernel and application, each once.
    pub cpus: Vec<CpuDisturbance>,
    /// The unit of their times in nanoseconds.
    pub tick_ns: u64,
    /// What the clocks did.
    pub clocks: ClockDrift,
}

/// What happened on one CPU while frames were sent and read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CpuDisturbance {
    /// Its number.
    pub cpu: u32,
    /// How long it was looked at, by its own account, in nanoseconds.
    pub window_ns: u64,
    /// Time that the hypervisor took away (steal).
    pub steal_ns: u64,
    /// Time that other threads than the trial's had, at least: where the kernel charges interrupts to whatever runs, some
    /// of it counts as the trial's own.
    pub foreign_ns: u64,
}

impl Disturbance {
    /// What spoils the trial, in words without numbers: the numbers stand beside it.
    pub fn reasons(&self) -> Vec<&'static str> {
        let ticks = |count: u64| count * self.tick_ns;
        let exceeds = |ns: u64, cpu: &CpuDisturbance, share: f64| ns as f64 > cpu.window_ns as f64 * share;
        let is_stolen =
            |cpu: &CpuDisturbance| cpu.steal_ns >= ticks(2).max(1) && exceeds(cpu.steal_ns, cpu, STEAL);
        let is_foreign = |cpu: &CpuDisturbance| {
            cpu.foreign_ns >= ticks(FOREIGN_TICKS).max(1) && exceeds(cpu.foreign_ns, cpu, FOREIGN)
        };
        let ClockDrift { realtime_step_ns, slew_ppm, suspended_ns } = self.clocks;
        let window_ns = self.cpus.iter().map(|cpu| cpu.window_ns).max().unwrap_or(0).max(1) as f64;
        let all = [
            (self.cpus.iter().any(is_stolen), "the hypervisor took CPU time away while it ran (steal)"),
            (self.cpus.iter().any(is_foreign), "other work ran on its CPUs (foreign load)"),
            (realtime_step_ns.unsigned_abs() > STEP_NS, "the host's clock was set while it ran"),
            (
                slew_ppm.abs() > SLEW_PPM + READING_NS / window_ns * 1e6,
                "the host's clock ran at another speed than its hardware",
            ),
            (suspended_ns > STEP_NS, "the host was suspended while it ran"),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, reason)| reason).collect()
    }
}
