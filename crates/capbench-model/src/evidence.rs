//! Counts around a trial. The ledger is made of them.
//!
//! One frame can count in several of the kernel's counters. The files of this module decide at which place it is booked, and none
//! outside it:
//!
//! | file | decides |
//! |---|---|
//! | `booking.rs` | how many frames each place lost, and by which counters |
//! | `refused.rs` | whether a refused frame belongs to the sender, to the queue of a veth or to the backlog |
//! | [`cards`] | whether a frame that is missing between two cards belongs to the path, the card, its driver or XDP, or is unknown |

mod booking;
pub mod cards;
mod refused;

use crate::counters::Counters;
use serde::{Deserialize, Serialize};

use crate::sources::{BacklogOfCpu, CardCount, SocketsUnknown, Source};
use crate::work::QueueLength;

pub use crate::traced_losses::{LossesByReason, TracedLosses};

/// Losses with their source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Number of lost frames; `None` if no source knows it.
    pub count: Option<u64>,
    /// The counters, or why there are none.
    pub source: Source,
}

/// Losses up to the receiving driver, by the counters of cards and drivers; `None` for a place without counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicEvidence {
    /// Losses between the interfaces.
    pub path: Option<Counted>,
    /// Losses of the card.
    pub link: Option<Counted>,
    /// Losses of the driver.
    pub driver: Option<CardCount>,
    /// Losses of an XDP program in the driver that does not belong to the method.
    pub xdp: Option<CardCount>,
}

/// The queue in front of a veth's NAPI poll, and the counters of frames that find it full (`drivers/net/veth.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerQueue {
    /// No queue: the receive path runs in the sender's call, up to the backlog.
    #[default]
    None,
    /// A queue of socket buffers: a refused one counts in `tx_dropped` of the sender (`veth_xmit`).
    OfBuffers,
    /// A queue of XDP frames: a refused one counts in `tx_dropped` of the sender and in `rx_dropped` of the receiver
    /// (`veth_xdp_xmit`).
    OfFrames,
}

/// The account of a queue in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct QueueAccount {
    /// Capacity in frames, including the frame in work.
    pub length: QueueLength,
    /// Frames that it refused because it was full.
    pub refused: u64,
    /// Frames that were still in it when the trial was stopped or its drain timed out.
    pub left: u64,
}

/// Counts around one trial, from which the ledger is made. Counts are differences over the trial.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Frames passed to the kernel.
    pub sent: u64,
    /// Frames that the generator should have sent but did not.
    pub unsent: u64,
    /// Frames that the kernel dropped and refused on transmit, and that the generator sent again. Drop counters of the transmit
    /// side count them although no frame was lost.
    pub repeated: u64,
    /// Frames whose drop the kernel reported to the generator (`ENOBUFS`), anywhere on the transmit side, and that the generator
    /// did not send again.
    pub refused: u64,
    /// `tx_dropped` + `tx_errors` of the sending interface.
    pub transmit_drops: Option<u64>,
    /// Hardware receive losses of the receiving interface (`rx_missed_errors`, `rx_fifo_errors`, `rx_over_errors`,
    /// `rx_crc_errors`, `rx_length_errors`, `rx_frame_errors`).
    pub link_drops: Option<u64>,
    /// Losses by the receiving driver's own counters; take precedence over `link_drops`.
    pub nic: NicEvidence,
    /// `dropped` of /proc/net/softnet_stat, summed over all CPUs of the host.
    pub backlog_drops: Option<u64>,
    /// The same by CPU, without CPUs that have no drops.
    pub backlog_cpus: Vec<BacklogOfCpu>,
    /// `rx_dropped` of the receiving interface: frames that a backlog refused, and others.
    pub receive_drops: Option<u64>,
    /// The part of `receive_drops` that the receiving driver dropped itself, by its own counters.
    pub driver_receive_drops: u64,
    /// Whether sender and receiver are the two ends of a veth pair. Its `tx_dropped` includes frames that the receiver's backlog
    /// refused.
    pub virtual_pair: bool,
    /// The queue of the receiving veth's NAPI context. If there is one, the sender has returned before a backlog behind it
    /// refuses a frame, so `tx_dropped` does not include that frame.
    pub peer_queue: PeerQueue,
    /// How many receive queues have such a one; `None`: unknown, at least one.
    pub peer_queues: Option<u32>,
    /// Whether frames bypass the backlog: a NAPI poll delivers them to the method, or the method reads them in that poll.
    pub past_backlog: bool,
    /// Whether an XDP program is attached to the receiving interface.
    pub xdp_attached: Option<bool>,
    /// Losses that the tracer saw; `None` without a tracer.
    pub traced: Option<TracedLosses>,
    /// Why there is no tracer, if there is none.
    pub untraced: Option<String>,
    /// Whether a socket filter can drop frames of the trial.
    pub filter_drops: bool,
    /// `rx_packets` of the receiving interface.
    pub received: Option<u64>,
    /// The method's own counters.
    pub method: Counters,
    /// The account of the application's queue; `None` if it has none.
    pub queue: Option<QueueAccount>,
    /// Frames of any kind that the application read from the method.
    pub read: u64,
    /// Frames of the trial that reached the application intact, each counted once.
    pub delivered: u64,
    /// Frames that reached the application truncated to the snap length.
    pub truncated: u64,
    /// Frames that reached the application damaged.
    pub corrupt: u64,
    /// Whether the trial ended while frames may still have waited in ring or socket. Otherwise it went on until frames stopped
    /// arriving, and frames that are then missing are lost.
    pub cut_short: bool,
    /// What is known of frames that a program had not read when it ended; absent for methods of capbench.
    pub unread: Option<UnreadFrames>,
    /// Why capbench did not examine the frames one by one; absent if it did.
    pub unverified: Option<String>,
}

/// The frames in the sockets and rings of a program when it had ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UnreadFrames {
    /// Their number, counted there.
    Counted(u64),
    /// Why they are unknown.
    Unknown(SocketsUnknown),
}

#[cfg(test)]
mod tests;
