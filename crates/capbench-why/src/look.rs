//! What was seen of an interface in an interval.

use std::collections::BTreeMap;

use capbench_host::accounts::softnet::SoftnetDelta;
use serde::Serialize;

use crate::places::{Lost, Place};
use crate::sockets::Sockets;
use crate::traced::Traced;

/// Version of [`Look`] as JSON.
pub(crate) const SCHEMA_VERSION: u32 = 3;

/// What was seen in an interval.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Look {
    /// Raised when a reader of older documents would misunderstand newer ones.
    pub schema_version: u32,
    /// The interface.
    pub interface: String,
    /// Its network namespace, by its inode (namespaces(7)).
    pub namespace: u64,
    /// End of the interval, in seconds since the watch began.
    pub time_s: f64,
    /// Length of the interval.
    pub seconds: f64,
    /// Whether the interface is up.
    pub up: bool,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Packets that it received (rx_packets); absent where the counter went back.
    pub received: Option<u64>,
    /// The same for each second.
    pub received_per_s: Option<f64>,
    /// Their octets; absent where the counter went back.
    pub octets: Option<u64>,
    /// What the receive path of each CPU that took packets did, for all interfaces of the host.
    pub softnet: Vec<SoftnetDelta>,
    /// `net.core.netdev_max_backlog`; absent where the namespace does not show it.
    pub max_backlog: Option<u64>,
    /// Its driver; absent where it has none.
    pub driver: Option<String>,
    /// The driver's counters that moved, by the driver's own names; none is added up here, and at most 200 of unknown
    /// meaning are shown.
    pub driver_counters: BTreeMap<String, u64>,
    /// The receive rings of the NIC; absent where the driver does not tell.
    pub nic_ring: Option<NicRing>,
    /// Its receive queues; absent where that is not told.
    pub receive_queues: Option<u32>,
    /// Whether it takes frames that are addressed to others; absent where that is not told.
    pub promiscuous: Option<bool>,
    /// The XDP program on it.
    pub xdp: Option<String>,
    /// Why the kernel dropped frames; absent where that is not traced, which the notes then say.
    pub traced: Option<Traced>,
    /// What each place lost, in the order of the path.
    pub lost: Vec<Lost>,
    /// The sockets that capture on it, with what each counted in the interval.
    pub sockets: Sockets,
    /// When what is captured is not what was on the wire.
    pub notes: Vec<String>,
    /// The places that lose, most first, with cause and change.
    pub advice: Vec<Advice>,
    /// All of it in one sentence.
    pub verdict: String,
}

/// The receive rings of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct NicRing {
    /// Descriptors in each.
    pub descriptors: u32,
    /// The most that each can have.
    pub most: u32,
}

/// A place that loses frames, why it most likely does, and what to change.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Advice {
    /// Where.
    pub place: Place,
    /// Frames that it lost in the interval.
    pub lost: u64,
    /// Whether these are of all interfaces together, so that at most so many are this one's.
    pub at_most: bool,
    /// The place in words, with whose it is.
    pub who: String,
    /// The likely cause.
    pub cause: String,
    /// What to change.
    pub change: String,
}

impl Look {
    /// Times that the receive softirq of any CPU ran out of budget with work left.
    pub fn time_squeezes(&self) -> u64 {
        self.softnet.iter().map(|cpu| cpu.time_squeeze).sum()
    }
}
