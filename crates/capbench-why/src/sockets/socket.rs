//! A socket that captures: its owner, its method, its counts.

use std::collections::HashMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::processes::Process;

/// How a socket receives frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// AF_PACKET without a ring: one copy per call.
    #[default]
    Recv,
    /// AF_PACKET with a ring of slots, TPACKET_V1.
    PacketV1,
    /// AF_PACKET with a ring of slots, TPACKET_V2.
    PacketV2,
    /// AF_PACKET with a ring of blocks, TPACKET_V3.
    PacketV3,
    /// AF_XDP: receives the frames that an XDP program redirects from one receive queue.
    AfXdp,
    /// PF_RING of ntop's kernel module.
    PfRing,
}

impl Method {
    /// Its name in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Self::Recv => "recv",
            Self::PacketV1 => "packet-v1",
            Self::PacketV2 => "packet-v2",
            Self::PacketV3 => "packet-v3",
            Self::AfXdp => "af-xdp",
            Self::PfRing => "pf-ring",
        }
    }
}

impl std::fmt::Display for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Recv => "recv",
            Self::PacketV1 => "TPACKET_V1 ring",
            Self::PacketV2 => "TPACKET_V2 ring",
            Self::PacketV3 => "TPACKET_V3 ring",
            Self::AfXdp => "AF_XDP",
            Self::PfRing => "PF_RING ring",
        })
    }
}

/// A ring's geometry. A ring of PF_RING is one block with slots as long as their frame. For AF_XDP the blocks are the chunks of
/// its memory and the slots those of the receive ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Ring {
    /// Number of blocks.
    pub blocks: u32,
    /// Octets per block.
    pub block_octets: u64,
    /// Slots for frames; nominal for a TPACKET_V3 ring, where a frame uses only the space that it needs.
    pub slots: u32,
    /// Octets per slot.
    pub slot_octets: u32,
}

/// The fanout group with which a packet socket shares its frames (packet(7)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Fanout {
    /// Its number, within the network namespace.
    pub id: u32,
    /// How the group distributes frames, by the name of `PACKET_FANOUT_*`.
    pub kind: String,
    /// Sockets in it; absent if not reported.
    pub members: Option<u32>,
}

/// A socket that captures. Counters count since its owner last read them, or since the socket was created; in an interval, they
/// count the interval only.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct Socket {
    /// Its unique number: its inode; for a ring of PF_RING 2^52 and the module's number.
    pub inode: u64,
    /// Processes that have it open.
    pub processes: Vec<Process>,
    /// Its network namespace, by its inode (namespaces(7)).
    pub namespace: u64,
    /// Its capture method.
    pub method: Method,
    /// The interface that it is bound to; absent if it receives frames of every interface of its namespace, or if the interface
    /// has disappeared.
    pub interface: Option<String>,
    /// Whether it receives frames of every interface of its namespace.
    pub every_interface: bool,
    /// Whether it receives frames; a socket without a protocol or a receive ring only sends.
    pub receives: bool,
    /// Its ring, if it has one.
    pub ring: Option<Ring>,
    /// Octets that may wait without a ring (SO_RCVBUF), including the kernel's overhead.
    pub receive_buffer: Option<u32>,
    /// The receive queue that an AF_XDP socket is bound to.
    pub queue: Option<u32>,
    /// Whether an AF_XDP socket shares its memory with the NIC; absent for others.
    pub zero_copy: Option<bool>,
    /// Its fanout group.
    pub fanout: Option<Fanout>,
    /// Whether a filter selects its frames; absent if not reported.
    pub filter: Option<bool>,
    /// Captured octets per frame, if limited and known.
    pub cut_to: Option<u32>,
    /// Whether it also receives copies of frames that the host sends; absent if not reported.
    pub outgoing: Option<bool>,
    /// Frames that it received; absent if unreadable. AF_XDP does not count them.
    pub accepted: Option<u64>,
    /// Frames that it lost because its buffer was full; absent if unreadable.
    pub dropped: Option<u64>,
    /// Lost frames since its owner last read its counters, or since it was created, independent of the interval.
    pub dropped_in_all: Option<u64>,
    /// Part of `dropped` that was lost because the receive ring was full: AF_XDP only.
    pub ring_full: Option<u64>,
    /// How often the fill ring of an AF_XDP socket had no buffer.
    pub fill_empty: Option<u64>,
    /// How often a TPACKET_V3 ring stopped because every block was full.
    pub freezes: Option<u64>,
    /// Whether the owner was seen to read, and thereby reset, the counters, in this interval or earlier: then they are lower
    /// bounds. A read is seen when a counter went backwards; further reads between two of ours can stay unseen.
    pub at_least: bool,
    /// Whether it was closed in the interval.
    pub closed: bool,
}

impl Socket {
    /// The processes that have it open, as text.
    pub fn owner(&self) -> String {
        match self.processes.first() {
            Some(process) => process.to_string(),
            None => "unknown process".into(),
        }
    }

    /// The buffer in which its frames wait, as text.
    pub fn what(&self) -> String {
        match self.method {
            Method::Recv => "socket queue".into(),
            Method::AfXdp => format!("AF_XDP socket (queue {})", self.queue.unwrap_or(0)),
            ring => ring.to_string(),
        }
    }

    /// Whether its owner has read its counters since `before`, which resets them: one went backwards.
    pub(crate) fn was_reset_since(&self, before: &Self) -> bool {
        let went_back =
            |now: Option<u64>, then: Option<u64>| now.zip(then).is_some_and(|(now, then)| now < then);
        went_back(self.accepted, before.accepted)
            || went_back(self.dropped, before.dropped)
            || went_back(self.freezes, before.freezes)
    }

    /// Its counts since `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let is_reset = self.was_reset_since(before);
        // A read resets all of them at once.
        let count = |now: Option<u64>, then: Option<u64>| match now.zip(then) {
            Some((now, then)) if !is_reset => Some(now - then),
            _ => now,
        };
        let of_before = |pid: u32| before.processes.iter().find(|process| process.pid == pid);
        let processes = self.processes.iter().map(|process| {
            let then = of_before(process.pid).and_then(|process| process.cpu_s);
            Process { cpu_s: process.cpu_s.zip(then).map(|(now, then)| now - then), ..process.clone() }
        });
        Self {
            processes: processes.collect(),
            at_least: is_reset || before.at_least,
            ..self.with_counts(before, count)
        }
    }

    /// The later socket with the counts of both.
    pub(super) fn plus(&self, later: &Self) -> Self {
        let processes = later.processes.iter().map(|process| {
            let before = self.processes.iter().find(|other| other.pid == process.pid);
            let cpu_s = match (before.and_then(|before| before.cpu_s), process.cpu_s) {
                (Some(before), Some(now)) => Some(before + now),
                (before, now) => before.or(now),
            };
            Process { cpu_s, ..process.clone() }
        });
        Self {
            processes: processes.collect(),
            at_least: self.at_least || later.at_least,
            ..later.with_counts(self, |one, other| Some(one? + other?))
        }
    }

    /// The same socket, each count computed from its own and that of another reading.
    fn with_counts(&self, other: &Self, of: impl Fn(Option<u64>, Option<u64>) -> Option<u64>) -> Self {
        Self {
            accepted: of(self.accepted, other.accepted),
            dropped: of(self.dropped, other.dropped),
            ring_full: of(self.ring_full, other.ring_full),
            fill_empty: of(self.fill_empty, other.fill_empty),
            freezes: of(self.freezes, other.freezes),
            ..self.clone()
        }
    }
}

/// The counts of each socket since `before`. A new one counts from 0; its process's CPU time in the interval is unknown.
pub(super) fn since(now: &[Socket], before: &HashMap<u64, &Socket>) -> Vec<Socket> {
    let new = |socket: &Socket| {
        let without_time = |process: &Process| Process { cpu_s: None, ..process.clone() };
        Socket { processes: socket.processes.iter().map(without_time).collect(), ..socket.clone() }
    };
    let then = |socket: &Socket| before.get(&socket.inode);
    now.iter().map(|socket| then(socket).map_or_else(|| new(socket), |old| socket.since(old))).collect()
}

/// The method by `enum tpacket_versions`.
pub(super) fn method(has_ring: bool, version: u32) -> Method {
    match (has_ring, version) {
        (false, _) => Method::Recv,
        (true, 0) => Method::PacketV1,
        (true, 1) => Method::PacketV2,
        (true, _) => Method::PacketV3,
    }
}

/// Captured octets per frame: limited by the filter's verdict or by the size of a slot.
pub(super) fn cut_to(method: Method, ring: Option<Ring>, reserve: u32, filter: Option<u32>) -> Option<u32> {
    /// Octets of a slot before the frame: its header, the sender's address and the alignment (packet_mmap).
    const IN_FRONT: u32 = 66;
    let slot = match method {
        Method::PacketV1 | Method::PacketV2 => {
            ring.map(|ring| ring.slot_octets.saturating_sub(IN_FRONT + reserve))
        }
        _ => None,
    };
    [slot, filter.filter(|octets| *octets > 0)].into_iter().flatten().min()
}

/// The name by `PACKET_FANOUT_*` of linux/if_packet.h.
pub(super) fn fanout_kind(kind: u32) -> String {
    match kind {
        0 => "hash".into(),
        1 => "lb".into(),
        2 => "cpu".into(),
        3 => "rollover".into(),
        4 => "rnd".into(),
        5 => "qm".into(),
        6 => "cbpf".into(),
        7 => "ebpf".into(),
        other => format!("kind {other}"),
    }
}
