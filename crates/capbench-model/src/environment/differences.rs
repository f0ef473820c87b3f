//! Differences between two environments that make their trials incomparable.
//!
//! Facts of the first results format are compared one by one. Later facts are in groups, which are compared as serialised: a
//! fact added to a group is compared automatically unless `PASSING` lists it. A group that one of the two lacks, because an
//! earlier version wrote it, is not compared.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value};

use super::Environment;
use crate::thresholds::EQUAL_MEMORY;

/// Groups of facts, by their names in the results file.
const GROUPS: &[&str] = &[
    "program",
    "hardware",
    "kernel",
    "cpu",
    "caches",
    "mitigations",
    "memory",
    "sysctls",
    "others",
    "interfaces",
];

/// Facts that are not compared: they change on their own, affect no packet, or are compared elsewhere. Each is a path of
/// member names.
const PASSING: &[&[&str]] = &[
    &["cpu", "least_mhz_now"],
    &["cpu", "most_mhz_now"],
    &["memory", "available_bytes"],
    &["memory", "swap_bytes"],
    &["memory", "huge_pages", "free_pages"],
    // The kernel lowers it when its interrupts take long.
    &["sysctls", "kernel.perf_event_max_sample_rate"],
    &["sysctls", "net.core.netdev_max_backlog"],
    &["sysctls", "net.core.rmem_max"],
    // They come and go on other interfaces. Those on the run's interfaces are recorded with these and compared there.
    &["others", "packet_sockets"],
    &["others", "packet_sockets_of_all_protocols"],
    &["others", "xdp_programs"],
    &["interfaces", "placements"],
    &["interfaces", "interrupts", "number"],
    &["interfaces", "interrupts", "effective_cpus"],
    &["interfaces", "xdp_program", "id"],
];

/// Members that identify the elements of a list.
const NAMING: &[&str] = &["name", "level", "kind", "queue", "node", "page_bytes", "discipline", "interface"];

/// A fact that differs between two environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Its name in words, or its path in the results file.
    pub fact: String,
    /// The earlier value.
    pub then: String,
    /// The current value.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} then, {} now", self.fact, self.then, self.now)
    }
}

impl Environment {
    /// All facts that make trials of the two environments incomparable. Users are compared by the capabilities they lack, not
    /// by user id. Facts that change on their own, such as a frequency or free memory, are not compared.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let is_same_memory =
            self.memory_bytes.abs_diff(now.memory_bytes) as f64 <= self.memory_bytes as f64 * EQUAL_MEMORY;
        let memory = if is_same_memory { now.memory_bytes } else { self.memory_bytes };
        let first = [
            difference("capbench version", &self.capbench_version, &now.capbench_version),
            difference("kernel release", &self.kernel_release, &now.kernel_release),
            difference("kernel build", &self.kernel_version, &now.kernel_version),
            difference("architecture", &self.machine, &now.machine),
            difference("CPU model", &self.cpu_model, &now.cpu_model),
            difference("CPUs online", &self.cpus_online, &now.cpus_online),
            difference("CPUs that may be used", &self.cpus_allowed, &now.cpus_allowed),
            difference("virtual machine", &self.virtual_machine, &now.virtual_machine),
            difference("accounting of interrupts", &self.irq_accounting, &now.irq_accounting),
            difference("memory in bytes", &memory, &now.memory_bytes),
            difference("own user namespace", &self.in_user_namespace, &now.in_user_namespace),
            difference("missing capabilities", &self.missing_capabilities, &now.missing_capabilities),
            difference("net.core.netdev_max_backlog", &self.netdev_max_backlog, &now.netdev_max_backlog),
            difference("net.core.rmem_max", &self.rmem_max_bytes, &now.rmem_max_bytes),
        ];
        first.into_iter().flatten().chain(of_groups(self, now)).collect()
    }
}

/// A difference of one fact, as the results file writes the values.
fn difference<T: PartialEq + Serialize>(fact: &str, then: &T, now: &T) -> Option<Difference> {
    let words =
        |value: &T| serde_json::to_value(value).map_or_else(|_| "unknown".into(), |value| words(&value));
    (then != now).then(|| Difference { fact: fact.into(), then: words(then), now: words(now) })
}

fn words(value: &Value) -> String {
    match value {
        Value::Null => "unknown".into(),
        Value::String(text) if text.is_empty() => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".into(),
        Value::Array(list) => list.iter().map(words).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

fn of_groups(then: &Environment, now: &Environment) -> Vec<Difference> {
    let [then, now] = [then, now].map(|environment| match serde_json::to_value(environment) {
        Ok(Value::Object(members)) => members,
        _ => Map::new(),
    });
    let balances = |side: &&Map<String, Value>| {
        side.get("others").is_some_and(|others| others["irqbalance_running"] == true)
    };
    let balanced = [&then, &now].iter().any(balances);
    let mut differences = Vec::new();
    for group in GROUPS {
        let [Some(then), Some(now)] =
            [&then, &now].map(|side| side.get(*group).filter(|value| !value.is_null()))
        else {
            continue;
        };
        let [then, now] = [then, now].map(|value| {
            let mut facts = Facts { leaves: BTreeMap::new(), balanced };
            facts.add(group, &mut vec![*group], value);
            facts.leaves
        });
        // Interfaces of placements that only one of the two runs had are not comparable.
        let ends = |leaves: &BTreeMap<String, String>| -> BTreeSet<String> {
            leaves.keys().map(|path| end_of(path).to_owned()).collect()
        };
        let common: BTreeSet<String> = match *group {
            "interfaces" => ends(&then).intersection(&ends(&now)).cloned().collect(),
            _ => ends(&then).union(&ends(&now)).cloned().collect(),
        };
        let paths: BTreeSet<&String> = then.keys().chain(now.keys()).collect();
        for path in paths.into_iter().filter(|path| common.contains(end_of(path))) {
            let [then, now] = [&then, &now].map(|side| side.get(path));
            let unknown = || "unknown".to_owned();
            if then != now {
                differences.push(Difference {
                    fact: path.clone(),
                    then: then.cloned().unwrap_or_else(unknown),
                    now: now.cloned().unwrap_or_else(unknown),
                });
            }
        }
    }
    differences
}

/// The element of a list to which a path leads: `interfaces[receive]`.
fn end_of(path: &str) -> &str {
    path.split_once(']').map_or("", |(end, _)| end)
}

/// A group's facts, each with its path in the results file.
struct Facts {
    leaves: BTreeMap<String, String>,
    /// Whether irqbalance moves interrupts meanwhile.
    balanced: bool,
}

impl Facts {
    fn add<'value>(&mut self, path: &str, members: &mut Vec<&'value str>, value: &'value Value) {
        let moved = self.balanced && *members == ["interfaces", "interrupts", "allowed_cpus"];
        if moved || PASSING.contains(&members.as_slice()) {
            return;
        }
        match value {
            Value::Null => {}
            Value::Object(object) => {
                let made = object.get("made_by_capbench") == Some(&Value::Bool(true));
                // Its name changes with every run.
                for (name, value) in object.iter().filter(|(name, _)| !(made && *name == "name")) {
                    members.push(name);
                    self.add(&format!("{path}.{name}"), members, value);
                    members.pop();
                }
            }
            Value::Array(list) if list.iter().any(Value::is_object) => {
                let mut named: BTreeMap<String, u32> = BTreeMap::new();
                for element in list {
                    for label in labels(element) {
                        let times = named.entry(label.clone()).or_default();
                        *times += 1;
                        let label = if *times > 1 { format!("{label} {times}") } else { label };
                        self.add(&format!("{path}[{label}]"), members, element);
                    }
                }
            }
            other => {
                self.leaves.insert(path.to_owned(), words(other));
            }
        }
    }
}

/// Labels of a list's element. An interface of the host is identified by its role. One of capbench's test bed is also
/// identified by the placements, because it is set up for each.
fn labels(element: &Value) -> Vec<String> {
    if let Some(role) = element["role"].as_str() {
        let placements = element["placements"].as_array().filter(|_| element["made_by_capbench"] == true);
        return match placements {
            Some(list) => list.iter().map(|placement| format!("{role} {}", words(placement))).collect(),
            None => vec![role.to_owned()],
        };
    }
    let names: Vec<String> = NAMING.iter().filter_map(|name| element.get(*name)).map(words).collect();
    vec![names.join(" ")]
}

#[cfg(test)]
mod tests {
    use super::super::interface::{Interrupt, PacketSockets, PathInterface, Role};
    use super::super::{Environment, hardware, others};

    fn differences(then: &Environment, now: &Environment) -> Vec<String> {
        then.differences(now).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn every_difference_is_named_with_both_sides() {
        let then = Environment { memory_bytes: 8 << 30, ..Environment::default() };
        assert_eq!(then.differences(&then), []);
        let more = Environment { memory_bytes: then.memory_bytes + 4096, uid: then.uid + 1, ..then.clone() };
        assert_eq!(then.differences(&more), [], "what a boot or a user's number changes is no difference");
        let now = Environment {
            kernel_release: Some("7.0.0".into()),
            cpu_model: None,
            cpus_allowed: then.cpus_allowed + 1,
            memory_bytes: then.memory_bytes * 2,
            missing_capabilities: vec!["CAP_BPF".into(), "CAP_PERFMON".into()],
            netdev_max_backlog: Some(9),
            ..then.clone()
        };
        let then = Environment {
            kernel_release: Some("6.1.0".into()),
            cpu_model: Some("Xeon".into()),
            missing_capabilities: Vec::new(),
            netdev_max_backlog: Some(1000),
            ..then
        };
        let expected = [
            "kernel release: 6.1.0 then, 7.0.0 now".to_string(),
            "CPU model: Xeon then, unknown now".into(),
            format!("CPUs that may be used: {} then, {} now", then.cpus_allowed, now.cpus_allowed),
            format!("memory in bytes: {} then, {} now", then.memory_bytes, now.memory_bytes),
            "missing capabilities: none then, CAP_BPF CAP_PERFMON now".into(),
            "net.core.netdev_max_backlog: 1000 then, 9 now".into(),
        ];
        assert_eq!(differences(&then, &now), expected);
    }

    #[test]
    fn hardware_and_settings_are_compared_and_passing_values_are_not() {
        let base = Environment::default();
        let environment = |governor: &str, mhz, free, microcode: Option<&str>, sysctl: &str| Environment {
            cpu: Some(hardware::Cpu {
                microcode: microcode.map(Into::into),
                most_mhz_now: Some(mhz),
                frequency: Some(hardware::Frequency {
                    drivers: vec!["intel_pstate".into()],
                    governors: vec![governor.into()],
                    ..hardware::Frequency::default()
                }),
                isolated_cpus: Some(String::new()),
                ..hardware::Cpu::default()
            }),
            memory: Some(hardware::Memory {
                huge_pages: Some(vec![hardware::HugePages {
                    page_bytes: 2 << 20,
                    pages: Some(8),
                    free_pages: free,
                }]),
                ..hardware::Memory::default()
            }),
            sysctls: Some([("net.core.netdev_budget".to_string(), sysctl.to_string())].into()),
            ..base.clone()
        };
        let then = environment("performance", 3900, Some(8), Some("0x1"), "300");
        assert_eq!(
            differences(&then, &environment("performance", 1200, Some(2), Some("0x1"), "300")),
            [""; 0]
        );
        let expected = [
            "cpu.frequency.governors: performance then, powersave now",
            "cpu.microcode: 0x1 then, unknown now",
            "sysctls.net.core.netdev_budget: 300 then, 600 now",
        ];
        assert_eq!(differences(&then, &environment("powersave", 3900, Some(8), None, "600")), expected);
        let early = Environment { cpu: None, memory: None, sysctls: None, ..then.clone() };
        assert_eq!(differences(&early, &then), [""; 0], "an earlier version did not look");
    }

    fn interface(role: Role, name: &str, made: bool, placements: &[&str], mtu: u32) -> PathInterface {
        let mut interface = PathInterface {
            role,
            name: name.into(),
            made_by_capbench: made,
            placements: placements.iter().map(|name| (*name).into()).collect(),
            facts: Default::default(),
        };
        interface.facts.mtu_bytes = Some(mtu);
        interface
    }

    #[test]
    fn interfaces_are_compared_by_what_they_are_for() {
        let base = Environment::default();
        let on = |interfaces: &[PathInterface]| Environment {
            interfaces: Some(interfaces.to_vec()),
            ..base.clone()
        };
        let receive = |name, mtu| on(&[interface(Role::Receive, name, false, &["same", "other"], mtu)]);
        assert_eq!(
            differences(&receive("eth0", 1500), &receive("eth1", 9000)),
            [
                "interfaces[receive].mtu_bytes: 1500 then, 9000 now",
                "interfaces[receive].name: eth0 then, eth1 now"
            ]
        );
        let made = |name, placements: &[&str]| on(&[interface(Role::Receive, name, true, placements, 1500)]);
        assert_eq!(
            differences(&made("cb1", &["same"]), &made("cb2", &["same"])),
            [""; 0],
            "names of generated interfaces do not matter"
        );
        assert_eq!(
            differences(&made("cb1", &["same"]), &made("cb2", &["other"])),
            [""; 0],
            "nothing in common"
        );
    }

    #[test]
    fn a_foreign_capture_during_the_run_is_named() {
        let base = Environment::default();
        let on = |of_all_protocols| {
            let mut card = interface(Role::Receive, "eth0", false, &["other"], 1500);
            card.facts.packet_sockets = Some(PacketSockets { of_all_protocols, of_one_protocol: 1 });
            let others =
                others::Others { packet_sockets: Some(9 + of_all_protocols), ..others::Others::default() };
            Environment { interfaces: Some(vec![card]), others: Some(others), ..base.clone() }
        };
        assert_eq!(
            differences(&on(0), &on(1)),
            ["interfaces[receive].packet_sockets.of_all_protocols: 0 then, 1 now"]
        );
        assert_eq!(differences(&on(1), &on(1)), [""; 0]);
    }

    #[test]
    fn interrupts_that_somebody_moves_about_are_no_difference() {
        let base = Environment::default();
        let on = |number, allowed: &str, balanced| {
            let mut card = interface(Role::Receive, "eth0", false, &["other"], 1500);
            card.facts.interrupts = Some(vec![Interrupt {
                number,
                name: Some("eth0-0".into()),
                allowed_cpus: Some(allowed.into()),
                effective_cpus: Some(number.to_string()),
                numa_node: None,
            }]);
            let others = others::Others { irqbalance_running: Some(balanced), ..others::Others::default() };
            Environment { interfaces: Some(vec![card]), others: Some(others), ..base.clone() }
        };
        assert_eq!(differences(&on(24, "0-3", false), &on(25, "0-3", false)), [""; 0]);
        assert_eq!(
            differences(&on(24, "0-3", false), &on(24, "2", false)),
            ["interfaces[receive].interrupts[eth0-0].allowed_cpus: 0-3 then, 2 now"]
        );
        assert_eq!(differences(&on(24, "0-3", true), &on(24, "2", true)), [""; 0]);
    }
}
