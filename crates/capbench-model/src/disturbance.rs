//! Disturbances of a trial by the host, and which of them spoil it.

use serde::{Deserialize, Serialize};

use crate::disturbers::Disturbers;
use crate::noise::Noise;
use crate::thresholds::{
    CLOCK_READING_NS, CLOCK_SLEW_PPM, CLOCK_STEP_NS, SHARED_CORE, SPOILING_FOREIGN_TICKS,
    SPOILING_FOREIGN_WORK, SPOILING_STEAL, SPOILING_STEAL_TICKS, START_SPREAD,
};

/// Disturbances by the host during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Disturbance {
    /// The CPUs of generator, kernel and application, each once.
    pub cpus: Vec<CpuDisturbance>,
    /// The unit of steal and of the kernel's other CPU times, in nanoseconds.
    pub tick_ns: u64,
    /// Steps and slew of the clocks.
    pub clocks: ClockDrift,
    /// Duration of sending, in nanoseconds of CLOCK_MONOTONIC: the reference of all shares.
    #[serde(default)]
    pub sending_ns: u64,
    /// How long the kernel's backlog can hold the offered frames, in nanoseconds: it overflows if a CPU stalls for longer.
    /// Absent at maximum load, where the path has no backlog, and where the backlog's size is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_lasts_ns: Option<u64>,
    /// How far apart the generators began, in nanoseconds of the receiver's clock. Absent with one generator, and where frames
    /// were not examined one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_spread_ns: Option<u64>,
    /// The processes that used these CPUs besides the trial. Absent in files of versions that did not read them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbers: Option<Disturbers>,
}

/// Changes of the clocks between two moments, relative to CLOCK_MONOTONIC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClockDrift {
    /// Step of CLOCK_REALTIME, in nanoseconds. Negative if it was set back.
    pub realtime_step_ns: i64,
    /// How much faster CLOCK_MONOTONIC ran than the hardware clock, in ppm: the correction by NTP.
    pub slew_ppm: f64,
    /// Duration of system suspend, in nanoseconds.
    pub suspended_ns: u64,
}

/// Disturbances of one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuDisturbance {
    /// Its number.
    pub cpu: u32,
    /// Observation window of the threads on it, in nanoseconds of CLOCK_MONOTONIC: while frames were sent, and on CPUs other
    /// than the generator's until all frames were read.
    pub window_ns: u64,
    /// Time of the window that the kernel's CPU accounting does not report. That accounting is sampled and counts ticks.
    #[serde(default)]
    pub unaccounted_ns: u64,
    /// Time that the hypervisor stole while frames were sent (steal). Counted in ticks, so it can be off by one tick.
    pub steal_ns: u64,
    /// Time of other work in the window: a lower bound. Where the kernel charges interrupts to the running thread, some of it
    /// counts as the trial's time.
    pub foreign_ns: u64,
    /// The last 64 stalls while frames were sent. Absent if not monitored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Vec<Stall>>,
    /// Its speed right before and after the trial. Absent if not measured, as between the segments of a soak.
    #[serde(rename = "pace", default, skip_serializing_if = "Option::is_none")]
    pub core_speed: Option<CoreSpeed>,
}

/// Time per iteration of a loop that keeps a core's arithmetic units busy, while all CPUs of the trial run it, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CoreSpeed {
    /// Right before the trial.
    pub before_ns: f64,
    /// Right after the trial.
    pub after_ns: f64,
    /// The fastest time that the run had measured by then.
    pub fastest_ns: f64,
}

impl CoreSpeed {
    /// Factor over the fastest time, before or after, whichever is larger.
    fn slowdown(&self) -> f64 {
        self.before_ns.max(self.after_ns) / self.fastest_ns.max(f64::MIN_POSITIVE)
    }
}

/// A stall: the CPU ran no work of the trial and no interrupt. The hypervisor preempted it, or interrupts were off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Stall {
    /// End of the stall, in nanoseconds since sending began.
    pub until_ns: u64,
    /// Lower bound of its duration: the delay of the CPU's timer tick.
    pub at_least_ns: u64,
    /// Upper bound of its duration: the time since the CPU was last seen running.
    pub at_most_ns: u64,
}

impl Stall {
    /// Whether the stall overlaps an interval, in nanoseconds since sending began.
    pub fn overlaps(&self, from_ns: u64, to_ns: u64) -> bool {
        from_ns <= self.until_ns && to_ns >= self.until_ns.saturating_sub(self.at_most_ns)
    }
}

impl Disturbance {
    /// The reasons that spoil the trial.
    pub fn reasons(&self) -> Vec<Noise> {
        let mut reasons = self.reasons_for_rates();
        if self.cpus.iter().any(|cpu| self.is_stalled(cpu)) {
            reasons.push(Noise::Stall);
        }
        reasons
    }

    /// The reasons that change how many frames a trial delivers.
    pub fn reasons_for_rates(&self) -> Vec<Noise> {
        let mut reasons = Vec::new();
        if self.cpus.iter().any(|cpu| self.spoils(cpu.steal_ns, SPOILING_STEAL, SPOILING_STEAL_TICKS)) {
            reasons.push(Noise::Steal);
        }
        if self
            .cpus
            .iter()
            .any(|cpu| self.spoils(cpu.foreign_ns, SPOILING_FOREIGN_WORK, SPOILING_FOREIGN_TICKS))
        {
            reasons.push(Noise::ForeignLoad);
        }
        if self.clocks.realtime_step_ns.unsigned_abs() > CLOCK_STEP_NS {
            reasons.push(Noise::ClockSet);
        }
        let reading_ppm = CLOCK_READING_NS / self.sending_ns.max(1) as f64 * 1e6;
        if self.clocks.slew_ppm.abs() > CLOCK_SLEW_PPM + reading_ppm {
            reasons.push(Noise::ClockSpeed);
        }
        if self.clocks.suspended_ns > CLOCK_STEP_NS {
            reasons.push(Noise::Suspend);
        }
        if self.is_slow() {
            reasons.push(Noise::SlowCpu);
        }
        if self.start_spread_ns.is_some_and(|ns| self.exceeds(ns, START_SPREAD)) {
            reasons.push(Noise::UnevenStart);
        }
        reasons
    }

    /// Whether this time of a CPU is more than a share of sending, and than the error of counting it in ticks.
    fn spoils(&self, ns: u64, share: f64, ticks: u64) -> bool {
        ns >= (ticks * self.tick_ns).max(1) && self.exceeds(ns, share)
    }

    /// Whether a time is more than a share of sending.
    fn exceeds(&self, ns: u64, share: f64) -> bool {
        ns as f64 > self.sending_ns as f64 * share
    }

    /// The largest share of a CPU's time that others took from the trial: steal, other work, stalls, and a slow core.
    pub fn taken_share(&self) -> f64 {
        let share = |ns: u64, of: u64| ns as f64 / of.max(1) as f64;
        let of_cpu = |cpu: &CpuDisturbance| {
            let stalled: u64 = cpu.stalls.iter().flatten().map(|stall| stall.at_most_ns).sum();
            let slow = cpu.core_speed.map_or(0.0, |speed| 1.0 - 1.0 / speed.slowdown().max(1.0));
            share(cpu.steal_ns + stalled, self.sending_ns) + share(cpu.foreign_ns, cpu.window_ns) + slow
        };
        self.cpus.iter().map(of_cpu).fold(0.0, f64::max).min(1.0)
    }

    /// Whether one of its CPUs ran slower than its best.
    pub fn is_slow(&self) -> bool {
        self.cpus
            .iter()
            .filter_map(|cpu| cpu.core_speed)
            .any(|core_speed| core_speed.slowdown() > SHARED_CORE)
    }

    /// The same without the CPUs' speed, for users that it does not concern.
    pub fn without_core_speed(&self) -> Self {
        let without = |cpu: &CpuDisturbance| CpuDisturbance { core_speed: None, ..cpu.clone() };
        Self { cpus: self.cpus.iter().map(without).collect(), ..self.clone() }
    }

    /// Whether a CPU provably stalled for a time that may exceed the backlog's.
    fn is_stalled(&self, cpu: &CpuDisturbance) -> bool {
        let stalls = cpu.stalls.iter().flatten();
        self.backlog_lasts_ns.is_some_and(|lasts| stalls.map(|stall| stall.at_most_ns).any(|ns| ns > lasts))
    }
}
