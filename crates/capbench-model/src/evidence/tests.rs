//! Booking of chosen evidence, and properties of it.

use super::{Counted, CpuId, Evidence, NicEvidence, PeerQueue, TracedLosses, UnreadFrames};
use crate::counters::{Counters, Loss};
use proptest::prelude::*;

use crate::places;
use crate::places::Place;
use crate::traced_losses::Losses;

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

/// Each place once, in the order of the documented table.
#[test]
fn every_ledger_has_the_places_of_the_table() {
    let booked: Vec<Place> = Evidence::default().book().entries.iter().map(|entry| entry.place).collect();
    assert_eq!(booked, places::ALL);
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
        assert_eq!((entry.count, entry.source.as_str()), (None, format!("unknown: {reason}").as_str()));
    }
    assert_eq!(quiet(1000, 1000).book().count(Place::Corrupt), Some(0), "verification found none");
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
fn ends_of_frames_that_the_tracer_did_not_see_are_reported() {
    let stack = |after| {
        let traced = Some(TracedLosses { after, ..TracedLosses::default() });
        let ledger = Evidence { traced, ..quiet(1000, 1000) }.book();
        let entry = ledger.entries.into_iter().find(|entry| entry.place == Place::Stack).unwrap();
        (entry.count, entry.source)
    };
    let (count, source) = stack(993);
    assert!(
        count.is_none() && source.ends_with("; 7 frames ended on the interface that were not seen to end"),
        "{source}"
    );
    assert!(!stack(1000).1.contains("not seen"));
    assert_eq!(stack(0).0, None, "a tracer that saw no end at all may have seen no loss either");
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
    let traced = Some(TracedLosses { unplaced_transmit: lost("NEW", 5), drops: 5, ..Default::default() });
    let ledger = Evidence { traced, ..quiet(1000, 1000) }.book();
    let entry = ledger.entries.iter().find(|entry| entry.place == Place::Transmit).unwrap();
    assert!(entry.source.ends_with("place is unknown: NEW 5"), "{entry:?}");
}

fn lost(why: &str, frames: u64) -> Losses {
    let mut losses = Losses::default();
    losses.add(why.into(), frames);
    losses
}

/// A pair. Its receiver got 1000 frames, of which a program of generic XDP dropped 100. The tracer saw this many ends
/// of either kind.
fn beside_generic_xdp(dropped: u64, captured: u64) -> Evidence {
    let traced = Some(TracedLosses {
        xdp: lost("XDP", dropped),
        after: captured,
        drops: dropped + captured,
        xdp_is_generic: true,
        ..Default::default()
    });
    let evidence = quiet(1000, 900);
    Evidence { xdp_attached: Some(true), received: Some(1000), traced, ..evidence }
}

#[test]
fn seen_drops_of_generic_xdp_are_a_lower_bound() {
    let whole = beside_generic_xdp(100, 900).book();
    assert_eq!((whole.unexplained, whole.count(Place::Stack)), (0, Some(0)));
    let ledger = beside_generic_xdp(88, 900).book();
    let entry = |place| ledger.entries.iter().find(|entry| entry.place == place).unwrap();
    assert_eq!((ledger.unexplained, entry(Place::Xdp).count), (12, Some(88)));
    assert!(entry(Place::Xdp).source.starts_with("at least: "), "{:?}", entry(Place::Xdp));
    assert!(entry(Place::Xdp).source.contains("12 frames ended"), "{:?}", entry(Place::Xdp));
    assert_eq!(entry(Place::Stack).count, None, "they may have ended there as well");
    // What a backlog refused behind the poll did not end there, and has its own counter.
    let seen = beside_generic_xdp(100, 900);
    let traced = seen.traced.clone().map(|traced| TracedLosses { backlog: 30, ..traced });
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
        let ledger = Evidence { filter_drops: true, method, delivered: 850, read: 850, ..evidence }.book();
        let entry = ledger.entries.iter().find(|entry| entry.place == Place::Filter).unwrap().clone();
        (ledger.unexplained, entry.count, entry.source)
    };
    let (unexplained, count, source) = filtered(100);
    assert_eq!((unexplained, count), (0, Some(50)));
    assert!(!source.contains("did not see"), "{source}");
    let (unexplained, count, source) = filtered(90);
    assert_eq!((unexplained, count), (0, Some(60)));
    assert!(source.ends_with("with what the tracer did not see those lose"), "{source}");
}

proptest! {
    /// However few ends it saw: frames are unexplained only where the entry of XDP says that it is in doubt.
    #[test]
    fn no_frame_is_unexplained_because_of_a_blind_tracer_unless_it_is_said(seen in 0..=100_u64, captured in 0..=900_u64) {
        let ledger = beside_generic_xdp(seen, captured).book();
        let xdp = ledger.entries.iter().find(|entry| entry.place == Place::Xdp).unwrap();
        let is_whole = seen == 100 && captured == 900;
        prop_assert_eq!(xdp.source.contains("not seen to end"), !is_whole);
        prop_assert_eq!(ledger.unexplained, (100 - seen) as i64);
        prop_assert_eq!(ledger.count(Place::Stack), is_whole.then_some(0));
    }
}

/// 30 frames in rx_dropped, 20 of them the driver's own; the host's backlogs refused 25, 15 of them of other interfaces.
#[test]
fn driver_drops_are_not_booked_to_the_backlog_again() {
    let nic = NicEvidence {
        driver: Some(Counted { count: Some(20), source: "rx_drops".into() }),
        ..NicEvidence::default()
    };
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
    let traced = TracedLosses { backlog: 6, after: 4, drops: 10, ..TracedLosses::default() };
    let seen = Evidence { traced: Some(traced), delivered: 974, ..on_card.clone() }.book();
    assert_eq!((seen.unexplained, seen.losses()), (0, vec![(Place::Driver, 20), (Place::Backlog, 6)]));
    let behind_queue = Evidence { virtual_pair: true, peer_queue: PeerQueue::OfBuffers, ..on_card };
    assert_eq!(behind_queue.book().count(Place::Backlog), Some(10));
}

#[test]
fn an_unknown_backlog_names_the_counter_that_was_missing() {
    let source = |evidence: Evidence| {
        let ledger = evidence.book();
        let entry = ledger.entries.into_iter().find(|entry| entry.place == Place::Backlog).unwrap();
        assert_eq!(entry.count, None);
        entry.source
    };
    for virtual_pair in [true, false] {
        let complete = Evidence { virtual_pair, receive_drops: Some(0), ..quiet(10, 10) };
        assert!(
            source(Evidence { backlog_drops: None, ..complete.clone() }).contains("softnet_stat could not")
        );
        let without_link = Evidence { transmit_drops: None, receive_drops: None, ..complete };
        assert!(source(without_link).contains("link statistics are missing"));
    }
    let polled = Evidence { peer_queue: PeerQueue::OfBuffers, ..quiet(10, 10) };
    assert!(source(polled).contains("link statistics are missing"));
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
    let traced =
        TracedLosses { transmit: lost("TC_EGRESS", 100), backlog: 40, drops: 140, ..Default::default() };
    let traced = Some(traced);
    assert_eq!(Evidence { traced, ..refused }.book().losses(), ledger.losses());
}

#[test]
fn unread_frames_have_their_place() {
    let evidence = Evidence { method: ring(Some(1000), Some(0)), cut_short: true, ..quiet(1000, 960) };
    let ledger = evidence.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Unread, 40)]));
    let entry = ledger.entries.iter().find(|entry| entry.place == Place::Unread).unwrap();
    assert!(entry.source.starts_with("computed: "), "{entry:?}");
    let ledger = Evidence { cut_short: false, ..evidence.clone() }.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (40, vec![]), "nothing came any more: where are they?");
    let unread = |frames| Evidence { cut_short: false, unread: Some(frames), ..evidence.clone() }.book();
    let ledger = unread(UnreadFrames::Counted(30));
    assert_eq!(
        (ledger.unexplained, ledger.losses()),
        (10, vec![(Place::Unread, 30)]),
        "10 are lost in the program"
    );
    let ledger = unread(UnreadFrames::Unknown("no packet socket".into()));
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
    let counted = |count| Some(Counted { count, source: "pkts rx OOB".into() });
    let nic =
        NicEvidence { path: None, link: counted(Some(40)), driver: counted(Some(2)), xdp: counted(None) };
    let ledger = Evidence { nic, ..quiet(1000, 958) }.book();
    assert_eq!((ledger.unexplained, ledger.losses()), (0, vec![(Place::Link, 40), (Place::Driver, 2)]));
    assert_eq!(ledger.count(Place::Xdp), None, "a driver without the counter leaves it unknown");
    assert!(ledger.entries.iter().any(|entry| entry.source == "pkts rx OOB"));
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
