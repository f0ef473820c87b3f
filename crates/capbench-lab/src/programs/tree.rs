//! All processes of a program, and the sum of their CPU time: proc_pid_stat(5) and their CPU clocks.

use std::fs;

use capbench_sys::host::{ProcessId, ThreadId, clock};

use capbench_host::accounts::cpu::tick_ns;
use capbench_host::accounts::threads::ThreadTimes;

/// The environment variable that identifies a program's processes that left its session. No flag has this name: a capbench that
/// is such a program would take the variable for a setting.
pub(super) const MARK: &str = "CAPBENCH_PROGRAM_OF";

/// A process. Its start time distinguishes it from a later one with the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) id: ProcessId,
    parent: u32,
    session: u32,
    started: u64,
    /// CPU time of children that ended and were waited for, in ticks.
    of_ended_children: u64,
}

impl Member {
    fn read(id: ProcessId) -> Option<Self> {
        Self::parse(id, &fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// The program's name is in brackets and may contain any characters, brackets included; numbers follow.
    fn parse(id: ProcessId, stat: &str) -> Option<Self> {
        let rest: Vec<_> = stat[stat.rfind(')')? + 1..].split_ascii_whitespace().collect();
        // A zombie has ended: it only waits until its parent reads its status.
        if matches!(rest.first(), Some(&("Z" | "X"))) {
            return None;
        }
        // `rest` begins with the third field of proc_pid_stat(5).
        let field = |number: usize| rest.get(number - 3)?.parse::<u64>().ok();
        Some(Self {
            id,
            parent: field(4)?.try_into().ok()?,
            session: field(6)?.try_into().ok()?,
            started: field(22)?,
            // cutime and cstime are signed and never below 0.
            of_ended_children: field(16)? + field(17)?,
        })
    }

    /// Whether this very process still runs.
    pub(super) fn is_alive(&self) -> bool {
        Self::read(self.id).is_some_and(|now| now.started == self.started)
    }
}

/// Every process visible to this one.
fn all() -> Vec<Member> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    let ids = entries.flatten().filter_map(|entry| ProcessId::new(entry.file_name().to_str()?.parse().ok()?));
    ids.filter_map(Member::read).collect()
}

/// The process `root`, all processes in its session, and their descendants.
pub(super) fn members(root: ProcessId) -> Vec<Member> {
    let everybody = all();
    let mut members: Vec<Member> = everybody
        .iter()
        .filter(|process| process.id == root || process.session == root.number())
        .copied()
        .collect();
    let mut next = 0;
    while next < members.len() {
        let parent = members[next].id.number();
        for child in everybody.iter().filter(|process| process.parent == parent) {
            if !members.contains(child) {
                members.push(*child);
            }
        }
        next += 1;
    }
    members
}

/// Processes whose environment has [`MARK`] with this value, in any session.
pub(super) fn marked(value: &str) -> Vec<Member> {
    let wanted = format!("{MARK}={value}");
    all()
        .into_iter()
        .filter(|process| {
            let environment = fs::read(format!("/proc/{}/environ", process.id)).unwrap_or_default();
            environment.split(|octet| *octet == 0).any(|variable| variable == wanted.as_bytes())
        })
        .collect()
}

/// Total CPU use of processes up to now.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Usage {
    /// CPU time in ns, user and system. That of children that ended and were waited for comes in steps of a timer tick.
    pub(super) cpu_ns: u64,
    voluntary_switches: u64,
    involuntary_switches: u64,
}

impl Usage {
    /// The CPU use of all current members of the tree.
    pub(super) fn of(members: &[Member]) -> Self {
        let mut usage = Self::default();
        for member in members {
            usage.cpu_ns += clock::process_cpu_ns(member.id).unwrap_or(0)
                + member.of_ended_children * tick_ns().unwrap_or_default();
            let Ok(tasks) = fs::read_dir(format!("/proc/{}/task", member.id)) else { continue };
            let threads = tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok());
            for times in threads.filter_map(ThreadId::new).filter_map(ThreadTimes::read) {
                usage.voluntary_switches += times.voluntary_switches.unwrap_or(0);
                usage.involuntary_switches += times.involuntary_switches.unwrap_or(0);
            }
        }
        usage
    }

    /// Whether one of their threads could continue: it runs or waits for a CPU (R), or for a disk (D).
    pub(super) fn can_go_on(members: &[Member]) -> bool {
        members.iter().any(|member| {
            let tasks = fs::read_dir(format!("/proc/{}/task", member.id)).into_iter().flatten().flatten();
            tasks.map(|task| fs::read_to_string(task.path().join("stat")).unwrap_or_default()).any(|stat| {
                let state = stat.rfind(')').and_then(|end| stat[end + 1..].split_ascii_whitespace().next());
                matches!(state, Some("R" | "D"))
            })
        })
    }

    /// Only the CPU time, which is cheap to read repeatedly.
    pub(super) fn cpu_ns_of(members: &[Member]) -> u64 {
        members.iter().filter_map(|member| clock::process_cpu_ns(member.id).ok()).sum()
    }

    /// CPU time since `before`, and context switches unless a thread that had any has ended.
    pub(super) fn since(&self, before: &Self) -> (u64, ThreadTimes) {
        let times = ThreadTimes {
            run_ns: None,
            wait_ns: None,
            voluntary_switches: self.voluntary_switches.checked_sub(before.voluntary_switches),
            involuntary_switches: self.involuntary_switches.checked_sub(before.involuntary_switches),
        };
        (self.cpu_ns.saturating_sub(before.cpu_ns), times)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use capbench_sys::host::ProcessId;
    use capbench_sys::host::process::{Signal, lead_own_session, signal_group};
    use proptest::prelude::*;

    use super::{MARK, Member, Usage, marked, members};

    fn eventually(mut condition: impl FnMut() -> bool) {
        let begun = Instant::now();
        while !condition() {
            assert!(begun.elapsed() < Duration::from_secs(30));
            std::thread::sleep(Duration::from_millis(2));
        }
    }

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let id = ProcessId::new(7).unwrap();
        let stat = "7 (a) R (b) S 3 7 5 0 -1 4194304 1 2 3 4 50 60 11 12 20 0 1 0 777 8192 1";
        let member = Member::parse(id, stat).unwrap();
        assert_eq!((member.parent, member.session, member.started), (3, 5, 777));
        assert_eq!(member.of_ended_children, 23);
        assert!(Member::parse(id, "7 (x) Z 3 7 5").is_none() && Member::parse(id, "").is_none());
    }

    #[test]
    fn the_time_of_the_whole_tree_is_counted() {
        let mut command = Command::new("sh");
        // A grandchild works; one that leaves the session is known by its parent, and by its mark.
        let script = "sh -c 'while :; do :; done' & setsid sleep 100 & wait";
        command.args(["-c", script]).env(MARK, "of-this-test").stdin(Stdio::null());
        let mut child = lead_own_session(&mut command).spawn().unwrap();
        let root = ProcessId::new(child.id()).unwrap();
        eventually(|| members(root).len() == 3 && marked("of-this-test").len() == 3);
        let before = Usage::of(&members(root));
        eventually(|| Usage::of(&members(root)).since(&before).0 > 20_000_000);
        let left = marked("of-this-test");
        signal_group(root, Signal::Kill).unwrap();
        child.wait().unwrap();
        for member in left.iter().filter(|member| member.is_alive()) {
            let _ = capbench_sys::host::process::signal_process(member.id, Signal::Kill);
        }
        eventually(|| marked("of-this-test").is_empty() && !left.iter().any(Member::is_alive));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,80}") {
            let _ = Member::parse(ProcessId::new(2).unwrap(), &text);
        }
    }
}
