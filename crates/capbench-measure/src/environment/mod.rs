//! What this host is: the facts without which a result cannot be compared with another.
//!
//! | file | what |
//! |---|---|
//! | [`program`], [`machine`] | how capbench was built, and what it runs on |
//! | [`kernel`], [`sysctls`], [`mitigations`] | how the kernel was built, started and set |
//! | [`cpu`], [`caches`], [`memory`] | processors, their frequencies and sleep; caches; nodes and huge pages |
//! | [`interface`] | the interfaces of a run |
//! | [`others`] | what else looks at packets, or moves interrupts |
//! | [`differences`] | in what two environments differ |
//! | `tree` | the files that all of them read |

pub mod caches;
pub mod cpu;
pub mod differences;
pub mod interface;
pub mod kernel;
pub mod machine;
pub mod memory;
pub mod mitigations;
pub mod others;
pub mod program;
pub mod sysctls;
mod tree;

use std::collections::BTreeMap;

use capbench_sys::host::{affinity, capability, identity, memory as host_memory, namespace};
use serde::{Deserialize, Serialize};

use crate::Result;
use crate::accounts::irqtime::{self, IrqAccounting};
use caches::Cache;
use cpu::Cpu;
pub use differences::Difference;
use interface::PathInterface;
use kernel::Kernel;
use machine::Machine;
use memory::Memory;
use others::Others;
use program::Program;
use tree::{Directory, Tree};

/// Facts about the host and the process, as they are written into the results. What is absent, or null, could not be found
/// out; a group that is absent was not looked for by the version that wrote it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Environment {
    /// Version of capbench.
    pub capbench_version: String,
    /// How it was built.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<Program>,
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
    /// The machine by its firmware, and what it runs in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Machine>,
    /// How the kernel was built and started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
    /// The processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// Their caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Vec<Cache>>,
    /// Flaws of the CPUs and what the kernel does about them, in its own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<BTreeMap<String, String>>,
    /// Memory: nodes, huge pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Settings of the kernel by their names (sysctl(8)), as it writes them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sysctls: Option<BTreeMap<String, String>>,
    /// What else looks at packets on this host, or moves interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// The interfaces of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<PathInterface>>,
}

impl Environment {
    /// Finds out the facts that are the host's and the process's. Who knows them adds how the program was built and which
    /// interfaces a run uses.
    ///
    /// # Errors
    /// Where the process's CPUs, capabilities or the memory cannot be found out. What else cannot be is absent.
    pub fn read() -> Result<Self> {
        let root = Directory::of_host();
        let release = root.text("proc/sys/kernel/osrelease");
        let configuration = irqtime::configuration(release.as_deref().unwrap_or_default());
        let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
        let virtual_machine = virtual_machine(&cpuinfo);
        let missing = capability::effective()?.missing(&capability::Capability::ALL);
        Ok(Self {
            capbench_version: env!("CARGO_PKG_VERSION").to_owned(),
            program: None,
            irq_accounting: configuration.as_deref().map(IrqAccounting::parse).unwrap_or_default(),
            kernel_release: release,
            kernel_version: root.text("proc/sys/kernel/version"),
            machine: std::env::consts::ARCH.to_owned(),
            cpu_model: cpu_field(&cpuinfo, "model name").map(str::to_owned),
            cpus_online: cpus_online(&root)?,
            cpus_allowed: affinity::allowed_cpus()?.len(),
            virtual_machine,
            memory_bytes: host_memory::total_bytes()?,
            uid: identity::effective().uid,
            in_user_namespace: !namespace::in_initial_user_namespace()?,
            missing_capabilities: missing.iter().map(ToString::to_string).collect(),
            netdev_max_backlog: root.number("proc/sys/net/core/netdev_max_backlog"),
            rmem_max_bytes: root.number("proc/sys/net/core/rmem_max"),
            hardware: Some(Machine::read(&root, virtual_machine)),
            kernel: Some(Kernel::read(&root, configuration.as_deref())),
            cpu: Some(Cpu::read(&root, &cpuinfo)),
            caches: caches::read(&root),
            mitigations: mitigations::read(&root),
            memory: Some(Memory::read(&root)),
            sysctls: sysctls::read(&root),
            others: Some(Others::read(&root)),
            interfaces: None,
        })
    }
}

/// CPUs that are online, by sysfs or, where a container hides that, by `/proc/stat`.
fn cpus_online(root: &impl Tree) -> Result<usize> {
    let told = affinity::online_cpus();
    let counted = || root.text("proc/stat").map_or(0, |text| cpus_in_stat(&text));
    match told {
        Ok(cpus) => Ok(cpus.len()),
        Err(error) => Some(counted()).filter(|count| *count > 0).ok_or_else(|| error.into()),
    }
}

/// CPUs that have a line in `/proc/stat`: those that are online.
fn cpus_in_stat(text: &str) -> usize {
    let is_number = |rest: &str| rest.split(' ').next().is_some_and(|number| number.parse::<u32>().is_ok());
    text.lines().filter_map(|line| line.strip_prefix("cpu")).filter(|rest| is_number(rest)).count()
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
    fn cpus_are_counted_where_sysfs_is_hidden() {
        assert_eq!(cpus_in_stat("cpu  1 2 3\ncpu0 1 2\ncpu11 3 4\nintr 5\ncpufreq 1\n"), 2);
        assert_eq!(cpus_in_stat(""), 0);
    }

    #[test]
    fn this_host_has_facts_that_can_be_written_down() {
        let environment = Environment::read().unwrap();
        assert!(environment.cpus_allowed >= 1 && environment.memory_bytes > 0);
        let text = serde_json::to_string(&environment).unwrap();
        assert!(text.contains("\"kernel_release\":\""), "{text}");
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), environment);
    }

    #[test]
    fn an_environment_of_an_early_version_is_read() {
        let text = r#"{"capbench_version": "0.1.0", "kernel_release": "6.1.0", "kernel_version": null, "machine": "x86_64",
            "cpu_model": null, "cpus_online": 2, "cpus_allowed": 2, "virtual_machine": true, "irq_accounting":
            {"excluded_from_threads": null, "measured_at_context_changes": null, "hz": null}, "memory_bytes": 1, "uid": 0,
            "in_user_namespace": false, "missing_capabilities": [], "netdev_max_backlog": 1000, "rmem_max_bytes": null}"#;
        let environment: Environment = serde_json::from_str(text).unwrap();
        assert!(
            environment.cpu.is_none() && environment.sysctls.is_none() && environment.interfaces.is_none()
        );
    }
}
