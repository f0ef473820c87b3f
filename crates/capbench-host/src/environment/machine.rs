//! The machine: its maker, or its hypervisor.

use capbench_model::environment::hardware::Machine;

use super::tree::Tree;

const DMI: &str = "sys/class/dmi/id";

/// The machine according to its firmware; `is_virtual` comes from the CPU (flag `hypervisor`).
pub(super) fn read(root: &impl Tree, is_virtual: Option<bool>) -> Machine {
    let dmi = |name: &str| root.word(&format!("{DMI}/{name}"));
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    let told = root.word("sys/hypervisor/type").filter(|kind| kind != "none");
    let hypervisor = told.or_else(|| {
        // On bare metal, a cloud's name in DMI is the machine's maker.
        let words = [vendor.as_deref(), product.as_deref(), dmi("bios_vendor").as_deref()]
            .map(|word| word.unwrap_or_default().to_owned());
        (is_virtual != Some(false)).then(|| by_firmware(&words)).flatten().map(str::to_owned)
    });
    let marker = |file: &str, name: &str| root.text(file).map(|_| name.to_owned());
    Machine {
        hypervisor,
        container: root
            .word("run/systemd/container")
            .or_else(|| marker(".dockerenv", "docker"))
            .or_else(|| marker("run/.containerenv", "podman")),
        product: product.or_else(|| root.word("proc/device-tree/model")),
        vendor,
        board: dmi("board_name"),
        firmware: dmi("bios_version"),
        firmware_date: dmi("bios_date"),
    }
}

/// Hypervisors by their strings in the firmware of virtual machines: vendor, product, maker of the firmware.
fn by_firmware(words: &[String; 3]) -> Option<&'static str> {
    const KNOWN: &[(&str, &str)] = &[
        ("KVM", "kvm"),
        ("OpenStack", "kvm"),
        ("Amazon EC2", "amazon"),
        ("Google Compute Engine", "google"),
        ("QEMU", "qemu"),
        ("VMware", "vmware"),
        ("VMW", "vmware"),
        ("innotek GmbH", "virtualbox"),
        ("VirtualBox", "virtualbox"),
        ("Xen", "xen"),
        ("Bochs", "bochs"),
        ("Parallels", "parallels"),
        ("Virtual Machine", "hyper-v"),
    ];
    KNOWN.iter().find(|(mark, _)| words.iter().any(|word| word.starts_with(mark))).map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::super::tree::tests::Made;
    use super::*;

    fn machine(vendor: &str, product: &str, is_virtual: Option<bool>) -> Machine {
        let tree =
            Made::of(&[("sys/class/dmi/id/sys_vendor", vendor), ("sys/class/dmi/id/product_name", product)]);
        read(&*tree, is_virtual)
    }

    #[test]
    fn a_hypervisor_is_known_by_what_it_writes() {
        let hypervisor = |vendor: &str, product: &str| machine(vendor, product, Some(true)).hypervisor;
        assert_eq!(hypervisor("QEMU\n", "Standard PC (Q35 + ICH9, 2009)\n").as_deref(), Some("qemu"));
        assert_eq!(hypervisor("Red Hat", "KVM").as_deref(), Some("kvm"));
        assert_eq!(hypervisor("Microsoft Corporation", "Virtual Machine").as_deref(), Some("hyper-v"));
        assert_eq!(hypervisor("VMware, Inc.", "VMware7,1").as_deref(), Some("vmware"));
        assert_eq!(hypervisor("Dell Inc.", "PowerEdge R640"), None);
        assert_eq!(
            machine("Amazon EC2", "c5.metal", Some(false)).hypervisor,
            None,
            "the CPU says that it is none"
        );
        assert_eq!(machine("Amazon EC2", "c7g.large", None).hypervisor.as_deref(), Some("amazon"));
    }

    #[test]
    fn a_board_without_dmi_has_the_device_trees_name() {
        let tree = Made::of(&[
            ("proc/device-tree/model", "Raspberry Pi 4 Model B Rev 1.4\0"),
            ("run/systemd/container", "systemd-nspawn\n"),
            ("sys/hypervisor/type", "xen\n"),
        ]);
        let machine = read(&*tree, None);
        assert_eq!(machine.product.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!(
            (machine.container.as_deref(), machine.hypervisor.as_deref()),
            (Some("systemd-nspawn"), Some("xen"))
        );
        assert_eq!(read(&*Made::of(&[]), None), Machine::default());
    }
}
