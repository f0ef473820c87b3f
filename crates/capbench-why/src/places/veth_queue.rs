//! The queue of a veth, in front of its NAPI poll: which of the frames that its peer could not pass on are lost there. Those that
//! the stack refused are booked by `backlog_and_stack`.

use super::Lost;
use crate::traced::Traced;
use capbench_host::tracer::reasons::DropStage;
use capbench_model::places::Place;

/// The queue of a veth: its peer fills and counts it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Queue {
    /// Frames that the peer could not pass on (its tx_dropped); absent if the peer cannot be read.
    pub(crate) refused: Option<u64>,
    /// Whether frames can use the queue: GRO is on, or an XDP program is in the driver. Otherwise they go directly to a CPU's
    /// backlog, whose losses the peer also counts.
    pub(crate) can_be_used: bool,
    /// Whether the interface polled frames.
    pub(crate) polled: bool,
}

impl Queue {
    /// `others` are the frames in rx_dropped that the driver did not drop.
    pub(super) fn lost(&self, others: Option<u64>, traced: Option<&Traced>) -> Lost {
        // Frames that were refused behind the queue, or without it: the peer counts them unless a poll came in between.
        let of_backlog = traced.map_or(0, |traced| traced.frames(DropStage::Backlog));
        let is_explained = match traced {
            Some(traced) => traced.unexplained(others) == Some(0),
            None => others == Some(0),
        };
        let (frames, source) = match self.refused {
            _ if !self.can_be_used => (Some(0), "frames go through no queue, straight to the backlog"),
            None => (None, "tx_dropped of its peer, which needs CAP_NET_ADMIN there"),
            Some(refused) if refused == 0 || is_explained && of_backlog == 0 => {
                (Some(refused), "link statistics tx_dropped of its peer")
            }
            Some(refused) if !self.polled && refused <= of_backlog => {
                (Some(0), "frames went through no queue, straight to the backlog")
            }
            Some(_) => (None, "tx_dropped of its peer, which also counts what the backlog refused"),
        };
        Lost { place: Place::LinkQueue, frames, per_s: None, source: source.into() }
    }

    /// Frames that the stack refused, as far as the peer counts them: those that wait in no queue.
    pub(super) fn refused_by_stack(&self) -> Option<u64> {
        if self.can_be_used { None } else { self.refused }
    }
}
