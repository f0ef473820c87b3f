//! `af-xdp` on veth pairs: frames whole and in order, each loss at its place to the frame, refusals instead of fallbacks,
//! and nothing left on the interface however the process ends.
#![cfg(feature = "bpf")]

#[path = "../../capbench/tests/support/network.rs"]
mod network;
mod wire;

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::backends::af_xdp::AfXdp;
use capbench_capture::backends::recv::Recv;
use capbench_capture::{
    Batch, ByteCount, Capture, CaptureError, CaptureOptions, Counters, Interface, LossPlace, MethodSpec,
    PacketType, SnapLength,
};
use capbench_sys::bpf::link_state;
use capbench_sys::host::interface::index_of;
use capbench_sys::xdp::{Transmitter, TransmitterConfig, Wake};
use network::{Namespaces, PATIENCE, Place, RIGHT_MAC, eventually, in_turn, privileged, program};
use wire::{OTHER_MAC, Wire, drain, now_ns, take};

const MODES: [&str; 2] = ["af-xdp", "af-xdp+generic"];

fn options() -> CaptureOptions {
    CaptureOptions { ring: ByteCount(4 << 20), ..CaptureOptions::default() }
}

fn open_as(method: &str, mtu: u32, options: &CaptureOptions) -> Result<AfXdp, CaptureError> {
    let interface = Interface::of_name("right", mtu).unwrap();
    AfXdp::open(&method.parse().unwrap(), &interface, options)
}

fn refusal(place: &Place, method: &str, mtu: u32) -> String {
    place.inside(|| open_as(method, mtu, &options()).map(drop).unwrap_err().to_string())
}

/// Whether a program is on the interface `right`.
fn is_attached(place: &Place) -> bool {
    place.inside(|| link_state(index_of("right").unwrap()).unwrap().attached.is_some())
}

/// A frame of so many octets with its number, and full of the number's last octet.
fn frame(destination: [u8; 6], number: u32, octets: usize) -> Vec<u8> {
    let mut frame = wire::frame(destination, number as u8, octets);
    frame[14..18].copy_from_slice(&number.to_be_bytes());
    frame
}

fn number(data: &[u8]) -> u32 {
    u32::from_be_bytes(data[14..18].try_into().unwrap())
}

/// The counters once so many frames have come through the program.
fn counters_after(capture: &mut impl Capture, redirected: u64) -> Counters {
    eventually("all frames have arrived", || {
        capture.counters().unwrap().raw("xdp.redirected") == Some(redirected)
    });
    capture.counters().unwrap()
}

fn losses(counters: &Counters) -> [Option<u64>; 3] {
    [LossPlace::Xdp, LossPlace::FillRing, LossPlace::Ring].map(|place| counters.lost_at(place))
}

fn with_each_mode(test: &str, work: impl Fn(&str, &Namespaces)) {
    if !privileged(test) {
        return;
    }
    let _turn = in_turn();
    for method in MODES {
        eprintln!("{test}: {method}");
        work(method, &Namespaces::new());
    }
}

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
                running.engine.contains(&format!("{mode} mode, copy, need-wakeup")),
                "{}",
                running.engine
            );
            assert!(
                running.geometry.starts_with("queue 0, each: receive ring of 2048"),
                "{}",
                running.geometry
            );
            assert!(running.time_source.contains("user space") && !running.vlan_metadata);
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
fn root_a_starved_fill_ring_loses_at_its_own_place_to_the_frame() {
    with_each_mode("root_a_starved_fill_ring_loses_at_its_own_place_to_the_frame", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            let mut capture = open_as(&format!("{method}+fill=16"), 1500, &options()).unwrap();
            let mut read = 0;
            for round in 1..=3u64 {
                (0..1000).for_each(|n| wire.send(&frame(OTHER_MAC, n, 60)));
                let counters = counters_after(&mut capture, round * 1000);
                read += drain(&mut capture);
                assert_eq!(read, 16 * round, "{method}");
                let lost = round * 1000 - read;
                assert_eq!(losses(&counters), [Some(0), Some(lost), Some(0)], "{method} {counters:?}");
                assert_eq!(counters.accepted, Some(round * 1000));
                // Two counters of the kernel count each of these frames.
                let raw = ["rx_dropped", "rx_fill_ring_empty_descs"].map(|name| counters.raw(name));
                assert_eq!(raw, [Some(lost); 2], "{method} {counters:?}");
            }
        });
    });
}

#[test]
fn root_a_full_ring_loses_at_its_own_place_to_the_frame() {
    with_each_mode("root_a_full_ring_loses_at_its_own_place_to_the_frame", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        let small = CaptureOptions { ring: ByteCount(128 << 10), ..options() };
        spaces.right.inside(|| {
            let mut capture = open_as(method, 1500, &small).unwrap();
            let mut read = 0;
            for round in 1..=3u64 {
                (0..1000).for_each(|n| wire.send(&frame(OTHER_MAC, n, 60)));
                let counters = counters_after(&mut capture, round * 1000);
                read += drain(&mut capture);
                assert_eq!(read, 64 * round, "{method}");
                let lost = round * 1000 - read;
                assert_eq!(losses(&counters), [Some(0), Some(0), Some(lost)], "{method} {counters:?}");
                assert_eq!(counters.raw("rx_ring_full"), Some(lost), "{method} {counters:?}");
            }
        });
    });
}

#[test]
fn root_frames_longer_than_a_buffer_are_counted_and_not_taken_for_starvation() {
    let test = "root_frames_longer_than_a_buffer_are_counted_and_not_taken_for_starvation";
    with_each_mode(test, |method, spaces| {
        spaces.left.ip("link set dev left mtu 3000");
        spaces.right.ip("link set dev right mtu 3000");
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            // As if the MTU had grown after the method was opened.
            let mut capture = open_as(method, 1500, &options()).unwrap();
            for (number, octets) in [1792, 1793, 60, 3014].into_iter().enumerate() {
                wire.send(&frame(OTHER_MAC, number as u32, octets));
            }
            let seen = take(&mut capture, 2);
            assert_eq!(seen.iter().map(|seen| seen.data.len()).collect::<Vec<_>>(), [1792, 60]);
            let counters = counters_after(&mut capture, 4);
            assert_eq!(
                (counters.accepted, losses(&counters)),
                (Some(2), [Some(2), Some(0), Some(0)]),
                "{method}"
            );
            drop(capture);
            let mut capture = open_as(method, 3000, &options()).unwrap();
            wire.send(&frame(OTHER_MAC, 9, 3014));
            assert_eq!(take(&mut capture, 1)[0].data, frame(OTHER_MAC, 9, 3014));
        });
    });
}

/// A pair whose ends have two queues each.
fn with_two_queues() -> Namespaces {
    let spaces = Namespaces { left: Place::new("left"), right: Place::new("right") };
    spaces.left.ip(&format!(
        "link add name left numtxqueues 2 numrxqueues 2 type veth peer name right numtxqueues 2 numrxqueues 2 netns {}",
        spaces.right.path()
    ));
    spaces.left.ip("link set dev left arp off up");
    spaces.right.ip("link set dev right arp off up");
    eventually("carrier", || spaces.right.ip("-o link show dev right").contains("LOWER_UP"));
    spaces
}

/// Sends through one transmit queue, which decides the peer's receive queue.
struct QueueWire(Transmitter);

impl QueueWire {
    fn new(place: &Place, queue: u32) -> Self {
        place.inside(|| {
            let interface = index_of("left").unwrap();
            let config = TransmitterConfig {
                interface,
                queue,
                chunk_size: 2048,
                frames: 64,
                send_buffer_bytes: 1 << 20,
                budget: 32,
            };
            Self(Transmitter::open(&config).unwrap())
        })
    }

    fn send(&mut self, data: &[u8]) {
        eventually("a free chunk", || self.0.queue().room(1) == 1);
        self.0.queue().slot(0)[..data.len()].copy_from_slice(data);
        self.0.queue().request(&[data.len() as u16]).unwrap();
        while self.0.queue().pending() > 0 {
            let wake = self.0.wake().unwrap();
            self.0.queue().take_count();
            if wake == Wake::Dropped {
                assert!(self.0.repeat_dropped());
            }
        }
    }
}

#[test]
fn root_all_queues_are_one_source_and_each_keeps_its_order() {
    let test = "root_all_queues_are_one_source_and_each_keeps_its_order";
    if !privileged(test) {
        return;
    }
    let _turn = in_turn();
    for method in MODES {
        let (spaces, is_native) = (with_two_queues(), method == MODES[0]);
        let mut wires = [0, 1].map(|queue| QueueWire::new(&spaces.left, queue));
        spaces.right.inside(|| {
            let mut capture = open_as(method, 1500, &options()).unwrap();
            let running = capture.running().geometry.clone();
            assert!(running.starts_with("queues 0 to 1, each: receive ring of 1024"), "{running}");
            let mut next = [0, 0];
            for round in 0..10 {
                for n in 0..50 {
                    for (queue, wire) in wires.iter_mut().enumerate() {
                        wire.send(&frame([2, 0, 0, 0, 0, 10 + queue as u8], round * 50 + n, 60));
                    }
                }
                let (start, mut count) = (Instant::now(), 0);
                while count < 100 {
                    assert!(start.elapsed() < PATIENCE, "{method}: {count}");
                    let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() else {
                        continue;
                    };
                    for frame in batch.frames() {
                        let queue = usize::from(frame.data[5] - 10);
                        // In generic mode it is the stack that says, and a veth has not told it.
                        let told = if is_native { queue as u32 } else { 0 };
                        assert_eq!(batch.queue(), Some(told), "{method}");
                        assert_eq!(number(frame.data), next[queue], "{method} queue {queue}");
                        next[queue] += 1;
                        count += 1;
                    }
                }
            }
            let counters = counters_after(&mut capture, 1000);
            assert_eq!((counters.accepted, losses(&counters)), (Some(1000), [Some(0); 3]), "{method}");
            let taken = ["queue0.taken", "queue1.taken"].map(|name| counters.raw(name));
            assert_eq!(taken, if is_native { [Some(500); 2] } else { [Some(1000), Some(0)] }, "{method}");
        });
        if !is_native {
            continue;
        }
        // One queue: the frames of the other one are left to the stack, and counted.
        spaces.right.inside(|| {
            let mut capture = open_as(&format!("{method}+queue=1"), 1500, &options()).unwrap();
            assert!(capture.running().geometry.starts_with("queue 1, "), "{}", capture.running().geometry);
            for n in 0..20 {
                wires[(n % 2) as usize].send(&frame(OTHER_MAC, n, 60));
            }
            let seen: Vec<_> = take(&mut capture, 10).iter().map(|seen| number(&seen.data)).collect();
            assert_eq!(seen, (0..20).filter(|n| n % 2 == 1).collect::<Vec<_>>(), "{method}");
            eventually("the others were passed", || {
                losses(&capture.counters().unwrap()) == [Some(10), Some(0), Some(0)]
            });
        });
        let text = refusal(&spaces.right, &format!("{method}+queue=2"), 1500);
        assert!(text.contains("no receive queue 2") && text.contains("it has 2"), "{text}");
    }
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

#[test]
fn root_what_was_passed_on_reaches_the_stack_once_after_it_was_captured() {
    let test = "root_what_was_passed_on_reaches_the_stack_once_after_it_was_captured";
    if !privileged(test) {
        return;
    }
    let _turn = in_turn();
    let spaces = Namespaces::new();
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let interface = Interface::of_name("right", 1500).unwrap();
        let mut stack = Recv::open(&MethodSpec::plain("recv"), &interface, &options()).unwrap();
        for (method, reaches) in [("af-xdp", false), ("af-xdp+pass", true)] {
            let mut capture = open_as(method, 1500, &options()).unwrap();
            let sent: Vec<_> = (0..100).map(|n| frame(RIGHT_MAC, n, 60 + 14 * n as usize)).collect();
            for part in sent.chunks(20) {
                part.iter().for_each(|frame| wire.send(frame));
                let seen = take(&mut capture, part.len());
                assert!(seen.iter().zip(part).all(|(seen, sent)| seen.data == *sent), "{method}");
            }
            assert_eq!(drain(&mut capture), 0, "{method}: what is passed on does not come back");
            let counters = capture.counters().unwrap();
            assert_eq!((counters.accepted, losses(&counters)), (Some(100), [Some(0); 3]), "{method}");
            if reaches {
                let seen = take(&mut stack, 100);
                assert!(
                    seen.iter()
                        .zip(&sent)
                        .all(|(seen, sent)| seen.data == *sent && seen.packet_type == PacketType::Host)
                );
                assert_eq!([counters.raw("passed_on"), counters.raw("pass_failed")], [Some(100), Some(0)]);
                assert!(capture.running().engine.contains("passed on"), "{}", capture.running().engine);
            }
            assert_eq!(drain(&mut stack), 0, "{method}");
        }
    });
}

#[test]
fn root_what_could_not_be_passed_on_is_said() {
    if !privileged("root_what_could_not_be_passed_on_is_said") {
        return;
    }
    let (_turn, spaces) = (in_turn(), Namespaces::new());
    for (place, end) in [(&spaces.left, "left"), (&spaces.right, "right")] {
        place.ip(&format!("link set dev {end} mtu 3490"));
    }
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let mut capture = open_as("af-xdp+pass", 3490, &options()).unwrap();
        wire.send(&frame(RIGHT_MAC, 0, 1000));
        assert_eq!(take(&mut capture, 1).len(), 1);
        capture.counters().unwrap();
        assert_eq!(capture.running().shortfall, None);
        // A program that runs on a frame of its own has less room in a page than a driver.
        (1..4).for_each(|n| wire.send(&frame(RIGHT_MAC, n, 3500)));
        assert_eq!(take(&mut capture, 3).len(), 3);
        let counters = capture.counters().unwrap();
        assert_eq!([counters.raw("passed_on"), counters.raw("pass_failed")], [Some(1), Some(3)]);
        let shortfall = capture.running().shortfall.clone().unwrap();
        assert!(shortfall.starts_with("3 of 4 captured frames were not passed on"), "{shortfall}");
        assert!(shortfall.contains("cannot run the BPF program pass") && shortfall.lines().count() == 1);
        eprintln!("{shortfall}");
    });
}

#[test]
fn root_what_cannot_be_is_refused_and_nothing_falls_back() {
    let test = "root_what_cannot_be_is_refused_and_nothing_falls_back";
    if !privileged(test) {
        return;
    }
    let _turn = in_turn();
    let spaces = Namespaces::new();
    let right = &spaces.right;
    for (method, mtu, words) in [
        ("af-xdp+zero-copy", 1500, &["af-xdp+zero-copy on right: ", "no zero-copy", "+copy"][..]),
        ("af-xdp+queue=1", 1500, &["no receive queue 1"]),
        ("af-xdp", 9000, &["right", "9000", "3822"]),
    ] {
        let text = refusal(right, method, mtu);
        assert!(words.iter().all(|word| text.contains(word)) && text.lines().count() == 1, "{text}");
        assert!(!is_attached(right), "{method}");
    }
    // Two on one queue: the socket's place is taken before the program is.
    right.inside(|| {
        let first = open_as("af-xdp", 1500, &options()).unwrap();
        let text = open_as("af-xdp+generic", 1500, &options()).unwrap_err().to_string();
        assert!(text.contains("another AF_XDP socket"), "{text}");
        drop(first);
        open_as("af-xdp+generic", 1500, &options()).unwrap();
    });
    // A native program takes no more than a page; the peer decides.
    spaces.left.ip("link set dev left mtu 3800");
    let text = refusal(right, "af-xdp", 1500);
    assert!(text.contains("MTU") && text.contains("3500") && text.lines().count() == 1, "{text}");
    right.inside(|| open_as("af-xdp+generic", 1500, &options()).map(drop).unwrap());
    // The loopback interface's driver has no native mode.
    right.inside(|| {
        let lo = Interface::of_name("lo", 1500).unwrap();
        spaces.right.ip("link set dev lo up");
        let text = AfXdp::open(&MethodSpec::plain("af-xdp"), &lo, &options()).unwrap_err().to_string();
        assert!(text.contains("native") && text.contains("af-xdp+generic"), "{text}");
    });
    right.ip("link set dev right down");
    let text = refusal(right, "af-xdp+generic", 1500);
    assert!(text.starts_with("af-xdp on right: ") && text.contains("down"), "{text}");
}

#[test]
fn root_an_interface_that_goes_down_or_away_is_an_error_that_names_it() {
    let test = "root_an_interface_that_goes_down_or_away_is_an_error_that_names_it";
    with_each_mode(test, |method, _| {
        for settings in ["", "+spin=50us", "+busy-poll"] {
            for end in ["link set dev right down", "link delete dev right"] {
                let spaces = Namespaces::new();
                let method = format!("{method}{settings}");
                let error = spaces.right.inside(|| {
                    let mut capture = open_as(&method, 1500, &options()).unwrap();
                    spaces.right.ip(end);
                    let start = Instant::now();
                    loop {
                        assert!(start.elapsed() < PATIENCE, "{method}, {end}: no error");
                        if let Err(error) = capture.next_batch(Duration::from_millis(20)).map(drop) {
                            break error;
                        }
                    }
                });
                let text = error.to_string();
                assert!(text.starts_with("af-xdp on right: "), "{method}, {end}: {text}");
                assert!(text.contains("down") && text.lines().count() == 1, "{method}, {end}: {text}");
            }
        }
    });
}

#[test]
fn root_busy_polling_is_reported_as_found() {
    with_each_mode("root_busy_polling_is_reported_as_found", |method, spaces| {
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            let mut capture = open_as(&format!("{method}+busy-poll=20us"), 1500, &options()).unwrap();
            let engine = capture.running().engine.clone();
            assert!(engine.contains("busy polling (asked) for 20µs with a budget of 64"), "{engine}");
            (0..300).for_each(|n| wire.send(&frame(OTHER_MAC, n, 60)));
            assert_eq!(take(&mut capture, 300).len(), 300);
            let counters = counters_after(&mut capture, 300);
            assert_eq!((counters.accepted, losses(&counters)), (Some(300), [Some(0); 3]));
            // Whether a veth has a NAPI instance that sockets know depends on the kernel; what is said fits.
            let running = capture.running();
            assert_eq!(
                running.engine.contains("not busy-polled (asked for 20µs"),
                running.shortfall.is_some(),
                "{running:?}"
            );
            assert!(
                running.shortfall.is_some() || running.engine.contains("busy polling for 20µs"),
                "{running:?}"
            );
            eprintln!("{method}: {}; {:?}", running.engine, running.shortfall);
        });
    });
}

/// What the child of another test does.
const TASK: &str = "CAPBENCH_TEST_TASK";

/// This program once more, to do the task in a process of its own.
fn child(task: &str, through: Option<&mut Command>) -> Command {
    let this = std::env::current_exe().unwrap();
    let mut command = match through {
        Some(through) => {
            let mut command = Command::new(through.get_program());
            command.args(through.get_args()).arg(this);
            command
        }
        None => Command::new(this),
    };
    command.args(["--exact", "the_task_of_a_child", "--nocapture", "--test-threads=1"]).env(TASK, task);
    command
}

#[test]
fn the_task_of_a_child() {
    let Ok(method) = std::env::var(TASK) else { return };
    match open_as(&method, 1500, &options()) {
        Ok(_capture) => {
            println!("open");
            thread::sleep(PATIENCE);
        }
        Err(error) => println!("error: {error}"),
    }
}

#[test]
fn root_a_killed_process_leaves_no_program_behind() {
    with_each_mode("root_a_killed_process_leaves_no_program_behind", |method, spaces| {
        let mut process = spaces.right.spawn(child(method, None).stdout(Stdio::piped()));
        let lines = BufReader::new(process.stdout.take().unwrap()).lines();
        assert!(lines.map_while(Result::ok).any(|line| line.ends_with("open")), "{method}");
        assert!(is_attached(&spaces.right), "{method}");
        process.kill().unwrap();
        process.wait().unwrap();
        eventually("the program is gone", || !is_attached(&spaces.right));
        spaces.right.inside(|| open_as(method, 1500, &options()).map(drop).unwrap());
    });
}

#[test]
fn root_without_privilege_it_says_which_one_is_missing() {
    with_each_mode("root_without_privilege_it_says_which_one_is_missing", |method, spaces| {
        for (kept, wanted) in [("-all", "CAP_BPF"), ("-all,+bpf,+net_admin,+perfmon", "CAP_NET_RAW")] {
            let mut setpriv = program("setpriv");
            setpriv.args(["--bounding-set", kept, "--inh-caps", "-all"]);
            let output = spaces.right.output(&mut child(method, Some(&mut setpriv)));
            let text = network::lossy(&output.stdout);
            let line = text.lines().find_map(|line| line.split_once("error: ")).map(|(_, error)| error);
            let line = line.unwrap_or_else(|| panic!("{text} {}", network::lossy(&output.stderr)));
            assert!(line.contains("right") && line.contains(wanted), "{method} {kept}: {line}");
            assert!(!is_attached(&spaces.right), "{method}");
        }
    });
}
