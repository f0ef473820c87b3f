//! What each place along the path lost, by the counters that speak of it.

use super::QueueAccount;
use super::{Evidence, PeerQueue};
use super::{Losses, TracedLosses};
use capbench_model::ledger::{Entry, Place};

impl Evidence {
    /// What was lost on the way out: the interface's counters, and what they leave out.
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
        // Queueing discipline and tc drop in front of the interface's counters, and tell the generator: tracer and refusals
        // witness the same frames.
        let told = self.transmit_drops.map_or(0, |drops| drops.saturating_sub(self.repeated));
        let untold = self.refused.saturating_sub(told);
        let before = traced.map_or(0, Losses::total).max(untold);
        let source = match (traced, untold) {
            (Some(losses), _) => format!("{counters}; skb:kfree_skb: {losses}"),
            (None, 0) => counters.into(),
            (None, _) => format!("{counters}; refused to the generator (ENOBUFS) before them: {untold}"),
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

    /// What the queue of a polled veth refused, and what its poll had not come to when the trial ended: accepted from the
    /// generator and not received, and never more than it holds.
    pub(super) fn link_queue_entry(&self, refused: Option<u64>, transmit: Option<u64>) -> Entry {
        /// `VETH_RING_SIZE` of drivers/net/veth.c.
        const FRAMES: u64 = 256;
        let place = Place::LinkQueue;
        if !self.virtual_pair || self.peer_queue == PeerQueue::None {
            return Entry { place, count: refused, source: "frames go through no such queue".into() };
        }
        let counter = "link statistics of the sender: tx_dropped + tx_errors, the queue in front of the veth's NAPI poll";
        let left = match (refused, transmit, self.received) {
            (Some(refused), Some(transmit), Some(polled)) => {
                self.sent.saturating_sub(refused + transmit + polled).min(FRAMES)
            }
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

    /// What XDP lost: in the driver by the driver's counters, behind it by the tracer.
    pub(super) fn xdp_entry(&self, unseen: u64) -> Entry {
        let (count, source) = TracedLosses::xdp(self.traced.as_ref(), self.xdp_attached, unseen);
        let generic = self.traced.as_ref().filter(|traced| !traced.xdp.is_empty());
        let (count, source) = match (&self.nic.xdp, generic) {
            (Some(told), None) => (told.count, told.source.clone()),
            (Some(told), Some(traced)) => {
                (told.count.map(|count| count + traced.xdp.total()), format!("{}; {source}", told.source))
            }
            (None, _) => (count, source),
        };
        Entry { place: Place::Xdp, count, source }
    }

    /// What a socket filter dropped. The kernel counts that nowhere; on a pair of its own, where nothing comes but the
    /// trial's frames, it is what the interface received and neither XDP nor stack lost, and the socket did not accept.
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
                         the stack lost, which no tracer tells"
                    }
                }
                .into(),
            },
            _ => Entry { place, count: None, source: "unknown: the kernel does not count what a filter drops".into() },
        }
    }

    /// What the application's queue refused, or still held at the end.
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

    /// What lay in ring or socket at the end. It is the difference of other counters, so it may hold only what can have lain
    /// there: else whatever the method lost and did not count would stand here, and never be unexplained.
    pub(super) fn unread_entry(&self) -> Entry {
        let place = Place::Unread;
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
                "unknown: the trial was cut short, and the method does not tell what it accepted or lost",
            ),
        };
        Entry { place, count, source: source.into() }
    }

    /// What verification found wrong with frames; nothing where it did not look at them.
    pub(super) fn verified_entry(&self, place: Place, found: u64) -> Entry {
        match &self.unverified {
            None => {
                Entry { place, count: Some(found), source: "capbench: verification of every frame".into() }
            }
            Some(reason) => Entry { place, count: None, source: format!("unknown: {reason}") },
        }
    }

    /// What the stack lost in front of the capture point.
    pub(super) fn stack_entry(&self, unseen: u64) -> Entry {
        let (count, source) = match (&self.traced, &self.untraced) {
            (Some(traced), _) => traced.in_stack(unseen),
            (None, Some(reason)) => (None, format!("unknown: no tracer of drop reasons: {reason}")),
            (None, None) => (None, "unknown: needs a tracer of drop reasons".into()),
        };
        Entry { place: Place::Stack, count, source }
    }

    /// How many frames must have ended on the receiving interface that the tracer did not see end. That is known on a pair of
    /// its own where the method leaves frames to the stack: on other links others' frames end there, too, and cards take
    /// those of other addresses off before. What the capture accepted ends behind it; and with a program of generic XDP,
    /// whatever the interface received ends in or behind that.
    pub(super) fn unseen_ends(&self, backlog: Option<u64>) -> u64 {
        let Some(traced) = self.traced.as_ref().filter(|_| self.virtual_pair && !self.method.takes_by_xdp())
        else {
            return 0;
        };
        let of_captured = self.method.accepted.map_or(0, |accepted| accepted.saturating_sub(traced.after));
        let received =
            self.received.zip(self.refused_after_receipt(backlog)).filter(|_| traced.xdp_is_generic);
        let of_received = received.map_or(0, |(all, refused)| all.saturating_sub(refused + traced.ended()));
        of_captured.max(of_received)
    }

    /// A source of the backlog's drops with the CPUs that dropped, of whose trial's frames or others'.
    pub(super) fn with_cpus(&self, source: &str) -> String {
        let cpus: Vec<_> =
            self.backlog_cpus.iter().map(|(cpu, count)| format!("{count} on CPU {cpu}")).collect();
        if cpus.is_empty() { source.into() } else { format!("{source}; the host's: {}", cpus.join(", ")) }
    }
}
