//! What is captured, and how long it stays.

use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::{Batch, Capture, PacketType};
use capbench_model::options::CaptureOptions;
use capbench_model::running::TimeSource;
use capbench_model::units::{ByteCount, SnapLength};

use super::{counters_after, frame, is_attached, losses, open_as, options, with_each_mode};
use crate::wire::{OTHER_MAC, Wire, now_ns, take};
use capbench_testing::network::{PATIENCE, RIGHT_MAC, eventually};

#[test]
fn root_frames_arrive_whole_in_order_and_nothing_stays_behind() {
    with_each_mode("root_frames_arrive_whole_in_order_and_nothing_stays_behind", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let macs = [RIGHT_MAC, OTHER_MAC, [0xff; 6], [1, 0, 0x5e, 0, 0, 1]];
        let types = [PacketType::Host, PacketType::OtherHost, PacketType::Broadcast, PacketType::Multicast];
        let sent: Vec<_> =
            (0..2000u32).map(|n| frame(macs[n as usize % 4], n, 60 + n as usize % 1455)).collect();
        spaces.right.inside(|| {
            let mut capture = open_as(method, 1500, &options()).unwrap();
            let running = capture.running().clone();
            let mode = if method.contains("generic") { "generic" } else { "native" };
            assert!(
                running.engine.to_string().contains(&format!("{mode} mode, copy, need-wakeup")),
                "{}",
                running.engine
            );
            assert!(
                running.ring.to_string().starts_with("queue 0, each: receive ring of 2048"),
                "{}",
                running.ring
            );
            assert!(matches!(running.time_source, TimeSource::UserSpace(_)) && !running.vlan_metadata);
            assert!(is_attached(&spaces.right));
            let before = now_ns();
            // In parts, which the ring takes however long this process sleeps.
            let mut seen = Vec::new();
            for part in sent.chunks(500) {
                part.iter().for_each(|frame| wire.send(frame));
                seen.extend(take(&mut capture, part.len()));
            }
            for (at, (seen, sent)) in seen.iter().zip(&sent).enumerate() {
                assert_eq!((&seen.data, seen.packet_type), (sent, types[at % 4]), "{method} {at}");
                assert_eq!((seen.wire_length as usize, seen.vlan), (sent.len(), None), "{method} {at}");
                assert!((before..=now_ns()).contains(&seen.time_ns));
            }
            assert!(seen.windows(2).all(|pair| pair[0].time_ns <= pair[1].time_ns));
            let counters = counters_after(&mut capture, 2000);
            assert_eq!((counters.accepted, losses(&counters)), (Some(2000), [Some(0); 3]), "{counters:?}");
            assert_eq!(counters.raw("queue0.taken"), Some(2000));
        });
        assert!(!is_attached(&spaces.right), "{method}");
    });
}

#[test]
fn root_a_tag_stays_in_the_frame_and_a_snap_length_cuts() {
    with_each_mode("root_a_tag_stays_in_the_frame_and_a_snap_length_cuts", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let plain = frame(OTHER_MAC, 5, 100);
        let tagged = [&plain[..12], &[0x81, 0, 0, 77], &plain[12..]].concat();
        spaces.right.inside(|| {
            let snap = CaptureOptions { snap_length: SnapLength::new(96), ..options() };
            let mut capture = open_as(method, 1500, &snap).unwrap();
            wire.send(&tagged);
            eventually("a frame", || {
                let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() else {
                    return false;
                };
                let frame = batch.frames().next().unwrap();
                assert_eq!(
                    (frame.data, frame.wire_length, frame.vlan),
                    (&tagged[..96], 104, None),
                    "{method}"
                );
                true
            });
        });
    });
}

#[test]
fn root_kept_frames_stay_whole_and_their_buffers_come_back() {
    with_each_mode("root_kept_frames_stay_whole_and_their_buffers_come_back", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let small = CaptureOptions { ring: ByteCount(128 << 10), ..options() };
        let check = |frames: Vec<capbench_sys::xdp::OwnedFrame>| {
            for (n, kept) in frames.iter().enumerate() {
                assert_eq!(kept.data(), frame(OTHER_MAC, n as u32, 60 + n));
            }
        };
        spaces.right.inside(|| {
            let mut capture = open_as(method, 1500, &small).unwrap();
            for _ in 0..20 {
                let mut kept = Vec::new();
                while kept.len() < 40 {
                    wire.send(&frame(OTHER_MAC, kept.len() as u32, 60 + kept.len()));
                    let start = Instant::now();
                    loop {
                        assert!(start.elapsed() < PATIENCE);
                        let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() else {
                            continue;
                        };
                        kept.push(batch.keep(0).unwrap());
                        break;
                    }
                }
                // Half of the buffers are out; the rest goes round meanwhile.
                for n in 0..200 {
                    wire.send(&frame(OTHER_MAC, n, 1000));
                    take(&mut capture, 1);
                }
                thread::scope(|scope| scope.spawn(|| check(kept)).join().unwrap());
            }
            let counters = capture.counters().unwrap();
            assert_eq!(
                (counters.accepted, losses(&counters)),
                (Some(4800), [Some(0); 3]),
                "{method} {counters:?}"
            );
        });
    });
}
