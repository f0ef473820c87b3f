//! The loss ledger: each frame that was meant to be sent was delivered, or stands under the place that lost it.
//!
//! ```text
//! intended = unsent + sent
//! sent = transmit + link + driver + backlog + xdp + stack + filter + ring + queues + unread + damaged + delivered
//!        + unexplained
//! ```
//!
//! Entries are counters of the kernel or of capbench, each with its source. A place whose counter does not exist here
//! is unknown, not 0. What is left over is `unexplained`: computed, never forced, and of either sign.

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
    /// The generator did not get to send it.
    Unsent,
    /// Transmit side: queueing discipline or driver.
    Transmit,
    /// The queue of a virtual link, in front of the receiving end's NAPI poll.
    LinkQueue,
    /// The link, or the receiving NIC: missed for want of a descriptor, FIFO overrun, bad checksum or length.
    Link,
    /// The receiving driver.
    Driver,
    /// The softirq backlog queue of the CPU that does the kernel's receive work.
    Backlog,
    /// An XDP program or redirect.
    Xdp,
    /// The network stack in front of the capture point.
    Stack,
    /// A socket filter that dropped it on purpose.
    Filter,
    /// There was no free buffer to receive into: AF_XDP's fill ring was empty.
    FillRing,
    /// The ring, or the socket's receive queue, had no room.
    Ring,
    /// Queues of the method's own.
    MethodQueue,
    /// The application's queue.
    ApplicationQueue,
    /// It lay in ring or socket, unread, when the trial ended.
    Unread,
    /// It reached the application cut short, though the snap length allowed it whole.
    Truncated,
    /// It reached the application damaged.
    Corrupt,
}

impl Place {
    /// Whether frames wait there for the application, and are lost when it is too slow.
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

    /// How reports name the place.
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
    /// Where.
    pub place: Place,
    /// How many frames; `None` when nothing here can tell.
    pub count: Option<u64>,
    /// The counter, or why there is none.
    pub source: String,
}

/// The whole account of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    /// The lines, in the order of the path.
    pub entries: Vec<Entry>,
    /// Frames handed to the kernel that neither were delivered nor stand in an entry. Negative when more was counted
    /// than was sent.
    pub unexplained: i64,
}

impl Ledger {
    /// Balances entries against what was sent and delivered.
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

    /// The count booked to a place, if it is known.
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
