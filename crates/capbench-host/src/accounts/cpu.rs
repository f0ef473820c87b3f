//! CPU time of each CPU by use: `/proc/stat`, proc_stat(5).
//!
//! Depending on its configuration, the kernel accounts in nanoseconds or in timer ticks. It always reports ticks of 1/USER_HZ
//! (10 ms). So over a window of `t` a share has an error of about 10 ms / `t`.

use capbench_sys::host::{CpuId, clock};
use serde::{Deserialize, Serialize};

use super::read;
use crate::{HostError, Result};

const FILE: &str = "/proc/stat";

/// Times of one CPU in ns: since boot in a snapshot, within the window in a difference. All are multiples of the tick.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuTimes {
    /// Programs, including guests of a hypervisor.
    pub user_ns: u64,
    /// Programs with lowered priority.
    pub nice_ns: u64,
    /// The kernel on behalf of programs, and kernel threads.
    pub system_ns: u64,
    /// Idle.
    pub idle_ns: u64,
    /// Idle while waiting for a disk.
    pub iowait_ns: u64,
    /// Hardware interrupts.
    pub irq_ns: u64,
    /// Soft interrupts, including packet reception and ksoftirqd.
    pub softirq_ns: u64,
    /// Time in which the hypervisor ran something else.
    pub steal_ns: u64,
}

/// The times of every online CPU at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuSnapshot {
    rows: Vec<(CpuId, CpuTimes)>,
}

/// The times of every CPU between two snapshots.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuWindow {
    /// Each CPU with its times.
    rows: Vec<(CpuId, CpuTimes)>,
}

impl CpuTimes {
    /// Sum of all times of the CPU.
    pub const fn total_ns(&self) -> u64 {
        self.busy_ns() + self.idle_ns + self.iowait_ns + self.steal_ns
    }

    /// Time in which the CPU worked: neither idle nor stolen.
    pub const fn busy_ns(&self) -> u64 {
        self.user_ns + self.nice_ns + self.system_ns + self.irq_ns + self.softirq_ns
    }

    /// Share (0 to 1) of stolen time; `None` if no time passed.
    pub fn steal_share(&self) -> Option<f64> {
        let total = self.total_ns();
        (total > 0).then(|| self.steal_ns as f64 / total as f64)
    }

    fn since(&self, before: &Self) -> Option<Self> {
        Some(Self {
            user_ns: self.user_ns.checked_sub(before.user_ns)?,
            nice_ns: self.nice_ns.checked_sub(before.nice_ns)?,
            system_ns: self.system_ns.checked_sub(before.system_ns)?,
            // proc_stat(5): iowait can decrease; idle is computed from it and can too.
            idle_ns: self.idle_ns.saturating_sub(before.idle_ns),
            iowait_ns: self.iowait_ns.saturating_sub(before.iowait_ns),
            irq_ns: self.irq_ns.checked_sub(before.irq_ns)?,
            softirq_ns: self.softirq_ns.checked_sub(before.softirq_ns)?,
            steal_ns: self.steal_ns.checked_sub(before.steal_ns)?,
        })
    }
}

impl CpuSnapshot {
    /// Reads the current times.
    ///
    /// # Errors
    /// The file cannot be read, or the length of a tick is unknown.
    pub fn read() -> Result<Self> {
        Self::parse(&read(FILE)?, tick_ns()?)
    }

    /// Parses the text of the file; `tick_ns` is the length of its unit.
    ///
    /// # Errors
    /// A CPU's line is not a number followed by at least eight times.
    pub fn parse(text: &str, tick_ns: u64) -> Result<Self> {
        let mut rows = Vec::new();
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            let Some(number) = words.next().and_then(|word| word.strip_prefix("cpu")) else { continue };
            // The line "cpu" is the sum of the others.
            if number.is_empty() {
                continue;
            }
            let fail = |reason| HostError::Parse { file: FILE, line: line.into(), reason };
            let cpu = CpuId::new(number.parse().map_err(|_| fail("expected the number of a CPU"))?);
            let mut times = words.map(|word| word.parse::<u64>().ok()?.checked_mul(tick_ns));
            let mut next = || times.next().flatten().ok_or_else(|| fail("expected at least eight times"));
            let row = CpuTimes {
                user_ns: next()?,
                nice_ns: next()?,
                system_ns: next()?,
                idle_ns: next()?,
                iowait_ns: next()?,
                irq_ns: next()?,
                softirq_ns: next()?,
                steal_ns: next()?,
            };
            rows.push((cpu, row));
        }
        Ok(Self { rows })
    }

    /// The times since `before` of every CPU that is in both snapshots and whose times did not decrease, as after hotplug.
    pub fn since(&self, before: &Self) -> CpuWindow {
        let difference = |&(cpu, now): &(CpuId, CpuTimes)| {
            let (_, then) = before.rows.iter().find(|(other, _)| *other == cpu)?;
            Some((cpu, now.since(then)?))
        };
        CpuWindow { rows: self.rows.iter().filter_map(difference).collect() }
    }
}

impl CpuWindow {
    /// The times of one CPU; `None` if unknown.
    pub fn of(&self, cpu: CpuId) -> Option<CpuTimes> {
        self.rows.iter().find(|(other, _)| *other == cpu).map(|(_, times)| *times)
    }

    /// Every CPU with its times, in the kernel's order.
    pub fn iter(&self) -> impl Iterator<Item = (CpuId, CpuTimes)> {
        self.rows.iter().copied()
    }

    /// Busy time of the whole host in CPUs, 0 to the number of CPUs; `None` if no time passed.
    pub fn busy_cores(&self) -> Option<f64> {
        let shares = self.rows.iter().filter(|(_, times)| times.total_ns() > 0);
        shares
            .map(|(_, times)| times.busy_ns() as f64 / times.total_ns() as f64)
            .reduce(|sum, share| sum + share)
    }

    /// The largest share (0 to 1) of stolen time among `cpus`; `None` if none is known.
    pub fn largest_steal_share(&self, cpus: &[CpuId]) -> Option<f64> {
        cpus.iter().filter_map(|cpu| self.of(*cpu)?.steal_share()).reduce(f64::max)
    }
}

/// Length of a tick of `/proc/stat` in ns: the resolution of every time in it.
///
/// # Errors
/// The C library does not know USER_HZ.
pub fn tick_ns() -> Result<u64> {
    let unknown = "the C library does not report the unit of /proc/stat (sysconf(_SC_CLK_TCK))";
    let per_second =
        clock::ticks_per_second().ok_or_else(|| HostError::unsupported("the CPU account", unknown))?;
    Ok(1_000_000_000 / per_second)
}

/// Runs of the receive softirq on a CPU since boot (`/proc/softirqs`, proc_softirqs(5)); the kernel counts a run before any
/// tracepoint. `None` if the file does not list the CPU.
pub fn net_rx_runs(cpu: CpuId) -> Result<Option<u64>> {
    read("/proc/softirqs").map(|text| net_rx_of(&text, cpu))
}

/// The first line names the CPUs; each other line has a kind and its runs per CPU.
fn net_rx_of(text: &str, cpu: CpuId) -> Option<u64> {
    let mut lines = text.lines();
    let name = format!("CPU{cpu}");
    let column = lines.next()?.split_whitespace().position(|column| column == name)?;
    let runs = lines.find_map(|line| line.trim_start().strip_prefix("NET_RX:"))?;
    runs.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TICK: u64 = 10_000_000;
    const TEXT: &str = "\
cpu  4694 0 17520 240599 556 0 8787 29 0 0
cpu0 1923 0 15597 113213 45 0 6783 8 0 0
cpu1 2771 0 1923 127385 511 0 2004 21 0 0
intr 6256203 0 0
ctxt 12
";

    fn snapshot(text: &str) -> CpuSnapshot {
        CpuSnapshot::parse(text, TICK).unwrap()
    }

    #[test]
    fn times_are_read_per_cpu() {
        let rows = snapshot(TEXT).rows;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].0, CpuId::new(0));
        assert_eq!((rows[0].1.softirq_ns, rows[1].1.steal_ns), (6783 * TICK, 21 * TICK));
    }

    #[test]
    fn a_window_has_differences() {
        let before = snapshot("cpu0 10 0 10 100 50 0 0 0 0 0\ncpu1 0 0 0 0 0 0 0 0");
        let after = snapshot("cpu0 20 0 10 110 45 0 70 10 0 0\ncpu1 0 0 25 75 0 0 0 0");
        let window = after.since(&before);
        let cpu0 = window.of(CpuId::new(0)).unwrap();
        // iowait went back, as it may.
        assert_eq!((cpu0.user_ns, cpu0.softirq_ns, cpu0.iowait_ns), (10 * TICK, 70 * TICK, 0));
        assert_eq!(cpu0.steal_share(), Some(0.1));
        assert_eq!(window.busy_cores(), Some(0.8 + 0.25));
        assert_eq!(window.largest_steal_share(&[CpuId::new(0), CpuId::new(1)]), Some(0.1));
        assert_eq!(window.largest_steal_share(&[CpuId::new(9)]), None);
    }

    #[test]
    fn a_cpu_with_decreasing_times_is_unknown() {
        let (before, after) = (snapshot("cpu0 10 0 0 0 0 0 0 0"), snapshot("cpu0 9 0 0 0 0 0 0 0"));
        assert_eq!(after.since(&before).of(CpuId::new(0)), None);
        assert_eq!(after.since(&after).busy_cores(), None);
    }

    #[test]
    fn odd_lines_are_errors() {
        for text in [
            "cpux 1 2 3 4 5 6 7 8",
            "cpu0",
            "cpu0 1 2 3 4 5 6 7",
            "cpu0 1 2 3 4 5 6 7 -8",
            "cpu99999999999 1",
        ] {
            assert!(CpuSnapshot::parse(text, TICK).is_err(), "{text:?}");
        }
        let largest = format!("cpu0 {} 0 0 0 0 0 0 0", u64::MAX);
        assert!(CpuSnapshot::parse(&largest, TICK).is_err());
        assert_eq!(snapshot("nothing\n\n").rows, []);
    }

    #[test]
    fn work_makes_a_core_busy() {
        let before = CpuSnapshot::read().unwrap();
        let start = clock::monotonic_ns();
        while clock::monotonic_ns() - start < 60_000_000 {}
        let window = CpuSnapshot::read().unwrap().since(&before);
        assert!(window.iter().count() > 0);
        assert!(window.busy_cores().unwrap() > 0.2);
    }

    #[test]
    fn runs_are_those_of_the_cpu() {
        let text = "          CPU0       CPU2\nTIMER:    5   6\n      NET_RX:  70  80\n";
        let runs = |cpu| net_rx_of(text, CpuId::new(cpu));
        assert_eq!((runs(0), runs(1), runs(2)), (Some(70), None, Some(80)));
    }

    #[test]
    fn odd_files_hold_nothing() {
        for text in ["", "\n", "CPU0", "CPU0\nNET_RX:", "CPU0\nNET_RX: x", "NET_RX: 1"] {
            assert_eq!(net_rx_of(text, CpuId::new(0)), None, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(cpu)?[0-9 \n]{0,200}") {
            let _ = CpuSnapshot::parse(&text, TICK);
        }
    }
}
