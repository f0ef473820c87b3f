//! `szedata2` against a stand-in for libsze2: the calls and their order, how long a packet lives, and every way to fail.

use std::time::Duration;

use crate::stand_ins::{StandIn, Vendor, frame, interface, octets, take};
use capbench_capture::backends::szedata2::{METHOD, Szedata2};
use capbench_capture::{Batch, Capture};
use capbench_model::direction::Direction;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_model::units::SnapLength;

const VENDOR: Vendor<Szedata2> = Vendor {
    library: "szedata2",
    method: "szedata2",
    open: |_, spec, options| Szedata2::open(spec, &interface(), options),
};

#[test]
fn packets_are_read_in_order_and_everything_is_closed_once() {
    let (device, mut capture) = VENDOR.opened("frames 20", ("", ""));
    assert!(capture.running().ring.to_string().contains("0x3"), "{:?}", capture.running());
    let seen = take(&mut capture, 20);
    assert_eq!(octets(&seen), (0..20).map(frame).collect::<Vec<_>>());
    assert!(seen.iter().all(|frame| frame.wire_length as usize == frame.data.len() && frame.time_ns == 0));
    assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
    let counters = capture.counters().unwrap();
    assert_eq!((counters.accepted, counters.lost_at(Place::Ring), counters.dropped()), (None, None, None));
    assert_eq!(counters.raw("packets read"), Some(20));
    assert!(capture.waits().waits >= 1 && capture.waits().empty >= 1);
    drop(capture);
    assert_eq!(device.calls(), ["open", "subscribe3 ffffffff 0", "start", "close"]);
}

#[test]
fn a_packet_that_is_out_when_the_capture_ends_is_released_by_closing() {
    let (device, mut capture) = VENDOR.opened("frames 2", ("", ""));
    assert!(capture.next_batch(Duration::ZERO).unwrap().is_some());
    drop(capture);
    assert_eq!(device.calls().len(), 4);
}

#[test]
fn packets_that_come_late_are_waited_for() {
    let (_device, mut capture) = VENDOR.opened("frames 3 late 1", ("", ""));
    assert_eq!(take(&mut capture, 3).len(), 3);
    assert_eq!((capture.waits().waits, capture.waits().empty), (1, 0));
}

#[test]
fn the_snap_length_cuts_and_the_length_stays() {
    let device = VENDOR.device("frames 1");
    let options = CaptureOptions { snap_length: SnapLength::new(14), ..CaptureOptions::default() };
    let mut capture = VENDOR.open_with(&device, ("", ""), &options).unwrap();
    let batch = capture.next_batch(Duration::ZERO).unwrap().unwrap();
    let seen: Vec<_> = batch.frames().map(|frame| (frame.data.len(), frame.wire_length)).collect();
    assert_eq!(seen, [(14, 60)]);
}

#[test]
fn a_short_read_is_an_error_and_not_a_frame() {
    for script in ["frames 5 short_at 2", "frames 5 short_at 2 short_to 3", "frames 5 huge_at 2"] {
        let error = VENDOR.fails(script, ("", ""), 2);
        assert!(error.contains("szedata_read_next") && error.contains("says that it has"), "{error}");
    }
}

#[test]
fn a_failure_while_waiting_is_an_error() {
    let gone = VENDOR.fails("frames 9 gone_after 4", ("", ""), 4);
    assert!(gone.contains("the device reports an error"), "{gone}");
    // ENODEV
    assert!(VENDOR.fails("frames 0 poll -19", ("", ""), 0).contains("No such device"));
    assert!(
        VENDOR.fails("frames 9 late 1 poll_events 4", ("", ""), 0).contains("something else than packets")
    );
}

#[test]
fn an_interrupted_wait_is_none() {
    let (_device, mut capture) = VENDOR.opened("frames 0 poll -4", ("", ""));
    assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
}

#[test]
fn a_failed_open_says_why() {
    assert!(VENDOR.refuses("open_errno 13", "").contains("Permission denied"));
    let busy = VENDOR.refuses("subscribe 16", "");
    assert!(busy.contains("szedata_subscribe3") && busy.contains("busy"), "{busy}");
    assert!(VENDOR.refuses("subscribe -22", "").contains("Invalid argument"));
    assert!(VENDOR.refuses("channels 0", "").contains("no receive channel"));
    assert!(VENDOR.refuses("start 5", "").contains("Input/output error"));
    let stand_in = StandIn::build("szedata2", &[]);
    let spec = stand_in.spec("szedata2:/nonexistent/szedataII0");
    let error = Szedata2::open(&spec, &interface(), &CaptureOptions::default()).map(drop).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("on /nonexistent/szedataII0") && text.contains("driver"), "{text}");
}

#[test]
fn other_libraries_are_refused_before_opening() {
    let stand_in = StandIn::build("nfb", &[]);
    let refusal = (METHOD.supported)(&stand_in.spec("szedata2")).unwrap_err();
    assert!(refusal.contains("no function szedata_open"), "{refusal}");
    let absent =
        (METHOD.supported)(&"szedata2+library=/nonexistent/libsze2.so".parse().unwrap()).unwrap_err();
    assert!(absent.contains("No such file") && !absent.contains("+library="), "{absent}");
    if let Err(reason) = (METHOD.supported)(&"szedata2".parse().unwrap()) {
        assert!(reason.contains("libsze2.so") && reason.contains("+library=PATH"), "{reason}");
    }
    assert_eq!((METHOD.supported)(&StandIn::build("szedata2", &[]).spec("szedata2")), Ok(()));
}

#[test]
fn sent_frames_are_not_to_be_had() {
    let options = CaptureOptions { direction: Direction::Both, ..CaptureOptions::default() };
    let error = (METHOD.check)(&"szedata2".parse().unwrap(), &interface(), &options).unwrap_err();
    assert!(error.to_string().starts_with("--direction"), "{error}");
}
