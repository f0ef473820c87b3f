use std::path::Path;

use capbench_host::HostError;
use capbench_host::accounts::softnet::SoftnetDelta;

use super::*;
use crate::look::SCHEMA_VERSION;
use crate::scheduling::Scheduled;

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
        text.extend(
            advice.remedies.iter().filter_map(Remedy::command).map(|command| format!("do: {command}\n")),
        );
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
    assert!(said.contains("\ndo: kill -CONT 42\n"), "{said}");
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

/// What is said of a reader that ran and waited for these shares of a second, with these others on its CPU, and two CPUs in all.
fn of_reader(ran: f64, waited: f64, others: &[(u32, &str, f64)]) -> String {
    let mut look = with_socket(socket(Method::PacketV3, reader('R', ran), 40_000));
    look.facts.scheduled = Scheduled::of(42, ran, waited, others);
    look.facts.online = vec![0, 1];
    said(look)
}

#[test]
fn a_shortage_of_cpu_is_told_from_a_pause_and_its_users_are_named() {
    let loops = [(4711, "sh", 0.12), (4712, "sh", 0.11), (4713, "cc1", 0.1)];
    let starved = of_reader(0.67, 0.33, &loops);
    assert!(
        starved.contains(
            "tcpdump 42 waited 33 % of the time for CPU 1, which sh (4711) and 2 more used; it ran 67 %"
        ),
        "{starved}"
    );
    // 60,000 frames in 0.67 s of CPU, and 100,000 came.
    assert!(starved.contains("even alone it processes 89,552 of 100,000 packets/s"), "{starved}");
    assert!(
        starved.contains("a priority or a CPU to itself does not suffice") && !starved.contains("\ndo: "),
        "{starved}"
    );
    let suffices = of_reader(0.3, 0.6, &loops);
    assert!(suffices.contains("alone it processes 100,000 of 100,000 packets/s"), "{suffices}");
    assert!(suffices.contains("\ndo: taskset -apc 0 42\n"), "{suffices}");
    let paused = of_reader(0.2, 0.01, &loops);
    assert!(
        paused.contains("was away for longer than its buffer lasts (ran 20 %, waited 1 % of the time for a CPU, slept the rest)"),
        "{paused}"
    );
    let busy = of_reader(0.97, 0.0, &[]);
    assert!(
        busy.contains(
            "does not keep up: it is busy (97 % of a CPU); it processes 61,856 of 100,000 packets/s"
        ),
        "{busy}"
    );
}

#[test]
fn where_no_cpu_is_free_a_starved_reader_runs_before_the_others() {
    let mut look = with_socket(socket(Method::PacketV3, reader('R', 0.3), 40_000));
    look.facts.scheduled = Scheduled::of(42, 0.3, 0.6, &[(7, "cc1", 0.6)]);
    look.facts.online = vec![1];
    assert!(said(look).contains("\ndo: chrt -a -f -p 1 42\n"));
}

#[test]
fn what_an_xdp_program_takes_from_packet_sockets_is_in_the_first_sentence() {
    let socket =
        Socket { dropped: Some(0), dropped_in_all: Some(0), accepted: Some(0), ..socket_that_lost(0) };
    let with = |xdp_taken, dropped| {
        let mut look = with_socket(socket.clone());
        (look.xdp, look.xdp_taken) = (Some("program 7, redirect, in the driver".into()), xdp_taken);
        look.lost
            .iter_mut()
            .filter(|lost| lost.place == Place::Xdp)
            .for_each(|lost| lost.frames = Some(dropped));
        said(look)
    };
    let taken = with(Some(90_000), 0);
    assert!(
        taken.starts_with(
            "XDP program 7, redirect, in the driver, takes 90,000 of 100,000 packets/s (90000 in 1.0 s) from the \
             TPACKET_V3 ring of tcpdump 42; nothing else is lost"
        ),
        "{taken}"
    );
    assert_eq!(with(Some(0), 0), "nothing is lost: 100,000 packets/s arrive on eth0\n", "it merely passes");
    let unknown = with(None, 0);
    assert!(unknown.contains("no counter shows how many of 100,000 packets/s it takes"), "{unknown}");
    let dropped = with(Some(500), 500);
    assert!(dropped.starts_with("xdp (its counter) loses 500 packets/s (500 in 1.0 s)\n"), "{dropped}");
    let mut alone = with_socket(Socket { method: Method::AfXdp, ..socket });
    (alone.xdp, alone.xdp_taken) = (Some("program 7".into()), Some(90_000));
    assert!(said(alone).starts_with("nothing is lost: "), "nobody captures behind it");
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
fn a_backlog_is_judged_by_the_frames_of_its_interface() {
    let backlog = quiet().lost.iter().position(|lost| lost.place == Place::Backlog).unwrap();
    let mut look = quiet();
    look.lost[backlog].frames = Some(1000);
    let other = SoftnetDelta { cpu: capbench_sys::host::CpuId::new(3), dropped: 9_000_000, ..squeezed(0) };
    look.softnet = vec![squeezed(0), other];
    let said = said(look);
    assert!(
        said.contains("; of the frames of all interfaces, CPU 1 refused 1234, CPU 3 refused 9000000\n"),
        "{said}"
    );
    assert!(said.contains("10 ms at this rate are 1010)"), "{said}");
    assert!(said.contains("do: sysctl -w net.core.netdev_max_backlog=2000\n"), "{said}");
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
