//! The processors: models, frequencies, idle states, isolated CPUs, and caches.

use std::collections::BTreeSet;

use capbench_model::environment::hardware::{Cache, Cpu, Frequency, Idle, IdleState};
use capbench_sys::host::affinity::parse_cpu_list;

use super::tree::Tree;

const CPUS: &str = "sys/devices/system/cpu";

/// The processors, from `/proc/cpuinfo` and sysfs.
pub(super) fn read(root: &impl Tree, cpuinfo: &str) -> Cpu {
    let field = |names: &[&str]| {
        names.iter().find_map(|name| super::cpu_field(cpuinfo, name)).filter(|value| !value.is_empty())
    };
    let text = |names: &[&str]| field(names).map(str::to_owned);
    let cpus = numbered(root, CPUS, "cpu");
    let topology = |cpu: u32, file: &str| root.number(&format!("{CPUS}/cpu{cpu}/topology/{file}"));
    // A CPU that is offline has no topology.
    let cores: BTreeSet<(u64, u64)> = cpus
        .iter()
        .filter_map(|cpu| Some((topology(*cpu, "physical_package_id")?, topology(*cpu, "core_id")?)))
        .collect();
    let sockets: BTreeSet<u64> = cores.iter().map(|(socket, _)| *socket).collect();
    let count = |of: usize| (of > 0).then_some(of as u32);
    let now = megahertz_now(cpuinfo);
    Cpu {
        vendor: text(&["vendor_id", "CPU implementer"]),
        family: text(&["cpu family", "CPU architecture"]),
        model: text(&["model", "CPU part"]),
        stepping: text(&["stepping", "CPU revision", "revision"]),
        microcode: text(&["microcode"]),
        sockets: count(sockets.len()),
        cores: count(cores.len()),
        smt_in_use: root.flag(&format!("{CPUS}/smt/active")),
        core_threads: core_threads(root, &cpus),
        smt_control: root.word(&format!("{CPUS}/smt/control")),
        isolated_cpus: root.text(&format!("{CPUS}/isolated")),
        // Kernels without support or without the option write "(null)".
        tickless_cpus: root.text(&format!("{CPUS}/nohz_full")).map(|list| list.replace("(null)", "")),
        quota_us_per_s: quota(root),
        least_mhz_now: now.map(|(least, _)| least),
        most_mhz_now: now.map(|(_, most)| most),
        frequency: frequency(root, &cpus),
        idle: idle(root, cpus.first().copied()),
    }
}

/// The numbers of entries named `prefix` plus a number in a folder, ascending.
pub(super) fn numbered(root: &impl Tree, folder: &str, prefix: &str) -> Vec<u32> {
    let names = root.names(folder).unwrap_or_default();
    let mut numbers: Vec<u32> =
        names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse().ok()).collect();
    numbers.sort_unstable();
    numbers
}

/// The lists of CPUs that are threads of one core; `None` if the host hides its topology.
fn core_threads(root: &impl Tree, cpus: &[u32]) -> Option<Vec<String>> {
    let siblings = |cpu: &u32| root.word(&format!("{CPUS}/cpu{cpu}/topology/thread_siblings_list"));
    let mut lists: Vec<String> = cpus.iter().filter_map(siblings).collect();
    if lists.is_empty() {
        return None;
    }
    lists.retain(|list| parse_cpu_list(list).is_some_and(|threads| threads.len() > 1));
    let mut known = BTreeSet::new();
    lists.retain(|list| known.insert(list.clone()));
    Some(lists)
}

/// The smallest limit of the process's control group and its ancestors (Documentation/admin-guide/cgroup-v2.rst).
fn quota(root: &impl Tree) -> Option<u64> {
    let groups = root.text("proc/self/cgroup")?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let around = std::iter::successors(Some(own), |group| match group.rsplit_once('/') {
        Some((outer, _)) => Some(outer),
        None => (!group.is_empty()).then_some(""),
    });
    // A container sees its own group as the outermost one.
    around.filter_map(|group| limit(&root.text(&format!("sys/fs/cgroup/{group}/cpu.max"))?)).min()
}

/// A limit such as `50000 100000`: microseconds per period in microseconds; `None` for `max`.
fn limit(text: &str) -> Option<u64> {
    let (most, period) = text.split_once(' ')?;
    let (most, period): (u64, u64) = (most.parse().ok()?, period.parse().ok()?);
    most.checked_mul(1_000_000)?.checked_div(period)
}

/// Lowest and highest frequency in `/proc/cpuinfo`, in MHz.
fn megahertz_now(cpuinfo: &str) -> Option<(u32, u32)> {
    let values = cpuinfo.lines().filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        let value: f64 = (name.trim() == "cpu MHz").then(|| value.trim().parse().ok())??;
        (value > 0.0 && value < 1e6).then_some(value.round() as u32)
    });
    values.fold(None, |range, value| match range {
        None => Some((value, value)),
        Some((least, most)) => Some((value.min(least), value.max(most))),
    })
}

fn frequency(root: &impl Tree, cpus: &[u32]) -> Option<Frequency> {
    let file = |cpu: &u32, file: &str| format!("{CPUS}/cpu{cpu}/cpufreq/{file}");
    let words = |name: &str| -> Vec<String> {
        let all: BTreeSet<String> = cpus.iter().filter_map(|cpu| root.word(&file(cpu, name))).collect();
        all.into_iter().collect()
    };
    let megahertz = |name: &'static str| {
        cpus.iter().filter_map(move |cpu| Some((root.number(&file(cpu, name))? / 1000) as u32))
    };
    let drivers = words("scaling_driver");
    if drivers.is_empty() {
        return None;
    }
    // intel_pstate reports what is forbidden, other drivers what is allowed.
    let turbo = root
        .flag(&format!("{CPUS}/intel_pstate/no_turbo"))
        .map(|forbidden| !forbidden)
        .or_else(|| root.flag(&format!("{CPUS}/cpufreq/boost")));
    Some(Frequency {
        drivers,
        governors: words("scaling_governor"),
        energy_preferences: words("energy_performance_preference"),
        least_mhz: megahertz("scaling_min_freq").min(),
        most_mhz: megahertz("scaling_max_freq").max(),
        turbo,
    })
}

fn idle(root: &impl Tree, first: Option<u32>) -> Option<Idle> {
    let states = |cpu: u32| {
        let folder = format!("{CPUS}/cpu{cpu}/cpuidle");
        let state = |number: u32| {
            let folder = format!("{folder}/state{number}");
            Some(IdleState {
                name: root.word(&format!("{folder}/name"))?,
                exit_latency_us: root.number(&format!("{folder}/latency")),
                disabled: root.flag(&format!("{folder}/disable")),
            })
        };
        numbered(root, &folder, "state").into_iter().filter_map(state).collect()
    };
    let idle = Idle {
        driver: root.word(&format!("{CPUS}/cpuidle/current_driver")),
        governor: root
            .word(&format!("{CPUS}/cpuidle/current_governor"))
            .or_else(|| root.word(&format!("{CPUS}/cpuidle/current_governor_ro"))),
        states: first.map(states).unwrap_or_default(),
    };
    (idle != Idle::default()).then_some(idle)
}

/// All caches of the online CPUs; `None` if none are reported.
pub(super) fn caches(root: &impl Tree) -> Option<Vec<Cache>> {
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

    const XEON: &str = "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Intel(R) \
                        Xeon(R) Gold 6248 CPU @ 2.50GHz\nstepping\t: 7\nmicrocode\t: 0x5003707\ncpu MHz\t\t: \
                        1000.105\n\nprocessor\t: 1\nvendor_id\t: GenuineIntel\ncpu MHz\t\t: 3899.998\n";
    const GRAVITON: &str = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\nCPU implementer\t: 0x41\nCPU \
                            architecture: 8\nCPU variant\t: 0x3\nCPU part\t: 0xd0c\nCPU revision\t: 1\n";
    const POWER: &str = "processor\t: 0\ncpu\t\t: POWER9, altivec supported\nclock\t\t: 2166.000000MHz\nrevision\t: 2.2 (pvr \
                         004e 1202)\n";

    #[test]
    fn a_bare_metal_host_is_read() {
        let mut files = vec![
            ("sys/devices/system/cpu/smt/active", "1\n"),
            ("sys/devices/system/cpu/smt/control", "on\n"),
            ("sys/devices/system/cpu/isolated", "\n"),
            ("sys/devices/system/cpu/nohz_full", "  (null)\n"),
            ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
            ("sys/devices/system/cpu/cpuidle/current_driver", "intel_idle\n"),
            ("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/name", "POLL\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/latency", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state0/disable", "0\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state10/name", "C10\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/name", "C6\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/latency", "133\n"),
            ("sys/devices/system/cpu/cpu0/cpuidle/state2/disable", "1\n"),
            // Offline: without topology.
            ("sys/devices/system/cpu/cpu4/online", "0\n"),
        ];
        let topology: Vec<(String, &str)> = [("0", "0"), ("0", "0"), ("1", "0"), ("1", "4")]
            .iter()
            .enumerate()
            .flat_map(|(cpu, (socket, core))| {
                let folder = format!("sys/devices/system/cpu/cpu{cpu}");
                [
                    (format!("{folder}/topology/physical_package_id"), *socket),
                    (format!("{folder}/topology/core_id"), *core),
                    (format!("{folder}/topology/thread_siblings_list"), ["0-1", "0-1", "2", "3"][cpu]),
                    (format!("{folder}/cpufreq/scaling_driver"), "intel_pstate"),
                    (
                        format!("{folder}/cpufreq/scaling_governor"),
                        if cpu == 3 { "powersave" } else { "performance" },
                    ),
                    (format!("{folder}/cpufreq/scaling_max_freq"), "3900000"),
                    (format!("{folder}/cpufreq/scaling_min_freq"), "1000000"),
                ]
            })
            .collect();
        files.extend(topology.iter().map(|(path, text)| (path.as_str(), *text)));
        let cpu = read(&*Made::of(&files), XEON);
        assert_eq!(cpu.vendor.as_deref(), Some("GenuineIntel"));
        assert_eq!((cpu.model.as_deref(), cpu.stepping.as_deref()), (Some("85"), Some("7")));
        assert_eq!(cpu.microcode.as_deref(), Some("0x5003707"));
        assert_eq!((cpu.sockets, cpu.cores, cpu.smt_in_use), (Some(2), Some(3), Some(true)));
        assert_eq!(cpu.core_threads, Some(vec!["0-1".to_owned()]));
        assert_eq!((cpu.isolated_cpus.as_deref(), cpu.tickless_cpus.as_deref()), (Some(""), Some("")));
        assert_eq!((cpu.least_mhz_now, cpu.most_mhz_now), (Some(1000), Some(3900)));
        let frequency = cpu.frequency.unwrap();
        assert_eq!(
            (frequency.least_mhz, frequency.most_mhz, frequency.turbo),
            (Some(1000), Some(3900), Some(false))
        );
        assert_eq!(frequency.governors, ["performance", "powersave"]);
        let idle = cpu.idle.unwrap();
        assert_eq!((idle.driver.as_deref(), idle.governor.as_deref()), (Some("intel_idle"), Some("menu")));
        let names: Vec<_> = idle.states.iter().map(|state| state.name.as_str()).collect();
        assert_eq!(names, ["POLL", "C6", "C10"], "by their numbers");
        assert_eq!((idle.states[1].exit_latency_us, idle.states[1].disabled), (Some(133), Some(true)));
        assert_eq!(idle.states[2].disabled, None);
    }

    #[test]
    fn the_narrowest_control_group_limits() {
        let tree = Made::of(&[
            ("proc/self/cgroup", "1:name=systemd:/x\n0::/kubepods/pod1/c1\n"),
            ("sys/fs/cgroup/kubepods/pod1/c1/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/kubepods/pod1/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/cpu.max", "400000 100000\n"),
        ]);
        assert_eq!(quota(&*tree), Some(1_500_000));
        let alone = Made::of(&[("proc/self/cgroup", "0::/\n"), ("sys/fs/cgroup/cpu.max", "50000 100000\n")]);
        assert_eq!(quota(&*alone), Some(500_000));
        assert_eq!(quota(&*Made::of(&[("proc/self/cgroup", "0::/a\n")])), None);
        for text in ["", "max 100000", "1", "1 0", "18446744073709551615 1", "-1 1"] {
            assert_eq!(limit(text), None, "{text}");
        }
    }

    #[test]
    fn facts_hidden_by_a_container_or_an_architecture_are_unknown() {
        assert_eq!(read(&*Made::of(&[]), ""), Cpu::default());
        let arm = read(&*Made::of(&[]), GRAVITON);
        assert_eq!((arm.vendor.as_deref(), arm.model.as_deref()), (Some("0x41"), Some("0xd0c")));
        assert_eq!((arm.sockets, arm.most_mhz_now, arm.frequency), (None, None, None));
        let power = read(&*Made::of(&[]), POWER);
        assert_eq!((power.vendor, power.stepping.as_deref()), (None, Some("2.2 (pvr 004e 1202)")));
    }

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
        let caches = caches(&*Made::of(&files)).unwrap();
        let details: Vec<_> = caches
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
        assert_eq!(details, expected);
        assert_eq!(caches[0].ways, None);
    }

    #[test]
    fn a_host_without_mitigations_has_no_list() {
        assert_eq!(caches(&*Made::of(&[])), None);
        assert_eq!(caches(&*Made::of(&[("sys/devices/system/cpu/cpu0/cache/index0/size", "32K")])), None);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(cpu MHz|model|[a-z]{0,5})?[\\t :]{0,3}[-0-9.eEinfNa]{0,12}\\n?.{0,40}") {
            let _ = (megahertz_now(&text), bytes(&text));
            let _ = read(&*Made::of(&[]), &text);
        }
    }
}
