//! Which capabilities the calling thread can use now: capabilities(7), `CapEff` of proc_pid_status(5).

use std::fmt;

use super::proc_file;
use crate::{Result, SysError};

/// The capabilities that capbench asks about. The discriminant is the kernel's number (linux/capability.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Configure interfaces, namespaces and RPS.
    NetAdmin = 12,
    /// Open packet sockets.
    NetRaw = 13,
    /// Make and enter namespaces, mount.
    SysAdmin = 21,
    /// Raise priorities and pin threads of other users.
    SysNice = 23,
    /// Load tracing BPF programs (Linux 5.8).
    Perfmon = 38,
    /// Load BPF programs (Linux 5.8).
    Bpf = 39,
}

impl Capability {
    /// Every capability that capbench asks about.
    pub const ALL: [Self; 6] =
        [Self::NetAdmin, Self::NetRaw, Self::SysAdmin, Self::SysNice, Self::Perfmon, Self::Bpf];

    /// The name that capabilities(7) uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
            Self::Perfmon => "CAP_PERFMON",
            Self::Bpf => "CAP_BPF",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// A set of capabilities. They hold for the user namespace that the thread is in: whether that is the initial one,
/// where they reach the host, [`super::namespace::in_initial_user_namespace`] tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapabilitySet(u64);

impl CapabilitySet {
    /// Whether `capability` is in the set.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 >> capability as u8 & 1 == 1
    }

    /// Those of `wanted` that are not in the set.
    pub fn missing(self, wanted: &[Capability]) -> Vec<Capability> {
        wanted.iter().copied().filter(|capability| !self.has(*capability)).collect()
    }
}

/// The capabilities that are effective for the calling thread.
pub fn effective() -> Result<CapabilitySet> {
    const FILE: &str = "/proc/thread-self/status";
    let text = proc_file::read(FILE)?;
    parse(&text).ok_or_else(|| SysError::argument(FILE, "no line \"CapEff\" with a hexadecimal number"))
}

fn parse(status: &str) -> Option<CapabilitySet> {
    u64::from_str_radix(proc_file::field(status, "CapEff")?, 16).ok().map(CapabilitySet)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_line_is_read() {
        let status =
            "Name:\tcat\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000003000\n";
        let set = parse(status).unwrap();
        assert!(
            set.has(Capability::NetAdmin) && set.has(Capability::NetRaw) && !set.has(Capability::SysAdmin)
        );
        assert_eq!(set.missing(&[Capability::NetRaw, Capability::Bpf]), [Capability::Bpf]);
        assert_eq!(Capability::Bpf.to_string(), "CAP_BPF");
    }

    #[test]
    fn odd_lines_are_no_set() {
        for status in ["", "CapEff:", "CapEff:\tzz", "CapEff:\t1ffffffffffffffff"] {
            assert_eq!(parse(status), None, "{status:?}");
        }
    }

    #[test]
    fn this_thread_has_a_set() {
        let set = effective().unwrap();
        assert!(set.missing(&Capability::ALL).len() <= Capability::ALL.len());
    }
}
