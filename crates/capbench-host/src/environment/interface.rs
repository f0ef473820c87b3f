//! An interface of a run: driver, queues, rings, offloads, and the CPUs of its interrupts.

use capbench_model::placement::PlacementName;
use capbench_model::saved::Saved;
use std::collections::BTreeMap;

use capbench_model::environment::interface::{
    InterfaceFacts, Interrupt, PathInterface, ReceiveQueue, Role, TransmitQueue, XdpProgram,
};
use capbench_sys::host::ethtool::{self, Coalescing, DriverInfo};
use capbench_sys::host::{InterfaceIndex, SysfsView};

use super::cpu::numbered;
use super::packet_sockets;
use super::tree::{Directory, Tree, cpu_list};
use crate::bed::{Bed, Side, cpus_in_mask};

/// The current facts of both interfaces of a bed.
pub fn of_bed(bed: &Bed, placement: PlacementName) -> [PathInterface; 2] {
    let made = bed.kernel_work().is_some();
    [(Role::Transmit, bed.transmit_side()), (Role::Receive, bed.receive_side())].map(|(role, side)| {
        PathInterface {
            made_by_capbench: made,
            placements: vec![Saved::Known(placement)],
            ..of_side(role, side)
        }
    })
}

/// The current facts of one interface of the host, for no placement in particular.
pub fn of_side(role: Role, side: &Side) -> PathInterface {
    PathInterface {
        role,
        name: side.name().to_owned(),
        made_by_capbench: false,
        placements: Vec::new(),
        facts: facts_of(side),
    }
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
        receive_queues: receive_queues(sys, name),
        transmit_queues: transmit_queues(sys, name),
        interrupts: interrupts(sys, host, name),
        ..facts
    }
}

fn names_of_active(features: BTreeMap<String, bool>) -> Vec<String> {
    features.into_iter().filter(|(_, is_active)| *is_active).map(|(name, _)| name).collect()
}

fn xdp_program(index: InterfaceIndex) -> Option<XdpProgram> {
    let attached = capbench_sys::bpf::attached_to(index).ok()??;
    Some(XdpProgram { attached: attached.mode.word()?.into(), id: attached.program, program: attached.name })
}

/// Receive queues (Documentation/ABI/testing/sysfs-class-net-queues).
fn receive_queues(sys: &impl Tree, interface: &str) -> Option<Vec<ReceiveQueue>> {
    let folder = format!("class/net/{interface}/queues");
    let queues = numbered(sys, &folder, "rx-").into_iter().map(|queue| ReceiveQueue {
        queue,
        rps_cpus: mask(sys, &format!("{folder}/rx-{queue}/rps_cpus")),
        rps_flows: sys.number(&format!("{folder}/rx-{queue}/rps_flow_cnt")),
    });
    some(queues)
}

fn transmit_queues(sys: &impl Tree, interface: &str) -> Option<Vec<TransmitQueue>> {
    let folder = format!("class/net/{interface}/queues");
    // The mask of an interface with one queue is missing: the kernel refuses to read it.
    let xps_cpus = |queue| mask(sys, &format!("{folder}/tx-{queue}/xps_cpus"));
    some(
        numbered(sys, &folder, "tx-")
            .into_iter()
            .map(|queue| TransmitQueue { queue, xps_cpus: xps_cpus(queue) }),
    )
}

/// The items of a list that is not empty.
fn some<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    Some(items.collect::<Vec<_>>()).filter(|items| !items.is_empty())
}

fn mask(sys: &impl Tree, path: &str) -> Option<String> {
    let cpus = cpus_in_mask(&sys.text(path)?)?;
    Some(cpu_list(cpus.into_iter().map(|cpu| cpu.number())))
}

/// The interrupts of an interface and their CPUs (Documentation/core-api/irq/irq-affinity.rst), by its device in sysfs (`sys`) and its name in the host's `/proc/interrupts`.
fn interrupts(sys: &impl Tree, host: &impl Tree, interface: &str) -> Option<Vec<Interrupt>> {
    let device = format!("class/net/{interface}/device");
    // An interface without a device has no interrupts.
    sys.names(&device)?;
    let names = host.text("proc/interrupts").map(|text| interrupt_names(&text)).unwrap_or_default();
    // The interrupts of a virtio device belong to its PCI device.
    let listed =
        ["msi_irqs", "../msi_irqs"].iter().find_map(|folder| sys.names(&format!("{device}/{folder}")));
    let mut numbers: Vec<u32> = match listed {
        Some(numbers) => numbers.iter().filter_map(|number| number.parse().ok()).collect(),
        None => {
            let belongs = |name: &String| is_of(name, interface);
            names.iter().filter(|(_, name)| belongs(name)).map(|(number, _)| *number).collect()
        }
    };
    numbers.sort_unstable();
    let interrupts = numbers.into_iter().map(|number| Interrupt {
        number,
        name: names.get(&number).cloned(),
        allowed_cpus: host.word(&format!("proc/irq/{number}/smp_affinity_list")),
        effective_cpus: host.word(&format!("proc/irq/{number}/effective_affinity_list")),
        // -1 if the host has one node.
        numa_node: host.number(&format!("proc/irq/{number}/node")).map(|node| node as u32),
    });
    some(interrupts)
}

/// Whether one of the names of a shared interrupt is the interface's, alone or followed by a queue.
fn is_of(names: &str, interface: &str) -> bool {
    names.split(", ").any(|name| {
        name.strip_prefix(interface).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':']))
    })
}

/// The names of interrupts by their numbers, from `/proc/interrupts`.
fn interrupt_names(text: &str) -> BTreeMap<u32, String> {
    let mut lines = text.lines();
    let cpus =
        lines.next().map_or(0, |head| head.split_whitespace().filter(|word| word.starts_with("CPU")).count());
    let name = |line: &str| {
        let (number, rest) = line.split_once(':')?;
        let number = number.trim().parse().ok()?;
        // A count per CPU, then the controller and its own name of the interrupt in an architecture-dependent number of words,
        // then the drivers' names, comma-separated.
        let words: Vec<&str> = rest.split_whitespace().skip(cpus).collect();
        let last = words.len().checked_sub(1)?;
        let first =
            (1..=last).rev().take_while(|at| words[at - 1].ends_with(',')).last().map_or(last, |at| at - 1);
        Some((number, words[first..].join(" ")))
    };
    lines.filter_map(name).collect()
}

#[cfg(test)]
mod tests {
    use capbench_sys::host::interface;
    use proptest::prelude::*;

    use super::super::tree::tests::Made;
    use super::*;

    const X86: &str = "            CPU0       CPU1       \n   1:          0          9  IR-IO-APIC    1-edge      i8042\n  24:   \
                       10          0  IR-PCI-MSI 524288-edge      eth0-TxRx-0\n  25:          3          0  IR-PCI-MSIX-0000:00:03.0 \
                       1-edge      virtio0-input.0\n  16:          0          0  IO-APIC  16-fasteoi   ehci_hcd:usb1, eth1\n NMI:  \
                       1          1   Non-maskable interrupts\n";
    const ARM: &str = "           CPU0       CPU1       CPU2       CPU3\n 11:       100        200          0          0     GICv3  27 Level  \
                       arch_timer\n 40:         0          0          0          7  ITS-MSI 1572864 Edge      eth0-Tx-Rx-0\n";

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
    fn facts_unknown_to_a_driver_are_absent() {
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
    fn the_loopback_interface_reports_its_settings() {
        let facts = read("lo", interface::index_of("lo").unwrap());
        assert!(facts.offloads_on.unwrap().contains(&"loopback".to_owned()));
        assert_eq!((facts.rings, facts.interrupts, facts.xdp_program), (None, None, None));
    }

    #[test]
    fn an_interface_that_is_gone_has_no_facts() {
        let index = InterfaceIndex::new(i32::MAX as u32).unwrap();
        assert_eq!(read("no-such-if", index), InterfaceFacts::default());
    }

    #[test]
    fn masks_become_lists() {
        let tree = Made::of(&[
            ("class/net/eth0/queues/rx-0/rps_cpus", "00000000,0000000e\n"),
            ("class/net/eth0/queues/rx-0/rps_flow_cnt", "0\n"),
            ("class/net/eth0/queues/rx-10/rps_cpus", "0\n"),
            ("class/net/eth0/queues/rx-2/rps_cpus", "odd\n"),
            ("class/net/eth0/queues/tx-0/xps_cpus", "1,00000000\n"),
        ]);
        let queues = receive_queues(&*tree, "eth0").unwrap();
        let found: Vec<_> = queues.iter().map(|queue| (queue.queue, queue.rps_cpus.as_deref())).collect();
        assert_eq!(found, [(0, Some("1-3")), (2, None), (10, Some(""))]);
        assert_eq!((queues[0].rps_flows, queues[1].rps_flows), (Some(0), None));
        assert_eq!(transmit_queues(&*tree, "eth0").unwrap()[0].xps_cpus.as_deref(), Some("32"));
        assert_eq!((receive_queues(&*tree, "eth1"), transmit_queues(&*tree, "eth1")), (None, None));
    }

    #[test]
    fn interrupts_are_named_on_several_architectures() {
        let x86 = interrupt_names(X86);
        let found: Vec<_> = x86.iter().map(|(number, name)| (*number, name.as_str())).collect();
        let expected =
            [(1, "i8042"), (16, "ehci_hcd:usb1, eth1"), (24, "eth0-TxRx-0"), (25, "virtio0-input.0")];
        assert_eq!(found, expected);
        assert_eq!(interrupt_names(ARM)[&40], "eth0-Tx-Rx-0");
        assert!(interrupt_names("").is_empty());
    }

    #[test]
    fn a_name_belongs_to_its_interface_only() {
        assert!(
            is_of("eth1", "eth1") && is_of("ehci_hcd:usb1, eth1", "eth1") && is_of("eth1-TxRx-0", "eth1")
        );
        assert!(!is_of("eth10", "eth1") && !is_of("eth1", "eth10"));
    }

    #[test]
    fn a_card_lists_its_interrupts_and_a_virtual_link_has_none() {
        let tree = Made::of(&[
            ("class/net/eth0/device/msi_irqs/24", "msix\n"),
            ("class/net/eth1/device/vendor", "0x10ec\n"),
            ("class/net/veth0/ifindex", "5\n"),
            ("proc/interrupts", X86),
            ("proc/irq/24/smp_affinity_list", "0-1\n"),
            ("proc/irq/24/effective_affinity_list", "1\n"),
            ("proc/irq/24/node", "1\n"),
        ]);
        let found = interrupts(&*tree, &*tree, "eth0").unwrap();
        let expected = Interrupt {
            number: 24,
            name: Some("eth0-TxRx-0".into()),
            allowed_cpus: Some("0-1".into()),
            effective_cpus: Some("1".into()),
            numa_node: Some(1),
        };
        assert_eq!(found, [expected]);
        assert_eq!(interrupts(&*tree, &*tree, "eth1").unwrap()[0].number, 16, "by its name alone");
        assert_eq!(interrupts(&*tree, &*tree, "veth0"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "( CPU0 CPU1\\n)?([ 0-9:,a-z]{0,30}\\n){0,5}") {
            let _ = interrupt_names(&text);
        }
    }
}
