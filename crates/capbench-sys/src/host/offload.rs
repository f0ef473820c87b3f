//! Offloads of an interface: the ethtool ioctls (linux/ethtool.h), in the network namespace of the calling thread.

use super::ethtool::{Request, ethtool};
use crate::Result;

/// An offload that can be turned on and off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offload {
    /// Generic receive offload. On a veth it also decides whether frames go through NAPI (Linux 5.13).
    Gro,
    /// TCP segmentation offload, of IPv4 and IPv6.
    Tso,
    /// Generic segmentation offload.
    Gso,
    /// Large receive offload: the NIC joins segments before anybody sees them.
    Lro,
    /// VLAN tags are taken out of received frames by the NIC and told beside them.
    ReceiveVlan,
    /// Checksums of received packets are verified by the NIC.
    ReceiveChecksum,
    /// Checksums of sent packets are filled in by the NIC: those captured on their way out are unfinished.
    TransmitChecksum,
    /// Hashes of flows are computed by the NIC for received packets.
    ReceiveHash,
}

/// How an offload is asked for and set, from linux/ethtool.h.
struct Commands {
    get: u32,
    set: u32,
    /// Name of the setting command.
    name: &'static str,
    /// The bits of the value that are this offload's.
    bits: u32,
}

impl Offload {
    const fn commands(self) -> Commands {
        let (get, set, name, bits) = match self {
            Self::Gro => (0x2b, 0x2c, "ETHTOOL_SGRO", u32::MAX),
            Self::Tso => (0x1e, 0x1f, "ETHTOOL_STSO", u32::MAX),
            Self::Gso => (0x23, 0x24, "ETHTOOL_SGSO", u32::MAX),
            Self::ReceiveChecksum => (0x14, 0x15, "ETHTOOL_SRXCSUM", u32::MAX),
            Self::TransmitChecksum => (0x16, 0x17, "ETHTOOL_STXCSUM", u32::MAX),
            // ETH_FLAG_LRO, ETH_FLAG_RXVLAN and ETH_FLAG_RXHASH share a word with others.
            Self::Lro => (0x25, 0x26, "ETHTOOL_SFLAGS", 1 << 15),
            Self::ReceiveVlan => (0x25, 0x26, "ETHTOOL_SFLAGS", 1 << 8),
            Self::ReceiveHash => (0x25, 0x26, "ETHTOOL_SFLAGS", 1 << 28),
        };
        Commands { get, set, name, bits }
    }
}

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

// SAFETY: the commands of `Offload` read and write one ethtool_value.
unsafe impl Request for EthtoolValue {}

/// Whether `offload` is on.
pub fn get(interface: &str, offload: Offload) -> Result<bool> {
    Ok(word(interface, &offload.commands())? & offload.commands().bits != 0)
}

/// Turns `offload` on or off.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the network namespace, `EOPNOTSUPP` where the driver has no such setting.
pub fn set(interface: &str, offload: Offload, on: bool) -> Result<()> {
    let commands = offload.commands();
    let data = match (commands.bits, on) {
        (u32::MAX, on) => on.into(),
        (bits, true) => word(interface, &commands)? | bits,
        (bits, false) => word(interface, &commands)? & !bits,
    };
    ethtool(interface, &mut EthtoolValue { command: commands.set, data }, commands.name)
}

/// The value as the kernel has it.
fn word(interface: &str, commands: &Commands) -> Result<u32> {
    let mut value = EthtoolValue { command: commands.get, data: 0 };
    ethtool(interface, &mut value, commands.name)?;
    Ok(value.data)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_request_has_the_kernels_layout() {
        assert_eq!(size_of::<EthtoolValue>(), 8);
        assert_eq!(std::mem::offset_of!(EthtoolValue, data), 4);
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let error = get("no-such-if", Offload::Gro).unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV));
        assert!(error.to_string().contains("no-such-if"));
        assert!(get("a-name-that-is-too-long", Offload::Gro).is_err() && get("a\0b", Offload::Tso).is_err());
    }

    #[test]
    fn the_loopback_interface_tells() {
        use Offload::{Gro, Gso, Lro, ReceiveChecksum, ReceiveHash, ReceiveVlan, TransmitChecksum, Tso};
        for offload in [Gro, Tso, Gso, Lro, ReceiveVlan, ReceiveChecksum, TransmitChecksum, ReceiveHash] {
            get("lo", offload).unwrap();
        }
        assert!(!get("lo", Lro).unwrap() && get("lo", TransmitChecksum).unwrap());
    }
}
