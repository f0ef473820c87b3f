//! Differences between two environments that make their trials incomparable.
//!
//! Facts of the first results format are compared one by one. Later facts are in groups, which are compared as serialised: a
//! fact added to a group is compared automatically unless `PASSING` lists it. A group that one of the two lacks, because an
//! earlier version wrote it, is not compared.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
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

/// A fact about a host that is compared.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum HostFact {
    /// The version of capbench.
    CapbenchVersion,
    /// The release of the kernel.
    KernelRelease,
    /// The build of the kernel.
    KernelVersion,
    /// The architecture.
    Machine,
    /// The model of the CPU.
    CpuModel,
    /// How many CPUs are online.
    CpusOnline,
    /// How many CPUs may be used.
    CpusAllowed,
    /// Whether it is a virtual machine.
    VirtualMachine,
    /// Whether the kernel accounts the time of interrupts.
    IrqAccounting,
    /// Its memory.
    MemoryBytes,
    /// Whether the run had a user namespace.
    InUserNamespace,
    /// The capabilities that the run lacked.
    MissingCapabilities,
    /// The sysctl net.core.netdev_max_backlog.
    NetdevMaxBacklog,
    /// The sysctl net.core.rmem_max.
    RmemMaxBytes,
    /// A fact of a group, by its path in the results file.
    Path(String),
}

/// A fact that differs between two environments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The fact.
    pub fact: HostFact,
    /// The earlier value.
    pub then: String,
    /// The current value.
    pub now: String,
}

impl Environment {
    /// All facts that make trials of the two environments incomparable. Users are compared by the capabilities they lack, not
    /// by user id. Facts that change on their own, such as a frequency or free memory, are not compared.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let is_same_memory =
            self.memory_bytes.abs_diff(now.memory_bytes) as f64 <= self.memory_bytes as f64 * EQUAL_MEMORY;
        let memory = if is_same_memory { now.memory_bytes } else { self.memory_bytes };
        let first = [
            difference(HostFact::CapbenchVersion, &self.capbench_version, &now.capbench_version),
            difference(HostFact::KernelRelease, &self.kernel_release, &now.kernel_release),
            difference(HostFact::KernelVersion, &self.kernel_version, &now.kernel_version),
            difference(HostFact::Machine, &self.machine, &now.machine),
            difference(HostFact::CpuModel, &self.cpu_model, &now.cpu_model),
            difference(HostFact::CpusOnline, &self.cpus_online, &now.cpus_online),
            difference(HostFact::CpusAllowed, &self.cpus_allowed, &now.cpus_allowed),
            difference(HostFact::VirtualMachine, &self.virtual_machine, &now.virtual_machine),
            difference(HostFact::IrqAccounting, &self.irq_accounting, &now.irq_accounting),
            difference(HostFact::MemoryBytes, &memory, &now.memory_bytes),
            difference(HostFact::InUserNamespace, &self.in_user_namespace, &now.in_user_namespace),
            difference(HostFact::MissingCapabilities, &self.missing_capabilities, &now.missing_capabilities),
            difference(HostFact::NetdevMaxBacklog, &self.netdev_max_backlog, &now.netdev_max_backlog),
            difference(HostFact::RmemMaxBytes, &self.rmem_max_bytes, &now.rmem_max_bytes),
        ];
        first.into_iter().flatten().chain(of_groups(self, now)).collect()
    }
}

/// A difference of one fact, as the results file writes the values.
fn difference<T: PartialEq + Serialize>(fact: HostFact, then: &T, now: &T) -> Option<Difference> {
    if then == now {
        return None;
    }
    Some(Difference { fact, then: saved_text(then), now: saved_text(now) })
}

fn saved_text<T: Serialize>(value: &T) -> String {
    serde_json::to_value(value).map_or_else(|_| "unknown".into(), |value| text_of_value(&value))
}

fn text_of_value(value: &Value) -> String {
    match value {
        Value::Null => "unknown".into(),
        Value::String(text) if text.is_empty() => "none".into(),
        Value::String(text) => text.clone(),
        Value::Array(list) if list.is_empty() => "none".into(),
        Value::Array(list) => list.iter().map(text_of_value).collect::<Vec<_>>().join(" "),
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
                    fact: HostFact::Path(path.clone()),
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
                self.leaves.insert(path.to_owned(), text_of_value(other));
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
            Some(list) => {
                list.iter().map(|placement| format!("{role} {}", text_of_value(placement))).collect()
            }
            None => vec![role.to_owned()],
        };
    }
    let names: Vec<String> = NAMING.iter().filter_map(|name| element.get(*name)).map(text_of_value).collect();
    vec![names.join(" ")]
}

#[cfg(test)]
mod tests {
    use super::super::interface::{Interrupt, PacketSockets, PathInterface, Role};
    use super::super::{Difference, Environment, HostFact, hardware, others};

    fn difference(fact: HostFact, then: impl ToString, now: impl ToString) -> Difference {
        Difference { fact, then: then.to_string(), now: now.to_string() }
    }

    fn at_path(path: &str, then: &str, now: &str) -> Difference {
        difference(HostFact::Path(path.into()), then, now)
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
            difference(HostFact::KernelRelease, "6.1.0", "7.0.0"),
            difference(HostFact::CpuModel, "Xeon", "unknown"),
            difference(HostFact::CpusAllowed, then.cpus_allowed, now.cpus_allowed),
            difference(HostFact::MemoryBytes, then.memory_bytes, now.memory_bytes),
            difference(HostFact::MissingCapabilities, "none", "CAP_BPF CAP_PERFMON"),
            difference(HostFact::NetdevMaxBacklog, 1000, 9),
        ];
        assert_eq!(then.differences(&now), expected);
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
        assert_eq!(then.differences(&environment("performance", 1200, Some(2), Some("0x1"), "300")), []);
        let expected = [
            at_path("cpu.frequency.governors", "performance", "powersave"),
            at_path("cpu.microcode", "0x1", "unknown"),
            at_path("sysctls.net.core.netdev_budget", "300", "600"),
        ];
        assert_eq!(then.differences(&environment("powersave", 3900, Some(8), None, "600")), expected);
        let early = Environment { cpu: None, memory: None, sysctls: None, ..then.clone() };
        assert_eq!(early.differences(&then), [], "an earlier version did not look");
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
            receive("eth0", 1500).differences(&receive("eth1", 9000)),
            [
                at_path("interfaces[receive].mtu_bytes", "1500", "9000"),
                at_path("interfaces[receive].name", "eth0", "eth1")
            ]
        );
        let made = |name, placements: &[&str]| on(&[interface(Role::Receive, name, true, placements, 1500)]);
        assert_eq!(
            made("cb1", &["same"]).differences(&made("cb2", &["same"])),
            [],
            "names of generated interfaces do not matter"
        );
        assert_eq!(made("cb1", &["same"]).differences(&made("cb2", &["other"])), [], "nothing in common");
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
            on(0).differences(&on(1)),
            [at_path("interfaces[receive].packet_sockets.of_all_protocols", "0", "1")]
        );
        assert_eq!(on(1).differences(&on(1)), []);
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
        assert_eq!(on(24, "0-3", false).differences(&on(25, "0-3", false)), []);
        assert_eq!(
            on(24, "0-3", false).differences(&on(24, "2", false)),
            [at_path("interfaces[receive].interrupts[eth0-0].allowed_cpus", "0-3", "2")]
        );
        assert_eq!(on(24, "0-3", true).differences(&on(24, "2", true)), []);
    }
}
