//! An interface of a run: driver, queues, rings, offloads, and the CPUs of its interrupts.

mod interrupts;
mod packet_sockets;
mod queues;

use std::collections::BTreeMap;

use capbench_model::environment::interface::{InterfaceFacts, PathInterface, Role, XdpProgram};
use capbench_sys::bpf::AttachedMode;
use capbench_sys::host::ethtool::{self, Coalescing, DriverInfo};
use capbench_sys::host::{InterfaceIndex, SysfsView};

use super::tree::{Directory, Tree};
use crate::bed::{Bed, Side};

/// The current facts of both interfaces of a bed.
pub fn of_bed(bed: &Bed, placement: &str) -> [PathInterface; 2] {
    let made = bed.kernel_work().is_some();
    [(Role::Transmit, bed.transmit_side()), (Role::Receive, bed.receive_side())].map(|(role, side)| {
        PathInterface {
            role,
            name: side.name().to_owned(),
            made_by_capbench: made,
            placements: vec![placement.to_owned()],
            facts: facts_of(side),
        }
    })
}

/// The facts of one side. Unknown facts are absent: a missing fact never fails a trial.
fn facts_of(side: &Side) -> InterfaceFacts {
    let read = || (read(side.name(), side.index()), packet_sockets::on(side.index()));
    let (facts, packet_sockets) = side.run(read).unwrap_or_default();
    InterfaceFacts {
        mtu_bytes: Some(side.mtu()),
        packet_sockets,
        traffic_control: side.links().disciplines(side.index()).ok(),
        ..facts
    }
}

/// In the network namespace of the calling thread.
fn read(name: &str, index: InterfaceIndex) -> InterfaceFacts {
    let info = ethtool::driver(name).ok();
    let text = |of: fn(&DriverInfo) -> &String| {
        info.as_ref().map(of).filter(|text| !text.is_empty() && *text != "N/A").cloned()
    };
    let own = InterfaceFacts {
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
        ..InterfaceFacts::default()
    };
    let host = Directory::of_host();
    match SysfsView::of_current_namespace() {
        Ok(view) => with_files(own, &view, &host, name),
        Err(_) => {
            let mounted = Directory::new("/sys");
            // The mounted /sys may belong to another namespace and show another interface of this name.
            let number = mounted.number(&format!("class/net/{name}/ifindex"));
            if number == Some(index.number().into()) { with_files(own, &mounted, &host, name) } else { own }
        }
    }
}

/// Adds to `facts` what sysfs (root `sys`) and the host's procfs contain.
fn with_files(facts: InterfaceFacts, sys: &impl Tree, host: &impl Tree, name: &str) -> InterfaceFacts {
    let file = |path: &str| format!("class/net/{name}/{path}");
    let number = |path: &str| sys.number(&file(path));
    let identity = |path: &str| sys.word(&file(path)).map(|id| id.trim_start_matches("0x").to_owned());
    InterfaceFacts {
        device_id: identity("device/vendor")
            .zip(identity("device/device"))
            .map(|(vendor, device)| format!("{vendor}:{device}")),
        pci_link_speed: sys.word(&file("device/current_link_speed")),
        pci_link_lanes: number("device/current_link_width").map(|lanes| lanes as u32),
        // -1 if the host has one node.
        numa_node: number("device/numa_node").map(|node| node as u32),
        // -1 if the driver does not know.
        speed_mbit_per_s: number("speed").filter(|speed| *speed > 0 && *speed < u32::MAX.into()),
        duplex: sys.word(&file("duplex")).filter(|duplex| duplex != "unknown"),
        transmit_queue_packets: number("tx_queue_len"),
        threaded_napi: sys.flag(&file("threaded")),
        gro_flush_timeout_ns: number("gro_flush_timeout"),
        deferred_interrupt_polls: number("napi_defer_hard_irqs"),
        receive_queues: queues::receive(sys, name),
        transmit_queues: queues::transmit(sys, name),
        interrupts: interrupts::read(sys, host, name),
        ..facts
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
        let facts = with_files(InterfaceFacts::default(), &*tree, &*tree, "eth0");
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
        assert_eq!(with_files(InterfaceFacts::default(), &*tree, &*tree, "eth0"), InterfaceFacts::default());
        let unsigned = Made::of(&[("class/net/eth0/speed", "4294967295\n")]);
        let facts = with_files(InterfaceFacts::default(), &*unsigned, &*tree, "eth0");
        assert_eq!(facts.speed_mbit_per_s, None, "as kernels write -1 that take it for unsigned");
    }

    #[test]
    fn the_loopback_interface_tells_what_it_has() {
        let facts = read("lo", interface::index_of("lo").unwrap());
        assert!(facts.offloads_on.unwrap().contains(&"loopback".to_owned()));
        assert_eq!((facts.rings, facts.interrupts, facts.xdp_program), (None, None, None));
    }

    #[test]
    fn an_interface_that_is_gone_has_no_facts() {
        let index = InterfaceIndex::new(i32::MAX as u32).unwrap();
        assert_eq!(read("no-such-if", index), InterfaceFacts::default());
    }
}
