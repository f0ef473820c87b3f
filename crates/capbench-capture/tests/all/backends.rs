//! Every method on a real interface: the same frames, in order and whole, the same counters, and errors instead of
//! silence.

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::wire::{
    AF_PACKET, LIBPCAP, OTHER_MAC, Probe, SetOnDrop, Wire, With, capture, dpdk, frame, now_ns, options,
    with_each,
};
use capbench_capture::{CaptureError, Interface, PacketType, VlanTag, open_with};
use capbench_model::direction::Direction;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place as At;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_testing::network::{Namespaces, PATIENCE, RIGHT_MAC, eventually};

/// The same with a tag (IEEE 802.1Q, 802.1ad).
fn tagged(tpid: u16, tci: u16, number: u8, octets: usize) -> Vec<u8> {
    let plain = frame(OTHER_MAC, number, octets);
    [&plain[..12], &tpid.to_be_bytes(), &tci.to_be_bytes(), &plain[12..]].concat()
}

/// Runs a test with each method on packet sockets.
fn with_each_method(test: &str, work: impl Fn(&'static str, &Namespaces)) {
    with_each(test, &AF_PACKET, work);
}

#[test]
fn root_frames_arrive_whole_in_order_and_with_their_time() {
    let methods = [&AF_PACKET[..], &LIBPCAP, &dpdk()].concat();
    with_each("root_frames_arrive_whole_in_order_and_with_their_time", &methods, |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let sent: Vec<_> = (0..=200u8).map(|n| frame(RIGHT_MAC, n, 14 + usize::from(n) * 15 / 2)).collect();
        let before = now_ns();
        let is_libpcap = method.starts_with("libpcap");
        // In immediate mode libpcap asks for slots of 64 KiB each where the interface has offloads (libpcap#576).
        let ring = if is_libpcap { ByteCount(16 << 20) } else { options().ring };
        let (seen, counters, running) =
            capture(&spaces.right, method, &CaptureOptions { ring, ..options() }, |probe| {
                sent.iter().for_each(|frame| wire.send(frame));
                (probe.take(sent.len()), probe.counters(), probe.running().clone())
            });
        assert_eq!(seen.len(), sent.len());
        let packet_type = if is_libpcap { PacketType::Unknown } else { PacketType::Host };
        for (seen, sent) in seen.iter().zip(&sent) {
            assert_eq!((&seen.data, seen.wire_length as usize), (sent, sent.len()), "{method}");
            assert_eq!((seen.packet_type, seen.vlan), (packet_type, None), "{method}");
            // V1 reports whole microseconds.
            assert!((before / 1000 * 1000..now_ns()).contains(&seen.time_ns), "{method}: {before} {seen:?}");
        }
        assert!(seen.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns), "{method}");
        let accepted = (method != "dpdk:net_af_xdp").then_some(201);
        assert_eq!((counters.accepted, counters.dropped()), (accepted, Some(0)), "{method}");
        let (raw, parts) = match method {
            "dpdk" => ("rx_good_packets", &["DPDK 2", "net_af_packet", "--no-huge"][..]),
            "dpdk:net_af_xdp" => ("rx_good_packets", &["DPDK 2", "net_af_xdp in copy mode", "--no-huge"][..]),
            _ if method.ends_with("immediate") => {
                ("ps_recv", &["libpcap version 1.", "libpcap.so", "TPACKET_V2 ring"][..])
            }
            _ if is_libpcap => (
                "ps_recv",
                &["libpcap version 1.", "libpcap.so", "TPACKET_V3 ring of 64 blocks of 256KiB"][..],
            ),
            _ => {
                assert_eq!(running.method, method);
                return;
            }
        };
        assert_eq!(counters.raw(raw), Some(201), "{method}");
        let engine = running.engine.to_string();
        assert!(engine.starts_with(parts[0]) && parts.iter().all(|part| engine.contains(part)), "{engine}");
        assert_eq!(running.shortfalls, [""; 0], "{method}");
    });
}

#[test]
fn root_a_removed_tag_is_reported_with_the_frame() {
    let methods = [&AF_PACKET[..], &dpdk()].concat();
    let methods: Vec<_> = methods.into_iter().filter(|method| *method != "dpdk:net_af_xdp").collect();
    with_each("root_a_removed_tag_is_reported_with_the_frame", &methods, |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let tags = [(0x8100, 5), (0x8100, 0), (0x8100, 0xefff), (0x88a8, 77)];
        let (seen, metadata) = capture(&spaces.right, method, &options(), |probe| {
            for (number, (tpid, tci)) in (0u8..).zip(tags) {
                wire.send(&tagged(tpid, tci, number, 100));
            }
            wire.send(&frame(OTHER_MAC, 9, 100));
            (probe.take(5), probe.running().vlan_metadata)
        });
        assert_eq!(metadata, method != "packet-v1");
        for ((number, (tpid, tci)), seen) in (0u8..).zip(tags).zip(&seen) {
            assert_eq!(seen.data, frame(OTHER_MAC, number, 100), "{method}: the tag is not in the frame");
            assert_eq!(seen.wire_length, 100, "{method}");
            // DPDK's packets have the tag without its protocol.
            let tpid = if method == "dpdk" { 0x8100 } else { tpid };
            assert_eq!(seen.vlan, metadata.then_some(VlanTag { tci, tpid }), "{method}");
        }
        assert_eq!((seen[4].vlan, &seen[4].data), (None, &frame(OTHER_MAC, 9, 100)));
    });
}

#[test]
fn root_a_snap_length_cuts_and_the_length_stays() {
    let methods = [&AF_PACKET[..], &LIBPCAP, &dpdk()].concat();
    with_each("root_a_snap_length_cuts_and_the_length_stays", &methods, |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let options = CaptureOptions { snap_length: SnapLength::new(96), ..options() };
        let lengths = [60, 95, 96, 97, 1514];
        let seen = capture(&spaces.right, method, &options, |probe| {
            (0u8..).zip(lengths).for_each(|(number, octets)| wire.send(&frame(OTHER_MAC, number, octets)));
            probe.take(lengths.len())
        });
        for ((number, octets), seen) in (0u8..).zip(lengths).zip(&seen) {
            assert_eq!(seen.wire_length as usize, octets, "{method}");
            assert_eq!(seen.data, frame(OTHER_MAC, number, octets)[..octets.min(96)], "{method}");
        }
    });
}

#[test]
fn root_a_direction_is_kept_to() {
    let methods = [&AF_PACKET[..], &LIBPCAP].concat();
    with_each("root_a_direction_is_kept_to", &methods, |method, spaces| {
        let (coming, going) = (Wire::new(&spaces.left), Wire::new(&spaces.right));
        let cases = [
            (Direction::In, vec![10, 11, 12]),
            (Direction::Out, vec![20, 21, 22]),
            (Direction::Both, vec![10, 11, 12, 20, 21, 22]),
        ];
        let is_libpcap = method.starts_with("libpcap");
        let ring = if is_libpcap { ByteCount(4 << 20) } else { options().ring };
        for (direction, expected) in cases {
            // With a snap length the direction shares the filter with it.
            for snap_length in [SnapLength::EVERYTHING, SnapLength::new(40)] {
                let options = CaptureOptions { direction, snap_length, ring, ..options() };
                let (seen, rest, counters) = capture(&spaces.right, method, &options, |probe| {
                    for number in 0..3 {
                        coming.send(&frame(OTHER_MAC, 10 + number, 60));
                        going.send(&frame(OTHER_MAC, 20 + number, 60));
                    }
                    (probe.take(expected.len()), probe.drain(), probe.counters())
                });
                let mut numbers: Vec<_> = seen.iter().map(|seen| seen.data[20]).collect();
                // Frames that come pass through a softirq, which may run after the next frame has gone.
                numbers.sort_unstable();
                assert_eq!((&numbers, rest), (&expected, 0), "{method} {direction:?}");
                // libpcap itself discards those of the other direction: its counter has them all.
                let is_told = !is_libpcap || direction == Direction::Both;
                let accepted = is_told.then_some(expected.len() as u64);
                assert_eq!(counters.accepted, accepted, "{method} {direction:?}");
                assert_eq!(counters.raw("ps_recv"), is_libpcap.then_some(6), "{method} {direction:?}");
                for seen in seen.iter().filter(|_| !is_libpcap) {
                    let outgoing = seen.packet_type == PacketType::Outgoing;
                    assert_eq!(outgoing, seen.data[20] >= 20, "{method} {direction:?}: {seen:?}");
                }
            }
        }
    });
}

#[test]
fn root_promiscuous_mode_lasts_as_long_as_the_capture() {
    let methods = [&AF_PACKET[..], &dpdk()].concat();
    with_each("root_promiscuous_mode_lasts_as_long_as_the_capture", &methods, |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let promiscuity = || {
            let text = spaces.right.ip("-d -o link show dev right");
            text.split("promiscuity ").nth(1).unwrap().split(' ').next().unwrap().parse::<u32>().unwrap()
        };
        for promiscuous in [true, false] {
            let options = CaptureOptions { promiscuous, ..options() };
            let seen = capture(&spaces.right, method, &options, |probe| {
                assert_eq!(promiscuity(), u32::from(promiscuous), "{method}");
                let destinations = [OTHER_MAC, RIGHT_MAC, [0xff; 6], [1, 0, 0x5e, 0, 0, 1]];
                (0u8..).zip(destinations).for_each(|(number, mac)| wire.send(&frame(mac, number, 60)));
                probe.take(destinations.len())
            });
            // A veth has no address filter: the kernel shows frames for others in either mode, and marks them.
            let types: Vec<_> = seen.iter().map(|seen| seen.packet_type).collect();
            let expected =
                [PacketType::OtherHost, PacketType::Host, PacketType::Broadcast, PacketType::Multicast];
            assert_eq!(types, expected, "{method}");
            // A program that another test starts has the socket until it is executed.
            eventually(&format!("{method} leaves promiscuous mode"), || promiscuity() == 0);
        }
        // What the user has set is the user's.
        spaces.right.ip("link set dev right promisc on");
        capture(&spaces.right, method, &options(), |_| ());
        eventually(&format!("{method} leaves the user's mode alone"), || promiscuity() == 1);
    });
}

#[test]
fn root_nothing_from_elsewhere_or_from_before_is_seen() {
    with_each_method("root_nothing_from_elsewhere_or_from_before_is_seen", |method, spaces| {
        spaces.right.ip("link set dev lo up");
        let (wire, elsewhere) = (Wire::new(&spaces.left), Wire::on(&spaces.right, "lo"));
        let over = AtomicBool::new(false);
        thread::scope(|scope| {
            let _end = SetOnDrop(&over);
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    elsewhere.send(&frame(RIGHT_MAC, 1, 60));
                }
            });
            for _ in 0..4 {
                wire.send(&frame(RIGHT_MAC, 2, 60));
                let (seen, rest, accepted) = capture(&spaces.right, method, &options(), |probe| {
                    wire.send(&frame(RIGHT_MAC, 3, 60));
                    (probe.take(1), probe.drain(), probe.counters().accepted)
                });
                let numbers: Vec<_> = seen.iter().map(|seen| seen.data[20]).collect();
                assert_eq!((numbers, rest, accepted), (vec![3], 0, Some(1)), "{method}");
            }
        });
    });
}

#[test]
fn root_counters_only_grow() {
    with_each_method("root_counters_only_grow", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        capture(&spaces.right, method, &options(), |probe| {
            let mut sent = 0;
            // The kernel resets its counters whenever they are read.
            for frames in [0, 10, 0, 1, 300, 0] {
                (0..frames).for_each(|_| wire.send(&frame(OTHER_MAC, 1, 60)));
                sent += frames;
                probe.take(frames as usize);
                for _ in 0..2 {
                    let counters = probe.counters();
                    assert_eq!((counters.accepted, counters.dropped()), (Some(sent), Some(0)), "{method}");
                    assert_eq!(
                        counters.raw("tp_freeze_q_cnt"),
                        (method == "packet-v3").then_some(0),
                        "{method}"
                    );
                }
            }
        });
    });
}

#[test]
fn root_what_a_full_ring_drops_is_counted_exactly() {
    let methods = [&AF_PACKET[..], &LIBPCAP, &dpdk()].concat();
    with_each("root_what_a_full_ring_drops_is_counted_exactly", &methods, |method, spaces| {
        const FRAMES: u64 = 6000;
        let wire = Wire::new(&spaces.left);
        // libpcap's blocks are larger.
        let ring = ByteCount(if method.starts_with("libpcap") { 256 << 10 } else { 16 << 10 });
        let options = CaptureOptions { ring, block: ByteCount(4096), ..options() };
        let (read, counters) = capture(&spaces.right, method, &options, |probe| {
            let mut read = 0;
            for _ in 0..3 {
                (0..FRAMES).for_each(|number| wire.send(&frame(OTHER_MAC, number as u8, 60)));
                read += probe.drain();
            }
            (read, probe.counters())
        });
        let dropped = counters.dropped().unwrap();
        let accepted = (method != "dpdk:net_af_xdp").then_some(3 * FRAMES);
        assert_eq!(counters.accepted, accepted, "{method}: {counters:?}");
        assert_eq!(read + dropped, 3 * FRAMES, "{method}: {counters:?}");
        if method.starts_with("dpdk") {
            assert_eq!(counters.raw("rx_good_packets"), Some(read), "{method}: {counters:?}");
        }
        if method == "dpdk" {
            assert_eq!(counters.lost_at(At::Ring), Some(dropped), "{method}: {counters:?}");
        }
        assert!(dropped > FRAMES && read > 0, "{method}: {counters:?}");
        assert_eq!(
            counters.raw("tp_freeze_q_cnt").is_some_and(|freezes| freezes > 0),
            method == "packet-v3",
            "{counters:?}"
        );
    });
}

#[test]
fn root_a_capture_is_as_full_as_frames_make_it() {
    with_each_method("root_a_capture_is_as_full_as_frames_make_it", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let options = CaptureOptions { ring: ByteCount(256 << 10), block: ByteCount(4096), ..options() };
        capture(&spaces.right, method, &options, |probe| {
            let send = |frames: u32| (0..frames).for_each(|n| wire.send(&frame(OTHER_MAC, n as u8, 60)));
            assert_eq!(probe.fill(), 0.0, "{method}");
            send(32);
            // A slot is 2048 octets; a block is delivered when its time is up; the memory of a queued frame is up to the kernel.
            let start = Instant::now();
            while probe.fill() == 0.0 && start.elapsed() < PATIENCE {
                thread::yield_now();
            }
            let some = probe.fill();
            let is_slotted = method == "packet-v1" || method == "packet-v2";
            assert!(if is_slotted { some == 0.25 } else { some > 0.0 && some < 1.0 }, "{method}: {some}");
            send(5000);
            assert_eq!(probe.fill(), 1.0, "{method}");
            probe.drain();
            assert_eq!(probe.fill(), 0.0, "{method}");
        });
    });
}

#[test]
fn root_an_interface_that_goes_down_or_away_is_an_error_that_names_it() {
    let test = "root_an_interface_that_goes_down_or_away_is_an_error_that_names_it";
    let xdp = [
        "af-xdp",
        "af-xdp+spin=50us",
        "af-xdp+busy-poll",
        "af-xdp+generic",
        "af-xdp+generic+spin=50us",
        "af-xdp+generic+busy-poll",
        "xdp-count",
    ];
    let xdp = if cfg!(feature = "bpf") { &xdp[..] } else { &[] };
    with_each(test, &[&AF_PACKET[..], xdp, &dpdk()].concat(), |method, spaces| {
        let name = method.split(['+', ':']).next().unwrap();
        for spin in [Duration::ZERO, Duration::from_micros(50)] {
            let options = CaptureOptions { spin, ..options() };
            for end in ["link set dev right down", "link delete dev right"] {
                let error = capture(&spaces.right, method, &options, |probe| {
                    spaces.right.ip(end);
                    probe.failure()
                });
                let text = error.to_string();
                assert!(matches!(error, CaptureError::Call { .. }), "{method}, {end}: {error:?}");
                assert!(text.starts_with(&format!("{name} on right: ")), "{method}, {end}: {text}");
                let is_named = ["down", "away"].iter().any(|word| text.contains(word)) || name == "dpdk";
                assert!(is_named && text.lines().count() == 1, "{method}, {end}: {text}");
                if end.contains("down") {
                    spaces.right.ip("link set dev right up");
                }
            }
            // The other end went with it.
            spaces.left.ip("link add name left type veth peer name right");
            spaces.left.ip(&format!("link set dev right netns {}", spaces.right.path()));
            spaces.right.ip("link set dev right arp off up");
        }
    });
}

#[test]
fn root_what_cannot_be_opened_names_method_and_interface() {
    let methods = [&AF_PACKET[..], &["libpcap"], &dpdk()].concat();
    with_each("root_what_cannot_be_opened_names_method_and_interface", &methods, |method, spaces| {
        let interface = spaces.right.inside(|| Interface::of_name("right", 1500).unwrap());
        let refused = |options: &CaptureOptions| {
            spaces.right.inside(|| {
                let work = With(|_: &mut dyn Probe| ());
                open_with(&method.parse().unwrap(), &interface, options, work).unwrap_err().to_string()
            })
        };
        let named = format!("{} on right: ", method.split(':').next().unwrap());
        if AF_PACKET.contains(&method) {
            let huge = refused(&CaptureOptions { ring: ByteCount(1 << 60), ..options() });
            assert!(huge.starts_with("--ring ") && huge.contains("memory"), "{method}: {huge}");
        }
        spaces.right.ip("link set dev right down");
        let down = refused(&options());
        let is_down = down.contains("down") || down.contains("not up");
        assert!(down.starts_with(&named) && is_down, "{method}: {down}");
        spaces.right.ip("link delete dev right");
        let gone = refused(&options());
        assert!(gone.starts_with(&named), "{method}: {gone}");
        assert!(gone.contains("such device") || method.starts_with("dpdk"), "{method}: {gone}");
    });
}
