//! The sockets that drivers of virtual devices open. DPDK hides them and, in 22.11, their counters: for `net_af_packet` it does
//! not report losses of the ring. This module finds the sockets that appear in the process while a device is opened, and uses
//! duplicates of their descriptors, so that the driver keeps its own.

use std::collections::HashSet;
use std::fs;
use std::mem::zeroed;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;

use crate::Result;
use crate::error::check;
use crate::host::{InterfaceIndex, proc_file};
use crate::packet::PacketSocket;
use crate::socket_option::{PACKET_FANOUT, SO_DOMAIN};
use crate::xdp::XdpSocket;

/// The sockets of a device, one per receive queue.
#[derive(Debug)]
pub enum DriverSockets {
    /// Packet sockets of `net_af_packet`.
    Packet(Vec<PacketSocket>),
    /// AF_XDP sockets of `net_af_xdp`.
    Xdp(Vec<DriverXdpSocket>),
    /// The device has none, or they were not found.
    None,
}

/// An AF_XDP socket of a driver, to read its counters.
#[derive(Debug)]
pub struct DriverXdpSocket {
    socket: XdpSocket,
    of_driver: Original,
}

/// A socket's descriptor that is not ours.
#[derive(Clone, Copy, Debug)]
struct Original {
    number: RawFd,
    inode: u64,
}

impl DriverXdpSocket {
    /// The socket itself.
    pub fn socket(&self) -> &XdpSocket {
        &self.socket
    }
}

/// The sockets that a process has at one moment.
#[derive(Debug)]
pub(super) struct Before(HashSet<u64>);

impl Before {
    pub(super) fn now() -> Result<Self> {
        Ok(Self(descriptors()?.into_iter().map(|found| found.inode).collect()))
    }

    /// Packet sockets made since then that are `net_af_packet`'s on this interface. The driver puts its sockets into a
    /// fanout group, whose number it makes of process and interface. No other socket of this process has that number.
    pub(super) fn packet_sockets(&self, interface: InterfaceIndex) -> Result<Vec<PacketSocket>> {
        let group = (std::process::id() ^ interface.number()) & 0xffff;
        let mut found = Vec::new();
        for (fd, _) in self.new_ones()? {
            if SO_DOMAIN.get::<i32>(&fd)? != libc::AF_PACKET || bound_to(&fd)? != interface.as_int() {
                continue;
            }
            let fanout: u32 = PACKET_FANOUT.get(&fd)?;
            if fanout != 0 && fanout & 0xffff == group {
                found.push(PacketSocket::adopt(fd));
            }
        }
        Ok(found)
    }

    /// AF_XDP sockets made since then. Nothing shows whose they are: while a device is opened, no other thread of the
    /// process may open one. Captures are opened one after the other; two at once would leave more sockets than the
    /// device has queues, and the caller would use none.
    pub(super) fn xdp_sockets(&self) -> Result<Vec<DriverXdpSocket>> {
        let mut found = Vec::new();
        for (fd, of_driver) in self.new_ones()? {
            if SO_DOMAIN.get::<i32>(&fd)? == libc::AF_XDP {
                found.push(DriverXdpSocket { socket: XdpSocket::adopt(fd), of_driver });
            }
        }
        Ok(found)
    }

    /// Descriptors of our own of the sockets that are new, with those that they were made of.
    fn new_ones(&self) -> Result<Vec<(OwnedFd, Original)>> {
        let new = descriptors()?.into_iter().filter(|found| !self.0.contains(&found.inode));
        Ok(new.filter_map(|found| Some((found.duplicate()?, found))).collect())
    }
}

impl DriverSockets {
    /// Closes our descriptors and those that the driver forgot. `net_af_xdp` of 22.11 leaves its sockets open when it
    /// is closed, because it counts their users wrongly, and the queue stays busy. Releases that close them leave
    /// nothing to find here.
    ///
    /// To be called after the port is closed.
    pub(super) fn close(self) {
        let Self::Xdp(sockets) = self else { return };
        for DriverXdpSocket { socket, of_driver } in sockets {
            if of_driver.duplicate().is_some() {
                // SAFETY: the number is still the driver's descriptor. Our own keeps the socket open, so that no other can
                // have its inode. The port is closed and the driver has freed the structure with the number, so nobody
                // owns it. As long as it is open, the kernel assigns the number to no other file.
                drop(unsafe { OwnedFd::from_raw_fd(of_driver.number) });
            }
            drop(socket);
        }
    }
}

/// The sockets among this process's descriptors, by number and inode.
fn descriptors() -> Result<Vec<Original>> {
    let sockets = proc_file::numbers_in("/proc/self/fd")?.into_iter().filter_map(|number| {
        // Descriptors that were closed meanwhile do not matter.
        let target = fs::read_link(format!("/proc/self/fd/{number}")).ok()?;
        let inode = target.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()?;
        Some(Original { number, inode })
    });
    Ok(sockets.collect())
}

impl Original {
    /// A descriptor of our own of the same socket, if the number still is that socket's.
    fn duplicate(self) -> Option<OwnedFd> {
        // SAFETY: fcntl(2) takes numbers; the descriptor may be anything or closed, which it says.
        let copy = unsafe { libc::fcntl(self.number, libc::F_DUPFD_CLOEXEC, 0) };
        if copy < 0 {
            return None;
        }
        // SAFETY: the descriptor is fresh and nobody else's.
        let copy = unsafe { OwnedFd::from_raw_fd(copy) };
        let file = fs::File::from(copy);
        (file.metadata().ok()?.ino() == self.inode).then(|| file.into())
    }
}

fn bound_to(fd: &OwnedFd) -> Result<i32> {
    // SAFETY: sockaddr_ll is plain data; all zeroes is a valid value.
    let mut address: libc::sockaddr_ll = unsafe { zeroed() };
    let mut length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
    // SAFETY: address and length are live and writable, and the length is the address's size.
    let code = unsafe { libc::getsockname(fd.as_raw_fd(), (&raw mut address).cast(), &raw mut length) };
    check(code, || "getsockname of a packet socket".into())?;
    Ok(address.sll_ifindex)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixStream;

    #[test]
    fn sockets_made_since_are_found_and_others_are_not() {
        let _old = UnixStream::pair().unwrap();
        let before = Before::now().unwrap();
        let (new, _peer) = UnixStream::pair().unwrap();
        let inode = fs::metadata(format!("/proc/self/fd/{}", new.as_raw_fd())).unwrap().ino();
        let found = before.new_ones().unwrap();
        let own = found.iter().find(|(_, found)| found.inode == inode).unwrap();
        assert_eq!(own.1.number, new.as_raw_fd());
        assert!(before.packet_sockets(InterfaceIndex::new(1).unwrap()).unwrap().is_empty());
        let another = Original { inode: inode + 1, ..own.1 };
        let closed = Original { number: -1, ..own.1 };
        assert!(another.duplicate().is_none() && closed.duplicate().is_none());
    }
}
