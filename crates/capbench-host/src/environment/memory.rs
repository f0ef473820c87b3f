//! Memory: NUMA nodes, free memory, and huge pages.

use capbench_model::environment::hardware::{HugePages, Memory, NumaNode};

use super::cpu::numbered;
use super::tree::{Tree, chosen};

const NODES: &str = "sys/devices/system/node";
const HUGE: &str = "sys/kernel/mm/hugepages";
const TRANSPARENT: &str = "sys/kernel/mm/transparent_hugepage";

pub(super) fn read(root: &impl Tree) -> Memory {
    let meminfo = root.text("proc/meminfo").unwrap_or_default();
    Memory {
        available_bytes: kibibytes(&meminfo, "MemAvailable"),
        swap_bytes: kibibytes(&meminfo, "SwapTotal"),
        huge_pages: root.names(HUGE).map(|pools| huge_pages(root, &pools)),
        transparent_huge_pages: root.text(&format!("{TRANSPARENT}/enabled")).and_then(|list| chosen(&list)),
        transparent_huge_pages_defrag: root
            .text(&format!("{TRANSPARENT}/defrag"))
            .and_then(|list| chosen(&list)),
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
        let memory = read(&*tree);
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
        assert_eq!(read(&*Made::of(&[])), Memory::default());
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(SwapTotal)?:?[ 0-9kB\\n]{0,40}") {
            let _ = kibibytes(&text, "SwapTotal");
        }
    }
}
