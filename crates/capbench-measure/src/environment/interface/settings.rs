//! What `ethtool` shows of an interface with a driver: rings, queues, moderation, pause frames, RSS.

use capbench_sys::host::coalescing::Coalescing;
use capbench_sys::host::pause::Pause;
use capbench_sys::host::queues;
use capbench_sys::host::receive_hash::{self, HashFunction};
use capbench_sys::host::ring_sizes::RingSizes;
use serde::{Deserialize, Serialize};

/// Descriptors in each ring (`ethtool -g`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rings {
    /// In a receive ring.
    pub receive_descriptors: u32,
    /// In a receive ring, at most.
    pub most_receive_descriptors: u32,
    /// In a transmit ring.
    pub transmit_descriptors: u32,
    /// In a transmit ring, at most.
    pub most_transmit_descriptors: u32,
}

impl From<RingSizes> for Rings {
    fn from(sizes: RingSizes) -> Self {
        Self {
            receive_descriptors: sizes.receive,
            most_receive_descriptors: sizes.most_receive,
            transmit_descriptors: sizes.transmit,
            most_transmit_descriptors: sizes.most_transmit,
        }
    }
}

/// Queues as the driver counts them (`ethtool -l`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queues {
    /// That only receive.
    pub receive: u32,
    /// That only transmit.
    pub transmit: u32,
    /// Pairs of both with one interrupt.
    pub combined: u32,
    /// That only receive, at most.
    pub most_receive: u32,
    /// That only transmit, at most.
    pub most_transmit: u32,
    /// Pairs, at most.
    pub most_combined: u32,
}

impl Queues {
    pub(super) fn read(interface: &str) -> Option<Self> {
        let counts = queues::counts(interface).ok()??;
        Some(Self {
            receive: counts.receive,
            transmit: counts.transmit,
            combined: counts.combined,
            most_receive: counts.most_receive,
            most_transmit: counts.most_transmit,
            most_combined: counts.most_combined,
        })
    }
}

/// How interrupts are held back (`ethtool -c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moderation {
    /// For how many microseconds one is held back after a frame came.
    pub receive_us: u32,
    /// For how many frames; 0: whatever their number.
    pub receive_frames: u32,
    /// Whether the driver chooses these by the traffic.
    pub receive_adaptive: bool,
    /// Likewise after a frame was sent.
    pub transmit_us: u32,
    /// Likewise.
    pub transmit_frames: u32,
    /// Likewise.
    pub transmit_adaptive: bool,
}

impl Moderation {
    pub(super) fn read(interface: &str) -> Option<Self> {
        let now = Coalescing::read(interface).ok()??;
        Some(Self {
            receive_us: now.receive_usecs(),
            receive_frames: now.receive_frames(),
            receive_adaptive: now.is_adaptive(),
            transmit_us: now.transmit_usecs(),
            transmit_frames: now.transmit_frames(),
            transmit_adaptive: now.is_transmit_adaptive(),
        })
    }
}

/// What is done about pause frames, which make a sender wait where a receiver would lose (`ethtool -a`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PauseFrames {
    /// Whether both ends agree on it by themselves.
    pub negotiated: bool,
    /// Whether the interface waits when it is told to.
    pub obeys: bool,
    /// Whether it makes the other end wait.
    pub sends: bool,
}

impl From<Pause> for PauseFrames {
    fn from(Pause { negotiated, obeys, sends }: Pause) -> Self {
        Self { negotiated, obeys, sends }
    }
}

/// How received frames are shared out to queues (`ethtool -x`, `ethtool -n rx-flow-hash`).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharing {
    /// What the hash is computed by: `toeplitz`, `xor`, `crc32`, `other`.
    pub function: String,
    /// Entries of the table that leads from the hash to a queue.
    pub table_entries: u32,
    /// Queues that stand in it.
    pub queues_in_table: u32,
    /// Whether both directions of a connection get the same hash because the key repeats itself; absent without a key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub symmetric_key: Option<bool>,
    /// Whether the addresses of UDP over IPv4 go into the hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp4_by_addresses: Option<bool>,
    /// Whether the ports do, without which all flows between two hosts share a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub udp4_by_ports: Option<bool>,
}

impl Sharing {
    pub(super) fn read(interface: &str) -> Option<Self> {
        // Without a table nothing is shared out, whatever the driver says about hashes.
        let hash = receive_hash::read(interface).ok()?.filter(|hash| !hash.table.is_empty())?;
        let udp4 = receive_hash::udp4_fields(interface).ok().flatten();
        let function = match hash.function {
            HashFunction::Toeplitz => "toeplitz",
            HashFunction::Xor => "xor",
            HashFunction::Crc32 => "crc32",
            HashFunction::Other => "other",
        };
        let mut queues = hash.table.clone();
        queues.sort_unstable();
        queues.dedup();
        Some(Self {
            function: function.into(),
            table_entries: hash.table.len() as u32,
            queues_in_table: queues.len() as u32,
            symmetric_key: hash.symmetric_key,
            udp4_by_addresses: udp4.map(|fields| fields.addresses),
            udp4_by_ports: udp4.map(|fields| fields.ports),
        })
    }
}
