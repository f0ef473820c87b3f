//! The engine below libpcap, determined from the descriptors of this process, not from the library's own report.

mod ring;

use std::os::fd::RawFd;
use std::path::Path;

use crate::host::proc_file;
use crate::packet::Version;
pub use crate::packet::diag::Blocks;
use crate::pf_ring::FAMILY;
use crate::socket_option::{PACKET_VERSION, SO_DOMAIN, SocketOption};

/// The engine that captures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Engine {
    /// A packet socket of the kernel.
    Packet {
        /// The version of its ring's headers (`PACKET_VERSION`).
        version: Option<Version>,
        /// Its ring, if this process has mapped one.
        ring: Option<Ring>,
    },
    /// A socket of ntop's kernel module.
    PfRing {
        /// The module's number for its ring.
        number: Option<u32>,
    },
    /// A socket of another address family.
    Socket(i32),
    /// A device file, such as a capture card's.
    Device(String),
    /// A descriptor of another kind, as /proc shows it.
    Other(String),
    /// No descriptor shows it.
    Hidden,
}

/// A ring mapped into this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Its size (/proc/self/maps).
    pub bytes: u64,
    /// Its blocks, if the kernel reports them (packet_diag).
    pub blocks: Option<Blocks>,
}

/// Of ntop's `linux/pf_ring.h`, release 8.
const SO_GET_RING_ID: SocketOption<'_> = SocketOption { level: 0, number: 175, name: "SO_GET_RING_ID" };

pub(super) fn descriptors() -> Vec<RawFd> {
    proc_file::numbers_in("/proc/self/fd").unwrap_or_default()
}

/// The engine of the capture that was opened since `before`. It is the descriptor that libpcap names, otherwise a capture
/// socket that is new since then.
pub(super) fn find(own: Option<RawFd>, selectable: Option<RawFd>, before: &[RawFd]) -> Engine {
    if let Some(fd) = own.or(selectable) {
        return of(fd);
    }
    let is_capture =
        |engine: &Engine| matches!(engine, Engine::Packet { .. } | Engine::PfRing { .. } | Engine::Device(_));
    let mut new = descriptors().into_iter().filter(|fd| !before.contains(fd)).map(of);
    new.find(is_capture).unwrap_or(Engine::Hidden)
}

fn of(fd: RawFd) -> Engine {
    let target = std::fs::read_link(format!("/proc/self/fd/{fd}"));
    let target = target.map(|path| path.to_string_lossy().into_owned()).unwrap_or_default();
    // What has no such option is of another kind.
    let option = |option: SocketOption<'_>| option.get::<i32>(&fd).ok();
    match option(SO_DOMAIN) {
        Some(libc::AF_PACKET) => {
            let known = [Version::V1, Version::V2, Version::V3];
            let version = option(PACKET_VERSION);
            let version = known.into_iter().find(|known| Some(*known as i32) == version);
            Engine::Packet { version, ring: ring::of(&target) }
        }
        Some(FAMILY) => {
            Engine::PfRing { number: option(SO_GET_RING_ID).and_then(|number| number.try_into().ok()) }
        }
        Some(family) => Engine::Socket(family),
        None if target.is_empty() => Engine::Hidden,
        None if Path::new(&target).starts_with("/dev") => Engine::Device(target),
        None => Engine::Other(target),
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::{Engine, descriptors, find};

    #[test]
    fn descriptors_are_distinguished() {
        let null = std::fs::File::open("/dev/null").unwrap();
        assert_eq!(find(Some(null.as_raw_fd()), None, &[]), Engine::Device("/dev/null".into()));
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        assert_eq!(find(None, Some(socket.as_raw_fd()), &[]), Engine::Socket(libc::AF_INET));
        assert!(matches!(find(Some(100_000), None, &[]), Engine::Hidden));
        assert!(descriptors().contains(&null.as_raw_fd()));
    }
}
