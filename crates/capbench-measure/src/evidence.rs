//! What was counted around a trial, and how the ledger is booked from it.
//!
//! One frame can count in several of the kernel's counters. Which of them it is booked under, and on which kind of
//! path, is decided here and nowhere else.

use capbench_capture::{Counters, LossPlace};
use capbench_sys::host::CpuId;

use crate::ledger::{Entry, Ledger, Place};
use crate::receiver::QueueAccount;
use crate::tracer::losses::{Losses, TracedLosses};

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

    /// What was lost on the way out: the interface's counters, and what they leave out.
    fn transmit_entry(&self, counted: Option<u64>) -> Entry {
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
    fn link_queue_entry(&self, refused: Option<u64>, transmit: Option<u64>) -> Entry {
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
    fn xdp_entry(&self, unseen: u64) -> Entry {
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
    fn filter_entry(&self, backlog: Option<u64>, xdp: Option<u64>, unseen: u64) -> Entry {
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
    fn queue_entry(&self) -> Entry {
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
    fn unread_entry(&self) -> Entry {
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
    fn verified_entry(&self, place: Place, found: u64) -> Entry {
        match &self.unverified {
            None => {
                Entry { place, count: Some(found), source: "capbench: verification of every frame".into() }
            }
            Some(reason) => Entry { place, count: None, source: format!("unknown: {reason}") },
        }
    }

    /// What the stack lost in front of the capture point.
    fn stack_entry(&self, unseen: u64) -> Entry {
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
    fn unseen_ends(&self, backlog: Option<u64>) -> u64 {
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

    /// What a backlog refused of the frames in `rx_packets` of the receiver: where nothing polls, it refuses them before.
    fn refused_after_receipt(&self, backlog: Option<u64>) -> Option<u64> {
        match self.peer_queue {
            PeerQueue::None => Some(0),
            PeerQueue::OfBuffers | PeerQueue::OfFrames => backlog,
        }
    }

    /// A source of the backlog's drops with the CPUs that dropped, of whose trial's frames or others'.
    fn with_cpus(&self, source: &str) -> String {
        let cpus: Vec<_> =
            self.backlog_cpus.iter().map(|(cpu, count)| format!("{count} on CPU {cpu}")).collect();
        if cpus.is_empty() { source.into() } else { format!("{source}; the host's: {}", cpus.join(", ")) }
    }

    /// On a veth pair one refused frame counts in `tx_dropped` of the sender and, if it was the backlog that refused
    /// it, in the softnet counter, too. It is booked once, to the backlog. On other links the two are independent.
    fn refused(&self) -> Refused {
        let transmit = self.transmit_drops.map(|drops| drops.saturating_sub(self.repeated));
        let refused = Refused { transmit, queue: Some(0), backlog: Some(0), backlog_source: "" };
        if self.past_backlog {
            let backlog_source = "frames pass no backlog: the NAPI poll takes them to the method";
            let (transmit, queue) = if self.virtual_pair { (Some(0), transmit) } else { (transmit, Some(0)) };
            return Refused { transmit, queue, backlog_source, ..refused };
        }
        if !self.virtual_pair {
            // The softnet counter is the whole host's, the interface's counts other drops, too: neither is exceeded.
            let backlog = self.backlog_drops.zip(self.refused_by_stack()).map(|(host, ours)| host.min(ours));
            let backlog_source = match backlog {
                Some(_) => {
                    "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver, without its driver's own, \
                     confirms it"
                }
                None => self.backlog_unknown(),
            };
            return Refused { backlog, backlog_source, ..refused };
        }
        let (Some(drops), Some(softnet)) = (transmit, self.backlog_drops) else {
            return Refused { backlog: None, backlog_source: self.backlog_unknown(), ..refused };
        };
        if self.peer_queue != PeerQueue::None {
            let (in_queue, backlog_source) = match self.peer_queue {
                PeerQueue::OfFrames => (
                    drops,
                    "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver exceeds tx_dropped of the \
                     sender",
                ),
                _ => (0, "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver confirms it"),
            };
            let behind = self.refused_by_stack().map(|refused| refused.saturating_sub(in_queue));
            let backlog_source = if behind.is_some() { backlog_source } else { self.backlog_unknown() };
            return Refused {
                transmit: Some(0),
                queue: transmit,
                backlog: behind.map(|drops| drops.min(softnet)),
                backlog_source,
            };
        }
        let backlog = softnet.saturating_sub(self.repeated).min(drops);
        Refused {
            transmit: Some(drops - backlog),
            backlog: Some(backlog),
            backlog_source: "/proc/net/softnet_stat: dropped, as far as tx_dropped of the sender confirms it",
            ..refused
        }
    }

    /// What `rx_dropped` of the receiver has beside its driver's own drops, which are booked from the driver's counters.
    fn refused_by_stack(&self) -> Option<u64> {
        self.receive_drops.map(|all| all.saturating_sub(self.driver_receive_drops))
    }

    /// Why nobody can say what a backlog refused.
    fn backlog_unknown(&self) -> &'static str {
        match self.backlog_drops {
            None => "unknown: /proc/net/softnet_stat could not be read",
            Some(_) => "unknown: link statistics are missing, and softnet_stat counts for the whole host",
        }
    }
}

/// What was refused between the generator and the receiving end.
struct Refused {
    transmit: Option<u64>,
    queue: Option<u64>,
    backlog: Option<u64>,
    backlog_source: &'static str,
}

#[cfg(test)]
mod tests;
