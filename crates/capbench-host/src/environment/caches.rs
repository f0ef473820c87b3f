//! The caches of the CPUs (Documentation/ABI/testing/sysfs-devices-system-cpu, `cache/index*`).

use std::collections::BTreeSet;

use capbench_model::environment::hardware::Cache;
use capbench_sys::host::affinity::parse_cpu_list;

use super::cpu::numbered;
use super::tree::Tree;

const CPUS: &str = "sys/devices/system/cpu";

/// All caches of the online CPUs; `None` if none are reported.
pub(super) fn read(root: &impl Tree) -> Option<Vec<Cache>> {
    let mut caches: Vec<Cache> = Vec::new();
    // Cache index and CPU: caches that the list of an earlier CPU already contained.
    let mut met: BTreeSet<(u32, u32)> = BTreeSet::new();
    for cpu in numbered(root, CPUS, "cpu") {
        let folder = format!("{CPUS}/cpu{cpu}/cache");
        for index in numbered(root, &folder, "index") {
            if met.contains(&(index, cpu)) {
                continue;
            }
            let file = |name: &str| format!("{folder}/index{index}/{name}");
            let shared = root.word(&file("shared_cpu_list")).and_then(|list| parse_cpu_list(&list));
            met.extend(shared.iter().flatten().map(|other| (index, other.number())));
            let Some((level, kind)) = root.number(&file("level")).zip(root.word(&file("type"))) else {
                continue;
            };
            let found = Cache {
                level: level as u32,
                kind,
                size_bytes: root.word(&file("size")).and_then(|text| bytes(&text)),
                line_bytes: root.number(&file("coherency_line_size")),
                ways: root.number(&file("ways_of_associativity")).filter(|ways| *ways > 0),
                count: 1,
                shared_by_cpus: shared.map(|cpus| cpus.len() as u32),
            };
            let alike = |known: &&mut Cache| Cache { count: 1, ..(**known).clone() } == found;
            match caches.iter_mut().find(alike) {
                Some(known) => known.count += 1,
                None => caches.push(found),
            }
        }
    }
    caches.sort_by(|one, other| (one.level, &one.kind).cmp(&(other.level, &other.kind)));
    (!caches.is_empty()).then_some(caches)
}

/// A size in the kernel's notation: `32K`.
fn bytes(text: &str) -> Option<u64> {
    let unit = match text.chars().last()? {
        'K' => 1 << 10,
        'M' => 1 << 20,
        'G' => 1 << 30,
        _ => return text.parse().ok(),
    };
    text[..text.len() - 1].parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tree::tests::Made;
    use super::*;

    #[test]
    fn caches_that_cpus_share_are_counted_once() {
        let mut files = Vec::new();
        for cpu in 0..4 {
            let index = |number: u32, level: &str, kind: &str, size: &str, shared: String| {
                let file = |name: &str| format!("sys/devices/system/cpu/cpu{cpu}/cache/index{number}/{name}");
                [
                    (file("level"), level.to_string()),
                    (file("type"), kind.to_string()),
                    (file("size"), size.to_string()),
                    (file("coherency_line_size"), "64".to_string()),
                    (file("shared_cpu_list"), shared),
                ]
            };
            let core = format!("{},{}", cpu % 2, cpu % 2 + 2);
            files.extend(index(0, "1", "Data", "48K", core.clone()));
            files.extend(index(1, "1", "Instruction", "32K", core.clone()));
            files.extend(index(3, "3", "Unified", "36M", "0-3".into()));
        }
        let files: Vec<_> = files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        let caches = read(&*Made::of(&files)).unwrap();
        let told: Vec<_> = caches
            .iter()
            .map(|cache| {
                (cache.level, cache.kind.as_str(), cache.size_bytes, cache.count, cache.shared_by_cpus)
            })
            .collect();
        let expected = [
            (1, "Data", Some(48 << 10), 2, Some(2)),
            (1, "Instruction", Some(32 << 10), 2, Some(2)),
            (3, "Unified", Some(36 << 20), 1, Some(4)),
        ];
        assert_eq!(told, expected);
        assert_eq!(caches[0].ways, None);
    }

    #[test]
    fn a_host_that_tells_none_has_no_list() {
        assert_eq!(read(&*Made::of(&[])), None);
        assert_eq!(read(&*Made::of(&[("sys/devices/system/cpu/cpu0/cache/index0/size", "32K")])), None);
    }

    proptest! {
        #[test]
        fn no_size_makes_it_panic(text in ".{0,20}") {
            let _ = bytes(&text);
        }
    }
}
