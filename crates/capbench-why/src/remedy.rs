//! A change that ends a loss, structured where it is known. Most are commands, and each command can be run as it is printed: it has
//! no gap that the reader has to fill. A test runs every kind of them. docs/why.md lists those whose test has no such loss to end.
//! `reader.rs` and `advice.rs` choose the change.

use serde::{Serialize, Serializer};

/// A change that ends a loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Remedy {
    /// Lets a stopped process continue.
    Continue {
        /// The process.
        pid: u32,
    },
    /// Takes an XDP program away that a tool attached.
    DetachXdp {
        /// The interface.
        interface: String,
        /// The word of ip(8) for the part that runs the program.
        word: &'static str,
    },
    /// Ends the process whose link attaches an XDP program: nothing else can take such a program away.
    EndHolder {
        /// The process.
        pid: u32,
    },
    /// Lets threads poll a veth, which the scheduler places on free CPUs.
    PollByThreads {
        /// The interface.
        interface: String,
    },
    /// Moves a thread of the kernel that polls an interface to another CPU.
    MoveThread {
        /// The thread.
        pid: u32,
        /// The CPU.
        cpu: u32,
    },
    /// Lengthens a NIC's receive ring.
    LongerRing {
        /// The interface.
        interface: String,
        /// Its descriptors.
        descriptors: u32,
    },
    /// Lengthens the backlog of each CPU.
    LongerBacklog {
        /// Its packets.
        packets: u64,
        /// Whether the setting has to be made in the host's first network namespace, and this is another one.
        elsewhere: bool,
    },
    /// Lets the receive softirq take more frames at a time.
    LargerBudget {
        /// Its packets.
        packets: u64,
        /// As for the backlog.
        elsewhere: bool,
    },
    /// Spreads receive work over CPUs (RPS).
    SpreadReceiveWork {
        /// The interface.
        interface: String,
        /// The online CPUs.
        cpus: Vec<u32>,
    },
    /// Raises the MTU.
    RaiseMtu {
        /// The interface.
        interface: String,
        /// Its MTU.
        mtu: u32,
    },
    /// Sets the interface up.
    SetUp {
        /// The interface.
        interface: String,
    },
    /// Moves a program to a CPU that others use less.
    MoveProgram {
        /// The process.
        pid: u32,
        /// The CPU.
        cpu: u32,
    },
    /// Lets a program run before all others of usual priority.
    Priority {
        /// The process.
        pid: u32,
    },
    /// Gives a program whose flag is known a larger buffer. It is no command: the program has to be started again.
    LargerBuffer {
        /// The program.
        program: &'static str,
        /// Its flag, with the value.
        flag: String,
    },
}

/// The kinds of [`Remedy`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is the variant of Remedy with its name")]
pub enum RemedyKind {
    Continue,
    DetachXdp,
    EndHolder,
    PollByThreads,
    MoveThread,
    LongerRing,
    LongerBacklog,
    LargerBudget,
    SpreadReceiveWork,
    RaiseMtu,
    SetUp,
    MoveProgram,
    Priority,
    LargerBuffer,
}

impl RemedyKind {
    /// All kinds.
    pub const ALL: [Self; 14] = [
        Self::Continue,
        Self::DetachXdp,
        Self::EndHolder,
        Self::PollByThreads,
        Self::MoveThread,
        Self::LongerRing,
        Self::LongerBacklog,
        Self::LargerBudget,
        Self::SpreadReceiveWork,
        Self::RaiseMtu,
        Self::SetUp,
        Self::MoveProgram,
        Self::Priority,
        Self::LargerBuffer,
    ];
}

impl Remedy {
    /// Its kind.
    pub fn kind(&self) -> RemedyKind {
        match self {
            Self::Continue { .. } => RemedyKind::Continue,
            Self::DetachXdp { .. } => RemedyKind::DetachXdp,
            Self::EndHolder { .. } => RemedyKind::EndHolder,
            Self::PollByThreads { .. } => RemedyKind::PollByThreads,
            Self::MoveThread { .. } => RemedyKind::MoveThread,
            Self::LongerRing { .. } => RemedyKind::LongerRing,
            Self::LongerBacklog { .. } => RemedyKind::LongerBacklog,
            Self::LargerBudget { .. } => RemedyKind::LargerBudget,
            Self::SpreadReceiveWork { .. } => RemedyKind::SpreadReceiveWork,
            Self::RaiseMtu { .. } => RemedyKind::RaiseMtu,
            Self::SetUp { .. } => RemedyKind::SetUp,
            Self::MoveProgram { .. } => RemedyKind::MoveProgram,
            Self::Priority { .. } => RemedyKind::Priority,
            Self::LargerBuffer { .. } => RemedyKind::LargerBuffer,
        }
    }

    /// The command, for a shell of root in the interface's network namespace; `None` if it is none.
    pub fn command(&self) -> Option<String> {
        Some(match self {
            Self::Continue { pid } => format!("kill -CONT {pid}"),
            Self::DetachXdp { interface, word } => {
                format!("ip link set dev {} {word} off", quoted(interface))
            }
            Self::EndHolder { pid } => format!("kill {pid}"),
            Self::PollByThreads { interface } => {
                format!("echo 1 > /sys/class/net/{}/threaded", quoted(interface))
            }
            Self::MoveThread { pid, cpu } => format!("taskset -pc {cpu} {pid}"),
            Self::LongerRing { interface, descriptors } => {
                format!("ethtool -G {} rx {descriptors}", quoted(interface))
            }
            Self::LongerBacklog { packets, elsewhere } => {
                sysctl("net.core.netdev_max_backlog", *packets, *elsewhere)
            }
            Self::LargerBudget { packets, elsewhere } => {
                sysctl("net.core.netdev_budget", *packets, *elsewhere)
            }
            Self::SpreadReceiveWork { interface, cpus } => format!(
                "for file in /sys/class/net/{}/queues/rx-*/rps_cpus; do echo {} > $file; done",
                quoted(interface),
                mask(cpus)
            ),
            Self::RaiseMtu { interface, mtu } => format!("ip link set dev {} mtu {mtu}", quoted(interface)),
            Self::SetUp { interface } => format!("ip link set dev {} up", quoted(interface)),
            Self::MoveProgram { pid, cpu } => format!("taskset -apc {cpu} {pid}"),
            Self::Priority { pid } => format!("chrt -a -f -p 1 {pid}"),
            Self::LargerBuffer { .. } => return None,
        })
    }
}

/// Writes the commands of remedies that are some.
pub(crate) fn as_commands<S: Serializer>(remedies: &[Remedy], serializer: S) -> Result<S::Ok, S::Error> {
    remedies.iter().filter_map(Remedy::command).collect::<Vec<_>>().serialize(serializer)
}

/// Sets a sysctl. Those of the receive path exist only in the host's first network namespace.
fn sysctl(name: &str, value: u64, elsewhere: bool) -> String {
    let note = if elsewhere { ELSEWHERE } else { "" };
    format!("sysctl -w {name}={value}{note}")
}

/// What follows a command that needs another network namespace than that of the interface. A shell ignores it.
pub const ELSEWHERE: &str = "   # in the host's first network namespace";

/// A mask of CPUs as sysfs reads it: words of 32 bits in hexadecimal, the highest first.
fn mask(cpus: &[u32]) -> String {
    let words = cpus.iter().max().map_or(1, |last| last / 32 + 1);
    let word = |word: u32| {
        let here = cpus.iter().filter(|cpu| **cpu / 32 == word);
        here.fold(0_u32, |bits, cpu| bits | 1 << (cpu % 32))
    };
    let mut text: Vec<String> = (0..words).rev().map(|number| format!("{:08x}", word(number))).collect();
    text[0] = format!("{:x}", word(words - 1));
    text.join(",")
}

/// A name for a shell. An interface may be named with any character except a slash and white space.
pub(crate) fn quoted(name: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "._-@:+".contains(letter);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.into();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_a_bit_for_each_cpu_in_words_of_32() {
        assert_eq!(mask(&[0, 1]), "3");
        assert_eq!(mask(&[0, 31, 33]), "2,80000001");
        assert_eq!(mask(&[64]), "1,00000000,00000000");
    }

    #[test]
    fn no_interface_name_is_code_for_a_shell() {
        assert_eq!(quoted("eth0.5"), "eth0.5");
        assert_eq!(quoted("a;reboot"), "'a;reboot'");
        assert_eq!(quoted("a'b"), "'a'\\''b'");
        let up = Remedy::SetUp { interface: "$(x)".into() };
        assert_eq!(up.command().as_deref(), Some("ip link set dev '$(x)' up"));
    }

    #[test]
    fn a_setting_of_the_host_is_made_where_it_exists() {
        let backlog = |elsewhere| Remedy::LongerBacklog { packets: 2000, elsewhere }.command().unwrap();
        assert_eq!(backlog(false), "sysctl -w net.core.netdev_max_backlog=2000");
        assert_eq!(
            backlog(true),
            "sysctl -w net.core.netdev_max_backlog=2000   # in the host's first network namespace"
        );
    }
}
