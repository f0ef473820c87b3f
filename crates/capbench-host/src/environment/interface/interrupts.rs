//! Interrupts of a card, and their CPUs (Documentation/core-api/irq/irq-affinity.rst).

use std::collections::BTreeMap;

use capbench_model::environment::interface::Interrupt;

use crate::environment::tree::Tree;

/// The interrupts of an interface, by its device in sysfs (`sys`) and its name in the host's `/proc/interrupts`.
pub(super) fn read(sys: &impl Tree, host: &impl Tree, interface: &str) -> Option<Vec<Interrupt>> {
    let device = format!("class/net/{interface}/device");
    // An interface without a device has no interrupts.
    sys.names(&device)?;
    let names = host.text("proc/interrupts").map(|text| names(&text)).unwrap_or_default();
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
    });
    Some(interrupts.collect::<Vec<_>>()).filter(|interrupts| !interrupts.is_empty())
}

/// Whether one of the names of a shared interrupt is the interface's, alone or followed by a queue.
fn is_of(names: &str, interface: &str) -> bool {
    names.split(", ").any(|name| {
        name.strip_prefix(interface).is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '@', ':']))
    })
}

/// The names of interrupts by their numbers, from `/proc/interrupts`.
fn names(text: &str) -> BTreeMap<u32, String> {
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
    use proptest::prelude::*;

    use super::*;
    use crate::environment::tree::tests::Made;

    const X86: &str = "            CPU0       CPU1       \n   1:          0          9  IR-IO-APIC    1-edge      i8042\n  24:   \
                       10          0  IR-PCI-MSI 524288-edge      eth0-TxRx-0\n  25:          3          0  IR-PCI-MSIX-0000:00:03.0 \
                       1-edge      virtio0-input.0\n  16:          0          0  IO-APIC  16-fasteoi   ehci_hcd:usb1, eth1\n NMI:  \
                       1          1   Non-maskable interrupts\n";
    const ARM: &str = "           CPU0       CPU1       CPU2       CPU3\n 11:       100        200          0          0     GICv3  27 Level  \
                       arch_timer\n 40:         0          0          0          7  ITS-MSI 1572864 Edge      eth0-Tx-Rx-0\n";

    #[test]
    fn interrupts_are_named_on_several_architectures() {
        let x86 = names(X86);
        let told: Vec<_> = x86.iter().map(|(number, name)| (*number, name.as_str())).collect();
        let expected =
            [(1, "i8042"), (16, "ehci_hcd:usb1, eth1"), (24, "eth0-TxRx-0"), (25, "virtio0-input.0")];
        assert_eq!(told, expected);
        assert_eq!(names(ARM)[&40], "eth0-Tx-Rx-0");
        assert!(names("").is_empty());
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
        ]);
        let found = read(&*tree, &*tree, "eth0").unwrap();
        let expected = Interrupt {
            number: 24,
            name: Some("eth0-TxRx-0".into()),
            allowed_cpus: Some("0-1".into()),
            effective_cpus: Some("1".into()),
        };
        assert_eq!(found, [expected]);
        assert_eq!(read(&*tree, &*tree, "eth1").unwrap()[0].number, 16, "by its name alone");
        assert_eq!(read(&*tree, &*tree, "veth0"), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "( CPU0 CPU1\\n)?([ 0-9:,a-z]{0,30}\\n){0,5}") {
            let _ = names(&text);
        }
    }
}
