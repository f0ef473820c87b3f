//! What this host is: the facts without which a result cannot be compared with another.

use std::fmt;

use capbench_sys::host::{capability, identity, memory, namespace};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Result;
use crate::accounts::irqtime::IrqAccounting;

/// Facts about the host and the process, as they are written into the results. `None` is "could not be found out".
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Version of capbench.
    pub capbench_version: String,
    /// Release of the kernel, as `uname -r` shows it.
    pub kernel_release: Option<String>,
    /// Build of the kernel, as `uname -v` shows it.
    pub kernel_version: Option<String>,
    /// Machine architecture that capbench was built for, for example `x86_64`.
    pub machine: String,
    /// Model of the first CPU (`/proc/cpuinfo`).
    pub cpu_model: Option<String>,
    /// CPUs that are online.
    pub cpus_online: usize,
    /// CPUs that this process may use.
    pub cpus_allowed: usize,
    /// Whether the CPU says that it is a virtual one (flag `hypervisor`, x86 only).
    pub virtual_machine: Option<bool>,
    /// How the kernel accounts for interrupts.
    pub irq_accounting: IrqAccounting,
    /// Memory of the host in bytes.
    pub memory_bytes: u64,
    /// Effective user id, in the user namespace that the process is in.
    pub uid: u32,
    /// Whether the process is in a user namespace of its own, where it reaches nothing of the host.
    pub in_user_namespace: bool,
    /// Those of the capabilities that capbench can use which the process lacks.
    pub missing_capabilities: Vec<String>,
    /// Packets that a CPU's backlog holds (`net.core.netdev_max_backlog`).
    pub netdev_max_backlog: Option<u64>,
    /// Largest receive buffer of a socket in bytes without CAP_NET_ADMIN (`net.core.rmem_max`).
    pub rmem_max_bytes: Option<u64>,
}

impl Environment {
    /// Finds out the facts.
    ///
    /// # Errors
    /// Where the process's CPUs, capabilities or the memory cannot be found out.
    pub fn read() -> Result<Self> {
        let release = text("/proc/sys/kernel/osrelease");
        let cpuinfo = text("/proc/cpuinfo").unwrap_or_default();
        let missing = capability::effective()?.missing(&capability::Capability::ALL);
        Ok(Self {
            capbench_version: env!("CARGO_PKG_VERSION").to_owned(),
            irq_accounting: IrqAccounting::read(release.as_deref().unwrap_or_default()),
            kernel_release: release,
            kernel_version: text("/proc/sys/kernel/version"),
            machine: std::env::consts::ARCH.to_owned(),
            cpu_model: cpu_field(&cpuinfo, "model name").map(str::to_owned),
            cpus_online: capbench_sys::host::affinity::online_cpus()?.len(),
            cpus_allowed: capbench_sys::host::affinity::allowed_cpus()?.len(),
            virtual_machine: virtual_machine(&cpuinfo),
            memory_bytes: memory::total_bytes()?,
            uid: identity::effective().uid,
            in_user_namespace: !namespace::in_initial_user_namespace()?,
            missing_capabilities: missing.iter().map(ToString::to_string).collect(),
            netdev_max_backlog: number("/proc/sys/net/core/netdev_max_backlog"),
            rmem_max_bytes: number("/proc/sys/net/core/rmem_max"),
        })
    }
}

/// By how much the memory of a host may differ and be called the same: kernels take more of it or less as they boot.
const SAME_MEMORY: f64 = 0.01;

/// A fact in which two environments differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// What it is.
    pub fact: &'static str,
    /// What it was.
    pub then: String,
    /// What it is now.
    pub now: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} then, {} now", self.fact, self.then, self.now)
    }
}

impl Environment {
    /// All that trials measured here would not have in common with those of another environment. Who runs them is
    /// compared by what he lacks, not by his number.
    pub fn differences(&self, now: &Self) -> Vec<Difference> {
        let Self {
            capbench_version,
            kernel_release,
            kernel_version,
            machine,
            cpu_model,
            cpus_online,
            cpus_allowed,
            virtual_machine,
            irq_accounting,
            memory_bytes,
            uid: _,
            in_user_namespace,
            missing_capabilities,
            netdev_max_backlog,
            rmem_max_bytes,
        } = self;
        let is_same_memory =
            memory_bytes.abs_diff(now.memory_bytes) as f64 <= *memory_bytes as f64 * SAME_MEMORY;
        let memory = if is_same_memory { now.memory_bytes } else { *memory_bytes };
        [
            difference("capbench version", capbench_version, &now.capbench_version),
            difference("kernel release", kernel_release, &now.kernel_release),
            difference("kernel build", kernel_version, &now.kernel_version),
            difference("architecture", machine, &now.machine),
            difference("CPU model", cpu_model, &now.cpu_model),
            difference("CPUs online", cpus_online, &now.cpus_online),
            difference("CPUs that may be used", cpus_allowed, &now.cpus_allowed),
            difference("virtual machine", virtual_machine, &now.virtual_machine),
            difference("accounting of interrupts", irq_accounting, &now.irq_accounting),
            difference("memory in bytes", &memory, &now.memory_bytes),
            difference("user namespace of its own", in_user_namespace, &now.in_user_namespace),
            difference("missing capabilities", missing_capabilities, &now.missing_capabilities),
            difference("net.core.netdev_max_backlog", netdev_max_backlog, &now.netdev_max_backlog),
            difference("net.core.rmem_max", rmem_max_bytes, &now.rmem_max_bytes),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A fact that is not the same, in the words of the results file.
fn difference<T: PartialEq + Serialize>(fact: &'static str, then: &T, now: &T) -> Option<Difference> {
    let words = |value: &T| match serde_json::to_value(value) {
        Ok(Value::Null) | Err(_) => "unknown".into(),
        Ok(Value::String(text)) => text,
        Ok(Value::Array(list)) if list.is_empty() => "none".into(),
        Ok(Value::Array(list)) => list.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        Ok(other) => other.to_string(),
    };
    (then != now).then(|| Difference { fact, then: words(then), now: words(now) })
}

fn text(path: &str) -> Option<String> {
    std::fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

fn number(path: &str) -> Option<u64> {
    text(path)?.parse().ok()
}

/// The value of the first line `key : value` of `/proc/cpuinfo`.
fn cpu_field<'text>(cpuinfo: &'text str, key: &str) -> Option<&'text str> {
    let lines = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    lines
        .map(|(name, value)| (name.trim(), value.trim()))
        .find(|(name, _)| *name == key)
        .map(|(_, value)| value)
}

fn virtual_machine(cpuinfo: &str) -> Option<bool> {
    // Only x86 has a line of this name; Arm's "Features" do not tell.
    cpu_field(cpuinfo, "flags").map(|flags| flags.split_ascii_whitespace().any(|flag| flag == "hypervisor"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_named() {
        let x86 = "processor\t: 0\nmodel name\t: Intel(R) Xeon(R): 2.9 GHz\nflags\t\t: fpu hypervisor sse\n\nprocessor\t: 1\nmodel name\t: other\n";
        assert_eq!(cpu_field(x86, "model name"), Some("Intel(R) Xeon(R): 2.9 GHz"));
        assert_eq!(virtual_machine(x86), Some(true));
        assert_eq!(virtual_machine("flags\t: fpu sse\n"), Some(false));
    }

    #[test]
    fn what_an_architecture_does_not_tell_is_unknown() {
        let arm = "processor\t: 0\nBogoMIPS\t: 243.75\nFeatures\t: fp asimd\n";
        assert_eq!(cpu_field(arm, "model name"), None);
        assert_eq!(virtual_machine(arm), None);
        assert_eq!(virtual_machine(""), None);
    }

    #[test]
    fn every_difference_is_named_with_both_sides() {
        let then = Environment::read().unwrap();
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
        let words: Vec<String> = then.differences(&now).iter().map(ToString::to_string).collect();
        let expected = [
            "kernel release: 6.1.0 then, 7.0.0 now".to_string(),
            "CPU model: Xeon then, unknown now".into(),
            format!("CPUs that may be used: {} then, {} now", then.cpus_allowed, now.cpus_allowed),
            format!("memory in bytes: {} then, {} now", then.memory_bytes, now.memory_bytes),
            "missing capabilities: none then, CAP_BPF CAP_PERFMON now".into(),
            "net.core.netdev_max_backlog: 1000 then, 9 now".into(),
        ];
        assert_eq!(words, expected);
    }

    #[test]
    fn this_host_has_facts_that_can_be_written_down() {
        let environment = Environment::read().unwrap();
        assert!(environment.cpus_allowed >= 1 && environment.memory_bytes > 0);
        let text = serde_json::to_string(&environment).unwrap();
        assert!(text.contains("\"kernel_release\":\""), "{text}");
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), environment);
    }
}
