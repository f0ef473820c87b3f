//! What is judged: values only, so that the judgement is a pure function of them.

use std::collections::BTreeMap;

use capbench_host::accounts::softnet::SoftnetSnapshot;
use capbench_model::environment::Environment;
use capbench_model::environment::hardware::Cpu;
use capbench_model::environment::interface::{InterfaceFacts, PathInterface};
use capbench_model::environment::topology::Topology;
use capbench_model::trial::TrialResult;
use capbench_sys::host::affinity;

use crate::changes::Settings;
use crate::setting::{OffloadName, Setting};
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
    /// Cores, NUMA nodes and online CPUs.
    pub topology: Topology,
    /// Whether irqbalance runs; `None` if other processes are not visible.
    pub irqbalance: Option<bool>,
    /// How often the receive softirq ran out of its budget on all CPUs: since boot, or during the trials of a run.
    pub squeezes: Option<u64>,
    /// Whether these are the facts of a run that has ended.
    pub is_of_run: bool,
    /// The present values of settings. What is not there is absent.
    pub settings: BTreeMap<Setting, String>,
}

/// Settings of the kernel that are judged.
pub(crate) const SYSCTLS: [&str; 5] =
    [BACKLOG, "net.core.netdev_budget", "net.core.netdev_budget_usecs", "net.core.dev_weight", BUFFER];
pub(crate) const BACKLOG: &str = "net.core.netdev_max_backlog";
pub(crate) const BUFFER: &str = "net.core.rmem_max";
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
            wanted.extend((0..states as u32).map(|state| Setting::idle_state(*cpu, state)));
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
            topology: Topology::new(online, environment.cpu.as_ref(), environment.memory.as_ref()),
            cpu: environment.cpu.clone(),
            irqbalance: environment.others.as_ref().and_then(|others| others.irqbalance_running),
            squeezes: SoftnetSnapshot::read().ok().map(|snapshot| snapshot.time_squeezes()),
            is_of_run: false,
            settings,
        })
    }

    /// The facts that a run saved about its host and an interface. Settings that it saved of all CPUs together are those of each CPU
    /// only where all have the same.
    pub fn of_run(environment: &Environment, interface: &PathInterface, trials: &[&TrialResult]) -> Self {
        let topology = Topology::of(environment);
        let sysctls = environment.sysctls.iter().flatten();
        let mut settings: BTreeMap<Setting, String> =
            sysctls.map(|(name, value)| (Setting::Sysctl(name.clone()), value.clone())).collect();
        // Runs of early versions.
        let named = [(BACKLOG, environment.netdev_max_backlog), (BUFFER, environment.rmem_max_bytes)];
        for (name, value) in named.into_iter().filter_map(|(name, value)| Some((name, value?))) {
            settings.entry(Setting::Sysctl(name.into())).or_insert_with(|| value.to_string());
        }
        for which in OffloadName::ALL.into_iter().filter(|_| interface.facts.offloads_on.is_some()) {
            let is_on = interface.facts.offloads_on.iter().flatten().any(|name| name == which.feature());
            settings.insert(Setting::Offload(which), u8::from(is_on).to_string());
        }
        let frequency = environment.cpu.as_ref().and_then(|cpu| cpu.frequency.as_ref());
        if let Some([governor]) = frequency.map(|frequency| &frequency.governors[..]) {
            let each = topology.online.iter().map(|cpu| Setting::Cpu { cpu: *cpu, file: GOVERNOR.into() });
            settings.extend(each.map(|setting| (setting, governor.clone())));
        }
        let idle = environment.cpu.as_ref().and_then(|cpu| cpu.idle.as_ref());
        // Of the first CPU.
        for (state, number) in idle.iter().flat_map(|idle| &idle.states).zip(0..) {
            if let (Some(cpu), Some(is_disabled)) = (topology.online.first(), state.disabled) {
                let setting = Setting::idle_state(*cpu, number);
                settings.insert(setting, u8::from(is_disabled).to_string());
            }
        }
        let squeezes = trials.iter().flat_map(|trial| &trial.counters).filter_map(|(name, count)| {
            (name.starts_with("softnet.") && name.ends_with(".time_squeeze")).then_some(*count)
        });
        Self {
            interface: interface.name.clone(),
            card: interface.facts.clone(),
            cpu: environment.cpu.clone(),
            irqbalance: environment.others.as_ref().and_then(|others| others.irqbalance_running),
            squeezes: squeezes.reduce(|one, other| one + other),
            is_of_run: true,
            topology,
            settings,
        }
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
        self.topology.near(self.card.numa_node)
    }
}
