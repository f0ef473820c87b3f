//! The machine: who made it, or what pretends to be one.

use serde::{Deserialize, Serialize};

use super::tree::Tree;

const DMI: &str = "sys/class/dmi/id";

/// The machine as its firmware describes it. Serial numbers are not kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Machine {
    /// What it runs in, `kvm` or `xen` for example; absent where nothing says that it runs in anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hypervisor: Option<String>,
    /// The container that this process is in, `docker` for example; absent where nothing says that it is in one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Who made it (`sys_vendor` of DMI).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vendor: Option<String>,
    /// Its model: `product_name` of DMI, or of the device tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// The model of its mainboard.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub board: Option<String>,
    /// Version of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Date of its firmware.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_date: Option<String>,
}

impl Machine {
    /// `is_virtual` is what the CPU says (flag `hypervisor`).
    pub(super) fn read(root: &impl Tree, is_virtual: Option<bool>) -> Self {
        let dmi = |name: &str| root.word(&format!("{DMI}/{name}"));
        let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
        let told = root.word("sys/hypervisor/type").filter(|kind| kind != "none");
        let hypervisor = told.or_else(|| {
            // On metal, a cloud's name in DMI is that of the machine's maker.
            let words = [vendor.as_deref(), product.as_deref(), dmi("bios_vendor").as_deref()]
                .map(|word| word.unwrap_or_default().to_owned());
            (is_virtual != Some(false)).then(|| by_firmware(&words)).flatten().map(str::to_owned)
        });
        let marker = |file: &str, name: &str| root.text(file).map(|_| name.to_owned());
        Self {
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
}

/// Hypervisors by what they write into the firmware of the machines that they make. Vendor, product, maker of the firmware.
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
        Machine::read(&*tree, is_virtual)
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
        let machine = Machine::read(&*tree, None);
        assert_eq!(machine.product.as_deref(), Some("Raspberry Pi 4 Model B Rev 1.4"));
        assert_eq!(
            (machine.container.as_deref(), machine.hypervisor.as_deref()),
            (Some("systemd-nspawn"), Some("xen"))
        );
        assert_eq!(Machine::read(&*Made::of(&[]), None), Machine::default());
    }
}
