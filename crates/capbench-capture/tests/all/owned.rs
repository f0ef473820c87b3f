//! Batches that may be kept, of every method that runs without special hardware: whole frames, each once, for any batches held.

use std::time::{Duration, Instant};

use crate::wire::{Probe, Seen, Wire, capture, frame, now_ns, options, with_each};
use capbench_capture::{Batch, OwnedBatch, VlanTag};
use capbench_model::counters::LossMark;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_testing::network::{Namespaces, PATIENCE, RIGHT_MAC, privileges};

const METHODS: [&str; 9] = [
    "recv",
    "recvmmsg",
    "packet-v1",
    "packet-v2",
    "packet-v3",
    "libpcap",
    "libpcap+loop",
    "libpcap+next",
    "libpcap+next-ex",
];

/// Takes frames before they are in the stack, from one queue of a veth.
const AF_XDP: &[&str] = if cfg!(feature = "bpf") { &["af-xdp", "af-xdp+generic"] } else { &[] };

/// Batches until there are this many frames.
fn take(probe: &mut dyn Probe, frames: usize) -> Vec<OwnedBatch> {
    let (start, mut batches, mut count) = (Instant::now(), Vec::new(), 0);
    while count < frames {
        assert!(start.elapsed() < PATIENCE, "{count} of {frames} frames");
        if let Some(batch) = probe.next(Duration::from_millis(20)) {
            count += batch.frame_count();
            batches.push(batch);
        }
    }
    batches
}

#[test]
fn root_frames_that_are_kept_are_whole_in_order_and_with_what_is_known_of_them() {
    let methods = [&METHODS[..], AF_XDP].concat();
    with_each("root_frames_that_are_kept_are_whole", &methods, |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let sent: Vec<_> = (0..=200u8).map(|n| frame(RIGHT_MAC, n, 14 + usize::from(n) * 15 / 2)).collect();
        let tagged = [&sent[100][..12], &[0x81, 0, 0xe0, 5], &sent[100][12..]].concat();
        let before = now_ns();
        let (batches, dropped) = capture(&spaces.right, method, &options(), |probe| {
            sent.iter().for_each(|frame| wire.send(frame));
            wire.send(&tagged);
            (take(probe, sent.len() + 1), probe.counters().dropped())
        });
        let now = now_ns();
        assert_eq!(dropped, Some(0));
        let seen: Vec<_> = batches
            .iter()
            .flat_map(|batch| batch.frames().map(|frame| Seen::from(&frame)).collect::<Vec<_>>())
            .collect();
        assert_eq!(seen.len(), sent.len() + 1);
        for (seen, sent) in seen.iter().zip(&sent) {
            assert_eq!((&seen.data, seen.wire_length as usize), (sent, sent.len()), "{method}");
            assert!((before / 1000 * 1000..now).contains(&seen.time_ns), "{method}");
        }
        let has_metadata = matches!(method, "recv" | "recvmmsg" | "packet-v2" | "packet-v3");
        let tag = VlanTag { tci: 0xe005, tpid: 0x8100 };
        assert_eq!(seen[sent.len()].vlan, has_metadata.then_some(tag), "{method}");
        for (number, batch) in (1u64..).zip(&batches) {
            let times: Vec<_> = batch.frames().map(|frame| frame.time_ns).collect();
            let span = batch.time_span().unwrap();
            assert_eq!(Some(&span.least_ns), times.iter().min());
            assert_eq!(Some(&span.greatest_ns), times.iter().max());
            assert_eq!(batch.queue(), AF_XDP.contains(&method).then_some(0));
            let (sequence, mark) = match method {
                "packet-v3" => (Some(number), LossMark::Batch(false)),
                "packet-v1" | "packet-v2" => (None, LossMark::Frames),
                _ => (None, LossMark::Unknown),
            };
            assert_eq!((batch.block_sequence(), batch.loss_mark()), (sequence, mark), "{method}");
            assert_eq!(matches!(batch, OwnedBatch::Block(_)), method == "packet-v3");
        }
    });
}

#[test]
fn root_held_frames_stay_and_frames_without_memory_are_counted() {
    const FRAMES: u64 = 30_000;
    with_each("root_held_frames_stay", &METHODS, |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let options = CaptureOptions { ring: ByteCount(1 << 20), ..options() };
        capture(&spaces.right, method, &options, |probe| {
            // Everything is held, so that memory runs out: of the ring's blocks, or of the pool.
            let mut held = Vec::new();
            let mut sent = 0u64;
            let mut send = |frames| {
                for _ in 0..frames {
                    let mut octets = frame(RIGHT_MAC, 0, 1000);
                    octets[20..28].copy_from_slice(&sent.to_be_bytes());
                    wire.send(&octets);
                    sent += 1;
                }
            };
            for _ in 0..FRAMES / 500 {
                send(500);
                held.extend(std::iter::from_fn(|| probe.next(Duration::from_millis(1))));
            }
            let number = |octets: &[u8]| u64::from_be_bytes(octets[20..28].try_into().unwrap());
            let numbers = |batches: &[OwnedBatch]| -> Vec<u64> {
                batches
                    .iter()
                    .flat_map(|batch| batch.frames().map(|frame| number(frame.data)).collect::<Vec<_>>())
                    .collect()
            };
            let in_time = numbers(&held);
            assert!(in_time.is_sorted_by(|one, next| one < next), "{method}");
            assert!(probe.next(Duration::from_millis(20)).is_none(), "{method}: there is memory left");
            drop(held);
            let mut seen = in_time;
            while let Some(batch) = probe.next(Duration::from_millis(100)) {
                seen.extend(numbers(&[batch]));
            }
            assert!(seen.is_sorted_by(|one, next| one < next), "{method}");
            let (accepted, dropped) =
                (probe.counters().accepted.unwrap(), probe.counters().dropped().unwrap());
            assert_eq!(accepted, FRAMES, "{method}");
            assert_eq!(seen.len() as u64 + dropped, FRAMES, "{method}: lost is what the method says");
            assert!(dropped > 0, "{method}");
            send(3);
            assert_eq!(take(probe, 3).iter().map(Batch::frame_count).sum::<usize>(), 3, "{method} goes on");
        });
    });
}

#[test]
fn root_waiting_sleeps_while_a_block_is_held_and_sees_the_next_one() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let wire = Wire::new(&spaces.left);
    capture(&spaces.right, "packet-v3", &options(), |probe| {
        wire.send(&frame(RIGHT_MAC, 1, 60));
        let held = take(probe, 1);
        let start = Instant::now();
        assert!(probe.next(Duration::from_millis(60)).is_none());
        assert!(start.elapsed() >= Duration::from_millis(60), "it waited as long as it may");
        wire.send(&frame(RIGHT_MAC, 2, 60));
        let next = take(probe, 1);
        assert_eq!(next[0].frames().next().unwrap().data[20], 2);
        std::thread::scope(|scope| {
            scope.spawn(move || drop((held, next)));
            assert!(probe.next(Duration::from_millis(60)).is_none());
        });
        wire.send(&frame(RIGHT_MAC, 3, 60));
        assert_eq!(take(probe, 1)[0].frames().next().unwrap().data[20], 3);
    });
}
