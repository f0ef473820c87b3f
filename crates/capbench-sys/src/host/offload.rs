//! Offloads of an interface: the ethtool ioctls (linux/ethtool.h), in the network namespace of the calling thread.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::check;
use crate::{Result, SysError};

// linux/ethtool.h
const ETHTOOL_GGRO: u32 = 0x2b;
const ETHTOOL_SGRO: u32 = 0x2c;

/// `struct ethtool_value` of linux/ethtool.h.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

/// Whether generic receive offload is on. On a veth it also decides whether frames go through NAPI (Linux 5.13).
pub fn gro(interface: &str) -> Result<bool> {
    let mut value = EthtoolValue { command: ETHTOOL_GGRO, data: 0 };
    ethtool(interface, &mut value, "ETHTOOL_GGRO")?;
    Ok(value.data != 0)
}

/// Turns generic receive offload on or off.
///
/// # Errors
/// `EPERM` without CAP_NET_ADMIN over the network namespace, `EOPNOTSUPP` where the driver has no such setting.
pub fn set_gro(interface: &str, on: bool) -> Result<()> {
    let mut value = EthtoolValue { command: ETHTOOL_SGRO, data: on.into() };
    ethtool(interface, &mut value, "ETHTOOL_SGRO")
}

fn ethtool(interface: &str, value: &mut EthtoolValue, name: &str) -> Result<()> {
    let what = || format!("ioctl({name}, {interface})");
    if interface.len() >= libc::IFNAMSIZ || interface.contains('\0') {
        return Err(SysError::argument(what(), "not a name that an interface can have"));
    }
    // SAFETY: socket(2) takes three numbers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = check(socket, || "socket(AF_INET)".into())?;
    // SAFETY: the descriptor has just been made, so that it is open and nobody else owns it.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    let mut ifr_name = [0 as libc::c_char; libc::IFNAMSIZ];
    for (to, from) in ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    let data = libc::__c_anonymous_ifr_ifru { ifru_data: std::ptr::from_mut(value).cast() };
    let mut request = libc::ifreq { ifr_name, ifr_ifru: data };
    // SAFETY: SIOCETHTOOL reads and writes one ifreq and, for the two commands used here, the ethtool_value behind
    // ifr_data (netdevice(7), linux/ethtool.h). Both are exclusively ours and alive; the name ends with a NUL.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCETHTOOL as _, &mut request) };
    check(code, what).map(drop)
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
        let error = gro("no-such-if").unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV));
        assert!(error.to_string().contains("no-such-if"));
        assert!(gro("a-name-that-is-too-long").is_err() && gro("a\0b").is_err());
    }

    #[test]
    fn the_loopback_interface_tells() {
        gro("lo").unwrap();
    }
}
