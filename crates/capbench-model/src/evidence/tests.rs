//! Booking of chosen evidence, and properties of it.

use super::{Counted, Evidence, NicEvidence, PeerQueue, TracedLosses, UnreadFrames};
use crate::counters::{Counters, Loss};
use capbench_sys::host::CpuId;
use proptest::prelude::*;

use crate::ledger::Entry;
use crate::places;
use crate::places::Place;
use crate::sources::{
    BacklogOfCpu, BacklogPart, BacklogSource, CardCount, CardCounter, CardCounters, CountedFrames,
    FilterSource, SocketsUnknown, Source, TransmitCounters, TransmitSource, UnreadSource,
};
use crate::traced_losses::{Doubts, LossesByReason, TracedCount, TracedXdp};

fn ring(accepted: Option<u64>, drops: Option<u64>) -> Counters {
    let loss = Loss { place: Place::Ring, count: drops, source: "tp_drops".into() };
    let without = vec![Place::FillRing, Place::MethodQueue];
    Counters { accepted, losses: vec![loss], without, raw: Vec::new() }
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

/// Losses by a counter of a card.
fn card_count(count: Option<u64>) -> CardCount {
    let counter = CardCounter {
        counter: "driver counter rx_drops".into(),
        meaning: "dropped by the driver".into(),
        is_bound_by_failed_redirects: false,
    };
    let counters = CardCounters { counters: vec![counter], counted: CountedFrames::Losses };
    CardCount { count, counters }
}

/// Each place once, in the order of the documented table.
#[test]
fn every_ledger_has_the_places_of_the_table() {
    let booked: Vec<Place> = Evidence::default().book().entries.iter().map(|entry| entry.place).collect();
    assert_eq!(booked, places::ALL);
}

#[test]
fn what_a_method_counts_is_booked_at_its_place_also_where_the_kernel_counts() {
    use Place::{Backlog, Driver, FillRing, Filter, Link, MethodQueue, Ring, Stack, Xdp};
    for place in [Link, Driver, Backlog, Xdp, Stack, Filter, FillRing, Ring, MethodQueue] {
        let mut evidence = quiet(1000, 993);
        evidence.method.losses = vec![Loss { place, count: Some(7), source: "x".into() }];
        let ledger = evidence.book();
        assert_eq!((ledger.count(place), ledger.unexplained), (Some(7), 0), "{place:?}");
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
fn frames_that_were_only_counted_are_not_said_to_be_whole() {
    let reason = "its frames were counted in the kernel, their contents not verified";
    let ledger = Evidence { unverified: Some(reason.into()), ..quiet(1000, 1000) }.book();
    for place in [Place::Truncated, Place::Corrupt] {
        let entry = ledger.entries.iter().find(|entry| entry.place == place).unwrap();
        assert_eq!(*entry, Entry::new(place, None, Source::Unverified { because: reason.into() }));
    }
    assert_eq!(quiet(1000, 1000).book().count(Place::Corrupt), Some(0), "verification found none");
}

#[test]
fn the_backlogs_that_dropped_are_named_by_cpu() {
    let of_cpu = |cpu, dropped| BacklogOfCpu { cpu: CpuId::new(cpu), dropped };
    let cpus = vec![of_cpu(1, 38), of_cpu(3, 2)];
    let backlog_cpus = cpus.clone();
    let evidence =
        Evidence { transmit_drops: Some(40), backlog_drops: Some(40), backlog_cpus, ..quiet(1000, 960) };
    let source = Source::Backlog(BacklogSource { part: BacklogPart::Sender, cpus });
    assert_eq!(entry(&evidence, Place::Backlog), Entry::new(Place::Backlog, Some(40), source));
}

#[test]
fn ends_of_frames_that_the_tracer_did_not_see_are_reported() {
    let stack = |after| {
        let traced = Some(TracedLosses { after, ..TracedLosses::default() });
        entry(&Evidence { traced, ..quiet(1000, 1000) }, Place::Stack)
    };
    let doubts = Doubts { unseen: 7, ..Doubts::default() };
    let source = Source::Stack(TracedCount { lost: LossesByReason::default(), doubts });
    assert_eq!(stack(993), Entry::new(Place::Stack, None, source));
    assert_eq!(stack(1000), Entry::new(Place::Stack, Some(0), Source::Stack(TracedCount::default())));
    assert_eq!(stack(0).count, None, "a tracer that saw no end at all may have seen no loss either");
    // tc consumes all that is received, unless something in front loses it.
    let consuming = |received| {
        let traced = Some(TracedLosses { after: 1000, consumed: 1000, ..TracedLosses::default() });
        let evidence =
            Evidence { traced, received: Some(received), xdp_attached: Some(false), ..quiet(received, 1000) };
        evidence.book().count(Place::Stack)
    };
    assert_eq!((consuming(1000), consuming(1004)), (Some(0), None), "four ended unseen");
    let traced = Some(TracedLosses::default());
    let mut taking = Evidence { traced, ..quiet(1000, 1000) };
    taking.method.losses.push(Loss { place: Place::Xdp, count: Some(0), source: "x".into() });
    assert_eq!(taking.book().count(Place::Stack), Some(0), "the method keeps frames from the stack");
    let unplaced = lost("NEW", 5);
    let traced = Some(TracedLosses { unplaced_transmit: unplaced.clone(), drops: 5, ..Default::default() });
    let source = TransmitSource { counters: TransmitCounters::LessBacklog, before: None, unplaced };
    let transmit = entry(&Evidence { traced, ..quiet(1000, 1000) }, Place::Transmit);
    assert_eq!(transmit, Entry::new(Place::Transmit, Some(0), Source::Transmit(source)));
}

fn entry(evidence: &Evidence, place: Place) -> Entry {
    evidence.book().entries.into_iter().find(|entry| entry.place == place).unwrap()
}

/// What the tracer saw of XDP.
fn seen_of_xdp(entry: &Entry) -> &TracedCount {
    match &entry.source_fact {
        Some(Source::Xdp(TracedXdp::Generic { seen, .. })) => seen,
        other => panic!("{other:?}"),
    }
}

/// The same with losses at a place.
fn with(mut traced: TracedLosses, place: Place, why: &str, frames: u64) -> TracedLosses {
    traced.add(place, why.into(), frames);
    traced
}

fn lost(why: &str, frames: u64) -> LossesByReason {
    let mut losses = LossesByReason::default();
    losses.add(why.into(), frames);
    losses
}

/// A pair. Its receiver got 1000 frames, of which a program of generic XDP dropped 100. The tracer saw this many ends
/// of either kind.
fn beside_generic_xdp(dropped: u64, captured: u64) -> Evidence {
    let traced = TracedLosses {
        after: captured,
        drops: dropped + captured,
        xdp_is_generic: true,
        ..Default::default()
    };
    let traced = Some(with(traced, Place::Xdp, "XDP", dropped));
    let evidence = quiet(1000, 900);
    Evidence { xdp_attached: Some(true), received: Some(1000), traced, ..evidence }
}

#[test]
fn seen_drops_of_generic_xdp_are_a_lower_bound() {
    let whole = beside_generic_xdp(100, 900).book();
    assert_eq!((whole.unexplained, whole.count(Place::Stack)), (0, Some(0)));
    let blind = beside_generic_xdp(88, 900);
    let xdp = entry(&blind, Place::Xdp);
    assert_eq!((blind.book().unexplained, xdp.count), (12, Some(88)));
    assert_eq!(seen_of_xdp(&xdp).doubts, Doubts { unseen: 12, ..Doubts::default() });
    assert_eq!(entry(&blind, Place::Stack).count, None, "they may have ended there as well");
    // What a backlog refused behind the poll did not end there, and has its own counter.
    let seen = beside_generic_xdp(100, 900);
    let traced = seen.traced.clone().map(|traced| with(traced, Place::Backlog, "CPU_BACKLOG", 30));
    let polled = Evidence {
        traced,
        peer_queue: PeerQueue::OfBuffers,
        backlog_drops: Some(30),
        receive_drops: Some(30),
        received: Some(1030),
        sent: 1030,
        ..seen
    };
    let ledger = polled.book();
    assert_eq!((ledger.unexplained, ledger.count(Place::Stack)), (0, Some(0)), "{ledger:?}");
}

#[test]
fn drops_unseen_by_the_tracer_are_not_booked_to_the_filter_alone() {
    let filtered = |dropped| {
        let evidence = beside_generic_xdp(dropped, 900);
        let method = ring(Some(850), Some(0));
        let evidence = Evidence { filter_drops: true, method, delivered: 850, read: 850, ..evidence };
        assert_eq!(evidence.book().unexplained, 0);
        entry(&evidence, Place::Filter)
    };
    let booked = |count, source| Entry::new(Place::Filter, Some(count), Source::Filter(source));
    assert_eq!(filtered(100), booked(50, FilterSource::Difference));
    assert_eq!(filtered(90), booked(60, FilterSource::DifferenceInDoubt));
}

proptest! {
    /// However few ends it saw: frames are unexplained only where the entry of XDP says that it is in doubt.
    #[test]
    fn no_frame_is_unexplained_because_of_a_blind_tracer_unless_it_is_said(seen in 0..=100_u64, captured in 0..=900_u64) {
        let ledger = beside_generic_xdp(seen, captured).book();
        let xdp = ledger.entries.iter().find(|entry| entry.place == Place::Xdp).unwrap();
        let is_whole = seen == 100 && captured == 900;
        prop_assert_eq!(seen_of_xdp(xdp).doubts.unseen > 0, !is_whole);
        prop_assert_eq!(ledger.unexplained, (100 - seen) as i64);
        prop_assert_eq!(ledger.count(Place::Stack), is_whole.then_some(0));
    }
}

/// 30 frames in rx_dropped, 20 of them the driver's own; the host's backlogs refused 25, 15 of them of other interfaces.
#[test]
fn driver_drops_are_not_booked_to_the_backlog_again() {
    let nic = NicEvidence { driver: Some(card_count(Some(20))), ..NicEvidence::default() };
    let on_card = Evidence {
        virtual_pair: false,
        receive_drops: Some(30),
        driver_receive_drops: 20,
        backlog_drops: Some(25),
        nic,
        ..quiet(1000, 970)
    };
    let ledger = on_card.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Driver, 20), (Place::Backlog, 10)]));
    // Of the 10 others in rx_dropped 4 were captured: no protocol handles them. The tracer saw the backlog refuse 6.
    let traced = TracedLosses { after: 4, drops: 10, ..TracedLosses::default() };
    let traced = with(traced, Place::Backlog, "CPU_BACKLOG", 6);
    let seen = Evidence { traced: Some(traced), delivered: 974, ..on_card.clone() }.book();
    assert_eq!((seen.unexplained, seen.losses()), (0, vec![(Place::Driver, 20), (Place::Backlog, 6)]));
    let behind_queue = Evidence { virtual_pair: true, peer_queue: PeerQueue::OfBuffers, ..on_card };
    assert_eq!(behind_queue.book().count(Place::Backlog), Some(10));
}

#[test]
fn an_unknown_backlog_names_the_counter_that_was_missing() {
    let assert_unknown = |evidence: &Evidence, part| {
        let source = Source::Backlog(BacklogSource { part, cpus: Vec::new() });
        assert_eq!(entry(evidence, Place::Backlog), Entry::new(Place::Backlog, None, source));
    };
    for virtual_pair in [true, false] {
        let complete = Evidence { virtual_pair, receive_drops: Some(0), ..quiet(10, 10) };
        let unread = Evidence { backlog_drops: None, ..complete.clone() };
        assert_unknown(&unread, BacklogPart::Unreadable);
        let without_link = Evidence { transmit_drops: None, receive_drops: None, ..complete };
        assert_unknown(&without_link, BacklogPart::NoLinkStatistics);
    }
    let polled = Evidence { peer_queue: PeerQueue::OfBuffers, ..quiet(10, 10) };
    assert_unknown(&polled, BacklogPart::NoLinkStatistics);
}

#[test]
fn backlog_drops_of_other_traffic_are_not_ours() {
    let ledger = Evidence { transmit_drops: Some(0), backlog_drops: Some(99), ..quiet(1000, 1000) }.book();
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
fn frames_refused_before_the_interface_are_transmit_losses() {
    // The interface counts 40 of 140 refusals: those of the backlog.
    let refused =
        Evidence { refused: 140, transmit_drops: Some(40), backlog_drops: Some(40), ..quiet(1000, 860) };
    let ledger = refused.book();
    assert_eq!(
        (ledger.unexplained, ledger.losses()),
        (0, vec![(Place::Transmit, 100), (Place::Backlog, 40)])
    );
    // A tracer sees the same frames: they are booked once.
    let traced = TracedLosses { drops: 140, ..Default::default() };
    let traced = with(traced, Place::Transmit, "TC_EGRESS", 100);
    let traced = Some(with(traced, Place::Backlog, "CPU_BACKLOG", 40));
    assert_eq!(Evidence { traced, ..refused }.book().losses(), ledger.losses());
}

#[test]
fn unread_frames_have_their_place() {
    let evidence = Evidence { method: ring(Some(1000), Some(0)), cut_short: true, ..quiet(1000, 960) };
    let ledger = evidence.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Unread, 40)]));
    let source = Source::Unread(UnreadSource::Difference);
    assert_eq!(entry(&evidence, Place::Unread), Entry::new(Place::Unread, Some(40), source));
    let ledger = Evidence { cut_short: false, ..evidence.clone() }.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (40, vec![]), "nothing came any more: where are they?");
    let unread = |frames| Evidence { cut_short: false, unread: Some(frames), ..evidence.clone() }.book();
    let ledger = unread(UnreadFrames::Counted(30));
    assert_eq!(
        (ledger.unexplained, ledger.losses()),
        (10, vec![(Place::Unread, 30)]),
        "10 are lost in the program"
    );
    let ledger = unread(UnreadFrames::Unknown(SocketsUnknown::NoPacketSocket));
    assert_eq!((ledger.unexplained, ledger.count(Place::Unread)), (40, None));
}

#[test]
fn a_backlog_behind_the_queue_of_a_veth_is_booked_in_addition_to_it() {
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
    let ledger = Evidence { peer_queue: PeerQueue::OfBuffers, receive_drops: Some(12), ..evidence }.book();
    assert_eq!((ledger.count(Place::LinkQueue), ledger.count(Place::Backlog)), (Some(30), Some(12)));
}

/// A poll that never got its CPU: 12 of 256 frames in the queue were received.
#[test]
fn frames_that_a_starved_poll_leaves_are_booked_to_the_queue_up_to_its_length() {
    let starved = |sent, received| Evidence {
        refused: 2523,
        transmit_drops: Some(2523),
        received: Some(received),
        peer_queue: PeerQueue::OfBuffers,
        past_backlog: true,
        ..quiet(sent, received)
    };
    let ledger = starved(2779, 12).book();
    assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::LinkQueue, 2523 + 244)]));
    assert_eq!(starved(2523 + 12 + 300, 12).book().unexplained, 44, "more cannot be in it");
    let two = Evidence { peer_queues: Some(2), ..starved(2523 + 12 + 300, 12) };
    assert_eq!(two.book().unexplained, 0, "two of them hold as many");
    assert_eq!(starved(2779, 256).book().losses(), [(Place::LinkQueue, 2523)]);
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
fn driver_counters_take_precedence_over_link_statistics() {
    let card = card_count(Some(40));
    let source = Source::Card(card.counters);
    let link = Counted { count: card.count, source: source.clone() };
    let nic = NicEvidence {
        path: None,
        link: Some(link),
        driver: Some(card_count(Some(2))),
        xdp: Some(card_count(None)),
    };
    let ledger = Evidence { nic, ..quiet(1000, 958) }.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Link, 40), (Place::Driver, 2)]));
    assert_eq!(ledger.count(Place::Xdp), None, "a driver without the counter leaves it unknown");
    assert!(ledger.entries.contains(&Entry::new(Place::Link, Some(40), source)), "{ledger:?}");
}

proptest! {
    /// For any counts the identity holds: unexplained is the remainder.
    #[test]
    fn the_books_always_balance(
        sent in 0u64..1 << 40, delivered in 0u64..1 << 40, transmit in proptest::option::of(0u64..1 << 40),
        backlog in proptest::option::of(0u64..1 << 40), ring in proptest::option::of(0u64..1 << 40),
        cut_short: bool, accepted in proptest::option::of(0u64..1 << 40), fill in proptest::option::of(0u64..1 << 40), repeated in 0u64..1 << 20, virtual_pair: bool,
    ) {
        let mut method = self::ring(accepted, ring);
        method.losses.push(Loss { place: Place::FillRing, count: fill, source: "fill".into() });
        let evidence = Evidence {
            transmit_drops: transmit, backlog_drops: backlog, method, repeated, virtual_pair, cut_short,
            ..quiet(sent, delivered)
        };
        let ledger = evidence.book();
        let booked: u64 = ledger.entries.iter().filter_map(|entry| entry.count).sum();
        prop_assert_eq!(sent as i64, booked as i64 + delivered as i64 + ledger.unexplained);
        // Each place holds its own counter, and what was not counted is unknown, not 0.
        prop_assert_eq!(ledger.count(Place::Ring), ring);
        prop_assert_eq!(ledger.count(Place::FillRing), fill);
        let known = accepted.is_some() && ring.is_some() && fill.is_some();
        prop_assert_eq!(ledger.count(Place::Unread).is_some(), known || !cut_short);
        prop_assert_eq!(ledger.count(Place::Transmit).is_some(), transmit.is_some());
        if let (true, Some(transmit), Some(_)) = (virtual_pair, transmit, backlog) {
            let both = ledger.count(Place::Transmit).unwrap() + ledger.count(Place::Backlog).unwrap();
            prop_assert_eq!(both, transmit.saturating_sub(repeated), "a frame is booked once");
        }
    }
}
