use capbench_sys::bpf::Attached;
use capbench_sys::host::CpuId;

use super::*;
use capbench_host::drivers::known;
use capbench_host::links::LinkStats;
use capbench_host::tracer::{DropKind, InterfaceTrace};

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

fn program(mode: XdpAttachment) -> XdpProgram {
    XdpProgram { attached: Attached { mode, program: Some(7), name: None }, holders: Vec::new() }
}

fn counted<'c>(link: &'c LinkDeltas, softnet: &'c [SoftnetDelta], sockets: &'c Sockets) -> Counted<'c> {
    Counted {
        link,
        driver: None,
        nic: &[],
        softnet,
        sockets,
        queue: None,
        traced: None,
        keeps_damaged: false,
    }
}

/// Frames by the kernel's reason, as the tracer counts them.
fn traced(drops: &[(&str, u64)]) -> Traced {
    let kind = |name: &str| DropKind { reason: Some(name.into()), function: None };
    let drops = drops.iter().map(|(name, frames)| (kind(name), *frames)).collect();
    let trace = InterfaceTrace { drops, ..InterfaceTrace::default() };
    Traced::new(&trace, &trace)
}

/// An interface with this number of frames in rx_dropped.
fn with_rx_dropped(frames: u64) -> LinkDeltas {
    known_link(LinkStats { rx_dropped: frames, ..LinkStats::default() })
}

/// Backlog and stack of an interface with so many frames in rx_dropped on a host whose backlogs refused 40 frames.
fn of_stack(rx_dropped: u64, traced: Option<&Traced>, queue: Option<&Queue>) -> [Lost; 2] {
    let (link, sockets) = (with_rx_dropped(rx_dropped), Sockets::default());
    let softnet = [cpu(0, 0), cpu(1, 40)];
    let all = losses(Counted { traced, queue, ..counted(&link, &softnet, &sockets) }, None, 1.0);
    [at(&all, Place::Backlog).clone(), at(&all, Place::Stack).clone()]
}

#[test]
fn captured_frames_in_rx_dropped_are_no_loss_and_the_backlogs_of_others_are_not_blamed_on_this_interface() {
    let unhandled = traced(&[("UNHANDLED_PROTO", 40), ("OTHERHOST", 7)]);
    assert_eq!(of_stack(40, Some(&unhandled), None).map(|lost| lost.frames), [Some(0), Some(0)]);
    assert_eq!(unhandled.unhandled, 40);
    // 10 of the 40 frames that backlogs of the host refused were its own.
    let mixed = traced(&[("UNHANDLED_PROTO", 40), ("CPU_BACKLOG", 10), ("PFMEMALLOC", 3)]);
    let [backlog, stack] = of_stack(53, Some(&mixed), None);
    assert_eq!((backlog.frames, stack.frames), (Some(10), Some(3)));
    assert_eq!(backlog.source, "skb:kfree_skb: CPU_BACKLOG 10");
}

#[test]
fn what_no_trace_explains_is_unknown() {
    let [backlog, stack] = of_stack(50, Some(&traced(&[("UNHANDLED_PROTO", 40)])), None);
    assert_eq!((backlog.frames, stack.frames), (Some(0), None));
    assert!(stack.source.contains("10 more in rx_dropped"), "{stack:?}");
    let [_, stack] = of_stack(50, Some(&traced(&[("PFMEMALLOC", 3)])), None);
    assert_eq!((stack.frames, stack.source.starts_with("at least")), (Some(3), true));
    let missed = |drops: &[_]| Traced { missed: 2, ..traced(drops) };
    assert_eq!(of_stack(50, Some(&missed(&[])), None)[0].frames, None);
    let [backlog, _] = of_stack(50, Some(&missed(&[("CPU_BACKLOG", 10)])), None);
    assert_eq!((backlog.frames, backlog.source.starts_with("at least")), (Some(10), true));
    // Every frame in rx_dropped is explained: none of it was missed.
    assert_eq!(of_stack(10, Some(&missed(&[("CPU_BACKLOG", 10)])), None)[0].source.find("at least"), None);
    let unplaced = traced(&[("UNHANDLED_PROTO", 50), ("NEW", 1)]);
    assert_eq!(of_stack(50, Some(&unplaced), None)[1].frames, None);
}

#[test]
fn without_the_tracer_rx_dropped_is_no_loss() {
    let [backlog, stack] = of_stack(50, None, None);
    assert_eq!((backlog.frames, stack.frames), (None, None));
    assert!(stack.source.contains("50 frames in rx_dropped") && backlog.source.contains("40 frames"));
    assert_eq!(of_stack(0, None, None).map(|lost| lost.frames), [Some(0), Some(0)]);
    // A veth's peer counts what did not arrive, and nothing that did.
    let peer = |refused| Queue { refused: Some(refused), can_be_used: false, polled: false };
    assert_eq!(of_stack(50, None, Some(&peer(0))).map(|lost| lost.frames), [Some(0), Some(0)]);
    assert_eq!(of_stack(50, None, Some(&peer(9))).map(|lost| lost.frames), [None, Some(9)]);
}

#[test]
fn frames_that_a_veth_does_not_take_are_counted_by_its_peer_once() {
    let peer = Queue { refused: Some(15), can_be_used: false, polled: false };
    let refused = traced(&[("UNHANDLED_PROTO", 40), ("CPU_BACKLOG", 10)]);
    assert_eq!(of_stack(55, Some(&refused), Some(&peer)).map(|lost| lost.frames), [Some(10), Some(5)]);
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
    let stats = LinkDeltas { rx_dropped: None, ..known_link(LinkStats::default()) };
    let sockets = Sockets::default();
    let all = losses(counted(&stats, &[cpu(0, 0)], &sockets), None, 1.0);
    let counts = [Place::Backlog, Place::Stack, Place::Nic].map(|place| at(&all, place).frames);
    assert_eq!(counts, [Some(0), None, Some(0)]);
    let all = losses(counted(&stats, &[cpu(0, 5)], &sockets), None, 1.0);
    assert_eq!(at(&all, Place::Backlog).frames, None, "the host lost 5: of unknown sockets");
}

#[test]
fn drops_that_a_card_reports_only_in_rx_dropped_are_booked_once() {
    let nic = [CounterDelta { name: "queue_0_rx_xdp_drop".into(), count: 2, by_register: false }];
    let stats = known_link(LinkStats { rx_dropped: 9, ..LinkStats::default() });
    let sockets = Sockets::default();
    let ena = Counted { driver: known("ena"), nic: &nic, ..counted(&stats, &[], &sockets) };
    let unhandled = traced(&[("UNHANDLED_PROTO", 4)]);
    let all = losses(Counted { traced: Some(&unhandled), ..ena }, None, 1.0);
    assert_eq!((at(&all, Place::Nic).frames, at(&all, Place::Stack).frames), (Some(3), Some(0)));
    let all = losses(ena, None, 1.0);
    assert_eq!((at(&all, Place::Nic).frames, at(&all, Place::Stack).frames), (None, None));
    assert!(at(&all, Place::Nic).source.ends_with("at most 7"), "{all:?}");
}

#[test]
fn the_table_of_the_documentation_has_each_place_in_its_order() {
    let documented = include_str!("../../../../docs/why.md");
    let (_, table) = documented.split_once("| place | counter |\n|---|---|\n").unwrap();
    let (table, _) = table.split_once("\n\n").unwrap();
    let documented = table.lines().filter_map(|row| row.split('`').nth(1));
    assert_eq!(documented.collect::<Vec<_>>(), PLACES.map(Place::key));
}

/// The rows between two marks of docs/ledger.md.
fn rows_of_counters() -> Vec<&'static str> {
    let page = include_str!("../../../../docs/ledger.md");
    let (_, table) = page.split_once("<!-- counters -->\n").unwrap();
    let (table, _) = table.split_once("<!-- end of counters -->").unwrap();
    table.lines().skip(2).collect()
}

#[test]
fn the_table_of_counters_has_each_place_and_only_counters_that_exist() {
    let rows = rows_of_counters();
    let counters = LinkDeltas::default().went_back();
    for row in &rows {
        assert_eq!(row.matches(" | ").count(), 3, "{row}");
        let named = row.split(" | ").next().unwrap().split('`').skip(1).step_by(2);
        for name in named.filter(|name| name.starts_with("rx_") || name.starts_with("tx_")) {
            assert!(counters.contains(&name), "{name} is no counter of links: {row}");
        }
    }
    for place in PLACES {
        let key = format!("`{}`", place.key());
        assert!(rows.iter().any(|row| row.contains(&key)), "no counter of {key}");
    }
    // Those that the kernel also counts behind the capture point, and those of the whole host, say what is subtracted.
    for name in ["`rx_dropped`", "`rx_nohandler`", "`dropped` of `/proc/net/softnet_stat`"] {
        assert!(rows.iter().any(|row| row.starts_with(&format!("| {name} |"))), "{name}");
    }
}

#[test]
fn traces_show_drops_of_programs_in_the_stack_and_on_the_way_out() {
    let places = |drops: &[_], program: Option<&XdpProgram>| {
        let traced = Traced { xdp_redirect_errors: 2, ..traced(drops) };
        let stats = known_link(LinkStats { tx_dropped: 1, ..LinkStats::default() });
        let sockets = Sockets::default();
        losses(Counted { traced: Some(&traced), ..counted(&stats, &[], &sockets) }, program, 1.0)
    };
    let drops = [("XDP", 9), ("QDISC_DROP", 4), ("OTHERHOST", 100)];
    let generic = program(XdpAttachment::Generic);
    let all = places(&drops, Some(&generic));
    let frames = [Place::Xdp, Place::Stack, Place::Transmit].map(|place| at(&all, place).frames);
    assert_eq!(frames, [Some(9), Some(0), Some(4)], "captures have what tx_dropped counts");
    assert!(at(&all, Place::Xdp).source.contains("XDP 9; 2 failed redirects"), "{all:?}");
    let all = places(&[("NEW", 1)], Some(&generic));
    assert_eq!(at(&all, Place::Xdp).frames, None, "it may be the program's");
    assert_eq!(at(&places(&[], Some(&generic)), Place::Xdp).frames, Some(0));
    let several = program(XdpAttachment::Several);
    assert_eq!(at(&places(&[], Some(&several)), Place::Xdp).frames, None, "one of them is in the driver");
    assert_eq!(at(&places(&drops, None), Place::Xdp).frames, Some(9), "it was detached meanwhile");
    assert!(places(&[], None).iter().all(|lost| lost.place != Place::Xdp));
}

#[test]
fn the_queue_of_a_veth_is_counted_by_its_peer() {
    let sockets = Sockets::default();
    let of = |rx_dropped, refused, can_be_used, polled, traced: Option<&Traced>| {
        let queue = Queue { refused, can_be_used, polled };
        let (link, softnet) = (with_rx_dropped(rx_dropped), [cpu(0, rx_dropped)]);
        let all =
            losses(Counted { queue: Some(&queue), traced, ..counted(&link, &softnet, &sockets) }, None, 1.0);
        at(&all, Place::LinkQueue).clone()
    };
    let (nothing, refused) = (traced(&[]), traced(&[("CPU_BACKLOG", 9)]));
    assert_eq!(of(0, Some(20), true, true, Some(&nothing)).frames, Some(20));
    assert_eq!(of(0, Some(20), true, true, None).frames, Some(20));
    assert_eq!(of(9, Some(9), false, false, Some(&refused)).frames, Some(0), "the backlog's");
    assert_eq!(of(9, Some(9), true, false, Some(&refused)).frames, Some(0), "no frame went through it");
    assert_eq!(of(9, Some(20), true, true, Some(&refused)).frames, None);
    assert_eq!(of(9, Some(20), true, true, None).frames, None);
    let unreadable = of(0, None, true, true, Some(&nothing));
    assert!(unreadable.frames.is_none() && unreadable.source.contains("CAP_NET_ADMIN"));
}

#[test]
fn an_interface_that_passes_damaged_frames_on_does_not_lose_them() {
    let (link, sockets) =
        (known_link(LinkStats { rx_crc_errors: 5, ..LinkStats::default() }), Sockets::default());
    let all = losses(Counted { keeps_damaged: true, ..counted(&link, &[], &sockets) }, None, 1.0);
    assert_eq!(at(&all, Place::Link).frames, None);
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
    let all = losses(counted(&link, &[], &sockets), Some(&program(XdpAttachment::Driver)), 2.0);
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
    let (link, sockets) = (with_rx_dropped(5), Sockets::default());
    let unhandled = traced(&[("UNHANDLED_PROTO", 2)]);
    let veth = Counted { driver: known("veth"), ..counted(&link, &[], &sockets) };
    let generic = losses(veth, Some(&program(XdpAttachment::Generic)), 1.0);
    assert_eq!(at(&generic, Place::Xdp).frames, None, "the driver knows nothing of a generic program");
    let all = losses(
        Counted { nic: &nic, traced: Some(&unhandled), ..veth },
        Some(&program(XdpAttachment::Driver)),
        1.0,
    );
    assert_eq!((at(&all, Place::Xdp).frames, at(&all, Place::Driver).frames), (Some(9), Some(3)));
    assert_eq!(at(&all, Place::Stack).frames, Some(0));
    assert!(at(&all, Place::Xdp).source.contains("rx_queue_{n}_xdp_drops"), "{all:?}");
}
