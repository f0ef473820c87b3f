//! Fanout groups: several packet sockets share the frames of one interface; each frame goes to one of them (`PACKET_FANOUT`,
//! packet(7); `fanout_add` and `packet_rcv_fanout` of net/packet/af_packet.c).

use std::borrow::Cow;
use std::fmt;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;
use std::str::FromStr;

use super::socket::PacketSocket;
use crate::bpf::pinned;
use crate::error::Result;
use crate::socket_option::{Filter, PACKET_FANOUT, PACKET_FANOUT_DATA, attach_program};

/// Limit of a group's members: fixed before Linux 5.11, and the default of later kernels unless the first member requests more.
pub const MOST_MEMBERS: usize = 256;

/// How a group chooses the member for a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FanoutMode {
    /// By flow hash, which is the same in both directions (`PACKET_FANOUT_HASH`; before Linux 4.8 it could differ). A fragment
    /// without ports is hashed by its addresses only.
    Hash,
    /// By the CPU that does the kernel's receive work (`PACKET_FANOUT_CPU`).
    Cpu,
    /// By the receive queue that the driver recorded (`PACKET_FANOUT_QM`). The kernel counts these queues from one, so queue n
    /// goes to member (n + 1) modulo the number of members. Frames without a record go to the first.
    Queue,
    /// Round robin (`PACKET_FANOUT_LB`): a flow's frames go to all members.
    InTurn,
    /// One member until its ring is nearly full, then the next (`PACKET_FANOUT_ROLLOVER`): as few members as the load needs. A flow's
    /// frames go to several where one is not enough.
    Rollover,
    /// By a program, see [`PacketSocket::set_fanout_program`]. Without one every frame goes to the first.
    Program,
}

/// A program for [`FanoutMode::Program`] (Linux 4.3). The kernel takes its result modulo the number of members.
#[derive(Debug)]
pub enum FanoutProgram {
    /// Classic BPF (`PACKET_FANOUT_CBPF`).
    Classic(Cow<'static, Filter>),
    /// A loaded program of the type `BPF_PROG_TYPE_SOCKET_FILTER` (`PACKET_FANOUT_EBPF`).
    Loaded(OwnedFd),
}

impl FanoutProgram {
    /// A loaded program that is pinned at this path.
    pub fn pinned(path: &Path) -> Result<Self> {
        pinned(path).map(Self::Loaded)
    }
}

impl FanoutMode {
    /// All modes with their names, as users write them.
    pub const ALL: [(&'static str, Self); 6] = [
        ("hash", Self::Hash),
        ("cpu", Self::Cpu),
        ("queue", Self::Queue),
        ("lb", Self::InTurn),
        ("rollover", Self::Rollover),
        ("bpf", Self::Program),
    ];
}

impl FromStr for FanoutMode {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match Self::ALL.iter().find(|(name, _)| *name == text) {
            Some((_, mode)) => Ok(*mode),
            None => {
                Err(format!("\"{text}\" is no way to fan out; hash, cpu, queue, lb, rollover and bpf are"))
            }
        }
    }
}

impl fmt::Display for FanoutMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(Self::ALL.iter().find(|(_, mode)| mode == self).map_or("", |(name, _)| name))
    }
}

/// Settings that all members of a group share. Fragments are never reassembled: captured packets are those on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FanoutRule {
    /// How the member is selected.
    pub mode: FanoutMode,
    /// Whether a program that selects it is [`FanoutProgram::Loaded`].
    pub is_loaded: bool,
    /// Whether a frame goes to another member if its member's ring is full (`PACKET_FANOUT_FLAG_ROLLOVER`). This splits flows
    /// instead of losing frames.
    pub rollover: bool,
    /// Whether the group omits frames that this host sends (`PACKET_FANOUT_FLAG_IGNORE_OUTGOING`, Linux 6.2). Older kernels
    /// ignore the flag, and a member's [`PacketSocket::ignore_outgoing`] has no effect in a group.
    pub ignore_outgoing: bool,
}

impl FanoutRule {
    /// The option's value: the group in the lower half, mode and flags in the upper one.
    fn value(self, id: u16, more: u32) -> i32 {
        let mode = match self.mode {
            FanoutMode::Hash => libc::PACKET_FANOUT_HASH,
            FanoutMode::Cpu => libc::PACKET_FANOUT_CPU,
            FanoutMode::Queue => libc::PACKET_FANOUT_QM,
            FanoutMode::InTurn => libc::PACKET_FANOUT_LB,
            FanoutMode::Rollover => libc::PACKET_FANOUT_ROLLOVER,
            FanoutMode::Program if self.is_loaded => libc::PACKET_FANOUT_EBPF,
            FanoutMode::Program => libc::PACKET_FANOUT_CBPF,
        };
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        // The kernel refuses the flag for the mode that does the same.
        let rolls_over = self.rollover && self.mode != FanoutMode::Rollover;
        let flags = flag(rolls_over, libc::PACKET_FANOUT_FLAG_ROLLOVER)
            | flag(self.ignore_outgoing, libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING);
        (u32::from(id) | (mode | flags | more) << 16) as i32
    }
}

impl PacketSocket {
    /// Makes a group with this socket as first member and returns the number that the kernel chose, unique in the network
    /// namespace (`PACKET_FANOUT_FLAG_UNIQUEID`, Linux 4.12). The socket must be bound.
    pub fn make_fanout(&self, rule: FanoutRule) -> Result<u16> {
        let value = rule.value(0, libc::PACKET_FANOUT_FLAG_UNIQUEID);
        PACKET_FANOUT.set(&self.as_fd(), &value).map_err(|error| {
            error.explained(|errno| match errno {
                libc::EINVAL => Some(format!(
                    "this kernel does not know the fanout mode {}, or chooses no numbers for groups (Linux 4.12)",
                    rule.mode
                )),
                libc::ENOMEM => Some("every number for a fanout group is in use in this network namespace".into()),
                _ => None,
            })
        })?;
        Ok(PACKET_FANOUT.get::<u32>(&self.as_fd())? as u16)
    }

    /// Sets the program that chooses the members of this socket's group, which was made for a program of this kind.
    pub fn set_fanout_program(&self, program: &FanoutProgram) -> Result<()> {
        match program {
            FanoutProgram::Classic(program) => attach_program(&self.as_fd(), PACKET_FANOUT_DATA, program),
            FanoutProgram::Loaded(program) => {
                PACKET_FANOUT_DATA.set(&self.as_fd(), &program.as_raw_fd()).map_err(|error| {
                    error.explained(|errno| {
                        (errno == libc::EINVAL).then(|| {
                            "the program is not of the type socket_filter, which a fanout group needs".into()
                        })
                    })
                })
            }
        }
    }

    /// Joins a group. The socket must be bound like the other members.
    pub fn join_fanout(&self, id: u16, rule: FanoutRule) -> Result<()> {
        PACKET_FANOUT.set(&self.as_fd(), &rule.value(id, 0)).map_err(|error| {
            error.explained(|errno| match errno {
                libc::EINVAL => Some(format!(
                    "fanout group {id} of this network namespace belongs to another interface, or has another mode or other \
                     flags than {}{}; a group of another program may have the number, if the user chose it",
                    rule.mode,
                    if rule.rollover { " with rollover" } else { "" }
                )),
                libc::ENOSPC => Some(format!(
                    "fanout group {id} is full: a group has up to {MOST_MEMBERS} members, unless its first one asked for \
                     more (Linux 5.11); use fewer"
                )),
                _ => None,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{FanoutMode, FanoutRule};

    #[test]
    fn the_value_is_group_mode_and_flags_without_defragmentation() {
        let rule =
            FanoutRule { mode: FanoutMode::Queue, is_loaded: false, rollover: true, ignore_outgoing: true };
        assert_eq!(rule.value(0xabcd, 0) as u32, 0x5005_abcd);
        let plain = FanoutRule { mode: FanoutMode::Hash, rollover: false, ignore_outgoing: false, ..rule };
        let by_program = |is_loaded| FanoutRule { mode: FanoutMode::Program, is_loaded, ..plain }.value(7, 0);
        assert_eq!([by_program(false), by_program(true)], [0x6_0007, 0x7_0007]);
        assert_eq!(plain.value(7, 0), 7);
        assert_eq!(plain.value(0, libc::PACKET_FANOUT_FLAG_UNIQUEID) as u32, 0x2000_0000);
        for (_, mode) in FanoutMode::ALL {
            let all = FanoutRule { mode, ..rule }.value(0, libc::PACKET_FANOUT_FLAG_UNIQUEID) as u32;
            assert_eq!(all >> 16 & libc::PACKET_FANOUT_FLAG_DEFRAG, 0);
        }
    }

    #[test]
    fn modes_are_read_and_written_alike() {
        for (name, mode) in FanoutMode::ALL {
            assert_eq!((name.parse(), mode.to_string()), (Ok(mode), name.to_string()));
        }
        assert!("dice".parse::<FanoutMode>().unwrap_err().contains("hash, cpu, queue, lb, rollover and bpf"));
    }
}
