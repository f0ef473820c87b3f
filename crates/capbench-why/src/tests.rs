use std::path::Path;

use capbench_host::HostError;
use capbench_host::accounts::softnet::SoftnetDelta;

use super::*;
use crate::look::SCHEMA_VERSION;

/// The places without rings, which belong to sockets.
fn places() -> impl Iterator<Item = Place> {
    crate::places::PLACES.into_iter().filter(|place| *place != Place::Ring)
}

/// A second in which an interface received 100,000 frames of 64 octets.
fn quiet() -> Look {
    let none = |place: Place| Lost { place, frames: Some(0), per_s: Some(0.0), source: "its counter".into() };
    Look {
        schema_version: SCHEMA_VERSION,
        interface: "eth0".into(),
        namespace: 1,
        time_s: 1.0,
        seconds: 1.0,
        up: true,
        carrier: true,
        received: Some(100_000),
        received_per_s: Some(100_000.0),
        octets: Some(6_400_000),
        driver: Some("igb".into()),
        receive_queues: Some(1),
        promiscuous: Some(true),
        max_backlog: Some(1000),
        nic_ring: Some(NicRing { descriptors: 512, most: 4096 }),
        lost: places().map(none).collect(),
        ..Look::default()
    }
}

fn reader(state: char, cpu_s: f64) -> Process {
    Process { pid: 42, name: Some("tcpdump".into()), state: Some(state), cpu_s: Some(cpu_s) }
}

fn socket(method: Method, process: Process, dropped: u64) -> Socket {
    let ring = Ring { blocks: 4, block_octets: 65_536, slots: 128, slot_octets: 2048 };
    Socket {
        inode: 7,
        processes: vec![process],
        namespace: 1,
        method,
        interface: Some("eth0".into()),
        receives: true,
        ring: (method != Method::Recv).then_some(ring),
        receive_buffer: Some(212_992),
        queue: (method == Method::AfXdp).then_some(0),
        filter: Some(false),
        outgoing: Some(false),
        accepted: Some(60_000),
        dropped: Some(dropped),
        dropped_in_all: Some(dropped),
        ..Socket::default()
    }
}

/// A ring of a stopped process.
pub(super) fn socket_that_lost(dropped: u64) -> Socket {
    socket(Method::PacketV3, reader('T', 0.0), dropped)
}

/// What is said about a look, as text.
fn said(mut look: Look) -> String {
    look.advice = advice::advise(&look);
    let mut text = advice::verdict(&look) + "\n";
    for advice in look.advice {
        text += &format!("why: {}: {}\nchange: {}\n", advice.who, advice.cause, advice.change);
    }
    text
}

/// CPU 1, which ran out of budget; the flow limit of its backlog refused some.
fn squeezed(flow_limit: u64) -> SoftnetDelta {
    SoftnetDelta {
        cpu: capbench_sys::host::CpuId::new(1),
        processed: 100_000,
        dropped: 1234,
        time_squeeze: 5,
        received_rps: None,
        flow_limit: Some(flow_limit),
    }
}

fn with_socket(socket: Socket) -> Look {
    Look { sockets: Sockets { here: vec![socket], ..Sockets::default() }, ..quiet() }
}

#[test]
fn where_nothing_is_lost_nothing_is_advised() {
    assert_eq!(said(quiet()), "nothing is lost: 100,000 packets/s arrive on eth0\n");
    let idle = Look { received: Some(0), octets: Some(0), ..quiet() };
    assert_eq!(said(idle.clone()), "nothing arrives on eth0 and nothing is lost\n");
    let down = Look { up: false, ..idle.clone() };
    assert!(said(down).starts_with("eth0 is down"));
    let unknown = Sockets { unknown: Some("needs root".into()), ..Sockets::default() };
    assert!(said(Look { sockets: unknown, ..idle }).contains("as far as known"));
}

#[test]
fn a_ring_of_pf_ring_that_loses_is_named_first() {
    let look = with_socket(socket(
        Method::PfRing,
        Process { name: Some("pfcount".into()), ..reader('T', 0.0) },
        32_728,
    ));
    let said = said(look);
    assert!(said.starts_with("the PF_RING ring of pfcount 42 loses "), "{said}");
    assert!(said.contains("`kill -CONT 42`"), "{said}");
}

#[test]
fn where_the_counter_of_packets_went_back_their_rate_is_unknown() {
    let reset = Look { received: None, octets: None, ..quiet() };
    assert_eq!(
        said(reset.clone()),
        "nothing is lost, as far as known; how much arrives on eth0 is unknown\n"
    );
    let losing = Look { sockets: with_socket(socket_that_lost(40_000)).sockets, ..reset };
    assert!(said(losing).contains("lasts about"));
}

#[test]
fn earlier_losses_are_mentioned() {
    let earlier = Socket { dropped: Some(0), ..socket(Method::PacketV3, reader('S', 0.1), 9) };
    assert!(said(with_socket(earlier)).contains("lost earlier"));
}

#[test]
fn sockets_that_lose() {
    let ring = |method, state, cpu_s| said(with_socket(socket(method, reader(state, cpu_s), 40_000)));
    let starved =
        Socket { ring_full: Some(0), fill_empty: Some(9), ..socket(Method::AfXdp, reader('R', 0.3), 40_000) };
    let full = Socket { ring_full: Some(40_000), ..socket(Method::AfXdp, reader('R', 0.99), 40_000) };
    insta::assert_snapshot!(
        [
            ring(Method::PacketV3, 'T', 0.0),
            ring(Method::PacketV2, 't', 0.0),
            ring(Method::PacketV2, 'R', 0.97),
            ring(Method::Recv, 'S', 0.2),
            ring(Method::PacketV3, 'S', 0.2),
            said(with_socket(starved)),
            said(with_socket(full)),
        ]
        .join("\n")
    );
}

#[test]
fn a_socket_on_all_interfaces_is_blamed_after_those_of_this_one() {
    let everywhere = Socket { every_interface: true, interface: None, ..socket_that_lost(40_000) };
    let text = said(with_socket(everywhere.clone()));
    assert!(text.contains("of all interfaces: up to that many of eth0"), "{text}");
    assert!(text.contains("does not show which of them lost frames"), "{text}");
    let mut look = with_socket(everywhere);
    look.sockets.here.push(socket_that_lost(3));
    let text = said(look);
    assert!(text.starts_with("the TPACKET_V3 ring of tcpdump 42 loses 3.0 packets/s"), "{text}");
}

#[test]
fn places_that_lose() {
    let mut texts = Vec::new();
    for at in 0..places().count() {
        let mut look = quiet();
        look.lost[at].frames = Some(1234);
        look.softnet = vec![squeezed(at as u64)];
        texts.push(said(look));
    }
    let mut look = with_socket(socket(Method::PacketV3, reader('T', 0.0), 10));
    look.lost[2].frames = Some(1234);
    texts.push(said(look));
    insta::assert_snapshot!(texts.join("\n"));
}

#[test]
fn a_kernel_without_types_says_what_is_unknown() {
    let mut watch = Watch::with_types("lo", Tracing::LeftOut, Path::new("/nonexistent/btf")).unwrap();
    let look = watch.look().unwrap();
    let unknown = look.sockets.unknown.clone().unwrap();
    assert!(unknown.contains("CONFIG_DEBUG_INFO_BTF") && unknown.contains("AF_XDP"), "{unknown}");
    let of_sockets = look.lost.iter().find(|lost| lost.place == Place::Ring).unwrap();
    assert_eq!(of_sockets.frames, None);
}

#[test]
fn an_interface_that_is_not_there_is_named() {
    let error = Watch::new("no-such-if", Tracing::Wanted).unwrap_err();
    assert!(matches!(&error, HostError::NoInterface { .. }) && error.to_string().contains("no-such-if"));
}
