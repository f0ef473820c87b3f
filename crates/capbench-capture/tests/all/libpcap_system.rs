//! The system's libpcap on a real interface, by every call: whole frames with their times, tags, lengths and directions,
//! exact counters, and waiting that ends.

use std::time::{Duration, Instant};

use crate::stand_in::StandIn;
use crate::wire::{LIBPCAP, Wire, drain, frame, interface_of, take};
use capbench_capture::backends::libpcap::Libpcap;
use capbench_capture::{Batch, Capture, CaptureError};
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_testing::network::{Namespaces, PATIENCE, Place, RIGHT_MAC, privileges};

fn open(place: &Place, spec: &str, options: &CaptureOptions) -> Result<Libpcap, CaptureError> {
    Libpcap::open(&spec.parse().unwrap(), &interface_of(place), options)
}

fn options() -> CaptureOptions {
    CaptureOptions { ring: ByteCount(4 << 20), ..CaptureOptions::default() }
}

/// Runs a test with each call, on a separate pair.
fn with_each_call(test: &str, work: impl Fn(&'static str, &Namespaces) + Sync) {
    let Some(()) = privileges() else { return };
    for call in LIBPCAP {
        eprintln!("{test}: {call}");
        let spaces = Namespaces::make();
        spaces.right.inside(|| work(call, &spaces));
    }
}

#[test]
fn root_libpcap_puts_a_tag_back_into_the_frame() {
    with_each_call("root_libpcap_puts_a_tag_back_into_the_frame", |call, spaces| {
        let wire = Wire::new(&spaces.left);
        let plain = frame(RIGHT_MAC, 7, 100);
        let tagged = [&plain[..12], &[0x81, 0, 0xef, 0xff], &plain[12..]].concat();
        let mut capture = open(&spaces.right, call, &options()).unwrap();
        assert!(!capture.running().vlan_metadata);
        wire.send(&tagged);
        wire.send(&plain);
        let all = take(&mut capture, 2);
        assert_eq!((&all[0].data, all[0].wire_length), (&tagged, 104), "{call}");
        assert_eq!((&all[1].data, all[1].wire_length), (&plain, 100), "{call}");
    });
}

#[test]
fn root_libpcap_loses_nothing_to_the_end_of_a_wait() {
    with_each_call("root_libpcap_loses_nothing_to_the_end_of_a_wait", |call, spaces| {
        let wire = Wire::new(&spaces.left);
        let mut capture = open(&spaces.right, call, &options()).unwrap();
        let start = Instant::now();
        for _ in 0..5 {
            assert!(!capture.for_each(Duration::from_millis(10), |_| ()).unwrap(), "{call}");
        }
        assert!(start.elapsed() < PATIENCE, "{call}");
        // Waits end, again and again, while frames come.
        let mut read = 0;
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| {
                for number in 0..20_000u32 {
                    wire.send(&frame(RIGHT_MAC, number as u8, 60));
                }
            });
            while !sender.is_finished() {
                capture.for_each(Duration::from_millis(1), |_| read += 1).unwrap();
            }
        });
        read += drain(&mut capture);
        let counters = capture.counters().unwrap();
        let dropped = counters.dropped().unwrap();
        assert_eq!((counters.accepted, read + dropped), (Some(20_000), 20_000), "{call}: {counters:?}");
    });
}

#[test]
fn root_batches_of_libpcap_hold_one_frame_until_the_next_call() {
    with_each_call("root_batches_of_libpcap_hold_one_frame_until_the_next_call", |call, spaces| {
        let wire = Wire::new(&spaces.left);
        let mut capture = open(&spaces.right, call, &options()).unwrap();
        (0..20).for_each(|number| wire.send(&frame(RIGHT_MAC, number, 100)));
        let (start, mut number) = (Instant::now(), 0);
        while number < 20 {
            assert!(start.elapsed() < PATIENCE, "{call}");
            let Some(batch) = capture.next_batch(Duration::from_millis(20)).unwrap() else { continue };
            for _ in 0..2 {
                let all: Vec<_> = batch.frames().map(|frame| frame.data.to_vec()).collect();
                assert_eq!(all, [frame(RIGHT_MAC, number, 100)], "{call}");
            }
            number += 1;
        }
    });
}

#[test]
fn root_an_interface_that_goes_away_is_libpcaps_error_and_one_that_goes_down_is_none() {
    let test = "root_an_interface_that_goes_away_is_libpcaps_error_and_one_that_goes_down_is_none";
    with_each_call(test, |call, spaces| {
        let wire = Wire::new(&spaces.left);
        let mut capture = open(&spaces.right, call, &options()).unwrap();
        // libpcap waits for it to come back.
        spaces.right.ip("link set dev right down");
        assert!(!capture.for_each(Duration::from_millis(20), |_| ()).unwrap(), "{call}");
        spaces.right.ip("link set dev right up");
        wire.send(&frame(RIGHT_MAC, 5, 60));
        assert_eq!(take(&mut capture, 1)[0].data, frame(RIGHT_MAC, 5, 60), "{call}");
        spaces.right.ip("link delete dev right");
        let start = Instant::now();
        let error = loop {
            assert!(start.elapsed() < PATIENCE, "{call}: no error");
            if let Err(error) = capture.for_each(Duration::from_millis(20), |_| ()) {
                break error.to_string();
            }
        };
        assert!(
            error.starts_with("libpcap on right: ")
                && error.contains("pcap_")
                && error.contains("disappeared"),
            "{call}: {error}"
        );
    });
}

#[test]
fn root_two_builds_of_libpcap_are_open_at_once() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let stand_in = StandIn::new(&["PACKETS=3"]);
    spaces.right.inside(|| {
        let wire = Wire::new(&spaces.left);
        let mut system = open(&spaces.right, "libpcap", &options()).unwrap();
        let mut other = open(&spaces.right, &stand_in.spec().to_string(), &options()).unwrap();
        wire.send(&frame(RIGHT_MAC, 9, 60));
        assert_eq!(take(&mut system, 1)[0].data, frame(RIGHT_MAC, 9, 60));
        assert_eq!(crate::stand_in::take(&mut other, 100).0.len(), 3);
        assert!(
            system.running().engine.to_string().contains("AF_PACKET")
                && !system.running().engine.to_string().contains("stand-in")
        );
        assert!(
            other.running().engine.to_string().contains("stand-in")
                && !other.running().engine.to_string().contains("AF_PACKET")
        );
    });
}
