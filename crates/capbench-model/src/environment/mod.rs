//! Facts about a host. Results can be compared only with them.
//!
//! | file | what |
//! |---|---|
//! | [`program`] | how capbench was built |
//! | [`hardware`] | the machine, its processors, their caches, the memory |
//! | [`kernel`] | how the kernel was built and started |
//! | [`interface`] | the interfaces of a run |
//! | [`queues`] | how receive queues use the host, judged |
//! | [`topology`] | the CPUs of a host: cores, and what is near a card |
//! | [`others`] | other programs that read packets or move interrupts |
//! | `differences` | the facts in which two environments differ |

/// Declares facts that may all be unknown: an unknown one is absent from the file.
macro_rules! facts {
    ($(#[$about:meta])* pub struct $name:ident { $($(#[$fact:meta])* pub $member:ident: $kind:ty,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
        pub struct $name {
            $($(#[$fact])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $member: $kind,)+
        }
    };
}

mod differences;
pub mod hardware;
pub mod interface;
pub mod kernel;
pub mod others;
pub mod program;
pub mod queues;
pub mod topology;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use differences::{Difference, HostFact};
use hardware::{Cache, Cpu, Machine, Memory};
use interface::PathInterface;
use kernel::{IrqAccounting, Kernel};
use others::Others;
use program::Program;

/// Facts about the host and the process, as written into the results. An absent or null value could not be determined. An
/// absent group was not collected by the version that wrote it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Environment {
    /// Version of capbench.
    pub capbench_version: String,
    /// Its build.
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
    /// Online CPUs.
    pub cpus_online: usize,
    /// CPUs that this process may use.
    pub cpus_allowed: usize,
    /// Whether the CPU reports that it is virtual (flag `hypervisor`, x86 only).
    pub virtual_machine: Option<bool>,
    /// How the kernel accounts CPU time of interrupts.
    pub irq_accounting: IrqAccounting,
    /// Memory of the host in bytes.
    pub memory_bytes: u64,
    /// Effective user id, in the user namespace of the process.
    pub uid: u32,
    /// Whether the process is in a separate user namespace, without access to the host.
    pub in_user_namespace: bool,
    /// Capabilities that capbench can use and the process lacks.
    pub missing_capabilities: Vec<String>,
    /// Packets that a CPU's backlog holds (`net.core.netdev_max_backlog`).
    pub netdev_max_backlog: Option<u64>,
    /// Largest receive buffer of a socket in bytes without CAP_NET_ADMIN (`net.core.rmem_max`).
    pub rmem_max_bytes: Option<u64>,
    /// The machine as its firmware describes it, and its hypervisor or container.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hardware: Option<Machine>,
    /// Build and boot settings of the kernel.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kernel: Option<Kernel>,
    /// The processors.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu: Option<Cpu>,
    /// Their caches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caches: Option<Vec<Cache>>,
    /// CPU vulnerabilities and the kernel's mitigations, in the kernel's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mitigations: Option<BTreeMap<String, String>>,
    /// Memory: nodes, huge pages.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// Kernel settings by name (sysctl(8)), with the kernel's values.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sysctls: Option<BTreeMap<String, String>>,
    /// Other programs on this host that read packets or move interrupts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
    /// The hosts of a run whose interfaces were named by locations, with the facts about each. The other facts are then those of
    /// the host that receives. Empty if both interfaces were of capbench's own process.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<RunHost>,
    /// The interfaces of the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interfaces: Option<Vec<PathInterface>>,
}

/// The facts by which a host and its kernel are recognised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// [`Environment::kernel_release`].
    pub kernel_release: Option<String>,
    /// [`Environment::machine`].
    pub machine: String,
    /// [`Environment::cpu_model`].
    pub cpu_model: Option<String>,
    /// [`Environment::cpus_online`].
    pub cpus_online: usize,
    /// [`Environment::memory_bytes`].
    pub memory_bytes: u64,
}

impl Environment {
    /// The facts by which its host is recognised.
    pub fn host(&self) -> Host {
        Host {
            kernel_release: self.kernel_release.clone(),
            machine: self.machine.clone(),
            cpu_model: self.cpu_model.clone(),
            cpus_online: self.cpus_online,
            memory_bytes: self.memory_bytes,
        }
    }
}

/// A host of a run over locations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RunHost {
    /// What it did.
    pub role: interface::Role,
    /// The location of its interface, as the user named it.
    pub location: String,
    /// Identifies the host: a hash of its machine-id(5); absent if it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host_id: Option<String>,
    /// The facts about it.
    pub environment: Environment,
}

#[cfg(test)]
mod tests {
    use super::Environment;

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
