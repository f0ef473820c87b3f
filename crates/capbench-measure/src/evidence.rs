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
}

impl Evidence {
    /// Books what was counted.
    pub fn book(&self) -> Ledger {
        let entry = |place, count, source: &str| Entry { place, count, source: source.to_string() };
        let Refused { transmit, queue, backlog, backlog_source } = self.refused();
        let unread = match (self.method.accepted, self.method.dropped()) {
            (Some(accepted), Some(drops)) => Some(accepted.saturating_sub(drops).saturating_sub(self.read)),
            _ => None,
        };
        // A place of the method's own, or what stands there for methods that do not have it.
        let own =
            |place, at, count, source: &str| match self.method.losses.iter().find(|loss| loss.place == at) {
                Some(loss) => Entry { place, count: loss.count, source: loss.source.to_string() },
                None => entry(place, count, source),
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
        let xdp = self.xdp_entry();
        let filter = self.filter_entry(backlog, xdp.count);
        let entries = vec![
            entry(Place::Unsent, Some(self.unsent), "generator: intended - handed to the kernel"),
            self.transmit_entry(transmit),
            entry(
                Place::LinkQueue,
                queue,
                if self.virtual_pair && self.peer_queue != PeerQueue::None {
                    "link statistics of the sender: tx_dropped + tx_errors, the queue in front of the veth's NAPI poll"
                } else {
                    "frames go through no such queue"
                },
            ),
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
            self.stack_entry(),
            own(Place::Filter, LossPlace::Filter, filter.count, &filter.source),
            own(Place::FillRing, LossPlace::FillRing, Some(0), "the method has no fill ring"),
            own(Place::Ring, LossPlace::Ring, Some(0), "the method has no ring"),
            own(Place::MethodQueue, LossPlace::MethodQueue, Some(0), "the method has no queue of its own"),
            self.queue_entry(),
            entry(Place::Unread, unread, "what the method accepted, less its losses and the frames read"),
            entry(Place::Truncated, Some(self.truncated), "capbench: verification of every frame"),
            entry(Place::Corrupt, Some(self.corrupt), "capbench: verification of every frame"),
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
        let count = counted.map(|count| count + before);
        Entry { place: Place::Transmit, count, source }
    }

    /// What XDP lost: in the driver by the driver's counters, behind it by the tracer.
    fn xdp_entry(&self) -> Entry {
        let (count, source) = TracedLosses::xdp(self.traced.as_ref(), self.xdp_attached);
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
    fn filter_entry(&self, backlog: Option<u64>, xdp: Option<u64>) -> Entry {
        let place = Place::Filter;
        if !self.filter_drops {
            return Entry {
                place,
                count: Some(0),
                source: "no socket filter drops frames of the trial".into(),
            };
        }
        let behind = match self.peer_queue {
            // What the backlog refused has not been received yet.
            PeerQueue::None => Some(0),
            PeerQueue::OfBuffers | PeerQueue::OfFrames => backlog,
        };
        let stack = self.traced.as_ref().map(|traced| traced.stack.total());
        let known = (self.received, behind, xdp, self.method.accepted);
        match known {
            (Some(received), Some(backlog), Some(xdp), Some(accepted)) if self.virtual_pair => Entry {
                place,
                count: Some(received.saturating_sub(backlog + xdp + stack.unwrap_or(0) + accepted)),
                source: match stack {
                    Some(_) => "rx_packets of the receiver less what backlog, XDP and stack lost and the socket accepted",
                    None => {
                        "rx_packets of the receiver less what backlog and XDP lost and the socket accepted: with what \
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

    /// What the stack lost in front of the capture point.
    fn stack_entry(&self) -> Entry {
        let (count, source) = match (&self.traced, &self.untraced) {
            (Some(traced), _) => (Some(traced.stack.total()), self.traced_stack_source(traced)),
            (None, Some(reason)) => (None, format!("unknown: no tracer of drop reasons: {reason}")),
            (None, None) => (None, "unknown: needs a tracer of drop reasons".into()),
        };
        Entry { place: Place::Stack, count, source }
    }

    fn traced_stack_source(&self, traced: &TracedLosses) -> String {
        let source = traced.stack_source();
        match self.method.accepted.filter(|_| self.virtual_pair).map_or(0, |accepted| traced.unseen(accepted))
        {
            0 => source,
            unseen => format!(
                "{source}; of the frames that reached the capture point, {unseen} were dropped unseen"
            ),
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
            let backlog =
                self.backlog_drops.zip(self.receive_drops).map(|(host, interface)| host.min(interface));
            let backlog_source =
                "/proc/net/softnet_stat: dropped, as far as rx_dropped of the receiver confirms it";
            return Refused { backlog, backlog_source, ..refused };
        }
        let (Some(drops), Some(softnet)) = (transmit, self.backlog_drops) else {
            let backlog_source = "unknown: /proc/net/softnet_stat could not be read";
            return Refused { backlog: None, backlog_source, ..refused };
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
            let behind = self.receive_drops.map(|received| received.saturating_sub(in_queue));
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
}

/// What was refused between the generator and the receiving end.
struct Refused {
    transmit: Option<u64>,
    queue: Option<u64>,
    backlog: Option<u64>,
    backlog_source: &'static str,
}

#[cfg(test)]
mod tests {
    use super::{Counted, CpuId, Evidence, NicEvidence, PeerQueue, TracedLosses};
    use capbench_capture::{Counters, Loss, LossPlace};
    use proptest::prelude::*;

    use crate::ledger::Place;

    fn ring(accepted: Option<u64>, drops: Option<u64>) -> Counters {
        let loss = Loss { place: LossPlace::Ring, count: drops, source: "tp_drops".into() };
        Counters { accepted, losses: vec![loss], raw: Vec::new() }
    }

    fn quiet(sent: u64, delivered: u64) -> Evidence {
        Evidence {
            sent,
            delivered,
            read: delivered,
            transmit_drops: Some(0),
            link_drops: Some(0),
            backlog_drops: Some(0),
            virtual_pair: true,
            xdp_attached: Some(false),
            method: ring(Some(delivered), Some(0)),
            ..Evidence::default()
        }
    }

    #[test]
    fn nothing_lost_leaves_nothing() {
        let ledger = quiet(1000, 1000).book();
        assert_eq!(ledger.unexplained, 0);
        assert!(ledger.losses().is_empty());
        assert_eq!(ledger.count(Place::Stack), None, "unknown stays unknown");
    }

    #[test]
    fn ring_loss_is_booked_to_the_ring() {
        let ledger = Evidence { method: ring(Some(1000), Some(300)), ..quiet(1000, 700) }.book();
        assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Ring, 300)]));
    }

    #[test]
    fn a_veth_drop_in_the_backlog_is_booked_once() {
        let ledger =
            Evidence { transmit_drops: Some(50), backlog_drops: Some(40), ..quiet(1000, 950) }.book();
        assert_eq!(ledger.unexplained, 0);
        assert_eq!(ledger.losses(), [(Place::Backlog, 40), (Place::Transmit, 10)]);
    }

    #[test]
    fn the_backlogs_that_dropped_are_named_by_cpu() {
        let backlog_cpus = vec![(CpuId::new(1), 38), (CpuId::new(3), 2)];
        let evidence =
            Evidence { transmit_drops: Some(40), backlog_drops: Some(40), backlog_cpus, ..quiet(1000, 960) };
        let ledger = evidence.book();
        let entry = ledger.entries.iter().find(|entry| entry.place == Place::Backlog).unwrap();
        assert!(entry.source.ends_with("; the host's: 38 on CPU 1, 2 on CPU 3"), "{entry:?}");
    }

    #[test]
    fn ends_of_frames_that_the_tracer_did_not_see_are_told() {
        let source = |after| {
            let traced = Some(TracedLosses { after, ..TracedLosses::default() });
            let ledger = Evidence { traced, ..quiet(1000, 1000) }.book();
            let entry = ledger.entries.into_iter().find(|entry| entry.place == Place::Stack).unwrap();
            assert_eq!(entry.count, Some(0));
            entry.source
        };
        assert!(source(993).ends_with("of the frames that reached the capture point, 7 were dropped unseen"));
        assert!(!source(1000).contains("unseen"));
        assert!(!source(0).contains("unseen"), "the method keeps frames from the stack");
    }

    #[test]
    fn backlog_drops_of_other_traffic_are_not_ours() {
        let ledger =
            Evidence { transmit_drops: Some(0), backlog_drops: Some(99), ..quiet(1000, 1000) }.book();
        assert_eq!((ledger.unexplained, ledger.count(Place::Backlog)), (0, Some(0)));
    }

    #[test]
    fn repeated_attempts_are_no_loss() {
        let ledger =
            Evidence { repeated: 25, transmit_drops: Some(25), backlog_drops: Some(25), ..quiet(1000, 1000) }
                .book();
        assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![]));
    }

    #[test]
    fn what_is_refused_in_front_of_the_interface_is_lost_on_the_transmit_side() {
        // The interface counts 40 of 140 refusals: those of the backlog.
        let refused =
            Evidence { refused: 140, transmit_drops: Some(40), backlog_drops: Some(40), ..quiet(1000, 860) };
        let ledger = refused.book();
        assert_eq!(
            (ledger.unexplained, ledger.losses()),
            (0, vec![(Place::Transmit, 100), (Place::Backlog, 40)])
        );
        // A tracer sees the same frames: they are booked once.
        let drops = vec![(crate::tracer::DropKind { reason: Some("TC_EGRESS".into()), function: None }, 100)];
        let sending = crate::tracer::InterfaceTrace { drops, ..Default::default() };
        let traced = Some(crate::tracer::losses::TracedLosses::new(&sending, &Default::default(), false));
        assert_eq!(Evidence { traced, ..refused }.book().losses(), ledger.losses());
    }

    #[test]
    fn what_nobody_counted_is_unexplained_with_its_sign() {
        assert_eq!(quiet(1000, 990).book().unexplained, 10);
        assert_eq!(quiet(1000, 1003).book().unexplained, -3);
    }

    #[test]
    fn unread_frames_have_their_place() {
        let ledger = Evidence { method: ring(Some(1000), Some(0)), ..quiet(1000, 960) }.book();
        assert_eq!(ledger.losses(), [(Place::Unread, 40)]);
    }

    #[test]
    fn a_backlog_behind_the_queue_of_a_veth_is_booked_beside_it() {
        // 30 found the queue full, which counts at both ends; of the others the backlog refused 12.
        let evidence = Evidence {
            transmit_drops: Some(30),
            receive_drops: Some(42),
            backlog_drops: Some(15),
            peer_queue: PeerQueue::OfFrames,
            ..quiet(100, 58)
        };
        let ledger = evidence.book();
        assert_eq!((ledger.count(Place::LinkQueue), ledger.count(Place::Backlog)), (Some(30), Some(12)));
        assert_eq!(ledger.unexplained, 0);
        // A socket buffer counts at the sender only.
        let ledger =
            Evidence { peer_queue: PeerQueue::OfBuffers, receive_drops: Some(12), ..evidence }.book();
        assert_eq!((ledger.count(Place::LinkQueue), ledger.count(Place::Backlog)), (Some(30), Some(12)));
    }

    #[test]
    fn drops_of_others_in_a_backlog_are_not_booked_where_no_frame_passes_one() {
        let evidence = Evidence {
            transmit_drops: Some(50),
            receive_drops: Some(50),
            backlog_drops: Some(9),
            peer_queue: PeerQueue::OfBuffers,
            past_backlog: true,
            ..quiet(100, 50)
        };
        let ledger = evidence.book();
        assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::LinkQueue, 50)]));
        assert_eq!(ledger.count(Place::Backlog), Some(0));
    }

    #[test]
    fn what_the_driver_says_goes_before_the_link_statistics() {
        let told = |count| Some(Counted { count, source: "pkts rx OOB".into() });
        let nic = NicEvidence { link: told(Some(40)), driver: told(Some(2)), xdp: told(None) };
        let ledger = Evidence { nic, ..quiet(1000, 958) }.book();
        assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Link, 40), (Place::Driver, 2)]));
        assert_eq!(ledger.count(Place::Xdp), None, "a driver that cannot tell leaves it unknown");
        assert!(ledger.entries.iter().any(|entry| entry.source == "pkts rx OOB"));
    }

    proptest! {
        /// Whatever is counted, the identity holds: unexplained is just what is left.
        #[test]
        fn the_books_always_balance(
            sent in 0u64..1 << 40, delivered in 0u64..1 << 40, transmit in proptest::option::of(0u64..1 << 40),
            backlog in proptest::option::of(0u64..1 << 40), ring in proptest::option::of(0u64..1 << 40),
            accepted in proptest::option::of(0u64..1 << 40), fill in proptest::option::of(0u64..1 << 40), repeated in 0u64..1 << 20, virtual_pair: bool,
        ) {
            let mut method = super::tests::ring(accepted, ring);
            method.losses.push(Loss { place: LossPlace::FillRing, count: fill, source: "fill".into() });
            let evidence = Evidence {
                transmit_drops: transmit, backlog_drops: backlog, method, repeated, virtual_pair,
                ..quiet(sent, delivered)
            };
            let ledger = evidence.book();
            let booked: u64 = ledger.entries.iter().filter_map(|entry| entry.count).sum();
            prop_assert_eq!(sent as i64, booked as i64 + delivered as i64 + ledger.unexplained);
            // Each place holds its own counter, and what was not counted is unknown, not 0.
            prop_assert_eq!(ledger.count(Place::Ring), ring);
            prop_assert_eq!(ledger.count(Place::FillRing), fill);
            let known = accepted.is_some() && ring.is_some() && fill.is_some();
            prop_assert_eq!(ledger.count(Place::Unread).is_some(), known);
            prop_assert_eq!(ledger.count(Place::Transmit).is_some(), transmit.is_some());
            if let (true, Some(transmit), Some(_)) = (virtual_pair, transmit, backlog) {
                let both = ledger.count(Place::Transmit).unwrap() + ledger.count(Place::Backlog).unwrap();
                prop_assert_eq!(both, transmit.saturating_sub(repeated), "a frame is booked once");
            }
        }
    }
}
