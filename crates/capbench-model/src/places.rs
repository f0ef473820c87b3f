//! Every place where a frame can be lost. capbench-report has their words, and the counters that report them.

use serde::{Deserialize, Serialize};

/// A place on a frame's path where it can be lost, in the order of the path.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// the generator was to send it and had no time for it
    Unsent,
    /// queueing discipline or driver of the sending side
    Transmit,
    /// the queue of 256 frames in front of a veth's NAPI poll
    // The aliases were the names in earlier files of soaks.
    #[serde(alias = "queue")]
    LinkQueue,
    /// cable, switch or tap: the sending interfaces counted it out, the receiving one did not count it in nor lose it
    Path,
    /// the card, or the wire as far as the card sees it: no descriptor or buffer (missed), FIFO overrun, bad checksum or length
    Link,
    /// the receiving driver, for example because it had no memory
    Driver,
    /// the softirq backlog of a CPU was full (`net.core.netdev_max_backlog`)
    Backlog,
    /// an XDP program dropped it, failed, or could not redirect it
    Xdp,
    /// the network stack dropped it in front of the capture point
    Stack,
    /// a socket filter dropped it on purpose
    Filter,
    /// AF_XDP's fill ring had no free buffer
    #[serde(alias = "fill")]
    FillRing,
    /// ring or socket queue had no room
    Ring,
    /// queues of the method itself, between its threads or inside its library
    #[serde(alias = "method")]
    MethodQueue,
    /// queues behind the method
    #[serde(alias = "app")]
    ApplicationQueue,
    /// it was in ring or socket, unread, when the trial ended
    Unread,
    /// it was delivered cut short, though the snap length allowed it whole
    #[serde(alias = "cut")]
    Truncated,
    /// it was delivered damaged
    #[serde(alias = "damage")]
    Corrupt,
    /// the NIC had no free buffer: `why` distinguishes it from damage on the link
    #[serde(skip)]
    Nic,
    /// the output was too slow, or could not be written: for `record`
    #[serde(skip)]
    Writer,
}

/// Every place of the ledger, in the order of the path.
pub const ALL: [Place; 17] = [
    Place::Unsent,
    Place::Transmit,
    Place::LinkQueue,
    Place::Path,
    Place::Link,
    Place::Driver,
    Place::Backlog,
    Place::Xdp,
    Place::Stack,
    Place::Filter,
    Place::FillRing,
    Place::Ring,
    Place::MethodQueue,
    Place::ApplicationQueue,
    Place::Unread,
    Place::Truncated,
    Place::Corrupt,
];

impl Place {
    /// Whether frames wait there for the application, so that a slow application loses them.
    pub fn holds_frames_for_application(self) -> bool {
        matches!(
            self,
            Self::Ring | Self::FillRing | Self::MethodQueue | Self::ApplicationQueue | Self::Unread
        )
    }

    /// Whether frames lost there had reached the capture point and count as accepted.
    pub fn is_accepted(self) -> bool {
        matches!(
            self,
            Self::FillRing | Self::Ring | Self::MethodQueue | Self::ApplicationQueue | Self::Writer
        )
    }

    /// Whether frames lost there had reached the program: the kernel and the method had delivered them.
    pub fn is_in_program(self) -> bool {
        matches!(self, Self::ApplicationQueue | Self::Writer)
    }

    /// The place with this name.
    pub fn from_key(key: &str) -> Option<Self> {
        ALL.into_iter().chain([Self::Nic, Self::Writer]).find(|place| place.key() == key)
    }

    /// Its name in results files and tables.
    pub const fn key(self) -> &'static str {
        match self {
            Self::Unsent => "unsent",
            Self::Transmit => "transmit",
            Self::LinkQueue => "link_queue",
            Self::Path => "path",
            Self::Link => "link",
            Self::Driver => "driver",
            Self::Backlog => "backlog",
            Self::Xdp => "xdp",
            Self::Stack => "stack",
            Self::Filter => "filter",
            Self::FillRing => "fill_ring",
            Self::Ring => "ring",
            Self::MethodQueue => "method_queue",
            Self::ApplicationQueue => "application_queue",
            Self::Unread => "unread",
            Self::Truncated => "truncated",
            Self::Corrupt => "corrupt",
            Self::Nic => "nic",
            Self::Writer => "writer",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Place};

    #[test]
    fn keys_are_those_of_the_results() {
        for place in ALL {
            let key = serde_json::to_value(place).unwrap();
            assert_eq!(key.as_str(), Some(place.key()));
            assert_eq!(Place::from_key(place.key()), Some(place));
        }
        assert_eq!((Place::from_key("writer"), Place::from_key("full_file")), (Some(Place::Writer), None));
    }
}
