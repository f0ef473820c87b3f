//! Packets per CPU in the kernel's receive path: `/proc/net/softnet_stat` (net/core/net-procfs.c, `softnet_seq_show`). The
//! counters are 32 bits wide and wrap. They cover the whole host, all namespaces.

use std::ops::RangeInclusive;

use capbench_sys::host::CpuId;
use serde::{Deserialize, Serialize};

use super::read;
use crate::{HostError, Result};

const FILE: &str = "/proc/net/softnet_stat";

const RECEIVED_RPS: usize = 9;
const FLOW_LIMIT: usize = 10;
/// Appended by Linux 5.10.
const CPU_INDEX: usize = 12;

/// The counters of every CPU at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SoftnetSnapshot {
    rows: Vec<SoftnetDelta>,
}

/// Counts of one CPU: between two snapshots, or in a snapshot since boot, modulo 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SoftnetDelta {
    /// The CPU.
    pub cpu: CpuId,
    /// Packets that this CPU processed in the receive path, including those that RPS assigned to it.
    pub processed: u64,
    /// Packets dropped because this CPU's backlog (`net.core.netdev_max_backlog`) was full.
    pub dropped: u64,
    /// Number of times that the receive softirq used up its budget or time with work left.
    pub time_squeeze: u64,
    /// Number of times that another CPU woke this one to process RPS packets; `None` on kernels without the column.
    pub received_rps: Option<u64>,
    /// Packets dropped by the flow limit of the backlog; `None` on kernels without the column.
    pub flow_limit: Option<u64>,
}

/// Length limit of a CPU's backlog in packets (`net.core.netdev_max_backlog`); `None` if the namespace hides it.
pub fn longest_backlog() -> Option<u64> {
    std::fs::read_to_string("/proc/sys/net/core/netdev_max_backlog").ok()?.trim().parse().ok()
}

impl SoftnetSnapshot {
    /// Reads the current counters.
    pub fn read() -> Result<Self> {
        Self::parse(&read(FILE)?)
    }

    /// How often the receive softirq used up its budget or time with work left, on all CPUs since boot.
    pub fn time_squeezes(&self) -> u64 {
        self.rows.iter().map(|row| row.time_squeeze).sum()
    }

    /// Parses the text of the file.
    ///
    /// # Errors
    /// A line has fewer than nine hexadecimal numbers, or two lines describe one CPU.
    pub fn parse(text: &str) -> Result<Self> {
        let mut rows = Vec::new();
        for (position, line) in (0u32..).zip(text.lines()) {
            let fail = |reason| HostError::Parse { file: FILE, line: line.into(), reason };
            let columns: Vec<u32> = line
                .split_ascii_whitespace()
                .map(|column| u32::from_str_radix(column, 16))
                .collect::<std::result::Result<_, _>>()
                .map_err(|_| fail("expected hexadecimal numbers of 32 bits"))?;
            // Columns of Linux 2.6; later kernels append to them.
            let &[processed, dropped, time_squeeze, _, _, _, _, _, _, ..] = columns.as_slice() else {
                return Err(fail("expected at least nine columns"));
            };
            // Before Linux 5.10 lines have no CPU number: with an offline CPU the position is wrong, which is not detectable.
            let cpu = CpuId::new(columns.get(CPU_INDEX).copied().unwrap_or(position));
            if rows.iter().any(|row: &SoftnetDelta| row.cpu == cpu) {
                return Err(fail("this CPU has a line already"));
            }
            rows.push(SoftnetDelta {
                cpu,
                processed: processed.into(),
                dropped: dropped.into(),
                time_squeeze: time_squeeze.into(),
                received_rps: columns.get(RECEIVED_RPS).map(|count| u64::from(*count)),
                flow_limit: columns.get(FLOW_LIMIT).map(|count| u64::from(*count)),
            });
        }
        Ok(Self { rows })
    }

    /// Counts of each CPU since `before`, modulo 2^32: exact for fewer than 4.3 billion (10^9) packets in between. CPUs in only
    /// one snapshot (hotplug) are omitted.
    pub fn since(&self, before: &Self) -> Vec<SoftnetDelta> {
        let difference = |now: u64, then: u64| u64::from((now as u32).wrapping_sub(then as u32));
        let optional = |now: Option<u64>, then: Option<u64>| Some(difference(now?, then?));
        let then = |now: &SoftnetDelta| before.rows.iter().find(|then| then.cpu == now.cpu);
        let pairs = self.rows.iter().filter_map(|now| Some((now, then(now)?)));
        pairs
            .map(|(now, then)| SoftnetDelta {
                cpu: now.cpu,
                processed: difference(now.processed, then.processed),
                dropped: difference(now.dropped, then.dropped),
                time_squeeze: difference(now.time_squeeze, then.time_squeeze),
                received_rps: optional(now.received_rps, then.received_rps),
                flow_limit: optional(now.flow_limit, then.flow_limit),
            })
            .collect()
    }
}

/// Bounds of the share (0 to 1) of a trial's own `packets` that the CPUs `expected` processed, for any other traffic of the
/// host. Lower bound: packets that no other CPU can have processed. Upper bound: all that these CPUs processed. `None` if
/// `packets` is 0.
pub fn kernel_cpu_bounds(
    counts: &[SoftnetDelta],
    expected: &[CpuId],
    packets: u64,
) -> Option<RangeInclusive<f64>> {
    let (there, all) = processed(counts, expected);
    let share = |count: u64| count as f64 / packets as f64;
    (packets > 0).then(|| share(packets.saturating_sub(all - there))..=share(packets.min(there)))
}

/// The CPU that processed the most packets between the snapshots, and its share (0 to 1); `None` if there were none. The
/// counters cover the host, so its other traffic counts too; [`kernel_cpu_bounds`] corrects for it.
pub fn busiest_kernel_cpu(before: &SoftnetSnapshot, after: &SoftnetSnapshot) -> Option<(CpuId, f64)> {
    let deltas = after.since(before);
    let cpu = deltas.iter().max_by_key(|delta| delta.processed)?.cpu;
    let (there, all) = processed(&deltas, &[cpu]);
    (all > 0).then(|| (cpu, there as f64 / all as f64))
}

/// Packets that some CPUs processed, and packets of all CPUs.
fn processed(deltas: &[SoftnetDelta], cpus: &[CpuId]) -> (u64, u64) {
    let there = deltas.iter().filter(|delta| cpus.contains(&delta.cpu)).map(|delta| delta.processed).sum();
    (there, deltas.iter().map(|delta| delta.processed).sum())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Linux 6.18, two CPUs.
    const NEW: &str = "\
057d9b98 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
052f95c0 00007888 00000003 00000000 00000000 00000000 00000000 00000000 00000000 007a0615 00000002 00000000 00000001 00000000 00000000
";
    /// Linux 4.19: eleven columns, no CPU numbers.
    const OLD: &str = "\
000000ff 00000001 00000002 00000000 00000000 00000000 00000000 00000000 00000000 00000007 00000000
00000010 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000 00000000
";

    fn with_processed(first: u32, second: u32) -> SoftnetSnapshot {
        let line = |cpu, processed| format!("{processed:08x} 0 0 0 0 0 0 0 0 0 0 0 {cpu:08x} 0 0\n");
        SoftnetSnapshot::parse(&(line(0, first) + &line(1, second))).unwrap()
    }

    #[test]
    fn new_and_old_kernels_are_read() {
        let new = SoftnetSnapshot::parse(NEW).unwrap();
        assert_eq!(new.rows[1].cpu, CpuId::new(1));
        assert_eq!((new.rows[1].dropped, new.rows[1].time_squeeze), (0x7888, 3));
        assert_eq!((new.rows[1].received_rps, new.rows[1].flow_limit), (Some(0x007a_0615), Some(2)));
        let old = SoftnetSnapshot::parse(OLD).unwrap();
        assert_eq!((old.rows[0].processed, old.rows[0].received_rps), (255, Some(7)));
        assert_eq!(old.rows[1].cpu, CpuId::new(1));
        let oldest = SoftnetSnapshot::parse("1 2 3 0 0 0 0 0 0").unwrap();
        assert_eq!(oldest.rows[0].received_rps, None);
    }

    #[test]
    fn an_offline_cpu_leaves_a_gap_in_the_numbers() {
        let line = NEW.lines().nth(1).unwrap();
        assert_eq!(SoftnetSnapshot::parse(line).unwrap().rows[0].cpu, CpuId::new(1));
    }

    #[test]
    fn counters_wrap_at_32_bits() {
        let deltas = with_processed(5, 10).since(&with_processed(u32::MAX - 4, 10));
        assert_eq!((deltas[0].processed, deltas[1].processed), (10, 0));
    }

    #[test]
    fn a_cpu_that_came_or_went_is_left_out() {
        let both = with_processed(1, 1);
        let one = SoftnetSnapshot::parse("00000009 0 0 0 0 0 0 0 0 0 0 0 0 0 0").unwrap();
        assert_eq!(one.since(&both).len(), 1);
        assert_eq!(both.since(&one).len(), 1);
    }

    #[test]
    fn the_share_of_a_cpu() {
        let (before, after) = (with_processed(100, 100), with_processed(110, 190));
        assert_eq!(busiest_kernel_cpu(&before, &after), Some((CpuId::new(1), 0.9)));
        assert_eq!(busiest_kernel_cpu(&after, &after), None);
    }

    #[test]
    fn foreign_traffic_widens_the_bounds() {
        let (before, after) = (with_processed(100, 100), with_processed(130, 200));
        let bounds = |packets| kernel_cpu_bounds(&after.since(&before), &[CpuId::new(1)], packets);
        // 30 packets were processed on CPU 0: they can be foreign, or some of these 100.
        assert_eq!(bounds(100), Some(0.7..=1.0));
        assert_eq!(bounds(20), Some(0.0..=1.0));
        assert_eq!(bounds(0), None);
        assert_eq!(kernel_cpu_bounds(&after.since(&before), &[CpuId::new(0)], 100), Some(0.0..=0.3));
    }

    #[test]
    fn odd_lines_are_errors_with_the_line() {
        for text in ["\n", "1 2", "1 2 3 4 5 6 7 8", "g 0 0 0 0 0 0 0 0", "100000000 0 0 0 0 0 0 0 0"] {
            let error = SoftnetSnapshot::parse(text).unwrap_err().to_string();
            assert!(error.contains(FILE), "{text:?}: {error}");
        }
        let twice = format!("{0}\n{0}", NEW.lines().next().unwrap());
        assert!(SoftnetSnapshot::parse(&twice).is_err());
        assert_eq!(SoftnetSnapshot::parse("").unwrap().rows, []);
    }

    #[test]
    fn this_host_has_the_file() {
        assert!(!SoftnetSnapshot::read().unwrap().rows.is_empty());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[0-9a-f \n]{0,200}") {
            let _ = SoftnetSnapshot::parse(&text);
        }
    }
}
