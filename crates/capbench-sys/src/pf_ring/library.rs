//! libpfring, a library that is opened at run time (`pfring.h`).
//!
//! With a buffer, `pfring_recv` copies a packet into it. Without one it points into the ring, until the next call: that is
//! so for modules that drive a card themselves (`zc:`). The kernel module's own ring is another matter. There the library
//! returns the slot to the kernel *before* it returns the pointer, and its AF_XDP module puts the buffer back into
//! circulation likewise: the memory may be written while it is read. [`can_lend`] says so, and [`PfRing::open`] refuses.
//!
//! A ring is used on the thread that opened it.

use std::fmt;

use super::abi::{BURST_VERSION, Functions, LEAST_VERSION};
use super::ring::Ring;
use crate::error::Result;
use crate::library::Library;
use crate::library_call::broken;

/// libpfring, open.
#[derive(Debug)]
pub struct PfRing {
    pub(super) functions: Functions,
    pub(super) version: Version,
    pub(super) library: Library,
}

/// A release of PF_RING (`RING_VERSION_NUM`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32);

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [_, major, minor, patch] = self.0.to_be_bytes();
        // The digits are decimal ones written as hexadecimal: 0x080800 is 8.8.0.
        write!(f, "{major:x}.{minor:x}.{patch:x}")
    }
}

/// How packets are taken out of a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One by one, copied into buffers of the reader's.
    Copied,
    /// One by one, where they lie.
    InPlace,
    /// Up to so many per call, where they lie (`pfring_recv_burst`).
    Bursts(u8),
}

/// Which packets a ring is to give (`packet_direction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Received and sent ones.
    Both = 0,
    /// Received ones.
    In = 1,
    /// Sent ones.
    Out = 2,
}

/// How to open a ring.
#[derive(Clone, Debug)]
pub struct RingOptions<'o> {
    /// The device as PF_RING names it, for example `eth1`, `eth1@2` or `zc:eth1`.
    pub device: &'o str,
    /// Octets asked for of each packet. The kernel module captures up to 65 600.
    pub captured: u32,
    /// Whether the adapter is to accept packets for other hosts.
    pub promiscuous: bool,
    /// Which packets.
    pub way: Way,
    /// How many packets wake a waiting reader; `None` leaves it to the library.
    pub watermark: Option<u16>,
    /// How packets are taken out.
    pub reading: Reading,
}

/// Whether a device's packets stay where they are until the next call, so that they can be read in place. Known not to be
/// so from the library's source for the kernel module's ring and for the module `xdp`; of the modules `stack`, `sysdig` and
/// `pcap` it is not known, so nothing is lent of theirs.
pub fn can_lend(device: &str) -> bool {
    device
        .split_once(':')
        .is_some_and(|(module, _)| !matches!(module, "" | "stack" | "sysdig" | "pcap" | "xdp"))
}

impl PfRing {
    /// Opens the library by its name or path.
    ///
    /// # Errors
    /// It is not there, is not libpfring, or is of a release whose structures are not known here.
    pub fn load(name: &str) -> Result<Self> {
        // SAFETY: the user named it as libpfring, whose initialisation does no harm.
        let library = unsafe { Library::open(name) }?;
        // SAFETY: the table lies beside the library and is dropped with it.
        let functions = unsafe { Functions::of(&library) }?;
        let mut version = 0;
        // SAFETY: a valid place.
        unsafe { (functions.pfring_version_noring)(&raw mut version) };
        if version < LEAST_VERSION {
            let (found, least) = (Version(version), Version(LEAST_VERSION));
            let reason = format!("it is release {found}; {least} is the first that can be used");
            return Err(broken(library.name(), "pfring_version_noring", &reason));
        }
        Ok(Self { functions, version: Version(version), library })
    }

    /// The library's release.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Opens a device and enables its ring.
    ///
    /// # Errors
    /// There is no such device or kernel module, the library refuses a step, or the packets cannot be read that way.
    pub fn open(self, options: &RingOptions<'_>) -> Result<Ring> {
        let name = self.library.name();
        if options.reading != Reading::Copied && !can_lend(options.device) {
            let reason = "its packets cannot be read in place: the ring is given back before they are";
            return Err(broken(name, &format!("pfring_recv({})", options.device), reason));
        }
        if let Reading::Bursts(_) = options.reading
            && (self.version.0 < BURST_VERSION || self.functions.pfring_recv_burst.is_none())
        {
            let reason =
                format!("release {} has none; {} is the first", self.version, Version(BURST_VERSION));
            return Err(broken(name, "pfring_recv_burst", &reason));
        }
        Ring::open(self, options)
    }
}

#[cfg(test)]
mod tests {
    use super::{Version, can_lend};

    #[test]
    fn releases_are_written_as_their_makers_do() {
        assert_eq!(Version(0x08_08_00).to_string(), "8.8.0");
        assert!(Version(0x06_05_00) < Version(0x08_00_00));
    }

    #[test]
    fn only_modules_that_keep_packets_are_read_in_place() {
        for device in ["eth1", "eth1@2", "xdp:eth1", "stack:eth1", ":eth1"] {
            assert!(!can_lend(device), "{device}");
        }
        for device in ["zc:eth1", "zc:eth1@2", "nt:0"] {
            assert!(can_lend(device), "{device}");
        }
    }
}
