use capbench_host::tracer::reasons::DropStage;
use capbench_why::{
    Advice, ClosedSockets, Dropped, Fanout, Lost, Method, Place, Process, Ring, Scope, Sockets, Traced,
};

use super::*;

fn socket(inode: u64, dropped: u64) -> Socket {
    Socket {
        inode,
        processes: vec![Process {
            pid: 4242,
            name: Some("suricata".into()),
            state: Some('R'),
            cpu_s: Some(0.5),
        }],
        namespace: 1,
        method: Method::PacketV3,
        interface: Some("eth0".into()),
        every_interface: false,
        receives: true,
        ring: Some(Ring { blocks: 64, block_octets: 1 << 20, slots: 64, slot_octets: 1 << 20 }),
        receive_buffer: Some(212_992),
        queue: None,
        zero_copy: None,
        fanout: Some(Fanout { id: 99, kind: "hash".into(), members: Some(2) }),
        filter: Some(true),
        cut_to: None,
        outgoing: Some(false),
        accepted: Some(14_880_952),
        dropped: Some(dropped),
        dropped_in_all: Some(4_294_967_295),
        ring_full: None,
        fill_empty: None,
        freezes: Some(1),
        at_least: dropped > 0,
        closed: false,
    }
}

/// Numbers as large as they come, and every kind of line.
fn look() -> Look {
    let lost = |place, frames: Option<u64>, source: &str| Lost {
        place,
        frames,
        per_s: frames.map(|frames| frames as f64),
        source: source.into(),
    };
    let long =
        Process { pid: 4_194_304, name: Some("fifteen-letters".into()), state: Some('S'), cpu_s: None };
    let sends = Socket {
        processes: vec![long.clone(), long],
        namespace: 4_026_532_301,
        method: Method::Recv,
        ring: None,
        fanout: None,
        receives: false,
        dropped: None,
        accepted: None,
        ..socket(9, 0)
    };
    Look {
        schema_version: 3,
        interface: "eth0".into(),
        namespace: 1,
        time_s: 12.0,
        unix_ns: 0,
        monotonic_ns: 0,
        seconds: 1.0,
        up: true,
        carrier: true,
        received: Some(14_880_952),
        received_per_s: Some(14_880_952.0),
        octets: Some(14_880_952 * 60),
        softnet: vec![],
        max_backlog: Some(1000),
        driver: Some("ixgbe".into()),
        driver_counters: (0..14).map(|number| (format!("rx_queue_{number}_packets"), number)).collect(),
        nic_ring: None,
        receive_queues: Some(14),
        promiscuous: Some(true),
        xdp: None,
        traced: Some(Traced {
            drops: vec![
                Dropped { reason: "OTHERHOST".into(), frames: 14_880_952, stage: DropStage::After },
                Dropped { reason: "no reason, in do_xdp_generic".into(), frames: 3, stage: DropStage::Xdp },
            ],
            ..Traced::default()
        }),
        lost: vec![
            lost(
                Place::Nic,
                None,
                "its host does not report frames without a buffer, whatever the driver says",
            ),
            lost(Place::Backlog, Some(0), "dropped of /proc/net/softnet_stat"),
            lost(Place::Ring, Some(1_234_567), "the sockets' own counters"),
        ],
        sockets: Sockets {
            here: vec![socket(1, 0), socket(2, 1_234_567)],
            elsewhere: vec![sends],
            closed: vec![ClosedSockets {
                here: false,
                method: Method::Recv,
                every_interface: true,
                sockets: 2_636,
                accepted: 14_880_952,
                dropped: 42_949_672,
                unknown: 1,
                at_least: false,
            }],
            scope: Scope::Host,
            unknown: None,
        },
        notes: vec!["GRO is on: AF_PACKET sockets see TCP segments joined to longer ones".into()],
        advice: vec![Advice {
            place: Place::Ring,
            lost: 1_234_567,
            at_most: false,
            who: "the TPACKET_V3 ring of suricata 4242".into(),
            cause: "suricata 4242 waited 41 % of the time for CPU 1, which sh (4711) and 2 more used; it ran 50 %; its buffer of \
                    65536 KiB lasts about 29 ms at this rate"
                .into(),
            change: "let it run before the others, or move them to other CPUs".into(),
            remedies: vec![Remedy::Priority { pid: 4242 }],
        }],
        verdict: "the TPACKET_V3 ring of suricata 4242 loses 1,234,567 packets/s (1234567 in 1.0 s)".into(),
        ..Look::default()
    }
}

#[test]
fn everything_fits_80_columns() {
    let text = whole(&look());
    assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    insta::assert_snapshot!(text);
}

#[test]
fn a_line_says_when_how_much_and_what() {
    assert_eq!(
        lines(&[look()]),
        "  12.000 s   14,880,952 packets/s  the TPACKET_V3 ring of suricata 4242 loses 1,234,567 packets/s (1234567 in 1.0 s)\n"
    );
}

#[test]
fn octets_have_the_unit_that_fits() {
    assert_eq!([octets(64), octets(65_536), octets(4 << 20)], ["64 B", "64 KiB", "4 MiB"]);
}

#[test]
fn several_interfaces_have_a_line_each_that_names_them() {
    let other = Look { interface: "eth9".into(), ..look() };
    let text = lines(&[look(), other]);
    assert_eq!(text.lines().count(), 2);
    assert!(text.lines().nth(1).unwrap().contains(" eth9 "), "{text}");
}
