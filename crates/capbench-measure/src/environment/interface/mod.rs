//! An interface that a run uses: its driver, queues, rings, offloads, and who handles its interrupts.

mod interrupts;
mod packet_sockets;
mod queues;

use std::collections::BTreeMap;

use capbench_sys::bpf::AttachedMode;
use capbench_sys::host::ethtool::{self, Coalescing, DriverInfo};
use capbench_sys::host::{InterfaceIndex, SysfsView};
use serde::{Deserialize, Serialize};

use super::tree::{Directory, Tree};
use crate::bed::{Bed, Side};
pub use crate::links::TrafficControl;
pub use capbench_sys::host::ethtool::{Moderation, PauseFrames, Queues, Rings, Sharing};
pub use interrupts::Interrupt;
pub use packet_sockets::PacketSockets;
pub use queues::{ReceiveQueue, TransmitQueue};

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

/// Both interfaces of a bed as they are now.
pub(crate) fn of_bed(bed: &Bed, placement: &str) -> [PathInterface; 2] {
    let made = bed.kernel_work().is_some();
    [(Role::Transmit, bed.transmit_side()), (Role::Receive, bed.receive_side())].map(|(role, side)| {
        PathInterface {
            role,
            name: side.name().to_owned(),
            made_by_capbench: made,
            placements: vec![placement.to_owned()],
            facts: InterfaceFacts::of(side),
        }
    })
}

/// Adds interfaces to those that are known: one that is as it was for another placement is named once.
pub(crate) fn note(known: &mut Vec<PathInterface>, found: [PathInterface; 2]) {
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

impl InterfaceFacts {
    /// The facts of one side. What cannot be found out, for whatever reason, is absent: no trial fails for want of it.
    fn of(side: &Side) -> Self {
        let read = || (Self::read(side.name(), side.index()), PacketSockets::on(side.index()));
        let (facts, packet_sockets) = side.run(read).unwrap_or_default();
        Self {
            mtu_bytes: Some(side.mtu()),
            packet_sockets,
            traffic_control: side.links().disciplines(side.index()).ok(),
            ..facts
        }
    }

    /// In the network namespace of the calling thread.
    fn read(name: &str, index: InterfaceIndex) -> Self {
        let info = ethtool::driver(name).ok();
        let text = |of: fn(&DriverInfo) -> &String| {
            info.as_ref().map(of).filter(|text| !text.is_empty() && *text != "N/A").cloned()
        };
        let own = Self {
            driver: text(|info| &info.driver),
            driver_version: text(|info| &info.version),
            firmware: text(|info| &info.firmware),
            bus_address: text(|info| &info.bus),
            offloads_on: ethtool::features(name).ok().flatten().map(names_of_active),
            driver_switches: ethtool::switches(name).ok().flatten(),
            rings: ethtool::rings(name).ok().flatten(),
            queues: ethtool::queues(name).ok().flatten(),
            moderation: Coalescing::read(name).ok().flatten().map(|now| now.moderation()),
            pause_frames: ethtool::pause_frames(name).ok().flatten(),
            sharing: ethtool::sharing(name).ok().flatten(),
            xdp_program: xdp_program(index),
            ..Self::default()
        };
        let host = Directory::of_host();
        match SysfsView::of_current_namespace() {
            Ok(view) => own.with_files(&view, &host, name),
            Err(_) => {
                let mounted = Directory::new("/sys");
                // The /sys that is mounted can be another namespace's, and show another interface of this name.
                let number = mounted.number(&format!("class/net/{name}/ifindex"));
                if number == Some(index.number().into()) {
                    own.with_files(&mounted, &host, name)
                } else {
                    own
                }
            }
        }
    }

    /// With what stands in sysfs, whose root is `sys`, and in the host's procfs.
    fn with_files(self, sys: &impl Tree, host: &impl Tree, name: &str) -> Self {
        let file = |path: &str| format!("class/net/{name}/{path}");
        let number = |path: &str| sys.number(&file(path));
        let identity = |path: &str| sys.word(&file(path)).map(|id| id.trim_start_matches("0x").to_owned());
        Self {
            device_id: identity("device/vendor")
                .zip(identity("device/device"))
                .map(|(vendor, device)| format!("{vendor}:{device}")),
            pci_link_speed: sys.word(&file("device/current_link_speed")),
            pci_link_lanes: number("device/current_link_width").map(|lanes| lanes as u32),
            // -1 where the host has one node.
            numa_node: number("device/numa_node").map(|node| node as u32),
            // -1 where the driver does not know.
            speed_mbit_per_s: number("speed").filter(|speed| *speed > 0 && *speed < u32::MAX.into()),
            duplex: sys.word(&file("duplex")).filter(|duplex| duplex != "unknown"),
            transmit_queue_packets: number("tx_queue_len"),
            threaded_napi: sys.flag(&file("threaded")),
            gro_flush_timeout_ns: number("gro_flush_timeout"),
            deferred_interrupt_polls: number("napi_defer_hard_irqs"),
            receive_queues: queues::receive(sys, name),
            transmit_queues: queues::transmit(sys, name),
            interrupts: interrupts::read(sys, host, name),
            ..self
        }
    }
}

fn names_of_active(features: BTreeMap<String, bool>) -> Vec<String> {
    features.into_iter().filter(|(_, is_active)| *is_active).map(|(name, _)| name).collect()
}

fn xdp_program(index: InterfaceIndex) -> Option<XdpProgram> {
    let attached = capbench_sys::bpf::attached_to(index).ok()??;
    let mode = match attached.mode {
        AttachedMode::Driver => "driver",
        AttachedMode::Generic => "generic",
        AttachedMode::Hardware => "hardware",
        AttachedMode::Several => "several",
    };
    Some(XdpProgram { attached: mode.into(), id: attached.program, program: attached.name })
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface;

    use super::super::tree::tests::Made;
    use super::*;

    #[test]
    fn a_card_in_sysfs_is_read() {
        let tree = Made::of(&[
            ("class/net/eth0/ifindex", "2\n"),
            ("class/net/eth0/speed", "10000\n"),
            ("class/net/eth0/duplex", "full\n"),
            ("class/net/eth0/tx_queue_len", "1000\n"),
            ("class/net/eth0/threaded", "0\n"),
            ("class/net/eth0/gro_flush_timeout", "20000\n"),
            ("class/net/eth0/napi_defer_hard_irqs", "2\n"),
            ("class/net/eth0/device/vendor", "0x8086\n"),
            ("class/net/eth0/device/device", "0x1572\n"),
            ("class/net/eth0/device/numa_node", "1\n"),
            ("class/net/eth0/device/current_link_speed", "8.0 GT/s PCIe\n"),
            ("class/net/eth0/device/current_link_width", "8\n"),
        ]);
        let facts = InterfaceFacts::default().with_files(&*tree, &*tree, "eth0");
        assert_eq!(facts.device_id.as_deref(), Some("8086:1572"));
        assert_eq!((facts.pci_link_lanes, facts.numa_node), (Some(8), Some(1)));
        assert_eq!((facts.speed_mbit_per_s, facts.duplex.as_deref()), (Some(10_000), Some("full")));
        assert_eq!((facts.threaded_napi, facts.gro_flush_timeout_ns), (Some(false), Some(20_000)));
        assert_eq!((facts.deferred_interrupt_polls, facts.transmit_queue_packets), (Some(2), Some(1000)));
    }

    #[test]
    fn what_a_driver_does_not_know_is_absent() {
        let tree = Made::of(&[
            ("class/net/eth0/speed", "-1\n"),
            ("class/net/eth0/duplex", "unknown\n"),
            ("class/net/eth0/device/numa_node", "-1\n"),
        ]);
        assert_eq!(InterfaceFacts::default().with_files(&*tree, &*tree, "eth0"), InterfaceFacts::default());
        let unsigned = Made::of(&[("class/net/eth0/speed", "4294967295\n")]);
        let facts = InterfaceFacts::default().with_files(&*unsigned, &*tree, "eth0");
        assert_eq!(facts.speed_mbit_per_s, None, "as kernels write -1 that take it for unsigned");
    }

    #[test]
    fn the_loopback_interface_tells_what_it_has() {
        let facts = InterfaceFacts::read("lo", interface::index_of("lo").unwrap());
        assert!(facts.offloads_on.unwrap().contains(&"loopback".to_owned()));
        assert_eq!((facts.rings, facts.interrupts, facts.xdp_program), (None, None, None));
    }

    #[test]
    fn an_interface_that_is_gone_has_no_facts() {
        let index = InterfaceIndex::new(i32::MAX as u32).unwrap();
        assert_eq!(InterfaceFacts::read("no-such-if", index), InterfaceFacts::default());
    }

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
