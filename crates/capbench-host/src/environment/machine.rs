//! The machine: its maker or its hypervisor, NUMA nodes, free memory, and huge pages.

use capbench_model::environment::hardware::{HugePages, Machine, Memory, NumaNode};

use super::cpu::numbered;
use super::tree::{Tree, chosen};

const DMI: &str = "sys/class/dmi/id";
const NODES: &str = "sys/devices/system/node";
const HUGE: &str = "sys/kernel/mm/hugepages";

/// The machine according to its firmware; `is_virtual` comes from the CPU (flag `hypervisor`).
pub(super) fn read(root: &impl Tree, is_virtual: Option<bool>) -> Machine {
    let dmi = |name: &str| root.word(&format!("{DMI}/{name}"));
    let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
    let named = root.word("sys/hypervisor/type").filter(|kind| kind != "none");
    let hypervisor = named.or_else(|| {
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

/// The memory.
pub(super) fn memory(root: &impl Tree) -> Memory {
    let meminfo = root.text("proc/meminfo").unwrap_or_default();
    let transparent = |file: &str| chosen(&root.text(&format!("sys/kernel/mm/transparent_hugepage/{file}"))?);
    Memory {
        available_bytes: kibibytes(&meminfo, "MemAvailable"),
        swap_bytes: kibibytes(&meminfo, "SwapTotal"),
        huge_pages: root.names(HUGE).map(|pools| huge_pages(root, &pools)),
        transparent_huge_pages: transparent("enabled"),
        transparent_huge_pages_defrag: transparent("defrag"),
        numa_nodes: numa_nodes(root),
    }
}

/// A line of `/proc/meminfo` in bytes. The kernel writes kB but means KiB (proc_meminfo(5)).
fn kibibytes(meminfo: &str, key: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

fn huge_pages(root: &impl Tree, pools: &[String]) -> Vec<HugePages> {
    let pool = |name: &String| {
        let size: u64 = name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()?;
        Some(HugePages {
            page_bytes: size.checked_mul(1024)?,
            pages: root.number(&format!("{HUGE}/{name}/nr_hugepages")),
            free_pages: root.number(&format!("{HUGE}/{name}/free_hugepages")),
        })
    };
    let mut found: Vec<HugePages> = pools.iter().filter_map(pool).collect();
    found.sort_by_key(|pool| pool.page_bytes);
    found
}

fn numa_nodes(root: &impl Tree) -> Option<Vec<NumaNode>> {
    let nodes = numbered(root, NODES, "node").into_iter().map(|node| NumaNode {
        node,
        cpus: root.text(&format!("{NODES}/node{node}/cpulist")),
        distances: root
            .word(&format!("{NODES}/node{node}/distance"))
            .and_then(|list| list.split_whitespace().map(|word| word.parse().ok()).collect()),
    });
    let nodes: Vec<NumaNode> = nodes.collect();
    (!nodes.is_empty()).then_some(nodes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn nodes_and_pools_are_read() {
        let tree = Made::of(&[
            (
                "proc/meminfo",
                "MemTotal:  131803036 kB\nMemAvailable:   1000 kB\nSwapTotal:   0 kB\nHugePages_Free: 3\n",
            ),
            ("sys/devices/system/node/node0/cpulist", "0-15,32-47\n"),
            ("sys/devices/system/node/node0/distance", "10 21\n"),
            ("sys/devices/system/node/node1/cpulist", "\n"),
            ("sys/devices/system/node/possible", "0-1\n"),
            ("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages", "0\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "512\n"),
            ("sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "12\n"),
            ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
        ]);
        assert_eq!(memory(&*Made::of(&[])), Memory::default());
        let memory = memory(&*tree);
        assert_eq!((memory.available_bytes, memory.swap_bytes), (Some(1_024_000), Some(0)));
        let pools = memory.huge_pages.unwrap();
        assert_eq!(
            (pools[0].page_bytes, pools[0].pages, pools[0].free_pages),
            (2 << 20, Some(512), Some(12))
        );
        assert_eq!((pools[1].page_bytes, pools[1].pages, pools[1].free_pages), (1 << 30, Some(0), None));
        assert_eq!(memory.transparent_huge_pages.as_deref(), Some("madvise"));
        assert_eq!(memory.transparent_huge_pages_defrag, None);
        let nodes = memory.numa_nodes.unwrap();
        assert_eq!(
            (nodes[0].cpus.as_deref(), nodes[0].distances.as_deref()),
            (Some("0-15,32-47"), Some(&[10, 21][..]))
        );
        assert_eq!((nodes[1].cpus.as_deref(), &nodes[1].distances), (Some(""), &None));
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(SwapTotal)?:?[ 0-9kB\\n]{0,40}") {
            let _ = kibibytes(&text, "SwapTotal");
        }
    }
}
