//! The processes that have sockets open: `/proc/PID/stat` and `/proc/PID/fd` (proc(5)).

use std::collections::BTreeMap;
use std::fs;

use schemars::JsonSchema;
use serde::Serialize;

/// A process that has a socket open.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Process {
    /// Its number.
    pub pid: u32,
    /// Its name, up to 15 octets; absent if the process has ended or is hidden.
    pub name: Option<String>,
    /// Its state as ps(1) shows it: `R` runs, `S` sleeps, `D` waits for a device, `T` is stopped, `t` is traced.
    pub state: Option<char>,
    /// CPU time of all its threads since it began, in seconds; in an interval, the time of the interval.
    pub cpu_s: Option<f64>,
}

/// Clock ticks per second in `/proc` (USER_HZ), the same on every architecture that capbench supports.
const TICKS_PER_S: f64 = 100.0;

impl Process {
    /// The kernel's current data of a process.
    pub(super) fn read(pid: u32) -> Self {
        let found = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|text| parse(&text));
        let (name, state, ticks) =
            found.map_or((None, None, None), |(name, state, ticks)| (Some(name), Some(state), Some(ticks)));
        Self { pid, name, state, cpu_s: ticks.map(|ticks| ticks as f64 / TICKS_PER_S) }
    }

    /// Whether it has been stopped, by a signal or a debugger.
    pub fn is_stopped(&self) -> bool {
        matches!(self.state, Some('T' | 't'))
    }
}

impl std::fmt::Display for Process {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.name.as_deref().unwrap_or("process"), self.pid)
    }
}

/// Name, state and CPU time in ticks. The name is in brackets and may contain any characters.
pub(crate) fn parse(stat: &str) -> Option<(String, char, u64)> {
    let (head, rest) = stat.rsplit_once(')')?;
    let name = head.split_once('(')?.1;
    let columns: Vec<_> = rest.split_ascii_whitespace().collect();
    // utime and stime are the columns 14 and 15 of the file; `rest` begins with column 3.
    let ticks = |column: usize| columns.get(column - 3)?.parse::<u64>().ok();
    Some((name.into(), columns.first()?.chars().next()?, ticks(14)?.checked_add(ticks(15)?)?))
}

/// Whether `/proc` hides processes of other users without CAP_SYS_PTRACE (`hidepid=` of proc(5)).
pub(crate) fn are_hidden() -> bool {
    fs::read_to_string("/proc/self/mountinfo").is_ok_and(|mounts| hides(&mounts))
}

fn hides(mounts: &str) -> bool {
    let mut proc = mounts.lines().filter(|mount| mount.split(' ').nth(4) == Some("/proc"));
    let options = proc.next_back().and_then(|mount| mount.split(' ').next_back()).unwrap_or_default();
    options
        .split(',')
        .any(|option| option.strip_prefix("hidepid=").is_some_and(|level| !matches!(level, "0" | "off")))
}

/// The processes that have each socket open, by the sockets' inodes, as far as the privilege allows.
pub(super) fn by_socket() -> BTreeMap<u64, Vec<u32>> {
    let mut found = BTreeMap::<u64, Vec<u32>>::new();
    let number = |entry: &fs::DirEntry| entry.file_name().to_str()?.parse::<u32>().ok();
    for pid in fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| number(&entry)) {
        // An ordinary user cannot see those of other users.
        let descriptors = fs::read_dir(format!("/proc/{pid}/fd"));
        for target in
            descriptors.into_iter().flatten().flatten().filter_map(|fd| fs::read_link(fd.path()).ok())
        {
            let inode = target.to_str().and_then(|text| text.strip_prefix("socket:[")?.strip_suffix(']'));
            if let Some(inode) = inode.and_then(|inode| inode.parse().ok()) {
                let owners = found.entry(inode).or_default();
                if owners.last() != Some(&pid) {
                    owners.push(pid);
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_contain_anything() {
        let stat = "42 (a) (b c) T 1 42 42 0 -1 4194304 1 2 3 4 150 50 7 8 20 0 1 0 99";
        assert_eq!(parse(stat), Some(("a) (b c".into(), 'T', 200)));
        assert!(parse("").is_none() && parse("1 (x) S").is_none());
    }

    #[test]
    fn hidden_processes_are_an_option_of_the_mount() {
        let mount = |options: &str| {
            format!("21 1 0:1 / /sys rw - sysfs sysfs rw\n22 1 0:2 / /proc rw,nosuid - proc proc {options}\n")
        };
        for (options, is_hidden) in [
            ("rw", false),
            ("rw,hidepid=2", true),
            ("rw,gid=4,hidepid=invisible", true),
            ("rw,hidepid=off", false),
        ] {
            assert_eq!(hides(&mount(options)), is_hidden, "{options}");
        }
    }

    #[test]
    fn this_process_is_found_with_its_socket() {
        let _socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = std::process::id();
        assert!(by_socket().values().any(|owners| owners.contains(&own)));
        let process = Process::read(own);
        assert!(process.name.is_some() && process.cpu_s.is_some() && !process.is_stopped());
    }
}
