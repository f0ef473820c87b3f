//! `xdp-count` on a veth pair: counts to the frame, verdicts, and an interface that is left as it was found.

use std::time::Duration;

use crate::wire::{OTHER_MAC, Wire};
use capbench_capture::backends::recv::Recv;
use capbench_capture::backends::xdp_count::XdpCount;
use capbench_capture::{Batch, Capture, CaptureError, Interface, methods};
use capbench_model::direction::Direction;
use capbench_model::mark::{FrameMark, MaskedOctet, Tally};
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_sys::host::interface::index_of;
use capbench_testing::network::{Namespaces, eventually, privileges};

const MODES: [&str; 2] = ["xdp-count", "xdp-count+generic"];
const TRIAL: u16 = 0xbeef;
/// Where the frames of these tests have their stamp: at no multiple of a word, as in real ones.
const STAMP_AT: u16 = 42;
const OCTETS: usize = 60;

/// A frame of a trial, of a protocol that nobody speaks.
fn frame(trial: u16, stream: u8, sequence: u64) -> Vec<u8> {
    let mut frame = crate::wire::frame(OTHER_MAC, 0x55, OCTETS);
    let stamp = u64::from(trial) << 48 | u64::from(stream) << 40 | sequence;
    frame[usize::from(STAMP_AT)..][..8].copy_from_slice(&stamp.to_be_bytes());
    frame
}

fn options() -> CaptureOptions {
    let known = frame(TRIAL, 0, 0);
    // Addresses, protocol and the octets around the stamp.
    let octets = (0..14).chain([40, 41, 50, 59]);
    let mask = |at: u16| MaskedOctet { at, mask: 0xff, value: known[usize::from(at)] };
    let mark = FrameMark { octets: octets.map(mask).collect(), stamp_at: STAMP_AT, trial: TRIAL };
    CaptureOptions { mark: Some(mark), ..CaptureOptions::default() }
}

fn open(interface: &str, method: &str) -> Result<XdpCount, CaptureError> {
    let spec: MethodSpec = method.parse().unwrap();
    let interface = Interface::of_name(interface, 1500).unwrap();
    let row = methods::find(&spec).unwrap();
    (row.supported)(&spec).unwrap();
    (row.check)(&spec, &interface, &options()).unwrap();
    XdpCount::open(&spec, &interface, &options())
}

/// The tally once this many frames have been counted.
fn tally(capture: &mut XdpCount, frames: u64) -> Tally {
    let mut last = Tally::default();
    eventually("every frame is counted", || {
        assert!(capture.next_batch(Duration::from_millis(20)).unwrap().is_none());
        last = capture.tally().unwrap().unwrap();
        last.marked + last.duplicates.unwrap() + last.other >= frames
    });
    last
}

/// Whether the kernel shows a program on the right end.
fn has_program(spaces: &Namespaces) -> bool {
    spaces.right.ip("-d -o link show dev right").contains("prog/xdp")
}

#[test]
fn root_each_frame_of_the_trial_counts_once_and_others_apart() {
    let Some(()) = privileges() else { return };
    for method in MODES {
        let spaces = Namespaces::make();
        let wire = Wire::new(&spaces.left);
        spaces.right.inside(|| {
            let mut capture = open("right", method).unwrap();
            assert!(has_program(&spaces), "{method}");
            let mode = if method.contains("generic") { "generic" } else { "native" };
            assert!(capture.running().engine.to_string().contains(mode), "{:?}", capture.running());
            (0..1000).for_each(|sequence| wire.send(&frame(TRIAL, 0, sequence)));
            // The last bit of the first word and the first of the next, one of them three times.
            [63, 64, 64, 999].iter().for_each(|sequence| wire.send(&frame(TRIAL, 0, *sequence)));
            // Another trial; one octet off, at either end of what is known; too short for the mark.
            wire.send(&frame(TRIAL - 1, 0, 5));
            for at in [0, 13, 41, 59] {
                let mut foreign = frame(TRIAL, 0, 2000);
                foreign[at] ^= 0x10;
                wire.send(&foreign);
            }
            wire.send(&frame(TRIAL, 0, 2000)[..59]);
            // What no mark looks at.
            let mut damaged = frame(TRIAL, 0, 1000);
            damaged[30] ^= 1;
            wire.send(&damaged);
            let counted = tally(&mut capture, 1011);
            let octets = 1011 * OCTETS as u64 - 1;
            assert_eq!(counted, Tally { marked: 1001, duplicates: Some(4), other: 6, octets }, "{method}");
            let counters = capture.counters().unwrap();
            assert_eq!((counters.accepted, counters.dropped()), (Some(1011), Some(0)), "{method}");
            assert_eq!(counters.raw("marked"), Some(1005), "{method}: {counters:?}");
            let per_cpu = counters.raw.iter().filter(|(name, _)| name.ends_with(".marked"));
            assert_eq!(per_cpu.map(|(_, count)| count).sum::<u64>(), 1005, "{method}: {counters:?}");
            assert_eq!(capture.running().shortfalls, [""; 0]);
        });
        assert!(!has_program(&spaces), "{method}");
    }
}

#[test]
fn root_frames_of_the_trial_end_in_the_kernel_unless_all_are_to_pass() {
    let Some(()) = privileges() else { return };
    for method in MODES {
        for (pass, expected) in [("", 3), ("+pass", 103)] {
            let spaces = Namespaces::make();
            let wire = Wire::new(&spaces.left);
            spaces.right.inside(|| {
                let mut counting = open("right", &format!("{method}{pass}")).unwrap();
                let interface = Interface::of_name("right", 1500).unwrap();
                let spec = MethodSpec::plain("recv");
                let mut stack = Recv::open(&spec, &interface, &CaptureOptions::default()).unwrap();
                (0..100).for_each(|sequence| wire.send(&frame(TRIAL, 0, sequence)));
                (0..3).for_each(|sequence| wire.send(&frame(TRIAL + 1, 0, sequence)));
                let counted = tally(&mut counting, 103);
                assert_eq!((counted.marked, counted.other), (100, 3), "{method}{pass}");
                let mut came = 0;
                // Frames for others are sent last, so that nothing is on its way once they are there.
                eventually("what passes reaches the stack", || {
                    while let Some(batch) = stack.next_batch(Duration::from_millis(10)).unwrap() {
                        came += batch.frames().count();
                    }
                    came >= expected
                });
                assert_eq!(came, expected, "{method}{pass}");
            });
        }
    }
}

#[test]
fn root_numbers_beyond_the_record_are_said_to_be_unchecked() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let mut capture = open("right", "xdp-count+record=16B").unwrap();
        [0, 127, 127].iter().for_each(|sequence| wire.send(&frame(TRIAL, 0, *sequence)));
        let within = tally(&mut capture, 3);
        assert_eq!((within.marked, within.duplicates), (2, Some(1)));
        assert_eq!(capture.running().shortfalls, [""; 0]);
        // Beyond it, beyond what an index holds, and in another stream.
        let last = (1 << 40) - 1;
        for (stream, sequence) in [(0, 128), (0, 128), (0, 1 << 38), (0, last), (1, 0), (255, last)] {
            wire.send(&frame(TRIAL, stream, sequence));
        }
        let counted = tally(&mut capture, 9);
        assert_eq!((counted.marked, counted.duplicates, counted.other), (8, Some(1), 0));
        assert_eq!(capture.counters().unwrap().raw("beyond_record"), Some(6));
        assert!(capture.running().shortfalls[0].contains("+record"));
    });
}

#[test]
fn root_without_a_mark_every_frame_is_counted_and_passes() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let interface = Interface::of_name("right", 1500).unwrap();
        let spec = MethodSpec::plain("xdp-count");
        let mut capture = XdpCount::open(&spec, &interface, &CaptureOptions::default()).unwrap();
        (0..10).for_each(|sequence| wire.send(&frame(TRIAL, 0, sequence)));
        let octets = 10 * OCTETS as u64;
        assert_eq!(tally(&mut capture, 10), Tally { marked: 0, duplicates: Some(0), other: 10, octets });
    });
}

#[test]
fn root_what_cannot_be_attached_is_refused_with_the_reason() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let refused = |interface: &str, method: &str| match open(interface, method).unwrap_err() {
        CaptureError::Unsupported { reason, .. } => reason,
        other => panic!("{method} on {interface}: {other:?}"),
    };
    spaces.right.inside(|| {
        spaces.right.ip("link set dev lo up");
        let reason = refused("lo", "xdp-count");
        assert!(reason.contains("native mode") && reason.contains("no native XDP"), "{reason}");
        drop(open("lo", "xdp-count+generic").unwrap());
        // In either mode there is one at a time, and the other is named.
        for there in MODES {
            let _first = open("right", there).unwrap();
            for more in MODES {
                let reason = refused("right", more);
                assert!(reason.contains("already (program ") && reason.contains(", count)"), "{reason}");
                assert_eq!(reason.lines().count(), 1, "{reason}");
            }
        }
        assert!(!has_program(&spaces));
        // What is there already stays.
        let _first = open("right", "xdp-count").unwrap();
        refused("right", "xdp-count");
        assert!(has_program(&spaces));
    });
}

#[test]
fn root_a_driver_that_cannot_at_this_mtu_says_so() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    // A veth runs a program on frames of one page at most.
    spaces.left.ip("link set dev left mtu 9000");
    spaces.right.ip("link set dev right mtu 9000");
    spaces.right.inside(|| {
        let error = open("right", "xdp-count").unwrap_err();
        assert!(matches!(error, CaptureError::Unsupported { .. }), "{error:?}");
        assert!(error.to_string().contains("MTU"), "{error}");
    });
}

#[test]
fn impossible_requests_are_refused_before_opening() {
    let interface = Interface::new("right", index_of("lo").unwrap(), 1500);
    let check = |method: &str, options: &CaptureOptions| {
        let spec: MethodSpec = method.parse().unwrap();
        (methods::find(&spec).unwrap().check)(&spec, &interface, options).map_err(|error| error.to_string())
    };
    for direction in [Direction::Out, Direction::Both] {
        let text = check("xdp-count", &CaptureOptions { direction, ..options() }).unwrap_err();
        assert!(text.starts_with("--direction: "), "{text}");
    }
    for record in ["0", "12", "32GiB", "much", "-8"] {
        let text = check(&format!("xdp-count+record={record}"), &options()).unwrap_err();
        assert!(text.contains("+record"), "{record}: {text}");
    }
    let mut many = options();
    let octets = (0..200).map(|at| MaskedOctet { at, mask: 0xff, value: 0 }).collect();
    many.mark = Some(FrameMark { octets, stamp_at: 42, trial: 1 });
    assert!(check("xdp-count", &many).unwrap_err().contains("words"));
    assert_eq!(check("xdp-count+generic+pass+record=1MiB", &options()), Ok(()));
}
