//! The effective capabilities of the calling thread: capabilities(7), `CapEff` of proc_pid_status(5).

use std::fmt;

use super::proc_file;
use crate::{Result, SysError};

macro_rules! capabilities {
    ($($(#[$doc:meta])* $variant:ident = $number:literal, $name:literal;)+) => {
        /// The capabilities that capbench checks or keeps. The discriminant is the kernel's number (linux/capability.h).
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Capability {
            $($(#[$doc])* $variant = $number,)+
        }

        impl Capability {
            /// The name that capabilities(7) uses.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)+
                }
            }
        }
    };
}

capabilities! {
    /// Change owner and group of files.
    Chown = 0, "CAP_CHOWN";
    /// Read and write files of other users.
    DacOverride = 1, "CAP_DAC_OVERRIDE";
    /// Search folders of other users.
    DacReadSearch = 2, "CAP_DAC_READ_SEARCH";
    /// Lower the bounding set.
    SetPcap = 8, "CAP_SETPCAP";
    /// Configure interfaces, namespaces and RPS.
    NetAdmin = 12, "CAP_NET_ADMIN";
    /// Open packet sockets.
    NetRaw = 13, "CAP_NET_RAW";
    /// Lock memory beyond the limit of the user.
    IpcLock = 14, "CAP_IPC_LOCK";
    /// See open files of other users' processes.
    SysPtrace = 19, "CAP_SYS_PTRACE";
    /// Make and enter namespaces, mount.
    SysAdmin = 21, "CAP_SYS_ADMIN";
    /// Raise priorities and pin threads of other users.
    SysNice = 23, "CAP_SYS_NICE";
    /// See addresses of the kernel's functions.
    Syslog = 34, "CAP_SYSLOG";
    /// Load tracing BPF programs (Linux 5.8).
    Perfmon = 38, "CAP_PERFMON";
    /// Load BPF programs (Linux 5.8).
    Bpf = 39, "CAP_BPF";
}

impl Capability {
    /// Those needed to open something; results list the missing ones.
    pub const ALL: [Self; 6] =
        [Self::NetAdmin, Self::NetRaw, Self::SysAdmin, Self::SysNice, Self::Perfmon, Self::Bpf];
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
    pub(super) fn of_current_thread() -> Result<Self> {
        const FILE: &str = "/proc/thread-self/status";
        Self::parse(&proc_file::read(FILE)?)
            .ok_or_else(|| SysError::argument(FILE, "no lines of capabilities"))
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
    Sets::of_current_thread().map(|sets| sets.effective)
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
        for odd in ["", "CapEff:", "CapEff:\tzz", "CapEff:\t1ffffffffffffffff"] {
            assert_eq!(parse(odd, "CapEff"), None, "{odd:?}");
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
