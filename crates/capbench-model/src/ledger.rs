//! The loss ledger. It counts each intended frame as delivered, or under the place that lost it.
//!
//! ```text
//! intended = unsent + sent
//! sent = transmit + link + driver + backlog + xdp + stack + filter + ring + queues + unread + damaged + delivered
//!        + unexplained
//! ```
//!
//! Entries are counters of the kernel or of capbench, each with its source. A place whose counter does not exist here is
//! unknown, not 0. `unexplained` is the computed remainder. It is never forced to 0 and can be negative.

use serde::{Deserialize, Serialize};

/// Frames lost at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LostAt {
    /// The place.
    pub place: Place,
    /// How many.
    pub frames: u64,
}

impl LostAt {
    /// Losses of several trials by place, most first.
    pub fn sum(losses: impl IntoIterator<Item = (Place, u64)>) -> Vec<Self> {
        let mut lost: Vec<Self> = Vec::new();
        for (place, frames) in losses {
            match lost.iter_mut().find(|known| known.place == place) {
                Some(known) => known.frames += frames,
                None => lost.push(Self { place, frames }),
            }
        }
        lost.sort_by_key(|lost| std::cmp::Reverse(lost.frames));
        lost
    }
}

/// A place on a frame's path where it can be lost, in the order of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The generator did not send it.
    Unsent,
    /// Transmit side: queueing discipline or driver.
    Transmit,
    /// The queue of a virtual link, before the receiving end's NAPI poll.
    LinkQueue,
    /// The link, or the receiving NIC: no free descriptor, FIFO overrun, bad checksum or length.
    Link,
    /// The receiving driver.
    Driver,
    /// The softirq backlog queue of the CPU that does the kernel's receive work.
    Backlog,
    /// An XDP program or redirect.
    Xdp,
    /// The network stack before the capture point.
    Stack,
    /// A socket filter dropped it on purpose.
    Filter,
    /// AF_XDP's fill ring was empty: there was no free buffer to receive into.
    FillRing,
    /// The ring or the socket's receive queue was full.
    Ring,
    /// The method's queues.
    MethodQueue,
    /// The application's queue.
    ApplicationQueue,
    /// It was still unread in the ring or socket when the trial ended.
    Unread,
    /// It reached the application cut short, although the snap length allowed it whole.
    Truncated,
    /// It reached the application damaged.
    Corrupt,
}

impl Place {
    /// Whether frames wait there for the application, so that a slow application loses them.
    pub fn is_before_application(self) -> bool {
        matches!(
            self,
            Self::Ring | Self::FillRing | Self::MethodQueue | Self::ApplicationQueue | Self::Unread
        )
    }

    /// One word for narrow tables.
    pub fn word(self) -> &'static str {
        match self {
            Self::Unsent => "unsent",
            Self::Transmit => "transmit",
            Self::LinkQueue => "queue",
            Self::Link => "link",
            Self::Driver => "driver",
            Self::Backlog => "backlog",
            Self::Xdp => "xdp",
            Self::Stack => "stack",
            Self::Filter => "filter",
            Self::FillRing => "fill",
            Self::Ring => "ring",
            Self::MethodQueue => "method",
            Self::ApplicationQueue => "app",
            Self::Unread => "unread",
            Self::Truncated => "cut",
            Self::Corrupt => "damage",
        }
    }

    /// The place's name in reports.
    pub fn words(self) -> &'static str {
        match self {
            Self::Unsent => "never sent by the generator",
            Self::Transmit => "on the transmit side",
            Self::LinkQueue => "in the virtual link's own queue of 256 frames, before the method",
            Self::Link => "on the link or in the NIC",
            Self::Driver => "in the driver",
            Self::Backlog => "in the softirq backlog",
            Self::Xdp => "in XDP",
            Self::Stack => "in the network stack",
            Self::Filter => "at the socket filter",
            Self::FillRing => "for want of a free buffer (fill ring)",
            Self::Ring => "in the ring or socket queue",
            Self::MethodQueue => "in the method's queues",
            Self::ApplicationQueue => "in the application's queue",
            Self::Unread => "unread at the end",
            Self::Truncated => "cut short",
            Self::Corrupt => "damaged",
        }
    }
}

/// One line of the ledger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// The place.
    pub place: Place,
    /// Number of frames. `None` if no counter here reports it.
    pub count: Option<u64>,
    /// The counter, or why there is none.
    pub source: String,
}

/// The complete ledger of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The entries, in the order of the path.
    pub entries: Vec<Entry>,
    /// Frames passed to the kernel that were neither delivered nor counted in an entry. Negative if more frames were counted
    /// than sent.
    pub unexplained: i64,
}

impl Ledger {
    /// Balances entries against the sent and delivered frames.
    pub fn balance(sent: u64, delivered: u64, entries: Vec<Entry>) -> Self {
        let booked: i128 = entries
            .iter()
            .filter(|entry| entry.place != Place::Unsent)
            .filter_map(|entry| entry.count)
            .map(i128::from)
            .sum();
        let left = i128::from(sent) - booked - i128::from(delivered);
        Self { entries, unexplained: left.clamp(i64::MIN.into(), i64::MAX.into()) as i64 }
    }

    /// The count recorded for a place, if known.
    pub fn count(&self, place: Place) -> Option<u64> {
        self.entries.iter().find(|entry| entry.place == place)?.count
    }

    /// Places that lost frames after they were sent, most first.
    pub fn losses(&self) -> Vec<(Place, u64)> {
        let mut losses: Vec<_> = self
            .entries
            .iter()
            .filter(|entry| entry.place != Place::Unsent)
            .filter_map(|entry| entry.count.filter(|&count| count > 0).map(|count| (entry.place, count)))
            .collect();
        losses.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
        losses
    }
}
