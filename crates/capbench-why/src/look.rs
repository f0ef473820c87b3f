//! The results of an interval for one interface.

use std::collections::BTreeMap;

use capbench_host::accounts::softnet::SoftnetDelta;
use schemars::JsonSchema;
use serde::Serialize;

use crate::facts::Facts;
use crate::places::Lost;
use crate::remedy::Remedy;
use crate::sockets::Sockets;
use crate::traced::Traced;
use capbench_model::places::Place;

/// Version of [`Look`] as JSON.
pub const SCHEMA_VERSION: u32 = 3;

/// The results of an interval.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Look {
    /// Increases when a reader of older documents would misunderstand newer ones.
    pub schema_version: u32,
    /// The interface.
    pub interface: String,
    /// Its network namespace, by its inode (namespaces(7)).
    pub namespace: u64,
    /// End of the interval, in seconds since the watch began.
    pub time_s: f64,
    /// The same by the wall clock, in nanoseconds since 1970.
    pub unix_ns: u64,
    /// The same by CLOCK_MONOTONIC, in nanoseconds.
    pub monotonic_ns: u64,
    /// Length of the interval in seconds.
    pub seconds: f64,
    /// Whether the interface is up.
    pub up: bool,
    /// Whether it has a carrier.
    pub carrier: bool,
    /// Packets that it received (rx_packets); absent if the counter went backwards.
    pub received: Option<u64>,
    /// Received packets per second.
    pub received_per_s: Option<f64>,
    /// Received octets; absent if the counter went backwards.
    pub octets: Option<u64>,
    /// Receive path counters of each CPU that processed packets, for all interfaces of the host.
    pub softnet: Vec<SoftnetDelta>,
    /// `net.core.netdev_max_backlog`; absent if the namespace does not show it.
    pub max_backlog: Option<u64>,
    /// Its driver; absent if it has none.
    pub driver: Option<String>,
    /// The driver's counters that changed, by the driver's own names; none are summed. Up to 200 counters of unknown meaning are
    /// listed.
    pub driver_counters: BTreeMap<String, u64>,
    /// The receive rings of the NIC; absent if the driver does not report them.
    pub nic_ring: Option<NicRing>,
    /// Number of its receive queues; absent if not reported.
    pub receive_queues: Option<u32>,
    /// Whether it receives frames addressed to others; absent if not reported.
    pub promiscuous: Option<bool>,
    /// The XDP program on the interface, and the processes that hold it.
    pub xdp: Option<String>,
    /// Packets that it did not pass to the stack, so that no AF_PACKET socket could see them; absent without a program, and if no
    /// counter shows them.
    pub xdp_taken: Option<u64>,
    /// Why the kernel dropped frames; absent if not traced. The notes then say so.
    pub traced: Option<Traced>,
    /// The losses of each place, in the order of the path.
    pub lost: Vec<Lost>,
    /// The sockets that capture on it, with their counts in the interval.
    pub sockets: Sockets,
    /// Differences between captured frames and the frames on the wire.
    pub notes: Vec<String>,
    /// The places that lose frames, highest loss first, with cause and change.
    pub advice: Vec<Advice>,
    /// The result in one sentence.
    pub verdict: String,
    /// What only the advice uses.
    #[serde(skip)]
    pub facts: Facts,
}

/// The counts of an interface in a window.
#[derive(Debug, Clone, PartialEq)]
pub struct InterfaceWindow {
    /// The interface.
    pub interface: String,
    /// Packets that it received; absent if the counter went backwards.
    pub received: Option<u64>,
    /// Frames that each place except sockets lost; absent if not counted.
    pub lost: Vec<(Place, Option<u64>)>,
}

/// The receive rings of a NIC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NicRing {
    /// Descriptors per ring.
    pub descriptors: u32,
    /// The maximum number of descriptors per ring.
    pub most: u32,
}

/// A place that loses frames, the likely cause, and what to change.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// The place.
    #[serde(serialize_with = "crate::places::by_key")]
    #[schemars(with = "String", extend("enum" = crate::places::PLACES.map(Place::key)))]
    pub place: Place,
    /// Frames that it lost in the interval.
    pub lost: u64,
    /// Whether the count covers all interfaces, so that it is an upper bound for this one.
    pub at_most: bool,
    /// The place as text, with its owner.
    pub who: String,
    /// The likely cause.
    pub cause: String,
    /// What to change.
    pub change: String,
    /// The change as commands for a shell, as far as it is one. Each can be run as it is written.
    #[serde(serialize_with = "crate::remedy::as_commands")]
    #[schemars(with = "Vec<String>")]
    pub remedies: Vec<Remedy>,
}

impl Look {
    /// How often the receive softirq of any CPU used up its budget with work left.
    pub fn time_squeezes(&self) -> u64 {
        self.softnet.iter().map(|cpu| cpu.time_squeeze).sum()
    }
}
