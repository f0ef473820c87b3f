//! Runs of the receive softirq by CPU: `/proc/softirqs` (proc_softirqs(5)). `handle_softirqs` of kernel/softirq.c counts a run
//! before any tracepoint.

use capbench_sys::host::CpuId;

use super::read;
use crate::Result;

/// Runs of NET_RX on a CPU since boot; `None` if the file does not list the CPU.
///
/// # Errors
/// `/proc/softirqs` cannot be read.
pub fn net_rx_runs(cpu: CpuId) -> Result<Option<u64>> {
    read("/proc/softirqs").map(|text| parse(&text, cpu))
}

/// The first line names the CPUs; each other line has a kind and its runs per CPU.
fn parse(text: &str, cpu: CpuId) -> Option<u64> {
    let mut lines = text.lines();
    let name = format!("CPU{cpu}");
    let column = lines.next()?.split_whitespace().position(|column| column == name)?;
    let runs = lines.find_map(|line| line.trim_start().strip_prefix("NET_RX:"))?;
    runs.split_whitespace().nth(column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_those_of_the_cpu() {
        let text = "          CPU0       CPU2\nTIMER:    5   6\n      NET_RX:  70  80\n";
        let runs = |cpu| parse(text, CpuId::new(cpu));
        assert_eq!((runs(0), runs(1), runs(2)), (Some(70), None, Some(80)));
    }

    #[test]
    fn odd_files_hold_nothing() {
        for text in ["", "\n", "CPU0", "CPU0\nNET_RX:", "CPU0\nNET_RX: x", "NET_RX: 1"] {
            assert_eq!(parse(text, CpuId::new(0)), None, "{text:?}");
        }
    }
}
