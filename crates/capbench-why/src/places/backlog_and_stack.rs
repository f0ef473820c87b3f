//! The frames in rx_dropped of an interface that its driver did not drop: what a backlog refused, and what else the stack
//! dropped in front of the capture.
//!
//! The kernel adds to rx_dropped on both sides of the capture point (net/core/dev.c): what a backlog refuses
//! (enqueue_to_backlog) before it, and frames that no protocol handles (end of __netif_receive_skb_core) behind it. Packet
//! sockets have received the latter. /proc/net/softnet_stat counts the backlogs of the whole host. So these two counters only
//! limit a loss. The tracer shows each of these frames with its interface and its reason. A frame that nothing explains is
//! unknown, and no loss.
//!
//! Counts that explain others are read later than those, so that each difference is a lower bound, also while frames arrive.

use capbench_host::tracer::reasons::DropStage;
use capbench_model::places::Place;

use super::{Counted, Lost};
use crate::traced::Traced;

/// Backlog and stack. `of_driver` frames of rx_dropped belong to the driver.
pub(super) fn losses(counted: Counted<'_>, of_driver: u64) -> [Lost; 2] {
    let others = counted.link.rx_dropped.map(|all| all.saturating_sub(of_driver));
    match counted.traced {
        Some(traced) => [traced_backlog(counted, others, traced), traced_stack(counted, others, traced)],
        None => untraced(counted, others),
    }
}

/// A count of traced frames that can be incomplete: then it is a lower bound, or unknown.
fn seen(place: Place, frames: u64, is_complete: bool, mut source: String) -> Lost {
    let is_unknown = !is_complete && frames == 0;
    if !is_complete && frames > 0 {
        source.insert_str(0, "at least: ");
    }
    Lost { place, frames: (!is_unknown).then_some(frames), per_s: None, source }
}

fn traced_backlog(counted: Counted<'_>, others: Option<u64>, traced: &Traced) -> Lost {
    let refused = traced.frames(DropStage::Backlog);
    let of_host = of_host(counted);
    let is_complete = traced.missed == 0 || of_host <= refused || traced.unexplained(others) == Some(0);
    let mut source = String::from("skb:kfree_skb");
    if refused > 0 {
        source = format!("skb:kfree_skb: {}", traced.reasons(DropStage::Backlog));
    }
    if !is_complete {
        source.push_str("; the tracer missed events");
    }
    seen(Place::Backlog, refused, is_complete, source)
}

fn traced_stack(counted: Counted<'_>, others: Option<u64>, traced: &Traced) -> Lost {
    let by_reason = traced.frames(DropStage::Stack);
    let unexplained = traced.unexplained(others);
    // A frame that the backlog refused counts at the peer, too.
    let refused = traced.frames(DropStage::Backlog);
    let at_peer = refused_by_stack(counted).map_or(0, |all| all.saturating_sub(refused));
    let forwarded = at_peer.min(unexplained.unwrap_or(0));
    let rest = unexplained.map(|all| all - forwarded);
    let mut source = String::from("skb:kfree_skb");
    if by_reason > 0 {
        source = format!("skb:kfree_skb: {}", traced.reasons(DropStage::Stack));
    }
    if forwarded > 0 {
        source
            .push_str(&format!("; tx_dropped of its peer: {forwarded} did not fit its MTU, or it was down"));
    }
    match rest {
        Some(0) => {}
        Some(rest) => source.push_str(&format!(
            "; {rest} more in rx_dropped, of which nothing shows whether they were captured"
        )),
        None => source.push_str("; rx_dropped went back"),
    }
    let unplaced = traced.reasons(DropStage::Unknown);
    if !unplaced.is_empty() {
        source.push_str(&format!("; dropped where nobody knows: {unplaced}"));
    }
    seen(Place::Stack, by_reason + forwarded, rest == Some(0) && unplaced.is_empty(), source)
}

/// Without the tracer only 0 is known, and what the peer of a veth counts.
fn untraced(counted: Counted<'_>, others: Option<u64>) -> [Lost; 2] {
    let of_host = of_host(counted);
    let at_peer = refused_by_stack(counted);
    let before = match (others, at_peer) {
        (Some(0), _) => Some(0),
        (Some(others), Some(at_peer)) => Some(others.min(at_peer)),
        _ => None,
    };
    let is_unrefused = of_host == 0 || before == Some(0);
    let backlog = match is_unrefused {
        true => (Some(0), "dropped of /proc/net/softnet_stat".to_string()),
        false => (
            None,
            format!(
                "without the tracer it is unknown which interface lost the {of_host} frames that the backlogs of the \
                 host refused{}",
                cpus(counted)
            ),
        ),
    };
    let stack = match (others, before) {
        (Some(_), Some(0)) => "rx_dropped".to_string(),
        (_, Some(_)) => {
            "tx_dropped of its peer, as far as rx_dropped agrees: what the backlog refused, what did not \
                         fit its MTU, or what came while it was down"
                .to_string()
        }
        (Some(others), None) => format!(
            "without the tracer it is unknown how many of {others} frames in rx_dropped were captured: the kernel counts \
             frames that no protocol handles there, too"
        ),
        (None, None) => "rx_dropped went back".to_string(),
    };
    [
        Lost { place: Place::Backlog, frames: backlog.0, per_s: None, source: backlog.1 },
        Lost { place: Place::Stack, frames: before, per_s: None, source: stack },
    ]
}

/// Frames that the stack refused, as far as the peer of a veth counts them.
fn refused_by_stack(counted: Counted<'_>) -> Option<u64> {
    counted.queue?.refused_by_stack()
}

/// Frames that the backlogs of the whole host refused.
fn of_host(counted: Counted<'_>) -> u64 {
    counted.softnet.iter().map(|cpu| cpu.dropped).sum()
}

/// The CPUs whose backlogs refused frames.
fn cpus(counted: Counted<'_>) -> String {
    let full = counted.softnet.iter().filter(|cpu| cpu.dropped > 0);
    let full: Vec<_> = full.map(|cpu| cpu.cpu.number().to_string()).collect();
    if full.is_empty() { String::new() } else { format!(", CPU {}", full.join(", ")) }
}
