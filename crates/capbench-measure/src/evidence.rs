//! What was counted around a trial, and how the ledger is booked from it.
//!
//! One frame can count in several of the kernel's counters. Which of them it is booked under, and on which kind of
//! path, is decided here and nowhere else.

mod entries;
mod refused;

use capbench_capture::{Counters, LossPlace};
use capbench_sys::host::CpuId;

use crate::work::QueueLength;
use capbench_model::ledger::{Entry, Ledger, Place};

use self::refused::Refused;
pub use capbench_model::traced_losses::{Losses, TracedLosses};

/// What a place lost, and who says so.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How many; `None` when nothing here can tell.
    pub count: Option<u64>,
    /// The counters, or why there are none.
    pub source: String,
}

/// What the receiving card's driver says by its own counters; `None` for a place that it says nothing about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NicEvidence {
    /// The card.
    pub link: Option<Counted>,
    /// The driver.
    pub driver: Option<Counted>,
    /// An XDP program in the driver that is not the method's.
    pub xdp: Option<Counted>,
}

/// The queue in front of a veth's NAPI poll, and where frames count that find it full (`drivers/net/veth.c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PeerQueue {
    /// There is none: the receive path runs in the sender's call, up to the backlog.
    #[default]
    None,
    /// It takes socket buffers: one that is refused counts in `tx_dropped` of the sender (`veth_xmit`).
    OfBuffers,
    /// It takes frames of an XDP program: one that is refused counts there and in `rx_dropped` of the receiver
    /// (`veth_xdp_xmit`).
    OfFrames,
}

/// What a queue did in a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueueAccount {
    /// How many frames it holds, the one that is being worked on among them.
    pub length: QueueLength,
    /// Frames that it had no room for.
    pub refused: u64,
    /// Frames that were still in it when the trial was stopped, or its drain had taken too long.
    pub left: u64,
}

/// What was counted around one trial, from which the ledger is made. Counts are differences over the trial.
#[derive(Clone, Debug, Default)]
pub struct Evidence {
    /// Frames handed to the kernel.
    pub sent: u64,
    /// Frames that the generator was to send and did not.
    pub unsent: u64,
    /// Transmit attempts that the kernel refused after it had dropped the frame, and that the generator repeated with
    /// the same frame: drop counters of the transmit side count them though no frame was lost.
    pub repeated: u64,
    /// Frames that the kernel told the generator it had dropped (`ENOBUFS`), wherever on the way out, and that were not
    /// offered again.
    pub refused: u64,
    /// `tx_dropped` + `tx_errors` of the sending interface.
    pub transmit_drops: Option<u64>,
    /// Hardware receive losses of the receiving interface (`rx_missed_errors`, `rx_fifo_errors`, `rx_over_errors`,
    /// `rx_crc_errors`, `rx_length_errors`, `rx_frame_errors`).
    pub link_drops: Option<u64>,
    /// What the receiving driver's own counters say; goes before `link_drops`.
    pub nic: NicEvidence,
    /// `dropped` of /proc/net/softnet_stat over all CPUs: of the whole host.
    pub backlog_drops: Option<u64>,
    /// The same by CPU, those without drops left out.
    pub backlog_cpus: Vec<(CpuId, u64)>,
    /// `rx_dropped` of the receiving interface, which counts what a backlog refused, and more.
    pub receive_drops: Option<u64>,
    /// How many of those the receiving driver dropped itself, by its own counters.
    pub driver_receive_drops: u64,
    /// Whether sender and receiver are the two ends of a veth pair, whose `tx_dropped` includes what the receiver's
    /// backlog refused.
    pub virtual_pair: bool,
    /// The queue of the receiving veth's NAPI context: where there is one, the sender is gone when a backlog behind it
    /// refuses a frame, and its `tx_dropped` knows nothing of that.
    pub peer_queue: PeerQueue,
    /// Whether frames pass no backlog: a NAPI poll takes them to the method, or the method takes them in that poll.
    pub past_backlog: bool,
    /// Whether an XDP program is attached to the receiving interface.
    pub xdp_attached: Option<bool>,
    /// What the tracer saw; `None` without one.
    pub traced: Option<TracedLosses>,
    /// Why there is no tracer, where there is none.
    pub untraced: Option<String>,
    /// Whether a socket filter can drop frames of the trial.
    pub filter_drops: bool,
    /// `rx_packets` of the receiving interface.
    pub received: Option<u64>,
    /// The method's own counters.
    pub method: Counters,
    /// What the application's queue did; `None` where it has none.
    pub queue: Option<QueueAccount>,
    /// Frames of any kind that the application took from the method.
    pub read: u64,
    /// Frames of the trial that reached the application intact, each counted once.
    pub delivered: u64,
    /// Frames that reached it cut short against the snap length.
    pub truncated: u64,
    /// Frames that reached it damaged.
    pub corrupt: u64,
    /// Whether the trial ended while frames may still have waited in ring or socket. Else it went on until nothing came any more,
    /// and what is missing then is missing.
    pub cut_short: bool,
    /// Why its frames were not looked at one by one; absent where they were.
    pub unverified: Option<String>,
}

impl Evidence {
    /// Books what was counted.
    pub fn book(&self) -> Ledger {
        let entry = |place, count, source: &str| Entry { place, count, source: source.to_string() };
        let Refused { transmit, queue, backlog, backlog_source } = self.refused();
        // A place that the method may know of, or what others say of it.
        let own =
            |place, at, count, source: &str| match self.method.losses.iter().find(|loss| loss.place == at) {
                Some(loss) => Entry { place, count: loss.count, source: loss.source.to_string() },
                None => entry(place, count, source),
            };
        // A place that belongs to the method: nobody but it can tell.
        let its = |place, at, absent: &str| match self.method.without.contains(&at) {
            true => own(place, at, Some(0), absent),
            false => own(place, at, None, "unknown: the method does not tell"),
        };
        let told = |place, told: &Option<Counted>, count, source: &str| match told {
            Some(told) => entry(place, told.count, &told.source),
            None => entry(place, count, source),
        };
        let link = told(
            Place::Link,
            &self.nic.link,
            self.link_drops,
            "link statistics of the receiver: rx missed, fifo, over, crc, length and frame errors",
        );
        let transmit = self.transmit_entry(transmit);
        let link_queue = self.link_queue_entry(queue, transmit.count);
        let unseen = self.unseen_ends(backlog);
        let xdp = self.xdp_entry(unseen);
        let filter = self.filter_entry(backlog, xdp.count, unseen);
        let entries = vec![
            entry(Place::Unsent, Some(self.unsent), "generator: intended - handed to the kernel"),
            transmit,
            link_queue,
            own(Place::Link, LossPlace::Link, link.count, &link.source),
            told(
                Place::Driver,
                &self.nic.driver,
                self.virtual_pair.then_some(0),
                if self.virtual_pair {
                    "a veth has no other queue of its own"
                } else {
                    "unknown: rx_dropped also counts frames that were captured"
                },
            ),
            entry(Place::Backlog, backlog, &self.with_cpus(backlog_source)),
            own(Place::Xdp, LossPlace::Xdp, xdp.count, &xdp.source),
            self.stack_entry(unseen),
            own(Place::Filter, LossPlace::Filter, filter.count, &filter.source),
            its(Place::FillRing, LossPlace::FillRing, "the method has no fill ring"),
            its(Place::Ring, LossPlace::Ring, "the method has no ring"),
            its(Place::MethodQueue, LossPlace::MethodQueue, "the method has no queue of its own"),
            self.queue_entry(),
            self.unread_entry(),
            self.verified_entry(Place::Truncated, self.truncated),
            self.verified_entry(Place::Corrupt, self.corrupt),
        ];
        Ledger::balance(self.sent, self.delivered, entries)
    }
}

#[cfg(test)]
mod tests;
