//! The processes that used some CPUs between two readings: `/proc/PID/task/TID/schedstat` and `stat` (proc(5),
//! Documentation/scheduler/sched-stats.rst).
//!
//! A reading has the CPU time of every thread, which costs 8 us a thread. `stat` costs 60 us: it is read for the threads that ran,
//! after the second reading. A thread that started and ended in between is in neither reading.

mod family;
mod quota;
mod stat;

use std::collections::BTreeMap;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use capbench_model::disturbers::{CpuUser, Disturbers, Hidden, Throttled};
use capbench_sys::host::{CpuId, clock};

use self::family::Family;
use self::stat::TaskStat;
use super::threads::ReceiveThread;

/// Most threads that are read: they take about 80 ms.
const MOST_THREADS: usize = 10_000;

/// Most processes of a trial.
const MOST_PROCESSES: usize = 16;

/// A thread that ran for less than this part of the window is not listed.
const SMALLEST_PART: u64 = 100;

/// CPU times of all threads of the host at one moment.
#[derive(Clone, Debug)]
pub struct ProcessReading {
    proc: PathBuf,
    monotonic_ns: u64,
    /// When it began, in nanoseconds since boot, suspend included: the clock of the start times of threads.
    boottime_ns: u64,
    took_ns: u64,
    threads: BTreeMap<Thread, u64>,
    hidden: Vec<Hidden>,
    throttled: Option<Throttled>,
}

/// A thread by the numbers of its process and of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Thread {
    pid: u32,
    tid: u32,
}

impl ProcessReading {
    /// Reads the times now.
    pub fn now() -> Self {
        Self::below(Path::new("/proc"), Path::new("/sys/fs/cgroup"))
    }

    /// Reads them from other folders than the kernel's.
    fn below(proc: &Path, cgroups: &Path) -> Self {
        let mut reading = Self {
            proc: proc.into(),
            monotonic_ns: clock::monotonic_ns(),
            boottime_ns: clock::boottime_ns(),
            took_ns: 0,
            threads: BTreeMap::new(),
            hidden: Vec::new(),
            throttled: quota::throttled(proc, cgroups),
        };
        reading.read_threads();
        reading.hidden.extend(hidden_by_proc(proc));
        reading.hidden.sort_unstable();
        reading.hidden.dedup();
        reading.took_ns = clock::monotonic_ns().saturating_sub(reading.monotonic_ns);
        reading
    }

    fn read_threads(&mut self) {
        let Some(processes) = numbers_in(&self.proc) else {
            self.hidden.push(Hidden::NoProc);
            return;
        };
        let mut text = String::new();
        for pid in processes {
            // A process that has just ended has no threads.
            let Some(threads) = numbers_in(&self.proc.join(format!("{pid}/task"))) else { continue };
            for tid in threads {
                if self.threads.len() == MOST_THREADS {
                    self.hidden.push(Hidden::TooMany);
                    return;
                }
                let file = self.proc.join(format!("{pid}/task/{tid}/schedstat"));
                text.clear();
                let read = fs::File::open(file).and_then(|mut file| file.read_to_string(&mut text));
                match read {
                    Ok(_) => self.keep(Thread { pid, tid }, &text),
                    Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                        self.hidden.push(Hidden::Refused);
                    }
                    Err(_) => {}
                }
            }
        }
        // Without scheduler statistics the kernel shows zeros (fs/proc/base.c), or has no such file.
        if self.threads.values().all(|run_ns| *run_ns == 0) {
            self.hidden.push(Hidden::NoAccount);
        }
    }

    fn keep(&mut self, thread: Thread, schedstat: &str) {
        let run_ns = schedstat.split_ascii_whitespace().next().and_then(|word| word.parse().ok());
        if let Some(run_ns) = run_ns {
            self.threads.insert(thread, run_ns);
        }
    }

    /// Duration of the reading.
    pub const fn took_ns(&self) -> u64 {
        self.took_ns
    }

    /// The processes that used one of these CPUs since `before`, which was read in this process. Threads of this process, of the
    /// capbench that started it, and of what they started are the trial's own, and so are the kernel's threads that receive packets.
    pub fn since(&self, before: &Self, cpus: &[CpuId]) -> Disturbers {
        let window_ns = self.monotonic_ns.saturating_sub(before.monotonic_ns);
        let mut family = Family::of_this_process(&self.proc);
        let mut used: BTreeMap<(u32, u32), CpuUser> = BTreeMap::new();
        for (thread, run_ns) in &self.threads {
            if !self.may_have_run(*thread, *run_ns, before, window_ns) {
                continue;
            }
            let Some(stat) = stat::of_thread(&self.proc, thread.pid, thread.tid) else { continue };
            let Some(run_ns) =
                ran_ns(before.threads.get(thread).copied(), *run_ns, &stat, before.boottime_ns)
            else {
                continue;
            };
            let is_on_them = cpus.iter().any(|cpu| cpu.number() == stat.cpu);
            if !is_on_them || run_ns < window_ns / SMALLEST_PART || family.has(thread.pid) {
                continue;
            }
            let Some(process) = family.stat(thread.pid) else { continue };
            if process.is_kernel_thread && ReceiveThread::parse(&process.comm).is_some() {
                continue;
            }
            let user = used.entry((thread.pid, stat.cpu)).or_insert_with(|| CpuUser {
                pid: thread.pid,
                comm: process.comm,
                is_kernel_thread: process.is_kernel_thread,
                cpu: stat.cpu,
                run_ns: 0,
            });
            user.run_ns += run_ns;
        }
        let mut processes: Vec<CpuUser> = used.into_values().collect();
        processes.sort_by_key(|process| std::cmp::Reverse(process.run_ns));
        processes.truncate(MOST_PROCESSES);
        let mut hidden = [&before.hidden[..], &self.hidden[..]].concat();
        hidden.sort_unstable();
        hidden.dedup();
        Disturbers {
            window_begin_ns: Some(before.monotonic_ns),
            window_ns,
            processes,
            hidden,
            throttled: quota::since(self.throttled, before.throttled),
            idle_cpus: Vec::new(),
            reader_pid: family.reader(),
            threads: self.threads.len() as u32,
            reading_ns: before.took_ns + self.took_ns,
        }
    }

    /// Whether a thread ran for long enough to be examined. Less time than before shows another thread of the same number.
    fn may_have_run(&self, thread: Thread, run_ns: u64, before: &Self, window_ns: u64) -> bool {
        let smallest_ns = (window_ns / SMALLEST_PART).max(1);
        match before.threads.get(&thread) {
            Some(then_ns) if run_ns >= *then_ns => run_ns - then_ns >= smallest_ns,
            _ => run_ns >= smallest_ns,
        }
    }
}

/// CPU time of a thread since the first reading, which had `then_ns` for its number and began `reading_ns` after boot. A number
/// can belong to another thread by now: it then started later than the reading, and all of its time counts. `None` if the first
/// reading should have had the thread and did not.
fn ran_ns(then_ns: Option<u64>, now_ns: u64, stat: &TaskStat, reading_ns: u64) -> Option<u64> {
    if stat.started_ns >= reading_ns {
        return Some(now_ns);
    }
    match then_ns {
        Some(then_ns) => Some(now_ns.checked_sub(then_ns).unwrap_or(now_ns)),
        // Start times come in ticks: it may have started in the tick in which the reading began.
        None => (stat.started_ns + stat.tick_ns > reading_ns).then_some(now_ns),
    }
}

/// The entries of a folder that are numbers; `None` if it cannot be read.
fn numbers_in(folder: &Path) -> Option<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            numbers.push(number);
        }
    }
    Some(numbers)
}

/// Why /proc shows a part of the processes only. If it shows the kernel's threads, it shows all.
fn hidden_by_proc(proc: &Path) -> Option<Hidden> {
    /// The inode of the first PID namespace (PROC_PID_INIT_INO in include/linux/proc_ns.h of the kernel).
    const FIRST_NAMESPACE: &str = "pid:[4026531836]";
    if stat::of_process(proc, 2).is_some_and(|process| process.is_kernel_thread) {
        return None;
    }
    let namespace = fs::read_link(proc.join("self/ns/pid")).ok()?;
    if namespace.as_os_str() == FIRST_NAMESPACE {
        return Some(Hidden::MountedHidepid);
    }
    Some(Hidden::PidNamespace)
}

#[cfg(test)]
mod tests;
