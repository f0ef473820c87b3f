//! How the receive queues of an interface use the host: which CPUs they interrupt, and which queues get frames. A pure function
//! of the facts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use capbench_sys::host::affinity::parse_cpu_list;

use super::hardware::{Cpu, Memory};
use super::interface::InterfaceFacts;

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
#[derive(Clone, Debug, PartialEq, Eq)]
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

impl fmt::Display for QueueFinding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::SameCpu { cpu, queues, of } => write!(
                formatter,
                "{} of {of} queues interrupt the same CPU {cpu}: queues {}",
                queues.len(),
                listed(queues)
            ),
            Self::SameCore { cpus, queues, of } => write!(
                formatter,
                "{} of {of} queues interrupt the same core: CPUs {} are threads of one core",
                queues.len(),
                listed(cpus)
            ),
            Self::RemoteNode { queue, cpu, node, card_node } => write!(
                formatter,
                "queue {queue} interrupts CPU {cpu} on NUMA node {node}, and the card is on node {card_node}"
            ),
            Self::UnusedQueues { used, of } => {
                write!(formatter, "the RSS table distributes frames to {used} of {of} queues")
            }
            Self::Preferred { queue, entries, of } => {
                write!(formatter, "queue {queue} has {entries} of {of} entries of the RSS table")
            }
            Self::NoTable { queues } => write!(
                formatter,
                "the driver reports no RSS table: how it distributes frames to {queues} queues is unknown"
            ),
            Self::AsymmetricKey => formatter.write_str(
                "the RSS key is not symmetric: the two directions of a connection can come to different queues",
            ),
            Self::UnknownInterrupts { queues } => {
                write!(formatter, "the CPUs of the interrupts of queues {} are unknown", listed(queues))
            }
        }
    }
}

/// `0, 1 and 3`.
fn listed(numbers: &[u32]) -> String {
    let words: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match &words[..] {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        _ => words.concat(),
    }
}

/// How many queues receive; `None` if neither the driver nor the kernel reports it.
pub fn receive_queues(facts: &InterfaceFacts) -> Option<u32> {
    let by_driver = facts.queues.map(|queues| queues.receive + queues.combined).filter(|count| *count > 0);
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

/// What is to know about the queues of an interface.
pub fn judge(facts: &InterfaceFacts, cpu: Option<&Cpu>, memory: Option<&Memory>) -> Vec<QueueFinding> {
    let Some(of) = receive_queues(facts).filter(|_| facts.interrupts.is_some()) else { return Vec::new() };
    let interrupts = receive_interrupts(facts);
    let mut findings = same_cpus(&interrupts, of, cpu);
    findings.extend(remote_nodes(&interrupts, facts.numa_node, memory));
    let known = |queue: &u32| interrupts.iter().any(|one| one.queue == *queue && !one.cpus.is_empty());
    let unknown: Vec<u32> = (0..of).filter(|queue| !known(queue)).collect();
    if !unknown.is_empty() {
        findings.push(QueueFinding::UnknownInterrupts { queues: unknown });
    }
    findings.extend(of_table(facts, of));
    findings
}

fn same_cpus(interrupts: &[QueueInterrupt], of: u32, cpu: Option<&Cpu>) -> Vec<QueueFinding> {
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
    for core in cpu.and_then(|cpu| cpu.core_threads.as_ref()).into_iter().flatten() {
        let threads = parse_cpu_list(core).unwrap_or_default();
        let used = threads.iter().map(|cpu| cpu.number()).filter(|cpu| by_cpu.contains_key(cpu));
        let cpus: Vec<u32> = used.collect();
        if cpus.len() > 1 {
            let queues: BTreeSet<u32> = cpus.iter().flat_map(|cpu| by_cpu[cpu].iter().copied()).collect();
            findings.push(QueueFinding::SameCore { cpus, queues: queues.into_iter().collect(), of });
        }
    }
    findings
}

fn remote_nodes(
    interrupts: &[QueueInterrupt],
    card_node: Option<u32>,
    memory: Option<&Memory>,
) -> Vec<QueueFinding> {
    let nodes = memory.and_then(|memory| memory.numa_nodes.as_ref());
    let (Some(card_node), Some(nodes)) = (card_node, nodes) else { return Vec::new() };
    let node_of = |cpu: u32| {
        let has =
            |list: &str| parse_cpu_list(list).is_some_and(|cpus| cpus.iter().any(|one| one.number() == cpu));
        nodes.iter().find(|node| node.cpus.as_deref().is_some_and(has)).map(|node| node.node)
    };
    let remote = |interrupt: &QueueInterrupt| {
        let far = |cpu: &u32| node_of(*cpu).filter(|node| *node != card_node).map(|node| (*cpu, node));
        let (cpu, node) = interrupt.cpus.iter().find_map(far)?;
        Some(QueueFinding::RemoteNode { queue: interrupt.queue, cpu, node, card_node })
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
    use capbench_sys::host::ethtool::{Queues, Sharing};

    use super::super::hardware::NumaNode;
    use super::super::interface::Interrupt;
    use super::*;

    fn interrupt(name: &str, allowed: &str, effective: &str) -> Interrupt {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        Interrupt {
            number: 30,
            name: Some(name.into()),
            allowed_cpus: text(allowed),
            effective_cpus: text(effective),
            numa_node: None,
        }
    }

    /// A card with four queues whose interrupts go to these CPUs.
    fn card(cpus: [&str; 4]) -> InterfaceFacts {
        let named = cpus.iter().enumerate();
        let mut interrupts: Vec<_> =
            named.map(|(queue, cpu)| interrupt(&format!("eth0-TxRx-{queue}"), "0-15", cpu)).collect();
        interrupts.push(interrupt("eth0", "0-15", "0"));
        InterfaceFacts {
            queues: Some(Queues {
                receive: 0,
                transmit: 0,
                combined: 4,
                most_receive: 0,
                most_transmit: 0,
                most_combined: 8,
            }),
            numa_node: Some(0),
            interrupts: Some(interrupts),
            sharing: Some(table(vec![32; 4])),
            ..InterfaceFacts::default()
        }
    }

    fn table(by_queue: Vec<u32>) -> Sharing {
        Sharing {
            function: "toeplitz".into(),
            table_entries: by_queue.iter().sum(),
            queues_in_table: by_queue.iter().filter(|entries| **entries > 0).count() as u32,
            entries_by_queue: Some(by_queue),
            symmetric_key: Some(true),
            udp4_by_addresses: Some(true),
            udp4_by_ports: Some(true),
        }
    }

    fn host() -> (Cpu, Memory) {
        let node = |node, cpus: &str| NumaNode { node, cpus: Some(cpus.into()), distances: None };
        let cpu = Cpu { core_threads: Some(vec!["2-3".into(), "4,12".into()]), ..Cpu::default() };
        let nodes = vec![node(0, "0-7"), node(1, "8-15")];
        (cpu, Memory { numa_nodes: Some(nodes), ..Memory::default() })
    }

    fn sentences(facts: &InterfaceFacts) -> Vec<String> {
        let (cpu, memory) = host();
        judge(facts, Some(&cpu), Some(&memory)).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn each_queue_has_a_core_next_to_the_card_and_nothing_is_said() {
        assert_eq!(sentences(&card(["0", "1", "2", "4"])), [""; 0]);
    }

    #[test]
    fn queues_that_share_a_cpu_or_a_core_or_are_far_away_are_named() {
        assert_eq!(
            sentences(&card(["1", "1", "2", "3"])),
            [
                "2 of 4 queues interrupt the same CPU 1: queues 0 and 1",
                "2 of 4 queues interrupt the same core: CPUs 2 and 3 are threads of one core"
            ]
        );
        assert_eq!(
            sentences(&card(["0", "1", "2", "9"])),
            ["queue 3 interrupts CPU 9 on NUMA node 1, and the card is on node 0"]
        );
        assert_eq!(
            sentences(&card(["5", "5", "5", "0"]))[0],
            "3 of 4 queues interrupt the same CPU 5: queues 0, 1 and 2"
        );
        let facts = InterfaceFacts { numa_node: None, ..card(["0", "1", "2", "9"]) };
        assert_eq!(sentences(&facts), [""; 0], "a host with one node");
    }

    #[test]
    fn the_table_is_judged_and_a_driver_without_one_says_so() {
        let with = |sharing| sentences(&InterfaceFacts { sharing, ..card(["0", "1", "2", "4"]) });
        assert_eq!(with(Some(table(vec![64, 64]))), ["the RSS table distributes frames to 2 of 4 queues"]);
        assert_eq!(
            with(Some(table(vec![100, 10, 9, 9]))),
            ["queue 0 has 100 of 128 entries of the RSS table"]
        );
        assert_eq!(with(Some(table(vec![43, 43, 42, 42]))), [""; 0], "not divisible");
        assert_eq!(
            with(None),
            ["the driver reports no RSS table: how it distributes frames to 4 queues is unknown"]
        );
        let asymmetric = Sharing { symmetric_key: Some(false), ..table(vec![32; 4]) };
        assert!(with(Some(asymmetric))[0].starts_with("the RSS key is not symmetric"));
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
        assert_eq!(sentences(&facts), ["the CPUs of the interrupts of queues 0, 1, 2 and 3 are unknown"]);
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
        assert_eq!(judge(&InterfaceFacts::default(), None, None), []);
        let facts = InterfaceFacts { interrupts: None, ..card(["0", "0", "0", "0"]) };
        assert_eq!(judge(&facts, None, None), []);
    }
}
