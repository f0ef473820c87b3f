//! Number and time of BPF program runs: the kernel's own statistics, read from the `fdinfo` of a program's descriptor
//! (proc_pid_fdinfo(5); `bpf_prog_show_fdinfo` of kernel/bpf/syscall.c).

use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};

use super::call;
use crate::Result;

/// Has the kernel measure the run time of every BPF program of the host, as long as the descriptor is open (`BPF_ENABLE_STATS`).
/// It reads the clock twice per run, which is part of the measured time and slows the programs down.
///
/// # Errors
/// `EPERM` without CAP_SYS_ADMIN, `EINVAL` before Linux 5.8.
pub fn measure_run_times() -> Result<OwnedFd> {
    call::enable_run_time_statistics()
}

/// Statistics of a program's runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Runs {
    /// Number of runs while statistics were enabled.
    pub count: u64,
    /// Their time in ns, including the clock reads of the statistics.
    pub ns: u64,
    /// Number of runs that the kernel skipped because the program already ran on the same CPU (Linux 5.12); always counted.
    pub passed_by: u64,
}

impl Runs {
    /// The runs of a program so far; `None` if the kernel does not report them.
    pub(super) fn of(program: BorrowedFd<'_>) -> Option<Self> {
        let path = format!("/proc/self/fdinfo/{}", program.as_raw_fd());
        std::fs::read_to_string(path).ok().map(|text| Self::parse(&text))
    }

    /// Reads the lines of the file; what an older kernel does not write is 0.
    fn parse(text: &str) -> Self {
        let number = |name: &str| {
            let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
            value.and_then(|value| value.trim().parse().ok()).unwrap_or(0)
        };
        Self { count: number("run_cnt"), ns: number("run_time_ns"), passed_by: number("recursion_misses") }
    }

    /// The runs since `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            ns: self.ns.saturating_sub(before.ns),
            passed_by: self.passed_by.saturating_sub(before.passed_by),
        }
    }
}

impl std::ops::Add for Runs {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count + other.count,
            ns: self.ns + other.ns,
            passed_by: self.passed_by + other.passed_by,
        }
    }
}

impl std::iter::Sum for Runs {
    fn sum<I: Iterator<Item = Self>>(runs: I) -> Self {
        runs.fold(Self::default(), |all, one| all + one)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_lines_are_read() {
        let text = "pos:\t0\nprog_type:\t26\nrun_time_ns:\t5700\nrun_cnt:\t100\nrecursion_misses:\t3\n";
        let runs = Runs::parse(text);
        assert_eq!(runs, Runs { count: 100, ns: 5700, passed_by: 3 });
        let before = Runs { count: 90, ns: 5000, passed_by: 3 };
        assert_eq!(runs.since(&before), Runs { count: 10, ns: 700, passed_by: 0 });
        assert_eq!(Runs::parse("prog_type:\t26\n"), Runs::default(), "Linux 5.4");
    }
}
