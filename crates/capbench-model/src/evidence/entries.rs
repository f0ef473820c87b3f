//! The losses of each place along the path, by the counters that cover it.

use super::QueueAccount;
use super::{Evidence, PeerQueue, UnreadFrames};
use super::{Losses, TracedLosses};
use crate::ledger::Entry;
use crate::places::Place;

impl Evidence {
    /// Losses on the way out: the interface's counters, and the losses that they miss.
    pub(super) fn transmit_entry(&self, counted: Option<u64>) -> Entry {
        let counters = match (self.virtual_pair, self.peer_queue) {
            (true, PeerQueue::OfBuffers | PeerQueue::OfFrames) => {
                "a veth refuses only what the queue at its far end has no room for"
            }
            (true, PeerQueue::None) => {
                "link statistics of the sender: tx_dropped + tx_errors, less what the backlog refused"
            }
            (false, _) => "link statistics of the sender: tx_dropped + tx_errors",
        };
        let traced = self.traced.as_ref().map(|traced| &traced.transmit).filter(|losses| !losses.is_empty());
        // Queueing discipline and tc drop in front of the interface's counters, and report it to the generator: tracer and
        // refusals count the same frames.
        let reported = self.transmit_drops.map_or(0, |drops| drops.saturating_sub(self.repeated));
        let unreported = self.refused.saturating_sub(reported);
        let before = traced.map_or(0, Losses::total).max(unreported);
        let source = match (traced, unreported) {
            (Some(losses), _) => format!("{counters}; skb:kfree_skb: {losses}"),
            (None, 0) => counters.into(),
            (None, _) => format!("{counters}; refused to the generator (ENOBUFS) before them: {unreported}"),
        };
        let unplaced = self.traced.as_ref().map(|traced| &traced.unplaced_transmit);
        let source = match unplaced.filter(|losses| !losses.is_empty()) {
            Some(losses) => {
                format!("{source}; skb:kfree_skb: not counted, as their place is unknown: {losses}")
            }
            None => source,
        };
        let count = counted.map(|count| count + before);
        Entry { place: Place::Transmit, count, source }
    }

    /// Frames that the queue of a polled veth refused or that its poll had not read when the trial ended. The link accepted
    /// them from the generator and did not receive them. There are never more than the queues' capacity.
    pub(super) fn link_queue_entry(&self, refused: Option<u64>, transmit: Option<u64>) -> Entry {
        /// `VETH_RING_SIZE` of drivers/net/veth.c.
        const FRAMES: u64 = 256;
        let place = Place::LinkQueue;
        if !self.virtual_pair || self.peer_queue == PeerQueue::None {
            return Entry { place, count: refused, source: "frames go through no such queue".into() };
        }
        let counter = "link statistics of the sender: tx_dropped + tx_errors, the queue in front of the veth's NAPI poll";
        let left = match (refused, transmit, self.received) {
            (Some(refused), Some(transmit), Some(polled)) => self
                .sent
                .saturating_sub(refused + transmit + polled)
                .min(FRAMES * u64::from(self.peer_queues.unwrap_or(1))),
            _ => 0,
        };
        let source = match left {
            0 => counter.into(),
            _ => format!(
                "{counter}; {left} more were still in it at the end, computed: sent less refused and rx_packets of the receiver"
            ),
        };
        Entry { place, count: refused.map(|refused| refused + left), source }
    }

    /// Losses of XDP: in the driver by the driver's counters, behind it by the tracer.
    pub(super) fn xdp_entry(&self, unseen: u64) -> Entry {
        let (count, source) = TracedLosses::xdp(self.traced.as_ref(), self.xdp_attached, unseen);
        let generic = self.traced.as_ref().filter(|traced| !traced.xdp.is_empty());
        let (count, source) = match (&self.nic.xdp, generic) {
            (Some(card), None) => (card.count, card.source.clone()),
            (Some(card), Some(traced)) => {
                (card.count.map(|count| count + traced.xdp.total()), format!("{}; {source}", card.source))
            }
            (None, _) => (count, source),
        };
        Entry { place: Place::Xdp, count, source }
    }

    /// Drops of a socket filter, which no kernel counter counts. A private pair carries only the trial's frames. There the
    /// filter dropped the received frames that neither XDP nor stack lost and the socket did not accept.
    pub(super) fn filter_entry(&self, backlog: Option<u64>, xdp: Option<u64>, unseen: u64) -> Entry {
        let place = Place::Filter;
        if !self.filter_drops {
            return Entry {
                place,
                count: Some(0),
                source: "no socket filter drops frames of the trial".into(),
            };
        }
        let stack = self.traced.as_ref().map(|traced| traced.stack.total());
        let is_certain = self.traced.as_ref().is_some_and(|traced| traced.doubts(unseen).is_empty());
        let known = (self.received, self.refused_after_receipt(backlog), xdp, self.method.accepted);
        match known {
            (Some(received), Some(backlog), Some(xdp), Some(accepted)) if self.virtual_pair => Entry {
                place,
                count: Some(received.saturating_sub(backlog + xdp + stack.unwrap_or(0) + accepted)),
                source: match stack {
                    Some(_) if is_certain => {
                        "computed: rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted"
                    }
                    Some(_) => {
                        "computed: rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted: \
                         with what the tracer did not see those lose"
                    }
                    None => {
                        "computed: rx_packets of the receiver less what backlog and XDP lost and the socket accepted: with what \
                         the stack lost, which no tracer counts"
                    }
                }
                .into(),
            },
            _ => Entry { place, count: None, source: "unknown: the kernel does not count what a filter drops".into() },
        }
    }

    /// Frames that the application's queue refused, or still contained at the end.
    pub(super) fn queue_entry(&self) -> Entry {
        let (count, source) = match &self.queue {
            None => (0, "the application has no queue".into()),
            Some(QueueAccount { length, refused, left: 0 }) => {
                (*refused, format!("capbench: frames that the queue of {length} had no room for"))
            }
            Some(QueueAccount { length, refused, left }) => (
                refused + left,
                format!(
                    "capbench: {refused} frames that the queue of {length} had no room for, {left} that were still in it \
                     at the end"
                ),
            ),
        };
        Entry { place: Place::ApplicationQueue, count: Some(count), source }
    }

    /// Frames in ring or socket at the end. The number is the difference of other counters, so it is limited to what fits there.
    /// Otherwise every uncounted loss of the method would appear here and never be unexplained.
    pub(super) fn unread_entry(&self) -> Entry {
        let place = Place::Unread;
        match &self.unread {
            Some(UnreadFrames::Counted(count)) => {
                let source = "capbench: frames in the sockets and rings of the program when it had ended";
                return Entry { place, count: Some(*count), source: source.into() };
            }
            Some(UnreadFrames::Unknown(reason)) => {
                return Entry { place, count: None, source: format!("unknown: {reason}") };
            }
            None => {}
        }
        if !self.cut_short {
            let source =
                "capbench: the trial went on until every frame was accounted for, or none came any more";
            return Entry { place, count: Some(0), source: source.into() };
        }
        let (count, source) = match (self.method.accepted, self.method.dropped()) {
            (Some(accepted), Some(drops)) => (
                Some(accepted.saturating_sub(drops).saturating_sub(self.read)),
                "computed: what the method accepted, less its losses and the frames read",
            ),
            _ => (
                None,
                "unknown: the trial was cut short, and the method does not report what it accepted or lost",
            ),
        };
        Entry { place, count, source: source.into() }
    }

    /// Faulty frames that verification found; 0 if it did not examine them.
    pub(super) fn verified_entry(&self, place: Place, found: u64) -> Entry {
        match &self.unverified {
            None => {
                Entry { place, count: Some(found), source: "capbench: verification of every frame".into() }
            }
            Some(reason) => Entry { place, count: None, source: format!("unknown: {reason}") },
        }
    }

    /// Losses of the stack in front of the capture point.
    pub(super) fn stack_entry(&self, unseen: u64) -> Entry {
        let (count, source) = match (&self.traced, &self.untraced) {
            (Some(traced), _) => traced.in_stack(unseen),
            (None, Some(reason)) => (None, format!("unknown: no tracer of drop reasons: {reason}")),
            (None, None) => (None, "unknown: needs a tracer of drop reasons".into()),
        };
        Entry { place: Place::Stack, count, source }
    }

    /// Frames that must have ended on the receiving interface without the tracer seeing it. The number is known on a private pair
    /// if the method leaves frames to the stack. On other links foreign frames end there, too, and cards drop frames for other
    /// addresses before. Frames that the capture accepted end behind it. With a program of generic XDP, every received frame ends
    /// in or behind the program; if tc consumes frames, without a program, every received frame ends in the stack or there.
    pub(super) fn unseen_ends(&self, backlog: Option<u64>) -> u64 {
        let Some(traced) = self.traced.as_ref().filter(|_| self.virtual_pair && !self.method.takes_by_xdp())
        else {
            return 0;
        };
        let of_captured = self.method.accepted.map_or(0, |accepted| accepted.saturating_sub(traced.after));
        let all_end_here = traced.xdp_is_generic || (traced.consumed > 0 && self.xdp_attached == Some(false));
        let received = self.received.zip(self.refused_after_receipt(backlog)).filter(|_| all_end_here);
        let of_received = received.map_or(0, |(all, refused)| all.saturating_sub(refused + traced.ended()));
        of_captured.max(of_received)
    }

    /// A source of the backlog's drops with the CPUs that dropped. The drops may include frames of others.
    pub(super) fn with_cpus(&self, source: &str) -> String {
        let cpus: Vec<_> =
            self.backlog_cpus.iter().map(|(cpu, count)| format!("{count} on CPU {cpu}")).collect();
        if cpus.is_empty() { source.into() } else { format!("{source}; the host's: {}", cpus.join(", ")) }
    }
}
