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
}

impl Offload {
    /// The commands to get and to set it, from linux/ethtool.h, with the latter's name.
    const fn commands(self) -> (u32, u32, &'static str) {
        match self {
            Self::Gro => (0x2b, 0x2c, "ETHTOOL_SGRO"),
            Self::Tso => (0x1e, 0x1f, "ETHTOOL_STSO"),
        }
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
    let (command, _, name) = offload.commands();
    let mut value = EthtoolValue { command, data: 0 };
    ethtool(interface, &mut value, name)?;
    Ok(value.data != 0)
}

/// Turns `offload` on or off.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the network namespace, `EOPNOTSUPP` where the driver has no such setting.
pub fn set(interface: &str, offload: Offload, on: bool) -> Result<()> {
    let (_, command, name) = offload.commands();
    ethtool(interface, &mut EthtoolValue { command, data: on.into() }, name)
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
        get("lo", Offload::Gro).unwrap();
    }
}
