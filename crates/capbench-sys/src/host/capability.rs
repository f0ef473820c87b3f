//! The effective capabilities of the calling thread: capabilities(7), `CapEff` of proc_pid_status(5).

use std::fmt;

use super::proc_file;
use crate::{Result, SysError};

/// The capabilities that capbench checks or keeps. The discriminant is the kernel's number (linux/capability.h).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Capability {
    /// Change owner and group of files.
    Chown = 0,
    /// Read and write files of other users.
    DacOverride = 1,
    /// Search folders of other users.
    DacReadSearch = 2,
    /// Lower the bounding set.
    SetPcap = 8,
    /// Configure interfaces, namespaces and RPS.
    NetAdmin = 12,
    /// Open packet sockets.
    NetRaw = 13,
    /// See open files of other users' processes.
    SysPtrace = 19,
    /// Make and enter namespaces, mount.
    SysAdmin = 21,
    /// Raise priorities and pin threads of other users.
    SysNice = 23,
    /// See addresses of the kernel's functions.
    Syslog = 34,
    /// Load tracing BPF programs (Linux 5.8).
    Perfmon = 38,
    /// Load BPF programs (Linux 5.8).
    Bpf = 39,
}

impl Capability {
    /// Those needed to open something; results list the missing ones.
    pub const ALL: [Self; 6] =
        [Self::NetAdmin, Self::NetRaw, Self::SysAdmin, Self::SysNice, Self::Perfmon, Self::Bpf];

    /// The name that capabilities(7) uses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chown => "CAP_CHOWN",
            Self::DacOverride => "CAP_DAC_OVERRIDE",
            Self::DacReadSearch => "CAP_DAC_READ_SEARCH",
            Self::SetPcap => "CAP_SETPCAP",
            Self::NetAdmin => "CAP_NET_ADMIN",
            Self::NetRaw => "CAP_NET_RAW",
            Self::SysPtrace => "CAP_SYS_PTRACE",
            Self::SysAdmin => "CAP_SYS_ADMIN",
            Self::SysNice => "CAP_SYS_NICE",
            Self::Syslog => "CAP_SYSLOG",
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

/// A set of capabilities, valid in the thread's user namespace. In the initial one they apply to the host:
/// [`super::namespace::in_initial_user_namespace`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CapabilitySet(u64);

impl CapabilitySet {
    /// The empty set.
    pub const EMPTY: Self = Self(0);

    /// The set of these capabilities.
    pub fn of(capabilities: &[Capability]) -> Self {
        Self(capabilities.iter().fold(0, |bits, capability| bits | 1 << *capability as u8))
    }

    /// Union of both sets.
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Intersection of both sets.
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// This set without the other one.
    pub const fn less(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// One bit per capability, at the kernel's number.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Whether the capability that the kernel gives this number is in the set.
    pub(super) const fn has_number(self, number: u32) -> bool {
        self.0 >> number & 1 == 1
    }

    /// Whether `capability` is in the set.
    pub const fn has(self, capability: Capability) -> bool {
        self.0 >> capability as u8 & 1 == 1
    }

    /// The capabilities of `wanted` that are not in the set.
    pub fn missing(self, wanted: &[Capability]) -> Vec<Capability> {
        wanted.iter().copied().filter(|capability| !self.has(*capability)).collect()
    }
}

/// The capability sets of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sets {
    /// Capabilities that it may make effective.
    pub permitted: CapabilitySet,
    /// Its current capabilities.
    pub effective: CapabilitySet,
    /// Capabilities for programs with the same inheritable file capability.
    pub inheritable: CapabilitySet,
    /// Capabilities of any program that it starts.
    pub ambient: CapabilitySet,
    /// Limit of the capabilities of programs with file capabilities, or of root's.
    pub bounding: CapabilitySet,
}

impl Sets {
    /// The sets of the calling thread.
    pub fn of_current_thread() -> Result<Self> {
        const FILE: &str = "/proc/thread-self/status";
        let missing =
            || SysError::argument(FILE, "no lines \"CapPrm\" to \"CapAmb\" with hexadecimal numbers");
        Self::parse(&proc_file::read(FILE)?).ok_or_else(missing)
    }

    /// Parses a thread's `status` file of `/proc`.
    pub fn parse(status: &str) -> Option<Self> {
        Some(Self {
            permitted: parse(status, "CapPrm")?,
            effective: parse(status, "CapEff")?,
            inheritable: parse(status, "CapInh")?,
            ambient: parse(status, "CapAmb")?,
            bounding: parse(status, "CapBnd")?,
        })
    }
}

impl fmt::Display for Sets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { permitted, effective, inheritable, ambient, bounding } = self;
        write!(
            f,
            "permitted {:x}, effective {:x}, inheritable {:x}, ambient {:x}, bounding {:x}",
            permitted.0, effective.0, inheritable.0, ambient.0, bounding.0
        )
    }
}

/// The effective capabilities of the calling thread.
pub fn effective() -> Result<CapabilitySet> {
    const FILE: &str = "/proc/thread-self/status";
    let text = proc_file::read(FILE)?;
    parse(&text, "CapEff")
        .ok_or_else(|| SysError::argument(FILE, "no line \"CapEff\" with a hexadecimal number"))
}

fn parse(status: &str, line: &str) -> Option<CapabilitySet> {
    u64::from_str_radix(proc_file::field(status, line)?, 16).ok().map(CapabilitySet)
}

#[cfg(test)]
mod tests {
    use rustix::net::{AddressFamily, SocketType};

    use super::*;

    #[test]
    fn the_effective_line_is_read() {
        let status =
            "Name:\tcat\nCapInh:\t0000000000000000\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000003000\n";
        let set = parse(status, "CapEff").unwrap();
        assert!(
            set.has(Capability::NetAdmin) && set.has(Capability::NetRaw) && !set.has(Capability::SysAdmin)
        );
        assert_eq!(set.missing(&[Capability::NetRaw, Capability::Bpf]), [Capability::Bpf]);
        assert_eq!(Capability::Bpf.to_string(), "CAP_BPF");
    }

    #[test]
    fn odd_lines_are_no_set() {
        for status in ["", "CapEff:", "CapEff:\tzz", "CapEff:\t1ffffffffffffffff"] {
            assert_eq!(parse(status, "CapEff"), None, "{status:?}");
        }
    }

    #[test]
    fn sets_are_made_of_capabilities() {
        let set = CapabilitySet::of(&[Capability::Chown, Capability::Bpf]);
        assert_eq!(set.bits(), 1 | 1 << 39);
        assert_eq!(set.and(CapabilitySet::of(&[Capability::Bpf])).missing(&[Capability::Chown]).len(), 1);
        assert_eq!(set.or(CapabilitySet::of(&[Capability::NetRaw])).bits().count_ones(), 3);
        assert_eq!(Sets::parse("CapPrm:\t1\nCapEff:\t1\n"), None);
    }

    /// The kernel opens a packet socket for nobody without CAP_NET_RAW.
    #[test]
    fn this_threads_set_is_the_kernels() {
        let set = effective().unwrap();
        let socket = rustix::net::socket(AddressFamily::PACKET, SocketType::RAW, None);
        assert_eq!(set.has(Capability::NetRaw), socket.is_ok());
        let text = std::fs::read_to_string("/proc/self/status").unwrap();
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with("CapEff:")).collect();
        assert_eq!(lines, [format!("CapEff:\t{:016x}", set.bits())]);
    }
}
