//! Reads the facts of an [`Environment`] from this host.
//!
//! | file | what |
//! |---|---|
//! | `machine`, `cpu` | hardware: memory, processors, frequencies, idle states, caches |
//! | `kernel` | build, start and settings of the kernel |
//! | [`interface`] | the interfaces of a run |
//! | `others`, `packet_sockets` | other programs that read packets or move interrupts |
//! | `tree` | the files that all of them read |

mod cpu;
pub mod interface;
mod kernel;
mod machine;
mod others;
mod packet_sockets;
mod tree;

use capbench_model::environment::kernel::IrqAccounting;
use capbench_model::environment::{Environment, Host};
use capbench_sys::host::{affinity, capability, identity, memory as host_memory, namespace};

use crate::Result;
use crate::accounts::irqtime;
use tree::{Directory, Tree};

/// Reads the facts of the host and the process. The caller adds the program's build and the interfaces of a run.
///
/// # Errors
/// The process's CPUs, its capabilities or the memory are unknown. Other unknown facts are absent.
pub fn read() -> Result<Environment> {
    let root = Directory::of_host();
    let cpuinfo = root.text("proc/cpuinfo").unwrap_or_default();
    let Host { kernel_release, machine, cpu_model, cpus_online, memory_bytes } = host_of(&root, &cpuinfo)?;
    let configuration = irqtime::configuration(kernel_release.as_deref().unwrap_or_default());
    let kernel = kernel::read(&root, configuration.as_deref());
    let irq_accounting = configuration.as_deref().map(IrqAccounting::parse).unwrap_or_default();
    let virtual_machine = virtual_machine(&cpuinfo);
    let missing = capability::effective()?.missing(&capability::Capability::ALL);
    Ok(Environment {
        capbench_version: env!("CARGO_PKG_VERSION").to_owned(),
        program: None,
        hosts: Vec::new(),
        irq_accounting: irq_accounting.in_effect(&kernel, &machine),
        kernel_release,
        kernel_version: root.text("proc/sys/kernel/version"),
        machine,
        cpu_model,
        cpus_online,
        cpus_allowed: affinity::allowed_cpus()?.len(),
        virtual_machine,
        memory_bytes,
        uid: identity::effective().uid,
        in_user_namespace: !namespace::in_initial_user_namespace()?,
        missing_capabilities: missing.iter().map(ToString::to_string).collect(),
        netdev_max_backlog: root.number("proc/sys/net/core/netdev_max_backlog"),
        rmem_max_bytes: root.number("proc/sys/net/core/rmem_max"),
        hardware: Some(machine::read(&root, virtual_machine)),
        kernel: Some(kernel),
        cpu: Some(cpu::read(&root, &cpuinfo)),
        caches: cpu::caches(&root),
        mitigations: kernel::mitigations(&root),
        memory: Some(machine::memory(&root)),
        sysctls: kernel::sysctls(&root),
        others: Some(others::read(&root)),
        interfaces: None,
    })
}

/// The facts by which this host and its kernel are recognised, without the others.
///
/// # Errors
/// As for [`read`].
pub fn host() -> Result<Host> {
    let root = Directory::of_host();
    host_of(&root, &root.text("proc/cpuinfo").unwrap_or_default())
}

fn host_of(root: &impl Tree, cpuinfo: &str) -> Result<Host> {
    Ok(Host {
        kernel_release: root.text("proc/sys/kernel/osrelease"),
        machine: std::env::consts::ARCH.to_owned(),
        cpu_model: cpu_field(cpuinfo, "model name").map(str::to_owned),
        cpus_online: cpus_online(root)?,
        memory_bytes: host_memory::total_bytes()?,
    })
}

/// Online CPUs from sysfs or, if a container hides it, from `/proc/stat`.
fn cpus_online(root: &impl Tree) -> Result<usize> {
    let online = affinity::online_cpus();
    let counted = || root.text("proc/stat").map_or(0, |text| cpus_in_stat(&text));
    match online {
        Ok(cpus) => Ok(cpus.len()),
        Err(error) => Some(counted()).filter(|count| *count > 0).ok_or_else(|| error.into()),
    }
}

/// CPUs with a line in `/proc/stat`: the online ones.
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
    // Only x86 has a line of this name; Arm's "Features" do not report it.
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
    fn facts_hidden_by_an_architecture_are_unknown() {
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
        let environment = read().unwrap();
        assert!(environment.cpus_allowed >= 1 && environment.memory_bytes > 0);
        let text = serde_json::to_string(&environment).unwrap();
        assert!(text.contains("\"kernel_release\":\""), "{text}");
        assert_eq!(serde_json::from_str::<Environment>(&text).unwrap(), environment);
        assert_eq!(environment.differences(&environment), []);
    }
}
