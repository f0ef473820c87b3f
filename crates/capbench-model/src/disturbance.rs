//! What the host did during a trial that the trial did not ask for, and from when on that spoils it.

use serde::{Deserialize, Serialize};

/// Steal above this share of a CPU's time spoils a trial, from two ticks on: one tick is a large share of a short trial
/// and proves nothing.
const STEAL: f64 = 0.01;
/// Time of other work above this share of a CPU's time spoils a trial. Most of what it is worked out from is counted in ticks,
/// which can be off by one at each end and for each of the trial's own threads, so it counts from four ticks on.
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

/// A CPU on which a loop took so many times as long as it can, right before or right after a trial, ran slow during it: its core
/// was shared, or its clock was lowered. Turbo clocks differ by less with the number of busy cores.
const SLOW: f64 = 1.15;

/// What happened on the host during a trial.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Disturbance {
    /// The CPUs of generator, kernel and application, each once.
    pub cpus: Vec<CpuDisturbance>,
    /// The unit of their steal and of what the kernel counts beside it, in nanoseconds.
    pub tick_ns: u64,
    /// What the clocks did.
    pub clocks: ClockDrift,
    /// How long frames were sent, in nanoseconds of CLOCK_MONOTONIC: what shares are shares of.
    #[serde(default)]
    pub sending_ns: u64,
    /// For how long the kernel's backlog holds the frames that were offered, in nanoseconds: a CPU that stands still for
    /// longer makes it overflow. Absent at maximum load, where the path has no backlog, and where its size is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backlog_lasts_ns: Option<u64>,
}

/// What the clocks did between two moments against CLOCK_MONOTONIC, which says how long that was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ClockDrift {
    /// How far CLOCK_REALTIME was set on or back, in nanoseconds.
    pub realtime_step_ns: i64,
    /// How much faster CLOCK_MONOTONIC went than the hardware counts, in millionths: what NTP corrects.
    pub slew_ppm: f64,
    /// How long the system was suspended, in nanoseconds.
    pub suspended_ns: u64,
}

/// What happened on one CPU.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuDisturbance {
    /// Its number.
    pub cpu: u32,
    /// For how long threads on it were looked at, in nanoseconds of CLOCK_MONOTONIC: while frames were sent, and on other
    /// CPUs than the generator's until they were read.
    pub window_ns: u64,
    /// What of that stands under no heading of the kernel's account of the CPU, which is sampled and comes in ticks.
    #[serde(default)]
    pub unaccounted_ns: u64,
    /// Time that the hypervisor took away while frames were sent (steal), in ticks: it can be up to one more or less.
    pub steal_ns: u64,
    /// Time that other work than the trial's had in the window, at least: where the kernel charges interrupts to whatever
    /// runs, some of it counts as the trial's own.
    pub foreign_ns: u64,
    /// When it stood still while frames were sent, the last 64 times; absent where nobody watched.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stalls: Option<Vec<Standstill>>,
    /// How fast it ran beside the trial; absent where nobody measured, as between the segments of a soak.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pace: Option<Pace>,
}

/// What an iteration of a loop that keeps a core's arithmetic units busy took on a CPU while all CPUs of the trial ran it, in
/// nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Pace {
    /// Right before the trial.
    pub before_ns: f64,
    /// Right after it.
    pub after_ns: f64,
    /// At least, of all that the run had measured by then.
    pub fastest_ns: f64,
}

impl Pace {
    /// How many times as long it took as it can, before or after, whichever is more.
    fn slowdown(&self) -> f64 {
        self.before_ns.max(self.after_ns) / self.fastest_ns.max(f64::MIN_POSITIVE)
    }
}

/// A CPU ran nothing of the trial and took no interrupt: the hypervisor ran something else, or interrupts were off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Standstill {
    /// When it went on, in nanoseconds since sending began.
    pub until_ns: u64,
    /// How long it had stood still at least: so late its timer tick was.
    pub at_least_ns: u64,
    /// How long at most: since it was last seen to run.
    pub at_most_ns: u64,
}

impl Standstill {
    /// Whether it fell into a time, given in nanoseconds since sending began.
    pub fn overlaps(&self, from_ns: u64, to_ns: u64) -> bool {
        from_ns <= self.until_ns && to_ns >= self.until_ns.saturating_sub(self.at_most_ns)
    }
}

impl Disturbance {
    /// What spoils the trial, in words without numbers: the numbers stand beside it.
    pub fn reasons(&self) -> Vec<&'static str> {
        let mut reasons = self.reasons_for_rates();
        if self.cpus.iter().any(|cpu| self.is_stalled(cpu)) {
            reasons.push("one of its CPUs stood still for longer than the backlog lasts");
        }
        reasons
    }

    /// Those of them that change by how much a trial delivers.
    pub fn reasons_for_rates(&self) -> Vec<&'static str> {
        let ticks = |count: u64| count * self.tick_ns;
        let exceeds = |ns: u64, share: f64| ns as f64 > self.sending_ns as f64 * share;
        let is_stolen =
            |cpu: &CpuDisturbance| cpu.steal_ns >= ticks(2).max(1) && exceeds(cpu.steal_ns, STEAL);
        let is_foreign = |cpu: &CpuDisturbance| {
            cpu.foreign_ns >= ticks(FOREIGN_TICKS).max(1) && exceeds(cpu.foreign_ns, FOREIGN)
        };
        let ClockDrift { realtime_step_ns, slew_ppm, suspended_ns } = self.clocks;
        let all = [
            (self.cpus.iter().any(is_stolen), "the hypervisor took CPU time away while it ran (steal)"),
            (self.cpus.iter().any(is_foreign), "other work ran on its CPUs (foreign load)"),
            (realtime_step_ns.unsigned_abs() > STEP_NS, "the host's clock was set while it ran"),
            (
                slew_ppm.abs() > SLEW_PPM + READING_NS / self.sending_ns.max(1) as f64 * 1e6,
                "the host's clock ran at another speed than its hardware",
            ),
            (suspended_ns > STEP_NS, "the host was suspended while it ran"),
            (
                self.is_slow(),
                "one of its CPUs ran slower than it can: it shares its core, or its clock was lowered",
            ),
        ];
        all.into_iter().filter(|(is_so, _)| *is_so).map(|(_, reason)| reason).collect()
    }

    /// Whether one of its CPUs ran slower than it can.
    pub fn is_slow(&self) -> bool {
        self.cpus.iter().filter_map(|cpu| cpu.pace).any(|pace| pace.slowdown() > SLOW)
    }

    /// The same without what CPUs show of their pace, for whom that is no matter.
    pub fn beside_pace(&self) -> Self {
        let without = |cpu: &CpuDisturbance| CpuDisturbance { pace: None, ..cpu.clone() };
        Self { cpus: self.cpus.iter().map(without).collect(), ..self.clone() }
    }

    /// Whether a CPU provably stood still, for what may have been longer than the backlog lasts.
    fn is_stalled(&self, cpu: &CpuDisturbance) -> bool {
        let stalls = cpu.stalls.iter().flatten();
        self.backlog_lasts_ns.is_some_and(|lasts| stalls.map(|stall| stall.at_most_ns).any(|ns| ns > lasts))
    }
}
