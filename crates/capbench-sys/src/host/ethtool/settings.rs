//! An interface's driver and settings: rings, queues, interrupt moderation, pause frames, RSS, offloads.

use super::{
    Change, Command, GCHANNELS, GCOALESCE, GDRVINFO, GFLAGS, GGRO, GGSO, GPAUSEPARAM, GRINGPARAM, GRSSH,
    GRXCSUM, GRXFH, GTSO, GTXCSUM, SCOALESCE, SFLAGS, SGRO, SGSO, SRXCSUM, STSO, STXCSUM, ask, ask_for_list,
    call, supported, text,
};
use crate::host::SysfsView;
use crate::{Result, SysError};

/// The driver's description of itself. A missing text is empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DriverInfo {
    /// Its name, for example `ixgbe`.
    pub driver: String,
    /// Its version; for in-kernel drivers usually the kernel's.
    pub version: String,
    /// Version of the firmware.
    pub firmware: String,
    /// Address of the device, for example `0000:00:06.0`.
    pub bus: String,
}

/// The driver of the interface.
///
/// # Errors
/// `ENODEV` if the interface does not exist, `EOPNOTSUPP` if it has no driver that reports (`lo`).
pub fn driver(interface: &str) -> Result<DriverInfo> {
    // struct ethtool_drvinfo: the command, six texts of 32 octets, of which the first four are used here, and numbers.
    let answer = ask(interface, GDRVINFO, &[], 196)?;
    let [driver, version, firmware, bus] = std::array::from_fn(|nth| text(&answer[4 + 32 * nth..][..32]));
    Ok(DriverInfo { driver, version, firmware, bus })
}

/// Descriptors in each ring (`ethtool -g`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Rings {
    /// Size of a receive ring.
    pub receive_descriptors: u32,
    /// Size limit of a receive ring.
    pub most_receive_descriptors: u32,
    /// Size of a transmit ring.
    pub transmit_descriptors: u32,
    /// Size limit of a transmit ring.
    pub most_transmit_descriptors: u32,
}

/// The sizes of the rings; `None` if the driver does not report them.
pub fn rings(interface: &str) -> Result<Option<Rings>> {
    let Some(answer) = supported(call(interface, GRINGPARAM, &[]))? else { return Ok(None) };
    // struct ethtool_ringparam: the command, four maxima, of receive, mini, jumbo and transmit rings, and four sizes.
    let [_, most_receive, _, _, most_transmit, receive, _, _, transmit] = answer;
    Ok(Some(Rings {
        receive_descriptors: receive,
        most_receive_descriptors: most_receive,
        transmit_descriptors: transmit,
        most_transmit_descriptors: most_transmit,
    }))
}

/// The driver's numbers of queues (`ethtool -l`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Queues {
    /// Receive-only queues.
    pub receive: u32,
    /// Transmit-only queues.
    pub transmit: u32,
    /// Combined queues: pairs with one interrupt.
    pub combined: u32,
    /// Limit of receive-only queues.
    pub most_receive: u32,
    /// Limit of transmit-only queues.
    pub most_transmit: u32,
    /// Limit of combined queues.
    pub most_combined: u32,
}

/// The driver's numbers of queues; `None` if it does not report them.
pub fn queues(interface: &str) -> Result<Option<Queues>> {
    // struct ethtool_channels: the command, four maxima, of receive, transmit, other and combined queues, and four numbers.
    let answer = supported(call(interface, GCHANNELS, &[]))?;
    Ok(answer.map(|[_, most_receive, most_transmit, _, most_combined, receive, transmit, _, combined]| {
        Queues { receive, transmit, combined, most_receive, most_transmit, most_combined }
    }))
}

/// Active receive queues of the interface, from the driver or sysfs.
pub fn receive_queues(interface: &str) -> Result<u32> {
    match queues(interface)? {
        Some(queues) if queues.receive + queues.combined > 0 => return Ok(queues.receive + queues.combined),
        _ => {}
    }
    let names = SysfsView::of_current_namespace()?.list(&format!("class/net/{interface}/queues"))?;
    Ok(names.iter().filter(|name| name.starts_with("rx-")).count() as u32)
}

/// Interrupt moderation (`ethtool -c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Moderation {
    /// Delay of the interrupt after a received frame, in microseconds.
    pub receive_us: u32,
    /// Number of received frames that trigger it; 0: no limit.
    pub receive_frames: u32,
    /// Whether the driver adapts these to the traffic.
    pub receive_adaptive: bool,
    /// Delay of the interrupt after a sent frame, in microseconds.
    pub transmit_us: u32,
    /// Number of sent frames that trigger it; 0: no limit.
    pub transmit_frames: u32,
    /// Whether the driver adapts these to the traffic.
    pub transmit_adaptive: bool,
}

/// All of `struct ethtool_coalesce` of an interface except the command, so that it can be restored completely.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Coalescing([u32; 22]);

impl Coalescing {
    /// `rx_coalesce_usecs` and `use_adaptive_rx_coalesce`.
    const RECEIVE_USECS: usize = 0;
    const RECEIVE_ADAPTIVE: usize = 9;

    /// The current settings; `None` if the driver has none.
    pub fn read(interface: &str) -> Result<Option<Self>> {
        let answer = supported(call::<23>(interface, GCOALESCE, &[]))?;
        Ok(answer.map(|[_, settings @ ..]| Self(settings)))
    }

    /// Applies these settings.
    ///
    /// # Errors
    /// `EOPNOTSUPP` and `EINVAL` if the driver refuses a value, `EPERM` without CAP_NET_ADMIN.
    pub fn write(&self, interface: &str) -> Result<()> {
        self.change(interface)?.make()
    }

    /// The change to these settings, to be made later.
    ///
    /// # Errors
    /// No interface can have this name.
    pub fn change(&self, interface: &str) -> Result<Change> {
        Change::new(interface, SCOALESCE, &self.0)
    }

    /// The numbers of the structure, in its order.
    pub(super) fn words(&self) -> &[u32; 22] {
        &self.0
    }

    /// Settings of these numbers.
    pub(super) fn of_words(words: [u32; 22]) -> Self {
        Self(words)
    }

    /// The part that results save.
    pub fn moderation(&self) -> Moderation {
        // Between these are settings for when an interrupt is already served, and how often statistics are updated.
        let [receive_us, receive_frames, _, _, transmit_us, transmit_frames, _, _, _, receive, transmit, ..] =
            self.0;
        let (receive_adaptive, transmit_adaptive) = (receive != 0, transmit != 0);
        Moderation {
            receive_us,
            receive_frames,
            receive_adaptive,
            transmit_us,
            transmit_frames,
            transmit_adaptive,
        }
    }

    /// The same with another receive delay in microseconds.
    #[must_use]
    pub fn with_receive_usecs(mut self, usecs: u32) -> Self {
        self.0[Self::RECEIVE_USECS] = usecs;
        self
    }

    /// The same with adaptive moderation on or off.
    #[must_use]
    pub fn with_adaptive(mut self, adaptive: bool) -> Self {
        self.0[Self::RECEIVE_ADAPTIVE] = adaptive.into();
        self
    }
}

/// Settings of pause frames, which make a sender wait instead of a receiver losing frames (`ethtool -a`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct PauseFrames {
    /// Whether both ends negotiate it.
    pub negotiated: bool,
    /// Whether the interface waits on received pause frames.
    pub obeys: bool,
    /// Whether it sends pause frames.
    pub sends: bool,
}

/// The interface's pause settings (IEEE 802.3 annex 31B); `None` if the driver has none.
pub fn pause_frames(interface: &str) -> Result<Option<PauseFrames>> {
    // struct ethtool_pauseparam.
    let answer = supported(call(interface, GPAUSEPARAM, &[]))?;
    let on = |[_, negotiated, receive, transmit]: [u32; 4]| PauseFrames {
        negotiated: negotiated != 0,
        obeys: receive != 0,
        sends: transmit != 0,
    };
    Ok(answer.map(on))
}

/// Distribution of received frames to queues (`ethtool -x`, `ethtool -n rx-flow-hash`).
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Sharing {
    /// Hash function: `toeplitz`, `xor`, `crc32`, `other`.
    pub function: String,
    /// Entries of the table from hash to queue.
    pub table_entries: u32,
    /// Queues in the table.
    pub queues_in_table: u32,
    /// Entries of each queue, from queue 0 to the last one in the table. Absent in results of earlier versions.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub entries_by_queue: Option<Vec<u32>>,
    /// Whether both directions of a connection have the same hash because the key repeats itself; `None` without a key.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub symmetric_key: Option<bool>,
    /// Whether the hash includes the addresses of UDP over IPv4.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub udp4_by_addresses: Option<bool>,
    /// Whether it includes the ports. Otherwise all flows between two hosts share a queue.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub udp4_by_ports: Option<bool>,
}

/// Distribution of frames to queues (RSS); `None` if the driver has no table: then nothing is distributed.
///
/// # Errors
/// `ENODEV` if the interface does not exist; an argument error if the driver reports an implausibly large table.
pub fn sharing(interface: &str) -> Result<Option<Sharing>> {
    let Some(table) = table_and_key(interface)? else { return Ok(None) };
    // struct ethtool_rxnfc, of which this command uses the first members: the command, the flow (UDP_V4_FLOW) and 64 bits.
    let fields = ask(interface, GRXFH, &[0x02], 192).ok();
    let fields = fields.map(|fields| u64::from_ne_bytes(fields[8..16].try_into().expect("eight octets")));
    Ok(Some(Sharing::of(&table, fields)))
}

/// A `struct ethtool_rxfh` with its table and its key.
pub(super) struct TableAndKey {
    /// The structure, up to a whole word behind the key.
    pub(super) answer: Vec<u8>,
    /// Entries of the table.
    pub(super) entries: u32,
    /// Octets of the key.
    pub(super) octets: u32,
}

/// Octets in front of the table.
pub(super) const RXFH_HEAD: usize = 24;
pub(super) const RXFH_FUNCTION: usize = 16;

/// The table from hash to queue and the key of the hash; `None` if the driver has no table.
pub(super) fn table_and_key(interface: &str) -> Result<Option<TableAndKey>> {
    const MOST: u32 = 1 << 16;
    // The command, a number of a context, how long table and key are, and two words more.
    let Some([_, _, entries, octets, ..]) = supported(call::<6>(interface, GRSSH, &[]))? else {
        return Ok(None);
    };
    if entries > MOST || octets > MOST {
        let reason = format!("the driver claims a table of {entries} entries and a key of {octets} octets");
        return Err(SysError::argument(format!("ioctl({}, {interface})", GRSSH.name), reason));
    }
    if entries == 0 {
        return Ok(None);
    }
    let length = RXFH_HEAD + 4 * entries as usize + octets.next_multiple_of(4) as usize;
    let answer = ask_for_list(interface, GRSSH, &[0, entries, octets], length)?;
    Ok(Some(TableAndKey { answer, entries, octets }))
}

impl Sharing {
    /// By the fields of UDP over IPv4 that are hashed, too.
    fn of(found: &TableAndKey, udp4: Option<u64>) -> Self {
        let (table, key) = found.answer[RXFH_HEAD..].split_at(4 * found.entries as usize);
        let key = &key[..found.octets as usize];
        // ETH_RSS_HASH_TOP, _XOR and _CRC32.
        let function = match found.answer[RXFH_FUNCTION] {
            0b001 => "toeplitz",
            0b010 => "xor",
            0b100 => "crc32",
            _ => "other",
        };
        let queues = table.as_chunks::<4>().0.iter().map(|queue| u32::from_ne_bytes(*queue));
        let by_queue = entries_by_queue(queues);
        let has = |fields: u64| udp4.map(|udp4| udp4 & fields == fields);
        Self {
            function: function.into(),
            table_entries: found.entries,
            queues_in_table: by_queue.iter().filter(|entries| **entries > 0).count() as u32,
            entries_by_queue: Some(by_queue),
            // Two octets that repeat.
            symmetric_key: (!key.is_empty())
                .then(|| key.iter().zip(&key[2.min(key.len())..]).all(|(a, b)| a == b)),
            // RXH_IP_SRC and RXH_IP_DST; RXH_L4_B_0_1 and RXH_L4_B_2_3.
            udp4_by_addresses: has(1 << 4 | 1 << 5),
            udp4_by_ports: has(1 << 6 | 1 << 7),
        }
    }
}

/// How many entries of a table each queue has, from queue 0 on. No card has as many queues as the table could name.
fn entries_by_queue(table: impl Iterator<Item = u32>) -> Vec<u32> {
    const MOST_QUEUES: u32 = 1 << 16;
    table.filter(|queue| *queue < MOST_QUEUES).fold(Vec::new(), |mut entries: Vec<u32>, queue| {
        entries.resize(entries.len().max(queue as usize + 1), 0);
        entries[queue as usize] += 1;
        entries
    })
}

/// An offload that can be switched on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Offload {
    /// Generic receive offload. On a veth it also enables NAPI (Linux 5.13).
    Gro,
    /// TCP segmentation offload for IPv4 and IPv6.
    Tso,
    /// Generic segmentation offload.
    Gso,
    /// Large receive offload: the NIC joins segments before the kernel sees them.
    Lro,
    /// The NIC removes VLAN tags from received frames and passes them as metadata.
    ReceiveVlan,
    /// The NIC verifies checksums of received packets.
    ReceiveChecksum,
    /// The NIC fills in checksums of sent packets: outgoing captured packets have incomplete checksums.
    TransmitChecksum,
    /// The NIC computes flow hashes of received packets.
    ReceiveHash,
}

impl Offload {
    /// The commands that read and set it, and its bits of their `struct ethtool_value`.
    const fn commands(self) -> (Command, Command, u32) {
        match self {
            Self::Gro => (GGRO, SGRO, u32::MAX),
            Self::Tso => (GTSO, STSO, u32::MAX),
            Self::Gso => (GGSO, SGSO, u32::MAX),
            Self::ReceiveChecksum => (GRXCSUM, SRXCSUM, u32::MAX),
            Self::TransmitChecksum => (GTXCSUM, STXCSUM, u32::MAX),
            // ETH_FLAG_LRO, ETH_FLAG_RXVLAN and ETH_FLAG_RXHASH share a word with others.
            Self::Lro => (GFLAGS, SFLAGS, 1 << 15),
            Self::ReceiveVlan => (GFLAGS, SFLAGS, 1 << 8),
            Self::ReceiveHash => (GFLAGS, SFLAGS, 1 << 28),
        }
    }
}

/// Whether `offload` is on.
///
/// # Errors
/// `ENODEV` if the interface does not exist, `EOPNOTSUPP` if the driver has no such setting.
pub fn offload(interface: &str, offload: Offload) -> Result<bool> {
    let (get, _, bits) = offload.commands();
    let [_, value] = call(interface, get, &[])?;
    Ok(value & bits != 0)
}

/// Turns `offload` on or off.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN in the network namespace, `EOPNOTSUPP` if the driver has no such setting.
pub fn set_offload(interface: &str, offload: Offload, on: bool) -> Result<()> {
    offload_change(interface, offload, on)?.make()
}

/// The change that turns `offload` on or off, to be made later.
///
/// # Errors
/// `EOPNOTSUPP` if the driver has no such setting.
pub fn offload_change(interface: &str, offload: Offload, on: bool) -> Result<Change> {
    let (get, set, bits) = offload.commands();
    let value = match bits {
        u32::MAX => on.into(),
        bits => {
            let [_, others] = call(interface, get, &[])?;
            if on { others | bits } else { others & !bits }
        }
    };
    Change::new(interface, set, &[value])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_an_interface_whose_driver_does_not_say_is_counted() {
        match receive_queues("lo") {
            Ok(queues) => assert_eq!(queues, 1),
            Err(error) => assert_eq!(error.errno(), Some(libc::EPERM), "{error}"),
        }
    }

    #[test]
    fn moderation_has_the_kernels_layout() {
        // The nth word after the command is n: rx_coalesce_usecs is the first, use_adaptive_rx_coalesce the tenth.
        let coalescing = Coalescing(std::array::from_fn(|at| at as u32 + 1));
        let moderation = Moderation {
            receive_us: 1,
            receive_frames: 2,
            receive_adaptive: true,
            transmit_us: 5,
            transmit_frames: 6,
            transmit_adaptive: true,
        };
        assert_eq!(coalescing.moderation(), moderation);
        let fixed = coalescing.with_adaptive(false).with_receive_usecs(50);
        assert_eq!(fixed.moderation(), Moderation { receive_us: 50, receive_adaptive: false, ..moderation });
        assert_eq!(fixed.0[9..11], [0, 11]);
    }

    #[test]
    fn a_table_and_a_key_are_read() {
        let of = |function: u8, table: &[u32], key: &[u8], udp4| {
            let mut answer = vec![0; RXFH_HEAD];
            answer[RXFH_FUNCTION] = function;
            answer.extend(table.iter().flat_map(|queue| queue.to_ne_bytes()));
            answer.extend(key);
            answer.resize(answer.len().next_multiple_of(4), 0);
            let (entries, octets) = (table.len() as u32, key.len() as u32);
            Sharing::of(&TableAndKey { answer, entries, octets }, udp4)
        };
        let symmetric = of(1, &[0, 1, 0, 2], &[0x6d, 0x5a].repeat(20), Some(0x30));
        let expected = Sharing {
            function: "toeplitz".into(),
            table_entries: 4,
            queues_in_table: 3,
            entries_by_queue: Some(vec![2, 1, 1]),
            symmetric_key: Some(true),
            udp4_by_addresses: Some(true),
            udp4_by_ports: Some(false),
        };
        assert_eq!(symmetric, expected);
        let other = of(0, &[0, 0, 0], &[0x6d, 0x5a, 0x56, 0xda], Some(0xf0));
        assert_eq!((&*other.function, other.queues_in_table, other.symmetric_key), ("other", 1, Some(false)));
        assert_eq!((other.udp4_by_addresses, other.udp4_by_ports), (Some(true), Some(true)));
        let neither = of(4, &[0], &[], Some(1 << 31));
        assert_eq!((neither.udp4_by_addresses, neither.udp4_by_ports), (Some(false), Some(false)));
        assert_eq!((neither.symmetric_key, of(4, &[0], &[], None).udp4_by_ports), (None, None));
    }

    #[test]
    fn the_loopback_interface_reports_its_settings() {
        use Offload::{Gro, Gso, Lro, ReceiveChecksum, ReceiveHash, ReceiveVlan, TransmitChecksum, Tso};
        for which in [Gro, Tso, Gso, Lro, ReceiveVlan, ReceiveChecksum, TransmitChecksum, ReceiveHash] {
            offload("lo", which).unwrap();
        }
        assert!(!offload("lo", Lro).unwrap() && offload("lo", TransmitChecksum).unwrap());
    }
}
