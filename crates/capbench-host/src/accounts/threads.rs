//! Activity of single threads: `/proc/PID/task/TID/schedstat` and `status`. Also finds the kernel threads that receive packets.

use std::path::Path;

use capbench_sys::host::{CpuId, ThreadId};

/// Activity of a thread since its start, or within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
pub struct ThreadTimes {
    /// Time on a CPU in ns (first number of `schedstat`, Documentation/scheduler/sched-stats.rst). For a running thread it lags
    /// by up to a timer tick; a thread reads its own time exactly with `capbench_sys::host::clock::thread_cpu_ns`. `None` if
    /// the kernel keeps no such account.
    pub run_ns: Option<u64>,
    /// Time in ns that it was runnable but waited for a CPU (second number of `schedstat`); `None` as above.
    pub wait_ns: Option<u64>,
    /// Number of times that it gave up the CPU to wait (`voluntary_ctxt_switches`).
    pub voluntary_switches: Option<u64>,
    /// Number of times that it was preempted (`nonvoluntary_ctxt_switches`).
    pub involuntary_switches: Option<u64>,
}

/// A kernel thread that takes part in receiving packets. `tracer/softirq.bpf.c` knows those that poll by the same names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ReceiveThread {
    /// `ksoftirqd/N`: runs soft interrupts of CPU N under load.
    Ksoftirqd(CpuId),
    /// `napi/IF-ID`: polls an interface (threaded NAPI, Linux 5.12). The text is the part after `napi/`; kernels before 5.17
    /// cut names at 15 bytes.
    Napi(String),
    /// `backlog_napi/N`: processes the backlog of CPU N (Linux 6.10, with `thread_backlog_napi` or PREEMPT_RT).
    BacklogNapi(CpuId),
}

impl ThreadTimes {
    /// The activity of the thread `thread` of any process; `None` if it has ended or is hidden (`hidepid`).
    pub fn read(thread: ThreadId) -> Option<Self> {
        // A thread's number is also an unlisted directory of /proc (proc(5)).
        let file = |name: &str| std::fs::read_to_string(format!("/proc/{thread}/task/{thread}/{name}")).ok();
        // Without the file the kernel keeps no account; without the directory the thread has ended.
        let status = file("status")?;
        Some(Self::parse(&file("schedstat").unwrap_or_default(), &status))
    }

    /// Parses both files; missing values are `None`.
    pub fn parse(schedstat: &str, status: &str) -> Self {
        let mut numbers = schedstat.split_ascii_whitespace().map(|word| word.parse::<u64>().ok());
        let (run, wait, slices) =
            (numbers.next().flatten(), numbers.next().flatten(), numbers.next().flatten());
        // A kernel without scheduler statistics shows "0 0 0" (fs/proc/base.c), like a thread that never ran.
        let kept = slices.is_some() && [run, wait, slices] != [Some(0); 3];
        let switches = |key: &str| {
            status.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':')?.trim().parse().ok())
        };
        Self {
            run_ns: run.filter(|_| kept),
            wait_ns: wait.filter(|_| kept),
            voluntary_switches: switches("voluntary_ctxt_switches"),
            involuntary_switches: switches("nonvoluntary_ctxt_switches"),
        }
    }

    /// Activity since `before`; `None` for a value that is unknown in one of them or decreased.
    pub fn since(&self, before: &Self) -> Self {
        let difference = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        Self {
            run_ns: difference(self.run_ns, before.run_ns),
            wait_ns: difference(self.wait_ns, before.wait_ns),
            voluntary_switches: difference(self.voluntary_switches, before.voluntary_switches),
            involuntary_switches: difference(self.involuntary_switches, before.involuntary_switches),
        }
    }

    /// Sum of two threads; `None` for a value that is unknown for one of them.
    pub fn plus(&self, other: &Self) -> Self {
        let sum = |one: Option<u64>, other: Option<u64>| one?.checked_add(other?);
        Self {
            run_ns: sum(self.run_ns, other.run_ns),
            wait_ns: sum(self.wait_ns, other.wait_ns),
            voluntary_switches: sum(self.voluntary_switches, other.voluntary_switches),
            involuntary_switches: sum(self.involuntary_switches, other.involuntary_switches),
        }
    }
}

impl ReceiveThread {
    /// The thread named `name`, if it is one of these.
    pub fn parse(name: &str) -> Option<Self> {
        let cpu = |text: &str| text.parse().ok().map(CpuId::new);
        if let Some(rest) = name.strip_prefix("ksoftirqd/") {
            return cpu(rest).map(Self::Ksoftirqd);
        }
        if let Some(rest) = name.strip_prefix("backlog_napi/") {
            return cpu(rest).map(Self::BacklogNapi);
        }
        name.strip_prefix("napi/").filter(|rest| !rest.is_empty()).map(|rest| Self::Napi(rest.into()))
    }

    /// The kernel's number of the NAPI instance that this thread polls; `None` for other threads, and where the name is cut.
    pub fn napi_id(&self) -> Option<u32> {
        let Self::Napi(rest) = self else { return None };
        rest.rsplit_once('-')?.1.parse().ok()
    }

    /// Whether this thread polls `interface`. Exact for names of up to 10 bytes; of a longer name only the part that old
    /// kernels keep is compared.
    pub fn polls(&self, interface: &str) -> bool {
        /// Bytes of a thread's name (TASK_COMM_LEN - 1) after `napi/`.
        const KEPT: usize = 10;
        let Self::Napi(rest) = self else { return false };
        match rest.rsplit_once('-') {
            Some((name, id)) if name == interface && !id.is_empty() => {
                id.bytes().all(|byte| byte.is_ascii_digit())
            }
            _ => rest.len() == KEPT && interface.len() >= KEPT && interface.starts_with(rest.as_str()),
        }
    }
}

/// Every kernel thread for packet reception that this process can see. In a container with its own PID namespace or under
/// `hidepid` the result is empty, which means unknown, not none.
pub fn receive_threads() -> Vec<(ThreadId, ReceiveThread)> {
    let Ok(entries) = std::fs::read_dir("/proc") else { return Vec::new() };
    entries.flatten().filter_map(|entry| receive_thread(&entry.path())).collect()
}

fn receive_thread(directory: &Path) -> Option<(ThreadId, ReceiveThread)> {
    let thread = ThreadId::new(directory.file_name()?.to_str()?.parse().ok()?)?;
    let name = std::fs::read_to_string(directory.join("comm")).ok()?;
    let kind = ReceiveThread::parse(name.trim_end())?;
    // Programs can take any name. Kernel threads have no memory map, so their command line is empty (proc(5)).
    std::fs::read(directory.join("cmdline")).ok()?.is_empty().then_some((thread, kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use capbench_sys::host::thread::current_thread;
    use proptest::prelude::*;

    const STATUS: &str =
        "Name:\tksoftirqd/0\nvoluntary_ctxt_switches:\t123\nnonvoluntary_ctxt_switches:\t45\n";

    #[test]
    fn times_and_switches_are_read() {
        let times = ThreadTimes::parse("75463 40900 2\n", STATUS);
        assert_eq!((times.run_ns, times.wait_ns), (Some(75463), Some(40900)));
        assert_eq!((times.voluntary_switches, times.involuntary_switches), (Some(123), Some(45)));
    }

    #[test]
    fn an_account_that_is_not_kept_is_unknown_and_not_zero() {
        for text in ["0 0 0\n", "", "x y z", "1 2", "-1 0 0", "99999999999999999999 1 1"] {
            assert_eq!(ThreadTimes::parse(text, STATUS).run_ns, None, "{text:?}");
        }
        assert_eq!(ThreadTimes::parse("", "").voluntary_switches, None);
        assert_eq!(ThreadTimes::parse("", "voluntary_ctxt_switches:\tx").voluntary_switches, None);
    }

    #[test]
    fn a_difference_is_known_where_both_ends_are() {
        let (before, after) = (ThreadTimes::parse("100 5 1", ""), ThreadTimes::parse("150 4 2", STATUS));
        let window = after.since(&before);
        assert_eq!((window.run_ns, window.wait_ns, window.voluntary_switches), (Some(50), None, None));
    }

    #[test]
    fn names_of_kernel_threads() {
        assert_eq!(ReceiveThread::parse("ksoftirqd/12"), Some(ReceiveThread::Ksoftirqd(CpuId::new(12))));
        assert_eq!(ReceiveThread::parse("backlog_napi/3"), Some(ReceiveThread::BacklogNapi(CpuId::new(3))));
        assert!(ReceiveThread::parse("napi/eth0-8193").unwrap().polls("eth0"));
        assert!(ReceiveThread::parse("napi/my-if-66").unwrap().polls("my-if"));
        for name in ["ksoftirqd/", "ksoftirqd/x", "napi/", "napi", "kworker/0:1", ""] {
            assert_eq!(ReceiveThread::parse(name), None, "{name:?}");
        }
    }

    #[test]
    fn another_interface_with_the_same_beginning_is_another() {
        let thread = ReceiveThread::parse("napi/eth0-8193").unwrap();
        assert!(
            !thread.polls("eth") && !thread.polls("eth01") && !thread.polls("eth0-8193") && !thread.polls("")
        );
        // Linux before 5.17 cuts "napi/cbr4194303-8193" after 15 bytes.
        let cut = ReceiveThread::parse("napi/cbr4194303").unwrap();
        assert!(cut.polls("cbr4194303"));
        assert_eq!((thread.napi_id(), cut.napi_id()), (Some(8193), None));
        assert!(!ReceiveThread::Ksoftirqd(CpuId::new(0)).polls("eth0"));
    }

    #[test]
    fn the_own_thread_has_times() {
        let times = ThreadTimes::read(current_thread()).unwrap();
        assert!(times.voluntary_switches.is_some());
        assert!(ThreadTimes::read(ThreadId::new(i32::MAX as u32).unwrap()).is_none());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(a in "\\PC{0,60}", b in "\\PC{0,60}") {
            let _ = (ThreadTimes::parse(&a, &b), ReceiveThread::parse(&a).map(|thread| thread.polls(&b)));
        }
    }
}
