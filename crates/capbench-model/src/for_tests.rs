//! Values that tests begin with, for this crate and those above it.

use std::time::Duration;

use capbench_frames::TransmitSpec;
use capbench_frames::layout::FrameLayout;
use capbench_frames::sizes::Sizes;
use capbench_frames::units::FrameSize;
use capbench_sys::host::ethtool::{Queues, Sharing};

use crate::arrivals::Arrivals;
use crate::counters::{Counters, Loss};
use crate::environment::hardware::{Cpu, Memory, NumaNode};
use crate::environment::interface::{InterfaceFacts, Interrupt};
use crate::evidence::Evidence;
use crate::laboratory::Setup;
use crate::method_spec::MethodSpec;
use crate::options::CaptureOptions;
use crate::placement::PlacementChoice;
use crate::places::Place;
use crate::softirqs::SoftirqTiming;
use crate::trial::{Cpus, Measured, Profile, SizeLabel, TrialResult};
use crate::work::WorkModel;

/// A set-up with fixed frame size and defaults for the rest.
///
/// # Panics
/// When the size is no legal frame size.
pub fn setup(octets: u16) -> Setup {
    Setup {
        method: MethodSpec::plain("packet-v3"),
        sizes: Sizes::Fixed(FrameSize::new(octets.into()).expect("a legal frame size")),
        layout: FrameLayout::default(),
        placement: PlacementChoice::Same,
        work: WorkModel::None.into(),
        capture: CaptureOptions::default(),
        moderation: None,
        transmit: TransmitSpec::plain("simulated"),
        burst: None,
        quiet: Duration::ZERO,
        latency: None,
        softirqs: SoftirqTiming::default(),
    }
}

/// A method on the same CPU: 64-byte frames, no work.
pub fn profile(method: &str) -> Profile {
    Profile {
        method: method.into(),
        frame_size: SizeLabel::Octets(64),
        mean_frame_size: 64.0,
        traffic: "IPv4/UDP, 1 flow".into(),
        transmit: "packet-tx".into(),
        placement: "same".into(),
        cpus: Cpus { generator: 0, kernel: Some(1), application: 1 },
        load_independent: true,
        load_depends: None,
        load_depends_because: None,
        work: "none".into(),
    }
}

/// A trial of a second over a virtual link: what was not sent, and what was not delivered although `ring_drops` explains it.
pub fn measured(intended: u64, sent: u64, delivered: u64, ring_drops: u64) -> Measured {
    Measured {
        trial: TrialResult { intended, ..TrialResult::default() },
        evidence: Evidence {
            sent,
            unsent: intended - sent,
            delivered,
            read: delivered,
            transmit_drops: Some(0),
            link_drops: Some(0),
            backlog_drops: Some(0),
            virtual_pair: true,
            method: Counters {
                accepted: Some(delivered + ring_drops),
                losses: vec![Loss { place: Place::Ring, count: Some(ring_drops), source: "tp_drops".into() }],
                without: vec![Place::FillRing, Place::MethodQueue],
                raw: Vec::new(),
            },
            ..Evidence::default()
        },
        arrivals: Arrivals { read: delivered, delivered, ..Arrivals::default() },
        sending: Duration::from_secs(1),
        ..Measured::default()
    }
}

/// An interrupt with these lists of CPUs; an empty one is unknown.
pub fn interrupt(name: &str, allowed: &str, effective: &str) -> Interrupt {
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    Interrupt {
        number: 30,
        name: Some(name.into()),
        allowed_cpus: text(allowed),
        effective_cpus: text(effective),
        numa_node: None,
    }
}

/// A card on NUMA node 0 with four queues of up to eight: their interrupts, numbered from 40, go to these CPUs.
pub fn card_with_queues(cpus: [&str; 4], table: Sharing) -> InterfaceFacts {
    let of_queue = |(queue, cpu): (u32, &str)| Interrupt {
        number: 40 + queue,
        ..interrupt(&format!("eth0-TxRx-{queue}"), "0-15", cpu)
    };
    let mut interrupts: Vec<_> = (0..).zip(cpus).map(of_queue).collect();
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
        sharing: Some(table),
        ..InterfaceFacts::default()
    }
}

/// An RSS table with so many entries for each queue, and a symmetric key.
pub fn rss_table(by_queue: Vec<u32>) -> Sharing {
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

/// A host with these CPUs as threads of one core each, and these of each NUMA node.
pub fn cores_and_nodes(cores: &[&str], nodes: &[&str]) -> (Cpu, Memory) {
    let core_threads = cores.iter().map(ToString::to_string).collect();
    let node = |(node, cpus): (u32, &&str)| NumaNode { node, cpus: Some((*cpus).into()), distances: None };
    let numa_nodes = (0..).zip(nodes).map(node).collect();
    (
        Cpu { core_threads: Some(core_threads), ..Cpu::default() },
        Memory { numa_nodes: Some(numa_nodes), ..Memory::default() },
    )
}
