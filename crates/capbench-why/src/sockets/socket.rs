//! A socket that captures: whose it is, how it captures, what it counted.

use std::collections::HashMap;

use serde::Serialize;

use super::processes::Process;

/// How a socket takes frames over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// AF_PACKET without a ring: a copy for each call.
    Recv,
    /// AF_PACKET with a ring of slots, TPACKET_V1.
    PacketV1,
    /// AF_PACKET with a ring of slots, TPACKET_V2.
    PacketV2,
    /// AF_PACKET with a ring of blocks, TPACKET_V3.
    PacketV3,
    /// AF_XDP, which takes frames that an XDP program gives it from one receive queue.
    AfXdp,
    /// PF_RING of ntop's kernel module.
    PfRing,
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

/// A ring's geometry. A ring of PF_RING is one block with slots as long as their frame. For AF_XDP the blocks are the chunks of its memory and the slots those of the receive ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Ring {
    /// Blocks.
    pub blocks: u32,
    /// Octets of each.
    pub block_octets: u64,
    /// Slots for frames; of a TPACKET_V3 ring only nominal, since frames take what they need there.
    pub slots: u32,
    /// Octets of each.
    pub slot_octets: u32,
}

/// The fanout group that a packet socket shares its frames with (packet(7)).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fanout {
    /// Its number, within the network namespace.
    pub id: u32,
    /// How frames are spread, by the name of `PACKET_FANOUT_*`.
    pub kind: String,
    /// Sockets in it; absent where it is not told.
    pub members: Option<u32>,
}

/// A socket that captures. Counters are those since its owner last read them, or since it was made; in an interval, what
/// came in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Socket {
    /// What tells it from all others: its inode; of a ring of PF_RING 2^52 and the module's number for it.
    pub inode: u64,
    /// Processes that have it open.
    pub processes: Vec<Process>,
    /// Its network namespace, by its inode (namespaces(7)).
    pub namespace: u64,
    /// How it captures.
    pub method: Method,
    /// The interface that it is bound to; absent where it takes frames of every interface of its namespace, and where the
    /// interface has gone.
    pub interface: Option<String>,
    /// Whether it takes frames of every interface of its namespace.
    pub every_interface: bool,
    /// Whether it takes frames at all; those without a protocol or a receive ring only send.
    pub receives: bool,
    /// Its ring, where it has one.
    pub ring: Option<Ring>,
    /// Octets that may wait without a ring (SO_RCVBUF), memory for administration included.
    pub receive_buffer: Option<u32>,
    /// The receive queue that an AF_XDP socket is bound to.
    pub queue: Option<u32>,
    /// Whether an AF_XDP socket shares its memory with the NIC; absent for others.
    pub zero_copy: Option<bool>,
    /// Its fanout group.
    pub fanout: Option<Fanout>,
    /// Whether a filter decides what it gets; absent where it is not told.
    pub filter: Option<bool>,
    /// Frames are cut to so many octets, where that is known.
    pub cut_to: Option<u32>,
    /// Whether it also gets copies of what the host sends; absent where it is not told.
    pub outgoing: Option<bool>,
    /// Frames that it took; absent where that cannot be read. AF_XDP does not count them.
    pub accepted: Option<u64>,
    /// Frames that it lost for want of room; absent where that cannot be read.
    pub dropped: Option<u64>,
    /// The same without regard to the interval: since its owner last read its counters, or since it was made.
    pub dropped_in_all: Option<u64>,
    /// Of the former, lost because the receive ring was full: AF_XDP only.
    pub ring_full: Option<u64>,
    /// Times that the fill ring of an AF_XDP socket had no buffer.
    pub fill_empty: Option<u64>,
    /// Times that a TPACKET_V3 ring stopped because every block was full.
    pub freezes: Option<u64>,
    /// Whether the owner was seen to read, and so to reset, the counters, meanwhile or earlier: then they tell the least. A
    /// reading is seen where a counter went back; who reads once may read again between two of ours unseen.
    pub at_least: bool,
    /// Whether it was closed in the interval.
    pub closed: bool,
}

impl Socket {
    /// Who has it open, in words.
    pub fn owner(&self) -> String {
        match self.processes.first() {
            Some(process) => process.to_string(),
            None => "unknown process".into(),
        }
    }

    /// What frames wait in, in words.
    pub fn what(&self) -> String {
        match self.method {
            Method::Recv => "socket queue".into(),
            Method::AfXdp => format!("AF_XDP socket (queue {})", self.queue.unwrap_or(0)),
            ring => ring.to_string(),
        }
    }

    /// What it counted since `before`. A counter that went back was read by its owner, which resets it.
    fn since(&self, before: &Self) -> Self {
        let was_read =
            |now: Option<u64>, then: Option<u64>| now.zip(then).is_some_and(|(now, then)| now < then);
        let is_reset = was_read(self.accepted, before.accepted)
            || was_read(self.dropped, before.dropped)
            || was_read(self.freezes, before.freezes);
        // Reading resets them all at once.
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
            accepted: count(self.accepted, before.accepted),
            dropped: count(self.dropped, before.dropped),
            ring_full: count(self.ring_full, before.ring_full),
            fill_empty: count(self.fill_empty, before.fill_empty),
            freezes: count(self.freezes, before.freezes),
            at_least: is_reset || before.at_least,
            ..self.clone()
        }
    }
}

/// What each of these counted since `before`. One that is new counts from 0; how much of its process's CPU time came
/// since is not known.
pub(super) fn since(now: &[Socket], before: &HashMap<u64, &Socket>) -> Vec<Socket> {
    let new = |socket: &Socket| {
        let without_time = |process: &Process| Process { cpu_s: None, ..process.clone() };
        Socket { processes: socket.processes.iter().map(without_time).collect(), ..socket.clone() }
    };
    let then = |socket: &Socket| before.get(&socket.inode);
    now.iter().map(|socket| then(socket).map_or_else(|| new(socket), |old| socket.since(old))).collect()
}
