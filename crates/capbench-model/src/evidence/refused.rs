//! Frames that were refused between the generator and the receiving end: some count in more than one of the kernel's counters.

use super::{Evidence, PeerQueue};
use crate::places::Place;
use crate::sources::BacklogPart;

/// Frames that were refused between the generator and the receiving end.
pub(super) struct Refused {
    pub(super) transmit: Option<u64>,
    pub(super) queue: Option<u64>,
    pub(super) backlog: Option<u64>,
    pub(super) backlog_part: BacklogPart,
}

impl Evidence {
    /// On a veth pair one refused frame counts in `tx_dropped` of the sender and, if the backlog refused it, also in the softnet
    /// counter. It is booked once, to the backlog. On other links the two are independent.
    pub(super) fn refused(&self) -> Refused {
        let transmit = self.transmit_drops.map(|drops| drops.saturating_sub(self.repeated));
        let refused =
            Refused { transmit, queue: Some(0), backlog: Some(0), backlog_part: BacklogPart::NoBacklog };
        if self.past_backlog {
            return match self.virtual_pair {
                true => Refused { transmit: Some(0), queue: transmit, ..refused },
                false => refused,
            };
        }
        if !self.virtual_pair {
            // The softnet counter covers the whole host, the interface's also counts other drops: the result exceeds neither.
            let backlog =
                self.refused_by_backlogs().zip(self.refused_by_stack()).map(|(host, ours)| host.min(ours));
            let backlog_part = match backlog {
                Some(_) => BacklogPart::ReceiverWithoutDriver,
                None => self.backlog_unknown(),
            };
            return Refused { backlog, backlog_part, ..refused };
        }
        let (Some(drops), Some(softnet)) = (transmit, self.refused_by_backlogs()) else {
            return Refused { backlog: None, backlog_part: self.backlog_unknown(), ..refused };
        };
        if self.peer_queue != PeerQueue::None {
            // Those that its queue refused are in `rx_dropped`, too, if it is one of XDP frames.
            let is_of_frames = self.peer_queue == PeerQueue::OfFrames;
            let in_queue = if is_of_frames { drops } else { 0 };
            let behind = self.refused_by_stack().map(|refused| refused.saturating_sub(in_queue));
            return Refused {
                transmit: Some(0),
                queue: transmit,
                backlog: behind.map(|drops| drops.min(softnet)),
                backlog_part: match behind {
                    Some(_) if is_of_frames => BacklogPart::ReceiverBeyondSender,
                    Some(_) => BacklogPart::Receiver,
                    None => self.backlog_unknown(),
                },
            };
        }
        let backlog = softnet.saturating_sub(self.repeated).min(drops);
        Refused {
            transmit: Some(drops - backlog),
            backlog: Some(backlog),
            backlog_part: BacklogPart::Sender,
            ..refused
        }
    }

    /// Frames that the backlogs of the whole host refused, as far as the tracer saw that on the receiving interface.
    fn refused_by_backlogs(&self) -> Option<u64> {
        let traced = self.traced.as_ref().filter(|traced| traced.missed == 0);
        let of_host = self.backlog_drops?;
        Some(traced.map_or(of_host, |traced| of_host.min(traced.lost_at(Place::Backlog).total())))
    }

    /// `rx_dropped` of the receiver without its driver's own drops, which are booked from the driver's counters.
    fn refused_by_stack(&self) -> Option<u64> {
        self.receive_drops.map(|all| all.saturating_sub(self.driver_receive_drops))
    }

    /// Why the number of frames refused by a backlog is unknown.
    fn backlog_unknown(&self) -> BacklogPart {
        match self.backlog_drops {
            None => BacklogPart::Unreadable,
            Some(_) => BacklogPart::NoLinkStatistics,
        }
    }

    /// Backlog refusals among the receiver's `rx_packets`. Without polling, the backlog refuses frames before they count there.
    pub(super) fn refused_after_receipt(&self, backlog: Option<u64>) -> Option<u64> {
        match self.peer_queue {
            PeerQueue::None => Some(0),
            PeerQueue::OfBuffers | PeerQueue::OfFrames => backlog,
        }
    }
}
