//! The ethtool ioctl (linux/ethtool.h), in the network namespace of the calling thread.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::check;
use crate::{Result, SysError};

/// A structure that begins with an ethtool command.
///
/// # Safety
/// Every command that a value is made with must read and write no more than such a structure.
pub(super) unsafe trait Request {}

/// Makes the call; `name` is what errors call the command.
pub(super) fn ethtool<T: Request>(interface: &str, value: &mut T, name: &str) -> Result<()> {
    let data = libc::__c_anonymous_ifr_ifru { ifru_data: std::ptr::from_mut(value).cast() };
    // SAFETY: SIOCETHTOOL reads and writes one ifreq and what the command behind ifr_data says (netdevice(7),
    // linux/ethtool.h), which is at most `value`, exclusively ours and alive.
    unsafe { interface_request(interface, libc::SIOCETHTOOL, data, name) }.map(drop)
}

/// An ioctl about an interface (netdevice(7)); what stands in the request afterwards.
///
/// # Safety
/// `data` must be what the request reads, and every address in it valid for what the request does with it.
pub(super) unsafe fn interface_request(
    interface: &str,
    request: libc::c_ulong,
    data: libc::__c_anonymous_ifr_ifru,
    name: &str,
) -> Result<libc::__c_anonymous_ifr_ifru> {
    let what = || format!("ioctl({name}, {interface})");
    if interface.len() >= libc::IFNAMSIZ || interface.contains('\0') {
        return Err(SysError::argument(what(), "not a name that an interface can have"));
    }
    let socket = request_socket()?;
    let mut ifr_name = [0 as libc::c_char; libc::IFNAMSIZ];
    for (to, from) in ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    let mut ifreq = libc::ifreq { ifr_name, ifr_ifru: data };
    // SAFETY: the request reads and writes one ifreq, exclusively ours and alive, whose name ends with a NUL; the rest is
    // the caller's promise.
    let code = unsafe { libc::ioctl(socket.as_raw_fd(), request as _, &mut ifreq) };
    check(code, what)?;
    Ok(ifreq.ifr_ifru)
}

/// A socket for requests about interfaces of the calling thread's network namespace.
pub(super) fn request_socket() -> Result<OwnedFd> {
    // SAFETY: socket(2) takes three numbers.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    let socket = check(socket, || "socket(AF_INET)".into())?;
    // SAFETY: the descriptor has just been made, so that it is open and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(socket) })
}
