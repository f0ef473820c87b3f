//! The ledger of a trial: how many frames each place along the path lost, and by which counters. [`Evidence::book`] books all places.
//!
//! Frames that nothing read until the trial ended are booked here, also those in the queue of a veth; `refused.rs` divides refused ones.

use super::refused::Refused;
use super::{Evidence, LossesByReason, PeerQueue, QueueAccount, TracedLosses, UnreadFrames};
use crate::ledger::{Entry, Ledger};
use crate::places::Place;
use crate::sources::{
    BacklogSource, BeforeCounters, FilterSource, LinkSource, PathSource, Source, TransmitCounters,
    TransmitSource, UnreadSource,
};

impl Evidence {
    /// Books the counts.
    pub fn book(&self) -> Ledger {
        let Refused { transmit, queue, backlog, backlog_part } = self.refused();
        let transmit = self.transmit_entry(transmit);
        let link_queue = self.link_queue_entry(queue, transmit.count);
        let unseen = self.unseen_ends(backlog);
        let xdp = self.xdp_entry(unseen);
        let filter = self.filter_entry(backlog, xdp.count, unseen);
        let backlog_source = BacklogSource { part: backlog_part, cpus: self.backlog_cpus.clone() };
        let entries = vec![
            Entry::new(Place::Unsent, Some(self.unsent), Source::Generator),
            transmit,
            link_queue,
            self.path_entry(),
            self.link_entry(),
            self.driver_entry(),
            Entry::new(Place::Backlog, backlog, Source::Backlog(backlog_source)),
            xdp,
            self.stack_entry(unseen),
            filter,
            self.entry_in_method(Place::FillRing),
            self.entry_in_method(Place::Ring),
            self.entry_in_method(Place::MethodQueue),
            self.queue_entry(),
            self.unread_entry(),
            self.verified_entry(Place::Truncated, self.truncated),
            self.verified_entry(Place::Corrupt, self.corrupt),
        ];
        let entries = entries.into_iter().map(|entry| self.unless_method_counts(entry)).collect();
        Ledger::balance(self.sent, self.delivered, entries)
    }

    /// An entry, unless the method counts the losses of its place.
    fn unless_method_counts(&self, entry: Entry) -> Entry {
        match self.method.losses.iter().find(|loss| loss.place == entry.place) {
            Some(loss) => Entry::new(loss.place, loss.count, Source::Method(loss.source.clone())),
            None => entry,
        }
    }

    /// A place inside the method, which counts no losses there: only it can.
    fn entry_in_method(&self, place: Place) -> Entry {
        match self.method.without.contains(&place) {
            true => Entry::new(place, Some(0), Source::NotInMethod),
            false => Entry::new(place, None, Source::MethodReportsNone),
        }
    }

    /// Losses on the way out: the interface's counters, and the losses that they miss.
    fn transmit_entry(&self, counted: Option<u64>) -> Entry {
        let counters = match (self.virtual_pair, self.peer_queue) {
            (true, PeerQueue::OfBuffers | PeerQueue::OfFrames) => TransmitCounters::FarQueueOnly,
            (true, PeerQueue::None) => TransmitCounters::LessBacklog,
            (false, _) => TransmitCounters::LinkStatistics,
        };
        let traced = self.traced_at(Place::Transmit).filter(|losses| !losses.is_empty());
        // Queueing discipline and tc drop in front of the interface's counters, and report it to the generator: tracer and
        // refusals count the same frames.
        let reported = self.transmit_drops.map_or(0, |drops| drops.saturating_sub(self.repeated));
        let unreported = self.refused.saturating_sub(reported);
        let count = counted.map(|count| count + traced.map_or(0, LossesByReason::total).max(unreported));
        let before = match (traced, unreported) {
            (Some(losses), _) => Some(BeforeCounters::Traced(losses.clone())),
            (None, 0) => None,
            (None, _) => Some(BeforeCounters::Refused(unreported)),
        };
        let unplaced = match &self.traced {
            Some(traced) => traced.unplaced_transmit.clone(),
            None => LossesByReason::default(),
        };
        Entry::new(Place::Transmit, count, Source::Transmit(TransmitSource { counters, before, unplaced }))
    }

    /// Frames that the queue of a polled veth refused or that its poll had not read when the trial ended. The link accepted
    /// them from the generator and did not receive them. There are never more than the queues' capacity.
    fn link_queue_entry(&self, refused: Option<u64>, transmit: Option<u64>) -> Entry {
        /// `VETH_RING_SIZE` of drivers/net/veth.c.
        const FRAMES: u64 = 256;
        if !self.virtual_pair || self.peer_queue == PeerQueue::None {
            return Entry::new(Place::LinkQueue, refused, Source::NoLinkQueue);
        }
        let left = match (refused, transmit, self.received) {
            (Some(refused), Some(transmit), Some(polled)) => self
                .sent
                .saturating_sub(refused + transmit + polled)
                .min(FRAMES * u64::from(self.peer_queues.unwrap_or(1))),
            _ => 0,
        };
        let source = Source::LinkQueue { left: (left > 0).then_some(left) };
        Entry::new(Place::LinkQueue, refused.map(|refused| refused + left), source)
    }

    /// The tracer's losses at a place, if it ran.
    fn traced_at(&self, place: Place) -> Option<&LossesByReason> {
        Some(self.traced.as_ref()?.lost_at(place))
    }

    /// Losses between the interfaces.
    fn path_entry(&self) -> Entry {
        match &self.nic.path {
            Some(path) => Entry::new(Place::Path, path.count, path.source.clone()),
            None if self.virtual_pair => {
                Entry::new(Place::Path, Some(0), Source::Path(PathSource::NothingBetween))
            }
            None => Entry::new(Place::Path, None, Source::Path(PathSource::NotCompared)),
        }
    }

    /// Losses of the receiving card.
    fn link_entry(&self) -> Entry {
        match &self.nic.link {
            Some(link) => Entry::new(Place::Link, link.count, link.source.clone()),
            None => Entry::new(Place::Link, self.link_drops, Source::Link(LinkSource::LinkStatistics)),
        }
    }

    /// Losses of the receiving driver.
    fn driver_entry(&self) -> Entry {
        match &self.nic.driver {
            Some(driver) => Entry::new(Place::Driver, driver.count, Source::Card(driver.counters.clone())),
            None if self.virtual_pair => Entry::new(Place::Driver, Some(0), Source::VethHasNoQueue),
            None => Entry::new(Place::Driver, None, Source::ReceiveDropsHaveCaptured),
        }
    }

    /// Losses of XDP: in the driver by the driver's counters, behind it by the tracer.
    fn xdp_entry(&self, unseen: u64) -> Entry {
        let xdp = TracedLosses::xdp(self.traced.as_ref(), self.xdp_attached, unseen);
        let Some(driver) = &self.nic.xdp else {
            return Entry::new(Place::Xdp, xdp.count(), Source::Xdp(xdp));
        };
        let card = driver.counters.clone();
        match self.traced_at(Place::Xdp) {
            Some(behind) if !behind.is_empty() => {
                let count = driver.count.map(|count| count + behind.total());
                Entry::new(Place::Xdp, count, Source::CardAndXdp { card, xdp })
            }
            _ => Entry::new(Place::Xdp, driver.count, Source::Card(card)),
        }
    }

    /// Drops of a socket filter, which no kernel counter counts. A private pair carries only the trial's frames. There the
    /// filter dropped the received frames that neither XDP nor stack lost and the socket did not accept.
    fn filter_entry(&self, backlog: Option<u64>, xdp: Option<u64>, unseen: u64) -> Entry {
        let place = Place::Filter;
        if !self.filter_drops {
            return Entry::new(place, Some(0), Source::Filter(FilterSource::NoFilter));
        }
        let known = (self.received, self.refused_after_receipt(backlog), xdp, self.method.accepted);
        let (Some(received), Some(backlog), Some(xdp), Some(accepted)) = known else {
            return Entry::new(place, None, Source::Filter(FilterSource::Unknown));
        };
        if !self.virtual_pair {
            return Entry::new(place, None, Source::Filter(FilterSource::Unknown));
        }
        let stack = self.traced_at(Place::Stack).map_or(0, LossesByReason::total);
        let source = match &self.traced {
            Some(traced) if traced.doubts(unseen).is_empty() => FilterSource::Difference,
            Some(_) => FilterSource::DifferenceInDoubt,
            None => FilterSource::DifferenceWithStack,
        };
        let dropped = received.saturating_sub(backlog + xdp + stack + accepted);
        Entry::new(place, Some(dropped), Source::Filter(source))
    }

    /// Frames that the application's queue refused, or still contained at the end.
    fn queue_entry(&self) -> Entry {
        let Some(QueueAccount { length, refused, left }) = self.queue else {
            return Entry::new(Place::ApplicationQueue, Some(0), Source::NoQueue);
        };
        Entry::new(Place::ApplicationQueue, Some(refused + left), Source::Queue { length, refused, left })
    }

    /// Frames in ring or socket at the end. The number is the difference of other counters, so it is limited to what fits there.
    /// Otherwise every uncounted loss of the method would appear here and never be unexplained.
    fn unread_entry(&self) -> Entry {
        let place = Place::Unread;
        match &self.unread {
            Some(UnreadFrames::Counted(count)) => {
                return Entry::new(place, Some(*count), Source::Unread(UnreadSource::SocketsOfProgram));
            }
            Some(UnreadFrames::Unknown(why)) => {
                return Entry::new(place, None, Source::Unread(UnreadSource::SocketsUnknown(why.clone())));
            }
            None => {}
        }
        if !self.cut_short {
            return Entry::new(place, Some(0), Source::Unread(UnreadSource::Drained));
        }
        match (self.method.accepted, self.method.dropped()) {
            (Some(accepted), Some(drops)) => {
                let unread = accepted.saturating_sub(drops).saturating_sub(self.read);
                Entry::new(place, Some(unread), Source::Unread(UnreadSource::Difference))
            }
            _ => Entry::new(place, None, Source::Unread(UnreadSource::CutShort)),
        }
    }

    /// Faulty frames that verification found; 0 if it did not examine them.
    fn verified_entry(&self, place: Place, found: u64) -> Entry {
        match &self.unverified {
            None => Entry::new(place, Some(found), Source::Verification),
            Some(because) => Entry::new(place, None, Source::Unverified { because: because.clone() }),
        }
    }

    /// Losses of the stack in front of the capture point.
    fn stack_entry(&self, unseen: u64) -> Entry {
        let Some(traced) = &self.traced else {
            let because = self.untraced.clone();
            return Entry::new(Place::Stack, None, Source::NotTraced { because });
        };
        let seen = traced.in_stack(unseen);
        Entry::new(Place::Stack, seen.count(), Source::Stack(seen))
    }

    /// Frames that must have ended on the receiving interface without the tracer seeing it. The number is known on a private pair
    /// if the method leaves frames to the stack. On other links foreign frames end there, too, and cards drop frames for other
    /// addresses before. Frames that the capture accepted end behind it. With a program of generic XDP, every received frame ends
    /// in or behind the program; if tc consumes frames, without a program, every received frame ends in the stack or there.
    fn unseen_ends(&self, backlog: Option<u64>) -> u64 {
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
}
