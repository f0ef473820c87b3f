//! libpfring, which is opened at run time (`pfring.h`).
//!
//! With a buffer, `pfring_recv` copies a packet into it. Without one it returns a pointer into the ring, which is valid until
//! the next call only for modules that drive a card themselves (`zc:`). For the kernel module's ring the library returns the
//! slot to the kernel *before* it returns the pointer. Its AF_XDP module recycles the buffer in the same way. So the memory
//! may be written while it is read. [`can_lend`] reports this, and [`PfRing::open`] refuses.
//!
//! A ring is used on the thread that opened it.

use std::fmt;

use super::abi::{BURST_VERSION, Functions, LEAST_VERSION};
use super::ring::Ring;
use crate::error::Result;
use crate::library::Library;
use crate::library_call::broken;

/// The open libpfring.
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

/// How packets are read from a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// One by one, copied into the reader's buffers.
    Copied,
    /// One by one, in place.
    InPlace,
    /// Several per call, in place (`pfring_recv_burst`).
    Bursts(u8),
}

/// Direction of a ring's packets (`packet_direction`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Received and sent packets.
    Both = 0,
    /// Received packets.
    In = 1,
    /// Sent packets.
    Out = 2,
}

/// Rings that share the packets of a device (`pfring_set_cluster`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// The number of the cluster: rings of any program with the same number and device are in it.
    pub number: u32,
    /// Which ring gets a packet.
    pub sharing: ClusterSharing,
}

/// `cluster_type`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClusterSharing {
    /// By addresses, ports, protocol and VLAN, the same in both directions.
    PerFlow = 0,
    /// Each in turn.
    RoundRobin = 1,
}

/// How to open a ring.
#[derive(Clone, Debug)]
pub struct RingOptions<'o> {
    /// PF_RING's device name, for example `eth1`, `eth1@2` or `zc:eth1`.
    pub device: &'o str,
    /// Requested octets of each packet. The kernel module captures up to 65 600.
    pub captured: u32,
    /// Whether the adapter accepts packets for other hosts.
    pub promiscuous: bool,
    /// Direction of packets.
    pub way: Way,
    /// Number of packets that wake a waiting reader; `None`: the library's default.
    pub watermark: Option<u16>,
    /// How packets are read.
    pub reading: Reading,
    /// The rings with which it shares packets, if there are others.
    pub cluster: Option<Cluster>,
}

/// Whether a device's packets stay valid until the next call, so that they can be read in place. According to the library's
/// source not for the kernel module's ring and the module `xdp`. For the modules `stack`, `sysdig` and `pcap` it is unknown, so
/// their packets are copied.
pub fn can_lend(device: &str) -> bool {
    device
        .split_once(':')
        .is_some_and(|(module, _)| !matches!(module, "" | "stack" | "sysdig" | "pcap" | "xdp"))
}

impl PfRing {
    /// Opens the library by its name or path.
    ///
    /// # Errors
    /// The library is missing, is not libpfring, or its release has unknown structures.
    pub fn load(name: &str) -> Result<Self> {
        // SAFETY: the user named it as libpfring, whose initialisation does no harm.
        let library = unsafe { Library::open(name) }?;
        let functions = Functions::of(&library)?;
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
    /// The device or kernel module does not exist, the library refuses a step, or the packets cannot be read in that way.
    pub fn open(self, options: &RingOptions<'_>) -> Result<Ring> {
        let name = self.library.name();
        if options.reading != Reading::Copied && !can_lend(options.device) {
            let reason =
                "its packets cannot be read in place: the library returns their memory before they are read";
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
