use capbench_sys::host::CpuId;

use super::*;
use crate::traced::Dropped;
use capbench_host::drivers::known;
use capbench_host::links::LinkStats;

fn known_link(counted: LinkStats) -> LinkDeltas {
    LinkDeltas::from(&counted)
}

fn cpu(number: u32, dropped: u64) -> SoftnetDelta {
    SoftnetDelta {
        cpu: CpuId::new(number),
        processed: 100,
        dropped,
        time_squeeze: 0,
        received_rps: None,
        flow_limit: None,
    }
}

fn at(all: &[Lost], place: Place) -> &Lost {
    all.iter().find(|lost| lost.place == place).unwrap()
}

fn program(is_in_driver: bool) -> Program {
    Program {
        number: Some(7),
        name: None,
        words: "program 7".into(),
        is_in_driver,
        is_generic: !is_in_driver,
    }
}

fn counted<'c>(link: &'c LinkDeltas, softnet: &'c [SoftnetDelta], sockets: &'c Sockets) -> Counted<'c> {
    Counted { link, driver: None, nic: &[], softnet, sockets, queue: None, traced: None }
}

#[test]
fn a_frame_that_the_backlog_refused_is_booked_once() {
    let (link, sockets) =
        (known_link(LinkStats { rx_dropped: 12, ..LinkStats::default() }), Sockets::default());
    let all = losses(counted(&link, &[cpu(0, 0), cpu(1, 10)], &sockets), None, 1.0);
    assert_eq!(at(&all, Place::Backlog).frames, Some(10));
    assert!(at(&all, Place::Backlog).source.ends_with("CPU 1"));
    assert_eq!(at(&all, Place::Stack).frames, Some(2));
    // The host's others lost more than this interface can have.
    let all = losses(counted(&link, &[cpu(0, 40)], &sockets), None, 1.0);
    assert_eq!((at(&all, Place::Backlog).frames, at(&all, Place::Stack).frames), (Some(12), Some(0)));
    assert!(at(&all, Place::Backlog).source.contains("whole host has 40"));
    let all = losses(counted(&known_link(LinkStats::default()), &[cpu(0, 40)], &sockets), None, 1.0);
    assert_eq!(at(&all, Place::Backlog).frames, Some(0));
}

#[test]
fn losses_of_a_socket_on_all_interfaces_are_not_this_interfaces() {
    let socket = |every_interface, dropped| {
        let known = crate::tests::socket_that_lost(dropped);
        crate::Socket { every_interface, ..known }
    };
    let sockets = Sockets { here: vec![socket(false, 3), socket(true, 40)], ..Sockets::default() };
    let all = losses(counted(&known_link(LinkStats::default()), &[], &sockets), None, 1.0);
    let of_sockets = at(&all, Place::Ring);
    assert_eq!(of_sockets.frames, Some(3));
    assert!(of_sockets.source.contains("up to 40 more"), "{of_sockets:?}");
}

#[test]
fn closed_sockets_that_are_in_no_list_count_as_those_in_one() {
    let group = |every_interface, dropped, unknown| crate::ClosedSockets {
        here: true,
        method: crate::Method::Recv,
        every_interface,
        sockets: 9,
        accepted: 0,
        dropped,
        unknown,
        at_least: false,
    };
    let lost = |closed| {
        let here = vec![crate::tests::socket_that_lost(3)];
        let sockets = Sockets { here, closed, ..Sockets::default() };
        let all = losses(counted(&known_link(LinkStats::default()), &[], &sockets), None, 1.0);
        let of_sockets = at(&all, Place::Ring);
        (of_sockets.frames, of_sockets.source.contains("up to 40 more"))
    };
    let elsewhere = crate::ClosedSockets { here: false, ..group(false, 500, 0) };
    assert_eq!(lost(vec![group(false, 7, 0), group(true, 40, 0), elsewhere]), (Some(10), true));
    assert_eq!(lost(vec![group(false, 7, 1)]), (None, false));
}

#[test]
fn a_counter_that_went_back_makes_its_places_unknown_and_no_others() {
    let stats =
        LinkDeltas { rx_dropped: None, ..known_link(LinkStats { rx_nohandler: 2, ..LinkStats::default() }) };
    let sockets = Sockets::default();
    let all = losses(counted(&stats, &[cpu(0, 0)], &sockets), None, 1.0);
    let counts = [Place::Backlog, Place::Stack, Place::NoHandler].map(|place| at(&all, place).frames);
    assert_eq!(counts, [Some(0), None, Some(2)]);
    let all = losses(counted(&stats, &[cpu(0, 5)], &sockets), None, 1.0);
    assert_eq!(at(&all, Place::Backlog).frames, None, "the host lost 5: of unknown sockets");
}

#[test]
fn drops_that_a_card_reports_only_in_rx_dropped_are_booked_once() {
    let nic = [CounterDelta { name: "queue_0_rx_xdp_drop".into(), count: 2, by_register: false }];
    let stats = known_link(LinkStats { rx_dropped: 9, ..LinkStats::default() });
    let sockets = Sockets::default();
    let ena = Counted { driver: known("ena"), nic: &nic, ..counted(&stats, &[], &sockets) };
    let all = losses(ena, None, 1.0);
    assert_eq!((at(&all, Place::Nic).frames, at(&all, Place::Stack).frames), (Some(7), Some(0)));
}

#[test]
fn the_table_of_the_documentation_has_each_place_in_its_order() {
    let documented = include_str!("../../../../docs/why.md");
    let (_, table) = documented.split_once("| place | counter |\n|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let documented = table.lines().filter_map(|row| row.split('`').nth(1));
    assert_eq!(documented.collect::<Vec<_>>(), PLACES.map(Place::key));
}

#[test]
fn traces_show_drops_of_programs_in_the_stack_and_on_the_way_out() {
    let dropped = |reason: &str, frames, stage| Dropped { reason: reason.into(), frames, stage };
    let places = |drops| {
        let traced = Traced { drops, xdp_redirect_errors: 2, ..Traced::default() };
        let stats = known_link(LinkStats { tx_dropped: 1, rx_dropped: 3, ..LinkStats::default() });
        let sockets = Sockets::default();
        let seen = Counted { traced: Some(&traced), ..counted(&stats, &[], &sockets) };
        losses(seen, Some(&program(false)), 1.0)
    };
    let all = places(vec![
        dropped("XDP", 9, DropStage::Xdp),
        dropped("PFMEMALLOC", 5, DropStage::Stack),
        dropped("QDISC_DROP", 4, DropStage::Transmit),
        dropped("OTHERHOST", 100, DropStage::After),
    ]);
    let frames = [Place::Xdp, Place::Stack, Place::Transmit].map(|place| at(&all, place).frames);
    assert_eq!(frames, [Some(9), Some(5), Some(5)]);
    assert!(at(&all, Place::Xdp).source.contains("XDP 9; 2 failed redirects"), "{all:?}");
    let all = places(vec![dropped("NEW", 1, DropStage::Unknown)]);
    assert_eq!(at(&all, Place::Xdp).frames, None, "it may be the program's");
    assert_eq!(at(&places(Vec::new()), Place::Xdp).frames, Some(0));
}

#[test]
fn the_queue_of_a_veth_is_counted_by_its_peer() {
    let (link, sockets) =
        (known_link(LinkStats { rx_dropped: 9, ..LinkStats::default() }), Sockets::default());
    let of = |refused, is_used| {
        let queue = Queue { refused, is_used };
        let softnet = [cpu(0, 9)];
        let all = losses(Counted { queue: Some(&queue), ..counted(&link, &softnet, &sockets) }, None, 1.0);
        assert_eq!(at(&all, Place::Backlog).frames, Some(9));
        all.into_iter().find(|lost| lost.place == Place::LinkQueue).unwrap()
    };
    assert_eq!(of(Some(20), true).frames, Some(20));
    assert_eq!(of(Some(9), false).frames, Some(0), "the peer counts what the backlog refused");
    assert!(of(None, true).frames.is_none() && of(None, true).source.contains("CAP_NET_ADMIN"));
}

#[test]
fn a_frame_that_two_counters_of_a_nic_count_is_one() {
    let link = known_link(LinkStats {
        rx_missed_errors: 5,
        rx_fifo_errors: 5,
        rx_crc_errors: 1,
        ..LinkStats::default()
    });
    let sockets = Sockets::default();
    let all = losses(counted(&link, &[], &sockets), Some(&program(true)), 2.0);
    assert_eq!((at(&all, Place::Nic).frames, at(&all, Place::Nic).per_s), (Some(5), Some(2.5)));
    assert_eq!((at(&all, Place::Link).frames, at(&all, Place::Xdp).frames), (Some(1), None));
    assert_eq!(at(&all, Place::Ring).frames, Some(0));
}

#[test]
fn a_counter_of_the_driver_reports_drops_of_the_program() {
    let nic = [("rx_queue_0_xdp_drops", 9), ("rx_queue_0_drops", 3)].map(|(name, count)| CounterDelta {
        name: name.into(),
        count,
        by_register: false,
    });
    // veth adds the latter to rx_dropped.
    let (link, sockets) =
        (known_link(LinkStats { rx_dropped: 5, ..LinkStats::default() }), Sockets::default());
    let veth = Counted { driver: known("veth"), nic: &nic, ..counted(&link, &[], &sockets) };
    let generic = losses(veth, Some(&program(false)), 1.0);
    assert_eq!(at(&generic, Place::Xdp).frames, None, "the driver knows nothing of a generic program");
    let all = losses(veth, Some(&program(true)), 1.0);
    assert_eq!((at(&all, Place::Xdp).frames, at(&all, Place::Driver).frames), (Some(9), Some(3)));
    assert_eq!(at(&all, Place::Stack).frames, Some(2));
    assert!(at(&all, Place::Xdp).source.contains("rx_queue_{n}_xdp_drops"), "{all:?}");
}
