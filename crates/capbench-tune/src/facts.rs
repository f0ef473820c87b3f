//! What is judged: values only, so that the judgement is a pure function of them.

use std::collections::BTreeMap;

use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_model::environment::Environment;
use capbench_model::environment::hardware::{Cpu, Memory};
use capbench_model::environment::interface::InterfaceFacts;
use capbench_sys::host::affinity;
use capbench_sys::host::affinity::parse_cpu_list;

use crate::changes::Settings;
use crate::setting::Setting;
use crate::{Live, Result};

/// An interface and its host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The name of the interface.
    pub interface: String,
    /// What its driver and the kernel report of it.
    pub card: InterfaceFacts,
    /// The processors.
    pub cpu: Option<Cpu>,
    /// The NUMA nodes.
    pub memory: Option<Memory>,
    /// Whether irqbalance runs; `None` if other processes are not visible.
    pub irqbalance: Option<bool>,
    /// The online CPUs.
    pub online: Vec<u32>,
    /// How often the receive softirq ran out of its budget since boot, on all CPUs.
    pub squeezes: Option<u64>,
    /// The present values of settings. What is not there is absent.
    pub settings: BTreeMap<Setting, String>,
}

/// Settings of the kernel that are judged.
pub(crate) const SYSCTLS: [&str; 5] = [
    "net.core.netdev_max_backlog",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.dev_weight",
    "net.core.rmem_max",
];
pub(crate) const GOVERNOR: &str = "cpufreq/scaling_governor";

impl Facts {
    /// The facts about an interface and this host now.
    ///
    /// # Errors
    /// The process's CPUs or the memory are unknown, or a setting cannot be read.
    pub fn read(live: &Live, environment: &Environment) -> Result<Self> {
        let online: Vec<u32> = affinity::online_cpus().map_or_else(
            |_| (0..environment.cpus_online as u32).collect(),
            |cpus| cpus.into_iter().map(|cpu| cpu.number()).collect(),
        );
        let states =
            environment.cpu.as_ref().and_then(|cpu| cpu.idle.as_ref()).map_or(0, |idle| idle.states.len());
        let mut wanted = live.inventory()?;
        wanted.extend(SYSCTLS.map(|name| Setting::Sysctl(name.into())));
        for cpu in &online {
            wanted.push(Setting::Cpu { cpu: *cpu, file: GOVERNOR.into() });
            let disable = |state| Setting::Cpu { cpu: *cpu, file: format!("cpuidle/state{state}/disable") };
            wanted.extend((0..states).map(disable));
        }
        let mut settings = BTreeMap::new();
        for setting in wanted {
            if let Some(value) = live.read(&setting)? {
                settings.insert(setting, value);
            }
        }
        Ok(Self {
            interface: live.side().name().into(),
            card: live.facts(),
            cpu: environment.cpu.clone(),
            memory: environment.memory.clone(),
            irqbalance: environment.others.as_ref().and_then(|others| others.irqbalance_running),
            online,
            squeezes: SoftnetSnapshot::read().ok().map(|snapshot| snapshot.time_squeezes()),
            settings,
        })
    }

    /// The number of a kernel setting.
    pub(crate) fn sysctl(&self, name: &str) -> Option<u64> {
        self.settings.get(&Setting::Sysctl(name.into()))?.parse().ok()
    }

    /// The CPUs for capture: the user's, or those of the card's NUMA node, one of each core before the other threads.
    pub(crate) fn capture_cpus(&self, wanted: &[u32]) -> Vec<u32> {
        if !wanted.is_empty() {
            return wanted.to_vec();
        }
        let nodes = self.memory.as_ref().and_then(|memory| memory.numa_nodes.as_ref());
        let near = self.card.numa_node.zip(nodes).and_then(|(node, nodes)| {
            let list = nodes.iter().find(|one| one.node == node)?.cpus.as_deref()?;
            Some(parse_cpu_list(list)?.into_iter().map(|cpu| cpu.number()).collect::<Vec<_>>())
        });
        let near = near.map(|near| near.into_iter().filter(|cpu| self.online.contains(cpu)).collect());
        let near: Vec<u32> =
            near.filter(|cpus: &Vec<u32>| !cpus.is_empty()).unwrap_or_else(|| self.online.clone());
        let is_second = |cpu: &u32| self.threads_with(*cpu).iter().any(|other| other < cpu);
        let (second, first): (Vec<u32>, Vec<u32>) = near.into_iter().partition(is_second);
        first.into_iter().chain(second).collect()
    }

    /// The CPUs that are threads of the same core, this one included.
    pub(crate) fn threads_with(&self, cpu: u32) -> Vec<u32> {
        let cores = self.cpu.as_ref().and_then(|cpu| cpu.core_threads.as_ref());
        let lists = cores.into_iter().flatten().filter_map(|list| parse_cpu_list(list));
        let mut cores = lists.map(|cpus| cpus.into_iter().map(|cpu| cpu.number()).collect::<Vec<_>>());
        cores.find(|threads| threads.contains(&cpu)).unwrap_or_else(|| vec![cpu])
    }
}
