//! Who had which CPU: `/proc/PID/task/TID/stat` of every thread, and `schedstat` of the threads that capture (proc(5),
//! Documentation/scheduler/sched-stats.rst). A thread that could run and had no CPU waited; one that slept did not want any.

use std::collections::BTreeMap;
use std::fs;
use std::time::{Duration, Instant};

use capbench_host::accounts::threads::ReceiveThread;
use capbench_sys::host::affinity::parse_cpu_list;

use crate::sockets::Sockets;

/// Clock ticks per second in `/proc` (USER_HZ).
const TICKS_PER_S: f64 = 100.0;

/// Share of a CPU from which a thread is named as one of those that used it.
const NOTABLE: f64 = 0.05;

/// Every thread of the host at one moment, as far as it is visible.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    at: Instant,
    threads: BTreeMap<u32, Thread>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Thread {
    process: u32,
    name: String,
    /// The CPU on which it ran last.
    cpu: u32,
    /// CPU time since it began.
    ticks: u64,
    /// Absent for threads that capture nothing.
    times: Option<Times>,
    /// The CPUs on which it may run; only of threads that poll interfaces.
    allowed: Vec<u32>,
}

/// What the scheduler counted of a thread since it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Times {
    run_ns: u64,
    wait_ns: u64,
}

/// What threads did between two moments.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Scheduled {
    seconds: f64,
    threads: Vec<Shares>,
}

/// What one thread did.
#[derive(Debug, Clone, PartialEq)]
struct Shares {
    process: u32,
    thread: u32,
    name: String,
    /// Its CPU at the end, and whether it was that at the beginning, too.
    cpu: u32,
    stayed: bool,
    /// The CPUs on which it may run; only of threads that poll interfaces.
    allowed: Vec<u32>,
    /// Share of the time in which it ran.
    used: f64,
    /// Absent for threads that capture nothing.
    reading: Option<Reading>,
}

/// What a thread that captures did.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reading {
    /// Seconds in which it ran.
    pub(crate) run_s: f64,
    /// Share of the time in which it ran.
    pub(crate) ran: f64,
    /// Share of the time in which it could run and had no CPU.
    pub(crate) waited: f64,
    /// Its CPU; absent if it changed.
    pub(crate) cpu: Option<u32>,
}

/// A thread of the kernel that polls an interface.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Polling {
    pub(crate) thread: u32,
    /// The CPU to which it is bound, else the one on which it ran last.
    pub(crate) cpus: Vec<u32>,
}

/// A process that used a CPU.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct User {
    pub(crate) pid: u32,
    pub(crate) name: String,
    /// Share of the CPU.
    pub(crate) share: f64,
}

impl Snapshot {
    /// Reads every thread, and the scheduler's figures of those that capture.
    pub(super) fn take(sockets: &Sockets) -> Self {
        let capturing: Vec<u32> =
            sockets.here.iter().flat_map(|socket| &socket.processes).map(|process| process.pid).collect();
        let mut threads = BTreeMap::new();
        for process in numbers_in("/proc") {
            let captures = capturing.contains(&process);
            for thread in numbers_in(&format!("/proc/{process}/task")) {
                let file = |name: &str| fs::read_to_string(format!("/proc/{process}/task/{thread}/{name}"));
                // One that has ended meanwhile is left out.
                let Some((name, cpu, ticks)) = file("stat").ok().and_then(|text| parse_stat(&text)) else {
                    continue;
                };
                let times =
                    if captures { file("schedstat").ok().and_then(|text| parse_times(&text)) } else { None };
                let allowed = if matches!(ReceiveThread::parse(&name), Some(ReceiveThread::Napi(_))) {
                    file("status").ok().and_then(|text| allowed_in(&text)).unwrap_or_default()
                } else {
                    Vec::new()
                };
                threads.insert(thread, Thread { process, name, cpu, ticks, times, allowed });
            }
        }
        Self { at: Instant::now(), threads }
    }

    /// Time since it was taken.
    pub(super) fn age(&self) -> Duration {
        self.at.elapsed()
    }

    /// What threads did since `before`.
    pub(super) fn since(&self, before: &Self) -> Scheduled {
        let seconds = (self.at - before.at).as_secs_f64();
        let mut threads = Vec::new();
        for (number, now) in &self.threads {
            let Some(then) = before.threads.get(number).filter(|then| then.process == now.process) else {
                continue;
            };
            let times = now.times.zip(then.times);
            let reading = times.filter(|_| seconds > 0.0).map(|(now_times, then_times)| {
                let spent = |now: u64, then: u64| now.saturating_sub(then) as f64 / 1e9;
                let run_s = spent(now_times.run_ns, then_times.run_ns);
                let waited = spent(now_times.wait_ns, then_times.wait_ns) / seconds;
                let cpu = (now.cpu == then.cpu).then_some(now.cpu);
                Reading { run_s, ran: run_s / seconds, waited, cpu }
            });
            threads.push(Shares {
                process: now.process,
                thread: *number,
                name: now.name.clone(),
                cpu: now.cpu,
                stayed: now.cpu == then.cpu,
                allowed: now.allowed.clone(),
                used: now.ticks.saturating_sub(then.ticks) as f64 / TICKS_PER_S / seconds.max(1e-3),
                reading,
            });
        }
        Scheduled { seconds, threads }
    }
}

impl Scheduled {
    /// Whether it covers this many seconds, and not a much longer time.
    pub(crate) fn covers(&self, seconds: f64) -> bool {
        self.seconds > 0.0 && self.seconds < 2.0 * seconds
    }

    /// The busiest thread of a process that captures, with the time that it waited: the one that reads, if one of them does.
    pub(crate) fn reader(&self, pid: u32) -> Option<Reading> {
        let readings =
            self.threads.iter().filter(|thread| thread.process == pid).filter_map(|thread| thread.reading);
        readings.max_by(|one, other| (one.ran + one.waited).total_cmp(&(other.ran + other.waited)))
    }

    /// The share of a CPU that all threads used.
    pub(crate) fn use_of(&self, cpu: u32) -> f64 {
        self.threads.iter().filter(|thread| thread.cpu == cpu).map(|thread| thread.used).sum()
    }

    /// The kernel's threads that poll an interface of this name.
    pub(crate) fn polling(&self, interface: &str) -> Vec<Polling> {
        let mut polling = Vec::new();
        for thread in &self.threads {
            if ReceiveThread::parse(&thread.name).is_some_and(|kind| kind.polls(interface)) {
                let is_bound = thread.allowed.len() == 1;
                let cpus = if is_bound { thread.allowed.clone() } else { vec![thread.cpu] };
                polling.push(Polling { thread: thread.thread, cpus });
            }
        }
        polling
    }

    /// The processes that used a CPU, without `except` and without the kernel's threads of receive work, busiest first.
    pub(crate) fn users_of(&self, cpu: u32, except: Option<u32>) -> Vec<User> {
        let mut users: Vec<User> = Vec::new();
        for thread in &self.threads {
            // The kernel's own receive work is not what takes a CPU away from it.
            let is_receive_work = ReceiveThread::parse(&thread.name).is_some();
            if thread.cpu != cpu || !thread.stayed || Some(thread.process) == except || is_receive_work {
                continue;
            }
            match users.iter_mut().find(|user| user.pid == thread.process) {
                Some(user) => user.share += thread.used,
                None => {
                    users.push(User { pid: thread.process, name: thread.name.clone(), share: thread.used })
                }
            }
        }
        users.retain(|user| user.share >= NOTABLE);
        users.sort_by(|one, other| other.share.total_cmp(&one.share));
        users
    }
}

/// The processes in words: the busiest, and how many more.
pub(crate) fn in_words(users: &[User]) -> Option<String> {
    let (first, others) = users.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("{} ({}){more} used", first.name, first.pid))
}

fn numbers_in(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// Name, CPU and CPU time in ticks. The name is in brackets and may contain any characters.
pub(crate) fn parse_stat(stat: &str) -> Option<(String, u32, u64)> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let columns: Vec<_> = rest.split_ascii_whitespace().collect();
    // `rest` begins with column 3 of the file. utime and stime are 14 and 15, the CPU is 39.
    let column = |number: usize| columns.get(number - 3)?.parse::<u64>().ok();
    let cpu = u32::try_from(column(39)?).ok()?;
    Some((name.into(), cpu, column(14)?.checked_add(column(15)?)?))
}

/// The CPUs of `Cpus_allowed_list` in `/proc/PID/status`.
fn allowed_in(status: &str) -> Option<Vec<u32>> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    Some(parse_cpu_list(list.trim())?.into_iter().map(|cpu| cpu.number()).collect())
}

/// The times on a CPU and in a run queue, in nanoseconds.
pub(crate) fn parse_times(schedstat: &str) -> Option<Times> {
    let mut numbers = schedstat.split_ascii_whitespace().map(str::parse);
    Some(Times { run_ns: numbers.next()?.ok()?, wait_ns: numbers.next()?.ok()? })
}

#[cfg(test)]
impl Scheduled {
    /// A process that captures, alone on CPU 1 with others.
    pub(crate) fn of(pid: u32, ran: f64, waited: f64, others: &[(u32, &str, f64)]) -> Self {
        let reading = Reading { run_s: ran, ran, waited, cpu: Some(1) };
        let shares = |process, name: &str, used, reading| Shares {
            process,
            thread: process,
            name: name.into(),
            cpu: 1,
            stayed: true,
            allowed: Vec::new(),
            used,
            reading,
        };
        let mut threads = vec![shares(pid, "tcpdump", ran, Some(reading))];
        threads.extend(others.iter().map(|(pid, name, used)| shares(*pid, name, *used, None)));
        Self { seconds: 1.0, threads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_read_whatever_its_name_is() {
        let rest = "R 1 42 42 0 -1 4194304 1 2 3 4 150 50 7 8 20 0 1 0 99 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 1 0 0";
        assert_eq!(parse_stat(&format!("42 (a) (b c) {rest}")), Some(("a) (b c".into(), 1, 200)));
        assert!(parse_stat("").is_none() && parse_stat("1 (x) S").is_none());
        assert_eq!(parse_times("5 6 7\n"), Some(Times { run_ns: 5, wait_ns: 6 }));
        assert!(parse_times("5").is_none() && parse_times("x y z").is_none());
    }

    #[test]
    fn those_who_used_a_cpu_are_named_by_process_and_the_busiest_first() {
        let scheduled = Scheduled::of(
            42,
            0.6,
            0.3,
            &[
                (7, "sh", 0.1),
                (8, "cc1", 0.2),
                (9, "idle", 0.01),
                (10, "ksoftirqd/1", 0.5),
                (11, "napi/eth0-7", 0.4),
                (13, "napi/eth0-fe-8", 0.4),
                (12, "backlog_napi/1", 0.3),
            ],
        );
        let users = scheduled.users_of(1, Some(42));
        assert_eq!(in_words(&users).as_deref(), Some("cc1 (8) and 1 more used"));
        let polling: Vec<u32> = scheduled.polling("eth0").iter().map(|polling| polling.thread).collect();
        assert_eq!(polling, [11], "eth0-fe is another interface");
        assert_eq!((in_words(&scheduled.users_of(0, None)), scheduled.reader(7)), (None, None));
        assert_eq!(scheduled.reader(42).map(|reading| reading.waited), Some(0.3));
    }

    #[test]
    fn this_process_is_seen_with_its_cpu_time() {
        let sockets = Sockets::default();
        let (before, own) = (Snapshot::take(&sockets), std::process::id());
        let scheduled = Snapshot::take(&sockets).since(&before);
        assert!(scheduled.threads.iter().any(|thread| thread.process == own), "{scheduled:?}");
    }
}
