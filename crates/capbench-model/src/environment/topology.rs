//! The CPUs of a host: which are threads of one core, and which are near a card.

use capbench_sys::host::affinity::parse_cpu_list;

use super::Environment;
use super::hardware::{Cpu, Memory};

/// The CPUs of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The online ones.
    pub online: Vec<u32>,
    /// Those that are threads of one core, for each core with several.
    cores: Vec<Vec<u32>>,
    /// NUMA nodes with their CPUs.
    nodes: Vec<(u32, Vec<u32>)>,
}

impl Topology {
    /// These online CPUs, as far as the facts describe them.
    pub fn new(online: Vec<u32>, cpu: Option<&Cpu>, memory: Option<&Memory>) -> Self {
        let cores = cpu.and_then(|cpu| cpu.core_threads.as_ref()).into_iter().flatten();
        let nodes = memory.and_then(|memory| memory.numa_nodes.as_ref()).into_iter().flatten();
        Self {
            online,
            cores: cores.map(|list| cpus(list)).collect(),
            nodes: nodes.filter_map(|node| Some((node.node, cpus(node.cpus.as_deref()?)))).collect(),
        }
    }

    /// The CPUs of a saved environment. It has the online ones by NUMA node, and their number.
    pub fn of(environment: &Environment) -> Self {
        let found = Self::new(Vec::new(), environment.cpu.as_ref(), environment.memory.as_ref());
        let mut online: Vec<u32> = found.nodes.iter().flat_map(|(_, cpus)| cpus.iter().copied()).collect();
        online.sort_unstable();
        if online.is_empty() {
            online = (0..environment.cpus_online as u32).collect();
        }
        Self { online, ..found }
    }

    /// The CPUs that are threads of the same core, this one included.
    pub fn threads_with(&self, cpu: u32) -> Vec<u32> {
        self.cores.iter().find(|threads| threads.contains(&cpu)).cloned().unwrap_or_else(|| vec![cpu])
    }

    /// The cores with several threads.
    pub(super) fn cores(&self) -> &[Vec<u32>] {
        &self.cores
    }

    /// The node of a CPU, if it is another one than the card's.
    pub(super) fn far_node(&self, cpu: u32, card_node: Option<u32>) -> Option<u32> {
        let (node, _) = self.nodes.iter().find(|(_, cpus)| cpus.contains(&cpu))?;
        card_node.is_some_and(|card| card != *node).then_some(*node)
    }

    /// The online CPUs of the card's node, or all: one of each core before the other threads.
    pub fn near(&self, card_node: Option<u32>) -> Vec<u32> {
        let node = self.nodes.iter().find(|(node, _)| Some(*node) == card_node);
        let near = node.map(|(_, cpus)| cpus.iter().copied().filter(|cpu| self.online.contains(cpu)));
        let near = near.map(Iterator::collect).filter(|cpus: &Vec<u32>| !cpus.is_empty());
        let is_second = |cpu: &u32| self.threads_with(*cpu).iter().any(|other| other < cpu);
        let (second, first): (Vec<u32>, Vec<u32>) =
            near.unwrap_or_else(|| self.online.clone()).into_iter().partition(is_second);
        first.into_iter().chain(second).collect()
    }
}

/// The numbers of a list such as `0-3,8`; none if it cannot be read.
fn cpus(list: &str) -> Vec<u32> {
    parse_cpu_list(list).unwrap_or_default().into_iter().map(|cpu| cpu.number()).collect()
}
