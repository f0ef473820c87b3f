//! An interface that a run uses: its driver, queues, rings, offloads, and who handles its interrupts.

use std::collections::BTreeMap;

use capbench_sys::host::ethtool::{Moderation, PauseFrames, Queues, Rings, Sharing};
use serde::{Deserialize, Serialize};

/// What an interface is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Frames leave by it.
    Transmit,
    /// Frames arrive on it.
    Receive,
}

/// An interface as a run found it, or made it. Absent is what its driver or the kernel does not tell.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PathInterface {
    /// What it is for.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// Whether the run made it: an end of a veth pair, gone with the run.
    pub made_by_capbench: bool,
    /// The placements that it was like this for. A bed of capbench's own is set up for each; the host's interfaces stay as
    /// they are.
    pub placements: Vec<String>,
    /// What it is, and how it is set.
    #[serde(flatten)]
    pub facts: InterfaceFacts,
}

/// What an interface is, and how it is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InterfaceFacts {
    /// Its driver as the kernel names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Version of the driver; of one that comes with the kernel the kernel's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Version of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Where it is plugged in: `0000:3b:00.0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bus_address: Option<String>,
    /// Vendor and device by their numbers on their bus: `8086:1572` on PCI, `1af4:0001` of a virtio card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device_id: Option<String>,
    /// Speed of its PCI Express link now: `8.0 GT/s PCIe`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_link_speed: Option<String>,
    /// Lanes of that link now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pci_link_lanes: Option<u32>,
    /// The node of memory that it is nearest to; absent where there is one node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numa_node: Option<u32>,
    /// Speed of the link in Mbit/s. A virtual interface can report one that limits nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit_per_s: Option<u64>,
    /// `full` or `half`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duplex: Option<String>,
    /// Largest payload of a frame in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu_bytes: Option<u32>,
    /// Packets that a queueing discipline of it holds, where that has no limit of its own (`txqueuelen`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_queue_packets: Option<u64>,
    /// Offloads and other features that are on, by the names that `ethtool -k` prints or the kernel has for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offloads_on: Option<Vec<String>>,
    /// The driver's own switches, and whether they are on (`ethtool --show-priv-flags`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver_switches: Option<BTreeMap<String, bool>>,
    /// Rings between driver and card.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rings: Option<Rings>,
    /// Queues as the driver counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<Queues>,
    /// How interrupts are held back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moderation: Option<Moderation>,
    /// What it does about pause frames.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause_frames: Option<PauseFrames>,
    /// How received frames are shared out to queues (RSS).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<Sharing>,
    /// Whether threads poll it, and not the receive softirq.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threaded_napi: Option<bool>,
    /// Nanoseconds after which a timer polls it that has its interrupts held off (`gro_flush_timeout`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gro_flush_timeout_ns: Option<u64>,
    /// Polls in vain before its interrupts are turned on again (`napi_defer_hard_irqs`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferred_interrupt_polls: Option<u64>,
    /// Receive queues and what is set about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub receive_queues: Option<Vec<ReceiveQueue>>,
    /// Transmit queues and what is set about them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transmit_queues: Option<Vec<TransmitQueue>>,
    /// Its interrupts and the CPUs that they go to; absent of virtual ones, which have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interrupts: Option<Vec<Interrupt>>,
    /// An XDP program that was on it before the run; absent where there was none, or none could be asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xdp_program: Option<XdpProgram>,
    /// Packet sockets that received from it before the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet_sockets: Option<PacketSockets>,
    /// Queueing disciplines and the filters in them, BPF programs of tc among these. Programs attached as tcx links (Linux 6.6)
    /// do not show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic_control: Option<Vec<TrafficControl>>,
}

/// An XDP program on an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct XdpProgram {
    /// Who runs it: `driver`, `generic`, `hardware`, `several`.
    pub attached: String,
    /// The kernel's number of it.
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
    /// CPUs that its packets are handed to (receive packet steering), as a list such as `0-3`; empty without steering.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rps_cpus: Option<String>,
    /// Flows that steering remembers the application's CPU of (receive flow steering); 0 without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rps_flows: Option<u64>,
}

/// A transmit queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TransmitQueue {
    /// Its number.
    pub queue: u32,
    /// CPUs that send by it (transmit packet steering), as a list; empty where that is not set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub xps_cpus: Option<String>,
}

/// An interrupt of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Interrupt {
    /// The kernel's number of it, which another boot may change.
    pub number: u32,
    /// What the driver calls it: `eth0-TxRx-0`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// CPUs that it may go to, as a list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_cpus: Option<String>,
    /// CPUs that it goes to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_cpus: Option<String>,
}

/// Packet sockets that receive from an interface, those of other network namespaces and of capbench not among them
/// (`/proc/net/packet`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PacketSockets {
    /// Those that take every protocol (ETH_P_ALL), as tcpdump and other captures do.
    pub of_all_protocols: u64,
    /// Those that take one, as lldpd does.
    pub of_one_protocol: u64,
}

/// A queueing discipline of an interface.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct TrafficControl {
    /// Its kind: `noqueue`, `mq`, `fq_codel`, `clsact`.
    pub discipline: String,
    /// Filters on what comes and goes, each by its kind, a BPF program with its name; those of `clsact` and `ingress` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub filters: Vec<String>,
}

/// Adds interfaces to those that are known: one that is as it was for another placement is named once.
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
