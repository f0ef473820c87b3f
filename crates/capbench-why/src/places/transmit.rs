//! What this host sends: which of it is lost in front of the point where captures read it, and which only behind that point.

use capbench_host::links::LinkDeltas;
use capbench_host::tracer::reasons::DropStage;
use capbench_model::places::Place;

use super::{Captured, Counted, Lost};
use crate::judgement::Judgement;
use crate::remedy::quoted;

/// Frames that tc and queueing disciplines drop in front of the captures.
pub(super) fn lost(counted: Counted<'_>) -> Lost {
    let (frames, source) = match counted.traced {
        Some(traced) if traced.frames(DropStage::Transmit) > 0 => (
            Some(traced.frames(DropStage::Transmit)),
            format!("skb:kfree_skb: {}", traced.reasons(DropStage::Transmit)),
        ),
        Some(_) => (Some(0), "skb:kfree_skb".into()),
        None => (
            None,
            "no counter of the interface has what tc and queueing disciplines drop; the tracer has".into(),
        ),
    };
    Lost { place: Place::Transmit, frames, per_s: None, source }
}

/// Frames that the driver or the other end drops behind the captures.
pub(super) fn captured(link: &LinkDeltas) -> Captured {
    Captured {
        frames: link.tx_dropped,
        note: "frames that this host sent are counted in tx_dropped: the driver, or the other end of a veth, did not take \
               them. Captures of what this host sends have most of them",
    }
}

/// Why the frames of [`lost`] are lost, and what to change.
pub(crate) fn judgement(interface: &str) -> Judgement {
    Judgement::words(
        "a queueing discipline or a filter of tc dropped what this host sends",
        format!("`tc -s qdisc show dev {}` shows which", quoted(interface)),
    )
}
