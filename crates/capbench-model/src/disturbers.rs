//! Which processes used the CPUs of a trial besides the trial itself, and why some of them cannot be seen.
//!
//! It comes from two readings of the kernel's account of every thread, one right before the trial and one right after it. A
//! process that started and ended in between is in neither; its time is in `foreign_ns` of the CPU only.

use serde::{Deserialize, Serialize};

/// What ran on the CPUs of a trial besides the trial, on one host, between two readings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Disturbers {
    /// When the first reading began, in nanoseconds of CLOCK_MONOTONIC, by which logs of the host find the trial. Absent in files of versions
    /// that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub window_begin_ns: Option<u64>,
    /// Time between the readings in nanoseconds of CLOCK_MONOTONIC: the reference of the processes' shares.
    pub window_ns: u64,
    /// Processes that used a CPU of the trial, the largest time first: up to 16, each with at least 1 % of the window.
    pub processes: Vec<CpuUser>,
    /// Why processes may have been there that are not listed; empty if every process of the host can be seen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hidden: Vec<Hidden>,
    /// How often the CPU quota of a control group stopped capbench. Absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// CPUs that capbench may use, that share no core with a CPU of the trial, and that were idle.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub idle_cpus: Vec<u32>,
    /// The process that read them.
    pub reader_pid: u32,
    /// Threads in the second reading.
    pub threads: u32,
    /// Duration of both readings together in nanoseconds. Neither is within the trial.
    pub reading_ns: u64,
}

/// The time of a process on a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct CpuUser {
    /// Its number, as the reader sees it.
    pub pid: u32,
    /// Its name (comm), up to 64 characters. Processes choose their names: it may have any characters.
    pub comm: String,
    /// Whether it is a thread of the kernel.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_kernel_thread: bool,
    /// The CPU on which these of its threads ran last.
    pub cpu: u32,
    /// CPU time of these threads in the window, in nanoseconds. A thread that moved was on other CPUs for a part of it.
    pub run_ns: u64,
}

/// Why processes may be invisible to capbench.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Hidden {
    /// capbench runs in a PID namespace, as in a container: processes outside it have no number there (pid_namespaces(7)).
    PidNamespace,
    /// /proc shows no processes of other users (hidepid of proc(5)).
    MountedHidepid,
    /// The kernel refused to show the times of some threads.
    Refused,
    /// The kernel keeps no times of threads.
    NoAccount,
    /// There are more threads than are read.
    TooMany,
    /// /proc cannot be read.
    NoProc,
}

/// What a CPU quota of control groups did to capbench in a window (`cpu.stat`, cgroups(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Throttled {
    /// Periods in which the group had used up its quota.
    pub periods: u64,
    /// How long its threads could not run, in nanoseconds, summed over CPUs.
    pub stopped_ns: u64,
}

impl Disturbers {
    /// The share of the window that the listed processes used of a CPU. 1 is the whole CPU.
    pub fn listed_share(&self, cpu: u32) -> f64 {
        let listed = self.processes.iter().filter(|process| process.cpu == cpu);
        self.share(listed.map(|process| process.run_ns).sum())
    }

    /// A time as a share of the window.
    pub fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.window_ns.max(1) as f64
    }

    /// The same without one process, which turned out to belong to the trial.
    #[must_use]
    pub fn without(mut self, pid: u32) -> Self {
        self.processes.retain(|process| process.pid != pid);
        self
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuUser, Disturbers, Hidden};

    #[test]
    fn shares_are_of_the_window() {
        let process = |pid, cpu, run_ns| CpuUser { pid, cpu, run_ns, ..CpuUser::default() };
        let processes = vec![process(7, 1, 600), process(8, 1, 200), process(7, 0, 100)];
        let disturbers = Disturbers { window_ns: 1000, processes, ..Disturbers::default() };
        assert_eq!((disturbers.listed_share(1), disturbers.listed_share(2)), (0.8, 0.0));
        assert_eq!(disturbers.without(7).listed_share(1), 0.2);
    }

    #[test]
    fn a_reason_is_saved_by_its_name() {
        let saved = serde_json::to_string(&Hidden::PidNamespace).unwrap();
        assert_eq!(saved, r#"{"why":"pid_namespace"}"#);
    }
}
