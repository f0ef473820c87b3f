//! How the receive queues of an interface use the host: which CPUs they interrupt, and which queues get frames. A pure function
//! of the facts.

use std::collections::{BTreeMap, BTreeSet};

use capbench_sys::host::affinity::parse_cpu_list;
use serde::{Deserialize, Serialize};

use super::interface::InterfaceFacts;
use super::topology::Topology;

/// The interrupt of a receive queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueInterrupt {
    /// The queue.
    pub queue: u32,
    /// The driver's name of the interrupt.
    pub name: String,
    /// The CPUs that it interrupts. Empty if the host does not report them.
    pub cpus: Vec<u32>,
}

/// What is known about the queues of an interface and affects a capture.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum QueueFinding {
    /// More queues interrupt one CPU than need to.
    SameCpu {
        /// The CPU.
        cpu: u32,
        /// Its queues.
        queues: Vec<u32>,
        /// How many receive queues there are.
        of: u32,
    },
    /// Queues interrupt different CPUs that are threads of one core.
    SameCore {
        /// These CPUs.
        cpus: Vec<u32>,
        /// Their queues.
        queues: Vec<u32>,
        /// How many receive queues there are.
        of: u32,
    },
    /// A queue interrupts a CPU far from the card.
    RemoteNode {
        /// The queue.
        queue: u32,
        /// The CPU.
        cpu: u32,
        /// Its NUMA node.
        node: u32,
        /// The card's NUMA node.
        card_node: u32,
    },
    /// The table of RSS leaves queues out.
    UnusedQueues {
        /// Queues in the table.
        used: u32,
        /// How many receive queues there are.
        of: u32,
    },
    /// The table of RSS prefers a queue.
    Preferred {
        /// The queue.
        queue: u32,
        /// Its entries.
        entries: u32,
        /// Entries of the table.
        of: u32,
    },
    /// There are several queues, and the driver reports no table.
    NoTable {
        /// How many receive queues there are.
        queues: u32,
    },
    /// The two directions of a connection have different hashes.
    AsymmetricKey,
    /// The interrupts of some queues are not known.
    UnknownInterrupts {
        /// These queues.
        queues: Vec<u32>,
    },
}

impl QueueFinding {
    /// Whether it stands against capture. The others are worth knowing only.
    pub fn is_against_capture(&self) -> bool {
        match self {
            Self::SameCpu { .. }
            | Self::SameCore { .. }
            | Self::RemoteNode { .. }
            | Self::UnusedQueues { .. }
            | Self::Preferred { .. } => true,
            Self::NoTable { .. } | Self::AsymmetricKey | Self::UnknownInterrupts { .. } => false,
        }
    }

    /// Whether other CPUs for the interrupts would change it.
    pub fn is_about_interrupts(&self) -> bool {
        matches!(
            self,
            Self::SameCpu { .. }
                | Self::SameCore { .. }
                | Self::RemoteNode { .. }
                | Self::UnknownInterrupts { .. }
        )
    }
}

/// How many queues receive; `None` if neither the driver nor the kernel reports it.
pub fn receive_queues(facts: &InterfaceFacts) -> Option<u32> {
    let by_driver =
        facts.queues.map(|queues| queues.receive.saturating_add(queues.combined)).filter(|count| *count > 0);
    by_driver.or_else(|| facts.receive_queues.as_ref().map(|queues| queues.len() as u32))
}

/// The interrupts of the active receive queues, by queue. A queue whose interrupt has no name that is known is missing.
pub fn receive_interrupts(facts: &InterfaceFacts) -> Vec<QueueInterrupt> {
    let active = receive_queues(facts).unwrap_or(u32::MAX);
    let of_queue = |interrupt: &super::interface::Interrupt| {
        let name = interrupt.name.as_deref()?;
        let queue = receive_queue_of(name).filter(|queue| *queue < active)?;
        let list = |text: &Option<String>| -> Vec<u32> {
            let cpus = text.as_deref().and_then(parse_cpu_list).unwrap_or_default();
            cpus.into_iter().map(|cpu| cpu.number()).collect()
        };
        let (allowed, effective) = (list(&interrupt.allowed_cpus), list(&interrupt.effective_cpus));
        // A new affinity takes effect with the next interrupt: until then the CPU is one that is no longer allowed.
        let is_current = !effective.is_empty() && effective.iter().all(|cpu| allowed.contains(cpu));
        let cpus = match (is_current, &allowed[..]) {
            (true, _) => effective,
            (false, [_]) => allowed,
            (false, _) => Vec::new(),
        };
        Some((queue, QueueInterrupt { queue, name: name.into(), cpus }))
    };
    let interrupts = facts.interrupts.iter().flatten().filter_map(of_queue);
    interrupts.collect::<BTreeMap<_, _>>().into_values().collect()
}

/// The receive queue that an interrupt of this name serves: `eth0-rx-0`, `eth0-TxRx-3`, `virtio3-input.0`,
/// `mlx5_comp2@pci:0000:03:00.0`. `None` for those of transmit queues and of the card itself.
fn receive_queue_of(name: &str) -> Option<u32> {
    let own = name.split('@').next().unwrap_or_default();
    let before = own.trim_end_matches(|digit: char| digit.is_ascii_digit());
    let number = own[before.len()..].parse().ok()?;
    // The interface's name comes first and may contain anything.
    let kind = before
        .trim_end_matches(['-', '.', '_', ':'])
        .rsplit(['-', '.', '_', ':', ' '])
        .next()?
        .to_ascii_lowercase();
    const RECEIVING: [&str; 9] = ["rx", "txrx", "rxtx", "input", "comp", "rxq", "q", "queue", "fp"];
    RECEIVING.contains(&kind.as_str()).then_some(number)
}

/// What stands against capture: of the findings about interrupts those that other CPUs for the queues would change for the better.
pub fn against_capture(facts: &InterfaceFacts, host: &Topology) -> Vec<QueueFinding> {
    let interrupts = receive_interrupts(facts);
    let better = spread(&interrupts, &host.near(facts.numa_node));
    let can_be_better = is_better(facts, host, &interrupts, &better);
    let mut findings = judge(facts, host);
    findings.retain(|one| one.is_against_capture() && (can_be_better || !one.is_about_interrupts()));
    findings
}

/// A CPU for each queue, in turn.
pub fn spread(interrupts: &[QueueInterrupt], cpus: &[u32]) -> BTreeMap<u32, u32> {
    interrupts.iter().map(|one| one.queue).zip(cpus.iter().copied().cycle()).collect()
}

/// Whether these CPUs for the queues are better than those that they interrupt now. With fewer CPUs than queues some share one:
/// that is no fault where it cannot be better.
pub fn is_better(
    facts: &InterfaceFacts,
    host: &Topology,
    now: &[QueueInterrupt],
    better: &BTreeMap<u32, u32>,
) -> bool {
    let now = now.iter().filter_map(|one| Some((one.queue, *one.cpus.first()?))).collect();
    crowding(facts, host, better) < crowding(facts, host, &now)
}

/// Queues on the busiest core, queues on the busiest CPU, and queues on another NUMA node than the card.
fn crowding(facts: &InterfaceFacts, host: &Topology, placed: &BTreeMap<u32, u32>) -> (usize, usize, usize) {
    let on = |same: &dyn Fn(u32, u32) -> bool| {
        let sharing = placed.values().map(|cpu| placed.values().filter(|other| same(*cpu, **other)).count());
        sharing.max().unwrap_or(0)
    };
    (
        on(&|one, other| host.threads_with(one).contains(&other)),
        on(&|one, other| one == other),
        placed.values().filter(|cpu| host.far_node(**cpu, facts.numa_node).is_some()).count(),
    )
}

/// As many queues as an interface can have: a frame has the number of its queue in 16 bits (`queue_mapping` of include/linux/skbuff.h).
const MOST_QUEUES: u32 = 1 << 16;

/// What is to know about the queues of an interface.
pub fn judge(facts: &InterfaceFacts, host: &Topology) -> Vec<QueueFinding> {
    let Some(of) = receive_queues(facts).filter(|_| facts.interrupts.is_some()) else { return Vec::new() };
    let interrupts = receive_interrupts(facts);
    let mut findings = same_cpus(&interrupts, of, host);
    findings.extend(remote_nodes(&interrupts, facts.numa_node, host));
    let known = |queue: &u32| interrupts.iter().any(|one| one.queue == *queue && !one.cpus.is_empty());
    // A file can state any number.
    let unknown: Vec<u32> = (0..of.min(MOST_QUEUES)).filter(|queue| !known(queue)).collect();
    if !unknown.is_empty() {
        findings.push(QueueFinding::UnknownInterrupts { queues: unknown });
    }
    findings.extend(of_table(facts, of));
    findings
}

fn same_cpus(interrupts: &[QueueInterrupt], of: u32, host: &Topology) -> Vec<QueueFinding> {
    let mut by_cpu: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for interrupt in interrupts {
        // One that may go to several CPUs goes to each of them now and then.
        if let [only] = interrupt.cpus[..] {
            by_cpu.entry(only).or_default().push(interrupt.queue);
        }
    }
    let shared = by_cpu.iter().filter(|(_, queues)| queues.len() > 1);
    let mut findings: Vec<_> =
        shared.map(|(cpu, queues)| QueueFinding::SameCpu { cpu: *cpu, queues: queues.clone(), of }).collect();
    for core in host.cores() {
        let cpus: Vec<u32> = core.iter().copied().filter(|cpu| by_cpu.contains_key(cpu)).collect();
        if cpus.len() > 1 {
            let queues: BTreeSet<u32> = cpus.iter().flat_map(|cpu| by_cpu[cpu].iter().copied()).collect();
            findings.push(QueueFinding::SameCore { cpus, queues: queues.into_iter().collect(), of });
        }
    }
    findings
}

fn remote_nodes(interrupts: &[QueueInterrupt], card_node: Option<u32>, host: &Topology) -> Vec<QueueFinding> {
    let remote = |interrupt: &QueueInterrupt| {
        let far = |cpu: &u32| Some((*cpu, host.far_node(*cpu, card_node)?));
        let (cpu, node) = interrupt.cpus.iter().find_map(far)?;
        Some(QueueFinding::RemoteNode { queue: interrupt.queue, cpu, node, card_node: card_node? })
    };
    interrupts.iter().filter_map(remote).collect()
}

fn of_table(facts: &InterfaceFacts, of: u32) -> Vec<QueueFinding> {
    if of < 2 {
        return Vec::new();
    }
    let Some(sharing) = &facts.sharing else { return vec![QueueFinding::NoTable { queues: of }] };
    let mut findings = Vec::new();
    if sharing.queues_in_table < of {
        findings.push(QueueFinding::UnusedQueues { used: sharing.queues_in_table, of });
    }
    // Entries that cannot be divided evenly are no preference.
    let most = sharing.table_entries.div_ceil(sharing.queues_in_table.max(1));
    let by_queue = sharing.entries_by_queue.iter().flatten().zip(0..);
    if let Some((entries, queue)) =
        by_queue.max_by_key(|(entries, _)| **entries).filter(|(entries, _)| **entries > most)
    {
        findings.push(QueueFinding::Preferred { queue, entries: *entries, of: sharing.table_entries });
    }
    if sharing.symmetric_key == Some(false) {
        findings.push(QueueFinding::AsymmetricKey);
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::for_tests::{card_with_queues, cores_and_nodes, interrupt, rss_table};

    /// A card with four queues whose interrupts go to these CPUs.
    fn card(cpus: [&str; 4]) -> InterfaceFacts {
        card_with_queues(cpus, rss_table(vec![32; 4]))
    }

    fn host() -> Topology {
        let (cpu, memory) = cores_and_nodes(&["2-3", "4,12"], &["0-7", "8-15"]);
        Topology::new((0..16).collect(), Some(&cpu), Some(&memory))
    }

    #[test]
    fn a_file_with_billions_of_queues_costs_no_more_than_a_card_can_have() {
        let mut facts = card(["0", "1", "2", "4"]);
        let mut queues = facts.queues.unwrap();
        queues.combined = u32::MAX;
        facts.queues = Some(queues);
        let [QueueFinding::UnknownInterrupts { queues }, ..] = &judge(&facts, &host())[..] else {
            panic!("the interrupts of most queues are unknown")
        };
        assert!(queues.len() < 1 << 16, "{}", queues.len());
    }

    #[test]
    fn each_queue_has_a_core_next_to_the_card_and_nothing_is_said() {
        assert_eq!(judge(&card(["0", "1", "2", "4"]), &host()), []);
    }

    #[test]
    fn queues_that_share_a_cpu_or_a_core_or_are_far_away_are_named() {
        assert_eq!(
            judge(&card(["1", "1", "2", "3"]), &host()),
            [
                QueueFinding::SameCpu { cpu: 1, queues: vec![0, 1], of: 4 },
                QueueFinding::SameCore { cpus: vec![2, 3], queues: vec![2, 3], of: 4 }
            ]
        );
        assert_eq!(
            judge(&card(["0", "1", "2", "9"]), &host()),
            [QueueFinding::RemoteNode { queue: 3, cpu: 9, node: 1, card_node: 0 }]
        );
        assert_eq!(
            judge(&card(["5", "5", "5", "0"]), &host())[0],
            QueueFinding::SameCpu { cpu: 5, queues: vec![0, 1, 2], of: 4 }
        );
        let facts = InterfaceFacts { numa_node: None, ..card(["0", "1", "2", "9"]) };
        assert_eq!(judge(&facts, &host()), [], "a host with one node");
    }

    #[test]
    fn what_cannot_be_better_does_not_stand_against_capture() {
        assert_eq!(
            against_capture(&card(["1", "1", "0", "4"]), &host()),
            [QueueFinding::SameCpu { cpu: 1, queues: vec![0, 1], of: 4 }]
        );
        let two_cpus = Topology::new(vec![0, 1], None, None);
        assert_eq!(against_capture(&card(["0", "1", "0", "1"]), &two_cpus), []);
        assert_eq!(against_capture(&card(["0", "1", "1", "1"]), &two_cpus).len(), 1);
        // The table does not depend on CPUs.
        let facts = InterfaceFacts { sharing: Some(rss_table(vec![64, 64])), ..card(["0", "1", "0", "1"]) };
        assert_eq!(against_capture(&facts, &two_cpus), [QueueFinding::UnusedQueues { used: 2, of: 4 }]);
    }

    #[test]
    fn the_table_is_judged_and_a_driver_without_one_says_so() {
        let with = |sharing| judge(&InterfaceFacts { sharing, ..card(["0", "1", "2", "4"]) }, &host());
        assert_eq!(with(Some(rss_table(vec![64, 64]))), [QueueFinding::UnusedQueues { used: 2, of: 4 }]);
        assert_eq!(
            with(Some(rss_table(vec![100, 10, 9, 9]))),
            [QueueFinding::Preferred { queue: 0, entries: 100, of: 128 }]
        );
        assert_eq!(with(Some(rss_table(vec![43, 43, 42, 42]))), [], "not divisible");
        assert_eq!(with(None), [QueueFinding::NoTable { queues: 4 }]);
        let asymmetric =
            capbench_sys::host::ethtool::Sharing { symmetric_key: Some(false), ..rss_table(vec![32; 4]) };
        assert_eq!(with(Some(asymmetric)), [QueueFinding::AsymmetricKey]);
    }

    #[test]
    fn an_affinity_that_is_not_yet_in_effect_counts() {
        let cpus = |allowed, effective| {
            let interrupts = Some(vec![interrupt("virtio3-input.0", allowed, effective)]);
            receive_interrupts(&InterfaceFacts { interrupts, ..InterfaceFacts::default() })[0].cpus.clone()
        };
        assert_eq!(cpus("1", "3"), [1]);
        assert_eq!(cpus("0-3", "3"), [3]);
        assert_eq!((cpus("0-3", ""), cpus("", "")), (vec![], vec![]));
        let facts = InterfaceFacts {
            interrupts: Some(vec![interrupt("eth0-TxRx-0", "0-3", "")]),
            ..card(["0", "1", "2", "4"])
        };
        assert_eq!(judge(&facts, &host()), [QueueFinding::UnknownInterrupts { queues: vec![0, 1, 2, 3] }]);
    }

    #[test]
    fn interrupts_of_receive_queues_have_many_names() {
        for (name, queue) in [
            ("eth0-rx-0", Some(0)),
            ("eth0-tx-0", None),
            ("eth0", None),
            ("eth0-TxRx-12", Some(12)),
            ("i40e-enp3s0f0-TxRx-7", Some(7)),
            ("eth1-rxtx-3", Some(3)),
            ("eth1-event-4", None),
            ("eth0-Tx-Rx-2", Some(2)),
            ("virtio3-input.1", Some(1)),
            ("virtio3-output.1", None),
            ("virtio3-config", None),
            ("mlx5_comp5@pci:0000:03:00.0", Some(5)),
            ("mlx5_async0@pci:0000:03:00.0", None),
            ("", None),
            ("rx-99999999999", None),
        ] {
            assert_eq!(receive_queue_of(name), queue, "{name}");
        }
    }

    #[test]
    fn a_virtual_link_has_no_queues_to_judge() {
        assert_eq!(judge(&InterfaceFacts::default(), &host()), []);
        let facts = InterfaceFacts { interrupts: None, ..card(["0", "0", "0", "0"]) };
        assert_eq!(judge(&facts, &host()), []);
    }
}
