//! An interface that a run uses: its driver, queues, rings, offloads, and the CPUs of its interrupts.

use std::collections::BTreeMap;

use crate::saved::SavedPlacement;
use capbench_sys::host::ethtool::{Moderation, PauseFrames, Queues, Rings, Sharing};
use serde::{Deserialize, Serialize};

/// The role of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// It sends the frames.
    Transmit,
    /// It receives the frames.
    Receive,
}

/// An interface that a run found or created. Absent values are not reported by its driver or the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PathInterface {
    /// Its role.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// Whether the run created it: an end of a veth pair, which is removed after the run.
    pub made_by_capbench: bool,
    /// The placements for which these facts hold. capbench's test bed is set up for each placement; the host's interfaces
    /// stay unchanged.
    pub placements: Vec<SavedPlacement>,
    /// Its properties and settings.
    #[serde(flatten)]
    pub facts: InterfaceFacts,
}

facts! {
    /// Properties and settings of an interface.
    pub struct InterfaceFacts {
        /// The kernel's name of its driver.
        pub driver: Option<String>,
        /// Version of the driver. For a driver of the kernel tree it is the kernel's version.
        pub driver_version: Option<String>,
        /// Version of its firmware.
        pub firmware: Option<String>,
        /// Its bus address: `0000:3b:00.0`.
        pub bus_address: Option<String>,
        /// Vendor and device numbers on its bus: `8086:1572` on PCI, `1af4:0001` of a virtio card.
        pub device_id: Option<String>,
        /// Current speed of its PCI Express link: `8.0 GT/s PCIe`.
        pub pci_link_speed: Option<String>,
        /// Current number of lanes of that link.
        pub pci_link_lanes: Option<u32>,
        /// The nearest NUMA node. Absent if there is only one node.
        pub numa_node: Option<u32>,
        /// Speed of the link in Mbit/s. On a virtual interface it may limit nothing.
        pub speed_mbit_per_s: Option<u64>,
        /// `full` or `half`.
        pub duplex: Option<String>,
        /// Largest payload of a frame in bytes.
        pub mtu_bytes: Option<u32>,
        /// Packets that its queueing discipline holds, if that discipline has no other limit (`txqueuelen`).
        pub transmit_queue_packets: Option<u64>,
        /// Enabled offloads and other features, by their names in `ethtool -k` or in the kernel.
        pub offloads_on: Option<Vec<String>>,
        /// The driver's private flags, and whether they are on (`ethtool --show-priv-flags`).
        pub driver_switches: Option<BTreeMap<String, bool>>,
        /// Rings between driver and card.
        pub rings: Option<Rings>,
        /// Queues as the driver counts them.
        pub queues: Option<Queues>,
        /// How interrupts are delayed.
        pub moderation: Option<Moderation>,
        /// Its pause frame settings.
        pub pause_frames: Option<PauseFrames>,
        /// How received frames are distributed to queues (RSS).
        pub sharing: Option<Sharing>,
        /// Whether threads poll it, instead of the receive softirq.
        pub threaded_napi: Option<bool>,
        /// Nanoseconds after which a timer polls it while its interrupts are deferred (`gro_flush_timeout`).
        pub gro_flush_timeout_ns: Option<u64>,
        /// Empty polls before its interrupts are enabled again (`napi_defer_hard_irqs`).
        pub deferred_interrupt_polls: Option<u64>,
        /// Receive queues and their settings.
        pub receive_queues: Option<Vec<ReceiveQueue>>,
        /// Transmit queues and their settings.
        pub transmit_queues: Option<Vec<TransmitQueue>>,
        /// Its interrupts and their CPUs. Absent for virtual interfaces, which have none.
        pub interrupts: Option<Vec<Interrupt>>,
        /// An XDP program attached before the run. Absent if there was none, or if it could not be queried.
        pub xdp_program: Option<XdpProgram>,
        /// Packet sockets that received from it before the run.
        pub packet_sockets: Option<PacketSockets>,
        /// Queueing disciplines and their filters, including BPF programs of tc. Programs attached as tcx links (Linux 6.6) are
        /// not listed.
        pub traffic_control: Option<Vec<TrafficControl>>,
    }
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct XdpProgram {
    /// Where it runs: `driver`, `generic`, `hardware`, `several`.
    pub attached: String,
    /// The kernel's id of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u32>,
    /// Its name; absent without CAP_SYS_ADMIN.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<String>,
}

/// A receive queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ReceiveQueue {
    /// Its number.
    pub queue: u32,
    /// CPUs that process its packets (receive packet steering), as a list such as `0-3`. Empty without steering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rps_cpus: Option<String>,
    /// Size of the flow table that steers packets to the application's CPU (receive flow steering). 0 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rps_flows: Option<u64>,
}

/// A transmit queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransmitQueue {
    /// Its number.
    pub queue: u32,
    /// CPUs that send on it (transmit packet steering), as a list. Empty if not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xps_cpus: Option<String>,
}

/// An interrupt of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interrupt {
    /// The kernel's number of it, which can change at the next boot.
    pub number: u32,
    /// The driver's name of it: `eth0-TxRx-0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CPUs allowed for it, as a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_cpus: Option<String>,
    /// CPUs that receive it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_cpus: Option<String>,
    /// NUMA node of its memory in the kernel. Absent if there is only one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
}

/// Packet sockets that receive from an interface (`/proc/net/packet`), without those of other network namespaces and of
/// capbench.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PacketSockets {
    /// Sockets for all protocols (ETH_P_ALL), as of tcpdump and other captures.
    pub of_all_protocols: u64,
    /// Sockets for one protocol, as of lldpd.
    pub of_one_protocol: u64,
}

/// A queueing discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrafficControl {
    /// Its kind: `noqueue`, `mq`, `fq_codel`, `clsact`.
    pub discipline: String,
    /// Its filters for both directions, each by its kind, a BPF program with its name. Only those of `clsact` and `ingress`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
}

/// Adds interfaces to the known ones. One that is unchanged since another placement is listed once.
pub fn note(known: &mut Vec<PathInterface>, found: [PathInterface; 2]) {
    for interface in found {
        let alike = |other: &&mut PathInterface| {
            let is_same_name =
                other.name == interface.name || other.made_by_capbench && interface.made_by_capbench;
            other.role == interface.role && is_same_name && other.facts == interface.facts
        };
        match known.iter_mut().find(alike) {
            None => known.push(interface),
            Some(other) => {
                let new = interface.placements.into_iter().filter(|name| !other.placements.contains(name));
                other.placements.extend(new.collect::<Vec<_>>());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interfaces_that_are_alike_are_named_once() {
        let end = |name: &str, made, placement: &str, mtu| PathInterface {
            role: Role::Receive,
            name: name.into(),
            made_by_capbench: made,
            placements: vec![placement.into()],
            facts: InterfaceFacts { mtu_bytes: Some(mtu), ..InterfaceFacts::default() },
        };
        let pair = |name: &str, made, placement: &str, mtu| {
            [
                PathInterface { role: Role::Transmit, ..end(name, made, placement, mtu) },
                end(name, made, placement, mtu),
            ]
        };
        let mut known = Vec::new();
        note(&mut known, pair("cb1", true, "same", 1500));
        note(&mut known, pair("cb2", true, "other", 1500));
        note(&mut known, pair("cb2", true, "other", 1500));
        assert_eq!(known.len(), 2, "{known:?}");
        assert_eq!(known[1].placements, ["same", "other"]);
        note(&mut known, pair("cb3", true, "0,1,1", 9000));
        assert_eq!(known.len(), 4, "{known:?}");
        note(&mut known, pair("eth0", false, "other", 1500));
        assert_eq!(known.len(), 6, "another interface of the same facts: {known:?}");
    }
}
