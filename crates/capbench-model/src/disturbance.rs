//! Disturbances of a trial by the host, and which of them spoil it.

use serde::{Deserialize, Serialize};

use crate::disturbers::Disturbers;
use crate::noise::Noise;
use crate::thresholds::{
    CLOCK_READING_NS, CLOCK_SLEW_PPM, CLOCK_STEP_NS, SHARED_CORE, SPOILING_FOREIGN_TICKS,
    SPOILING_FOREIGN_WORK, SPOILING_PROCESS_TICKS, SPOILING_STEAL, SPOILING_STEAL_TICKS, START_SPREAD,
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
/// nanoseconds of the thread's CPU time. Files of versions without `clock` have nanoseconds that passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CoreSpeed {
    /// Right before the trial.
    pub before_ns: f64,
    /// Right after the trial.
    pub after_ns: f64,
    /// The fastest time that the run had measured by then.
    pub fastest_ns: f64,
    /// Another loop, which a lowered clock slows down and a shared core hardly. Absent in files of versions that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<CoreClock>,
    /// Share of the CPU, from 0 to 1, that other threads of the host had while its speed was measured, before or after the trial,
    /// whichever is larger. Absent in files of versions that did not measure it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_share: Option<f64>,
}

/// Time per iteration of a loop whose operations wait for each other, which leaves most units of the core idle, in nanoseconds:
/// the median of its runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CoreClock {
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
        factor(self.before_ns.max(self.after_ns), self.fastest_ns)
    }

    /// Why the core was slow, if it was; the clock and a shared core may both be. `None` if it was not.
    fn slow_because(&self) -> Option<Vec<Noise>> {
        let slowdown = self.slowdown();
        if slowdown <= SHARED_CORE {
            return None;
        }
        let Some(clock) = self.clock else { return Some(vec![Noise::SlowCpu]) };
        let clock_ns = if self.before_ns > self.after_ns { clock.before_ns } else { clock.after_ns };
        let by_clock = factor(clock_ns, clock.fastest_ns).max(1.0);
        let by_sharing = slowdown / by_clock;
        let mut because = Vec::new();
        if by_sharing > SHARED_CORE || by_sharing > by_clock {
            because.push(Noise::SharedCore);
        }
        if by_clock > SHARED_CORE || because.is_empty() {
            because.push(Noise::LoweredClock);
        }
        Some(because)
    }
}

/// A time as a factor of the shortest.
fn factor(ns: f64, fastest_ns: f64) -> f64 {
    ns / fastest_ns.max(f64::MIN_POSITIVE)
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
        if self.cpus.iter().any(|cpu| self.is_used_by_others(cpu)) {
            reasons.push(Noise::ForeignLoad);
        }
        if self.throttled_share() > SPOILING_FOREIGN_WORK {
            reasons.push(Noise::Throttled);
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
        let mut slow_because = Vec::new();
        for cpu in &self.cpus {
            slow_because.extend(cpu.core_speed.and_then(|speed| speed.slow_because()).unwrap_or_default());
        }
        slow_because.sort();
        slow_because.dedup();
        reasons.extend(slow_because);
        if self.start_spread_ns.is_some_and(|ns| self.exceeds(ns, START_SPREAD)) {
            reasons.push(Noise::UnevenStart);
        }
        reasons
    }

    /// Whether others than the trial used a CPU. The times of processes are exact but for the tick that they are in, where the rest of
    /// what a CPU did can be hidden by the errors of all its times.
    fn is_used_by_others(&self, cpu: &CpuDisturbance) -> bool {
        self.spoils(cpu.foreign_ns, SPOILING_FOREIGN_WORK, SPOILING_FOREIGN_TICKS)
            || self.disturbers.as_ref().is_some_and(|disturbers| {
                let share = disturbers.listed_share(cpu.cpu);
                let ns = share * disturbers.window_ns as f64;
                share > SPOILING_FOREIGN_WORK && ns >= (SPOILING_PROCESS_TICKS * self.tick_ns) as f64
            })
    }

    /// The share of a CPU's time for which the quota of a control group stopped capbench.
    fn throttled_share(&self) -> f64 {
        let Some(disturbers) = &self.disturbers else { return 0.0 };
        let throttled = disturbers.throttled.filter(|throttled| throttled.periods > 0);
        throttled.map_or(0.0, |throttled| disturbers.share(throttled.stopped_ns))
    }

    /// The share of a CPU's time that others used.
    fn foreign_share(&self, cpu: &CpuDisturbance) -> f64 {
        let listed = self.disturbers.as_ref().map_or(0.0, |disturbers| disturbers.listed_share(cpu.cpu));
        listed.max(cpu.foreign_ns as f64 / cpu.window_ns.max(1) as f64)
    }

    /// Whether this time of a CPU is more than a share of sending, and than the error of counting it in ticks.
    fn spoils(&self, ns: u64, share: f64, ticks: u64) -> bool {
        ns >= (ticks * self.tick_ns).max(1) && self.exceeds(ns, share)
    }

    /// Whether a time is more than a share of sending.
    fn exceeds(&self, ns: u64, share: f64) -> bool {
        ns as f64 > self.sending_ns as f64 * share
    }

    /// The largest share of a CPU's time that others took from the trial: steal, other work, stalls, a slow core, and a quota.
    pub fn taken_share(&self) -> f64 {
        let share = |ns: u64, of: u64| ns as f64 / of.max(1) as f64;
        let of_cpu = |cpu: &CpuDisturbance| {
            let stalled: u64 = cpu.stalls.iter().flatten().map(|stall| stall.at_most_ns).sum();
            let slow = cpu.core_speed.map_or(0.0, |speed| 1.0 - 1.0 / speed.slowdown().max(1.0));
            share(cpu.steal_ns + stalled, self.sending_ns) + self.foreign_share(cpu) + slow
        };
        (self.cpus.iter().map(of_cpu).fold(0.0, f64::max) + self.throttled_share()).min(1.0)
    }

    /// Whether one of its CPUs ran slower than its best.
    pub fn is_slow(&self) -> bool {
        self.cpus
            .iter()
            .filter_map(|cpu| cpu.core_speed)
            .any(|core_speed| core_speed.slowdown() > SHARED_CORE)
    }

    /// The reasons besides those that nearly every trial of a shared host has: the speed of its CPUs, and the processes that used them.
    /// Whether these explain a loss follows from their time.
    pub fn reasons_besides_sharing(&self) -> Vec<Noise> {
        Self { disturbers: None, ..self.without_core_speed() }.reasons()
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

#[cfg(test)]
mod tests {
    use super::{CoreClock, CoreSpeed, CpuDisturbance, Disturbance};
    use crate::disturbers::{CpuUser, Disturbers, Throttled};
    use crate::noise::Noise;

    const MS: u64 = 1_000_000;

    /// How many times as long as at best the loops took, after the trial.
    fn reasons(busy: f64, waiting: f64) -> Option<Vec<Noise>> {
        let clock = CoreClock { before_ns: 4.0, after_ns: 4.0 * waiting, fastest_ns: 4.0 };
        let speed = CoreSpeed { before_ns: 1.0, after_ns: busy, fastest_ns: 1.0, ..CoreSpeed::default() };
        CoreSpeed { clock: Some(clock), ..speed }.slow_because()
    }

    /// A trial of 100 ms on CPU 1, next to a process that used it for so long.
    fn beside_process(run_ns: u64) -> Disturbance {
        let process = CpuUser { pid: 7, cpu: 1, run_ns, ..CpuUser::default() };
        let disturbers =
            Disturbers { window_ns: 100 * MS, processes: vec![process], ..Disturbers::default() };
        Disturbance {
            cpus: vec![CpuDisturbance { cpu: 1, window_ns: 100 * MS, ..CpuDisturbance::default() }],
            tick_ns: 10 * MS,
            sending_ns: 100 * MS,
            disturbers: Some(disturbers),
            ..Disturbance::default()
        }
    }

    #[test]
    fn a_process_that_used_a_cpu_of_the_trial_spoils_it_from_two_ticks_on() {
        assert_eq!(beside_process(19 * MS).reasons(), []);
        let spoilt = beside_process(20 * MS);
        assert_eq!(spoilt.reasons(), [Noise::ForeignLoad]);
        assert!((spoilt.taken_share() - 0.2).abs() < 1e-9);
        assert_eq!(spoilt.reasons_besides_sharing(), []);
        let elsewhere = CpuDisturbance { cpu: 0, ..spoilt.cpus[0].clone() };
        assert_eq!(Disturbance { cpus: vec![elsewhere], ..spoilt }.reasons(), []);
        // A small part of a long trial is many ticks.
        let mut long = beside_process(20 * MS);
        long.disturbers.as_mut().unwrap().window_ns = 1000 * MS;
        assert_eq!(long.reasons(), []);
    }

    #[test]
    fn a_quota_spoils_a_trial_and_takes_its_time() {
        let mut trial = beside_process(0);
        trial.disturbers.as_mut().unwrap().throttled = Some(Throttled { periods: 1, stopped_ns: 30 * MS });
        assert_eq!(trial.reasons(), [Noise::Throttled]);
        assert!((trial.taken_share() - 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_lowered_clock_slows_every_loop_and_a_shared_core_the_busy_one() {
        assert_eq!(reasons(1.1, 1.1), None);
        assert_eq!(reasons(1.5, 1.08), Some(vec![Noise::SharedCore]));
        assert_eq!(reasons(1.5, 1.5), Some(vec![Noise::LoweredClock]));
        assert_eq!(reasons(1.8, 1.3), Some(vec![Noise::SharedCore, Noise::LoweredClock]));
        assert_eq!(
            (reasons(1.2, 1.12), reasons(1.2, 1.05)),
            (Some(vec![Noise::LoweredClock]), Some(vec![Noise::SharedCore]))
        );
        assert_eq!(
            reasons(1.5, 0.9),
            Some(vec![Noise::SharedCore]),
            "a clock read is no better than its best"
        );
        let earlier = CoreSpeed { before_ns: 1.5, after_ns: 1.0, fastest_ns: 1.0, ..CoreSpeed::default() };
        assert_eq!(earlier.slow_because(), Some(vec![Noise::SlowCpu]));
    }
}
