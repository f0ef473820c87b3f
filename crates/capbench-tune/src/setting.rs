//! What can be saved and set again: one setting each, its value as text.

use std::fmt;

use capbench_sys::host::ethtool::{Group, Offload};
use serde::{Deserialize, Serialize};

/// A setting. Their order is the order in which they are set: the numbers of queues and descriptors first, because a driver
/// forgets others when these change.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Setting {
    /// Numbers of queues.
    Channels,
    /// Descriptors of the rings.
    Rings,
    /// An offload.
    Offload(OffloadName),
    /// Interrupt moderation.
    Moderation,
    /// Distribution of frames to queues.
    Sharing,
    /// A file of a queue, for example `rx-0/rps_cpus`.
    Queue(String),
    /// The CPUs of the interrupt with this name. Its number can change when the driver requests it anew.
    Interrupt(String),
    /// A setting of the kernel, for example `net.core.rmem_max`.
    Sysctl(String),
    /// A file of a CPU.
    Cpu {
        /// The CPU.
        cpu: u32,
        /// The file, for example `cpufreq/scaling_governor`.
        file: String,
    },
}

/// A change that would be better for capture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The setting.
    pub setting: Setting,
    /// Its new value.
    pub value: String,
}

/// Offloads of received and sent frames that are saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OffloadName {
    /// Checksums of received frames.
    ReceiveChecksum,
    /// VLAN tags of received frames.
    ReceiveVlan,
    /// Hashes of received frames.
    ReceiveHash,
    /// Large receive offload.
    Lro,
    /// Generic receive offload.
    Gro,
}

impl OffloadName {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::ReceiveChecksum, Self::ReceiveVlan, Self::ReceiveHash, Self::Lro, Self::Gro];

    fn offload(self) -> Offload {
        match self {
            Self::ReceiveChecksum => Offload::ReceiveChecksum,
            Self::ReceiveVlan => Offload::ReceiveVlan,
            Self::ReceiveHash => Offload::ReceiveHash,
            Self::Lro => Offload::Lro,
            Self::Gro => Offload::Gro,
        }
    }

    /// The kernel's name of the feature, as a run saves it.
    pub(crate) fn feature(self) -> &'static str {
        match self {
            Self::ReceiveChecksum => "rx-checksum",
            Self::ReceiveVlan => "rx-vlan-hw-parse",
            Self::ReceiveHash => "rx-hashing",
            Self::Lro => "rx-lro",
            Self::Gro => "rx-gro",
        }
    }

    /// Its name for `ethtool -K`.
    pub fn word(self) -> &'static str {
        match self {
            Self::ReceiveChecksum => "rx",
            Self::ReceiveVlan => "rxvlan",
            Self::ReceiveHash => "rxhash",
            Self::Lro => "lro",
            Self::Gro => "gro",
        }
    }
}

impl Setting {
    /// Whether a CPU may not use an idle state: 1 or 0.
    pub(crate) fn idle_state(cpu: u32, state: u32) -> Self {
        Self::Cpu { cpu, file: format!("cpuidle/state{state}/disable") }
    }

    /// The group of ethtool settings that it is, if it is one.
    pub(crate) fn group(&self) -> Option<Group> {
        match self {
            Self::Channels => Some(Group::Channels),
            Self::Rings => Some(Group::Rings),
            Self::Moderation => Some(Group::Moderation),
            Self::Sharing => Some(Group::Sharing),
            Self::Offload(which) => Some(Group::Offload(which.offload())),
            _ => None,
        }
    }

    /// Whether it belongs to the interface, not to the host: a change of the interface can reset it.
    pub fn is_of_interface(&self) -> bool {
        !matches!(self, Self::Sysctl(_) | Self::Cpu { .. })
    }

    /// Whether it is a setting that capbench changes: a name in it is not a path to another file.
    pub(crate) fn is_one(&self) -> bool {
        let is_word = |word: &str| {
            let is_of_word =
                |octet: u8| octet.is_ascii_lowercase() || octet.is_ascii_digit() || octet == b'_';
            !word.is_empty() && word.bytes().all(is_of_word)
        };
        let numbered = |word: &str, prefix: &str| {
            word.strip_prefix(prefix).is_some_and(|rest| rest.parse::<u32>().is_ok())
        };
        match self {
            Self::Channels
            | Self::Rings
            | Self::Offload(_)
            | Self::Moderation
            | Self::Sharing
            | Self::Interrupt(_) => true,
            Self::Queue(file) => file.split_once('/').is_some_and(|(queue, name)| {
                (numbered(queue, "rx-") || numbered(queue, "tx-")) && is_word(name)
            }),
            Self::Sysctl(name) => name.strip_prefix("net.core.").is_some_and(is_word),
            Self::Cpu { file, .. } => match file.split('/').collect::<Vec<_>>()[..] {
                ["cpufreq", name] => is_word(name),
                ["cpuidle", state, "disable"] => numbered(state, "state"),
                _ => false,
            },
        }
    }

    /// Whether a change of it can reset other settings of the interface: drivers reopen the card, and request interrupts anew.
    pub fn resets_others(&self) -> bool {
        matches!(self, Self::Channels | Self::Rings)
    }

    /// The command that changes it from `before`, for a user to read or to type. `number` is that of the interrupt with its name.
    pub fn command(&self, interface: &str, before: &str, value: &str, number: Option<u32>) -> String {
        let (before, numbers) = (numbers(before).unwrap_or_default(), numbers(value).unwrap_or_default());
        let named = |names: &[&str]| -> String {
            let all = names.iter().zip(&numbers).enumerate();
            let changed = all.filter(|(at, (_, number))| before.get(*at) != Some(number));
            changed.map(|(_, (name, number))| format!(" {name} {number}")).collect()
        };
        match self {
            Self::Channels => format!("ethtool -L {interface}{}", named(&["rx", "tx", "other", "combined"])),
            Self::Rings => format!("ethtool -G {interface}{}", named(&["rx", "rx-mini", "rx-jumbo", "tx"])),
            Self::Offload(which) => {
                let state = if value == "0" { "off" } else { "on" };
                format!("ethtool -K {interface} {} {state}", which.word())
            }
            Self::Moderation => {
                let adaptive = if numbers.get(9) == Some(&0) { "off" } else { "on" };
                let delay = numbers.first().copied().unwrap_or_default();
                format!("ethtool -C {interface} adaptive-rx {adaptive} rx-usecs {delay}")
            }
            Self::Sharing => format!("ethtool -X {interface}{}", table_words(&numbers)),
            Self::Queue(file) => format!("echo {value} > /sys/class/net/{interface}/queues/{file}"),
            Self::Interrupt(name) => {
                let number = number.map_or_else(|| "N".into(), |number| number.to_string());
                format!("echo {value} > /proc/irq/{number}/smp_affinity_list   # {name}")
            }
            Self::Sysctl(name) => format!("sysctl -w {name}={value}"),
            Self::Cpu { cpu, file } => format!("echo {value} > /sys/devices/system/cpu/cpu{cpu}/{file}"),
        }
    }
}

/// What `ethtool -X` has of the numbers of a table: the table alone.
fn table_words(numbers: &[u32]) -> String {
    let [_, entries, _, rest @ ..] = numbers else { return String::new() };
    let table = &rest[..rest.len().min(*entries as usize)];
    let queues = table.iter().max().map_or(0, |last| last + 1);
    if is_even(table, queues) {
        return format!(" equal {queues}");
    }
    let weights = (0..queues).map(|queue| table.iter().filter(|one| **one == queue).count().to_string());
    format!(" weight {}", weights.collect::<Vec<_>>().join(" "))
}

/// Whether a table goes over this many queues in turn, as drivers fill it by default.
pub(crate) fn is_even(table: &[u32], queues: u32) -> bool {
    queues > 0 && table.iter().zip(0u32..).all(|(queue, at)| *queue == at % queues)
}

/// The numbers of a group's value; `None` if the text is none.
pub(crate) fn numbers(value: &str) -> Option<Vec<u32>> {
    value.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
}

/// The value of a group.
pub(crate) fn value_of(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Setting {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Channels => formatter.write_str("numbers of queues"),
            Self::Rings => formatter.write_str("descriptors of the rings"),
            Self::Offload(which) => write!(formatter, "offload {}", which.word()),
            Self::Moderation => formatter.write_str("interrupt moderation"),
            Self::Sharing => formatter.write_str("RSS table and key"),
            Self::Queue(file) => write!(formatter, "queue file {file}"),
            Self::Interrupt(name) => write!(formatter, "CPUs of interrupt {name}"),
            Self::Sysctl(name) => formatter.write_str(name),
            Self::Cpu { cpu, file } => write!(formatter, "CPU {cpu}: {file}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_the_command_that_a_user_would_type() {
        for (setting, before, value, command) in [
            (Setting::Channels, "0 0 1 8", "0 0 1 4", "ethtool -L eth0 combined 4"),
            (Setting::Channels, "1 1 0 0", "2 2 0 0", "ethtool -L eth0 rx 2 tx 2"),
            (Setting::Rings, "256 0 512 256", "4096 0 512 256", "ethtool -G eth0 rx 4096"),
            (Setting::Offload(OffloadName::Gro), "1", "0", "ethtool -K eth0 gro off"),
            (Setting::Sharing, "1 4 0 0 0 0 0", "1 4 0 0 1 0 1", "ethtool -X eth0 equal 2"),
            (Setting::Sharing, "1 4 0 0 1 0 1", "1 4 0 0 0 0 1", "ethtool -X eth0 weight 3 1"),
            (
                Setting::Queue("rx-0/rps_cpus".into()),
                "0",
                "3",
                "echo 3 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
            ),
            (
                Setting::Interrupt("eth0-rx-0".into()),
                "0-3",
                "2",
                "echo 2 > /proc/irq/31/smp_affinity_list   # eth0-rx-0",
            ),
            (
                Setting::Sysctl("net.core.netdev_budget".into()),
                "300",
                "600",
                "sysctl -w net.core.netdev_budget=600",
            ),
            (
                Setting::Cpu { cpu: 2, file: "cpuidle/state3/disable".into() },
                "0",
                "1",
                "echo 1 > /sys/devices/system/cpu/cpu2/cpuidle/state3/disable",
            ),
        ] {
            assert_eq!(setting.command("eth0", before, value, Some(31)), command);
        }
        let moderation = "50 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0";
        let command = Setting::Moderation.command("eth0", "", moderation, None);
        assert_eq!(command, "ethtool -C eth0 adaptive-rx off rx-usecs 50");
    }

    #[test]
    fn no_value_makes_a_command_panic() {
        for value in ["", "x", "1", "1 9 0 5", "1 4294967295 0"] {
            for setting in [Setting::Channels, Setting::Sharing, Setting::Moderation] {
                let _ = setting.command("eth0", value, value, None);
            }
        }
    }
}
