//! `nfb` against a stand-in for libnfb. Each burst is put once, after its frames were read. Queues are stopped before they
//! are closed, and every failure is reported.

use std::time::Duration;

use crate::stand_ins::{StandIn, Vendor, frame, interface, octets, take};
use capbench_capture::backends::nfb::{METHOD, NfbCard};
use capbench_capture::{Batch, Capture};
use capbench_model::direction::Direction;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_model::units::SnapLength;

const VENDOR: Vendor<NfbCard> = Vendor {
    library: "nfb",
    method: "nfb",
    open: |_, spec, options| NfbCard::open(spec, &interface(), options),
};

#[test]
fn each_burst_is_put_once_after_its_frames_were_read() {
    let (device, mut capture) = VENDOR.opened("frames 20", ("", ""));
    let seen = take(&mut capture, 20);
    assert_eq!(octets(&seen), (0..20).map(frame).collect::<Vec<_>>());
    assert!(seen.iter().all(|frame| frame.wire_length as usize == frame.data.len() && frame.time_ns == 0));
    assert!(capture.next_batch(Duration::from_millis(2)).unwrap().is_none());
    drop(capture);
    let bursts = ["get 8 from 0", "put 8 to 0", "get 8 from 0", "put 8 to 0", "get 4 from 0", "put 4 to 0"];
    let mut calls = vec!["open", "open queue 0", "start 0"];
    calls.extend(bursts);
    calls.extend(["stop 0", "close queue 0", "close"]);
    assert_eq!(device.calls(), calls);
}

#[test]
fn a_burst_that_is_never_dropped_is_put_before_the_next_and_before_closing() {
    let (device, mut capture) = VENDOR.opened("frames 16", ("", ""));
    for _ in 0..2 {
        std::mem::forget(capture.next_batch(Duration::ZERO).unwrap().unwrap());
    }
    drop(capture);
    assert_eq!(device.calls()[3..7], ["get 8 from 0", "put 8 to 0", "get 8 from 0", "put 8 to 0"]);
}

#[test]
fn all_queues_are_one_source_in_turn() {
    let (device, mut capture) = VENDOR.opened("frames 12 queues 3 unavailable 1 discarded 5", ("", ""));
    assert!(capture.running().ring.to_string().contains("queues 0, 2"), "{:?}", capture.running());
    assert_eq!(take(&mut capture, 24).len(), 24);
    let counters = capture.counters().unwrap();
    assert_eq!((counters.accepted, counters.lost_at(Place::Ring)), (Some(24 + 10), Some(10)));
    assert_eq!((counters.raw("queue 2 received"), counters.raw("queue 0 discarded")), (Some(12), Some(5)));
    drop(capture);
    let calls = device.calls();
    let gets: Vec<_> = calls.iter().filter(|call| call.starts_with("get")).collect();
    assert_eq!(gets, ["get 8 from 0", "get 8 from 2", "get 4 from 0", "get 4 from 2"]);
}

#[test]
fn one_queue_can_be_named() {
    let (device, mut capture) = VENDOR.opened("frames 4 queues 3", ("", "+queue=2"));
    assert_eq!(take(&mut capture, 4).len(), 4);
    drop(capture);
    assert!(device.calls().contains(&"get 4 from 2".to_string()));
    assert!(VENDOR.refuses("queues 3", "+queue=7").contains("no receive queue 7; it has 3"));
}

#[test]
fn counters_are_of_this_capture_and_absent_where_there_are_none() {
    for (kind, discarded) in [(1, Some(5)), (2, Some(5)), (0, None)] {
        let (_device, mut capture) =
            VENDOR.opened(&format!("frames 4 discarded 5 counters {kind}"), ("", ""));
        assert_eq!(take(&mut capture, 4).len(), 4);
        let counters = capture.counters().unwrap();
        assert_eq!(counters.accepted, discarded.map(|discarded| discarded + 4));
        assert_eq!((counters.lost_at(Place::Ring), counters.losses.len()), (discarded, 1));
    }
}

#[test]
fn counters_that_cannot_be_read_any_more_are_an_error() {
    let (_device, mut capture) = VENDOR.opened("frames 4 unreadable_after 2", ("", ""));
    let error = capture.counters().unwrap_err().to_string();
    assert!(error.contains("nfb_comp_read"), "{error}");
}

#[test]
fn times_come_from_the_header_when_asked_for() {
    for (header, setting, time) in [
        (12, "", 0),
        (12, "+header-time", 2_000_000_005),
        (12, "+header-time=4", 2_000_000_005),
        (12, "+header-time=0", 5_000_000_000),
        (8, "+header-time", 0),
    ] {
        let (_device, mut capture) = VENDOR.opened(&format!("frames 2 header {header}"), ("", setting));
        assert!(take(&mut capture, 2).iter().all(|frame| frame.time_ns == time), "{setting}");
    }
}

#[test]
fn a_library_that_cannot_wait_is_asked_again_and_again() {
    for (defines, script) in [(&[][..], "frames 9 no_poll 1"), (&["WITHOUT_POLL"][..], "frames 9")] {
        let device = StandIn::build("nfb", defines).device(script);
        let mut capture = VENDOR.open_with(&device, ("", ""), &CaptureOptions::default()).unwrap();
        assert!(capture.running().ring.to_string().contains("looks every"), "{:?}", capture.running());
        assert_eq!(take(&mut capture, 9).len(), 9);
        assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
        assert_eq!(capture.waits().empty, 1);
    }
}

#[test]
fn the_snap_length_cuts_and_the_length_stays() {
    let device = VENDOR.device("frames 2");
    let options = CaptureOptions { snap_length: SnapLength::new(14), ..CaptureOptions::default() };
    let mut capture = VENDOR.open_with(&device, ("", ""), &options).unwrap();
    let batch = capture.next_batch(Duration::ZERO).unwrap().unwrap();
    let seen: Vec<_> = batch.frames().map(|frame| (frame.data.len(), frame.wire_length)).collect();
    assert_eq!(seen, [(14, 60), (14, 61)]);
}

#[test]
fn impossible_frames_of_the_library_are_errors() {
    let over = VENDOR.fails("frames 20 over_at 1", ("", ""), 8);
    assert!(over.contains("returned 65 packets where 64 were asked for"), "{over}");
    assert!(VENDOR.fails("frames 20 null_at 9", ("", ""), 8).contains("without data"));
}

#[test]
fn a_failure_while_waiting_is_an_error() {
    let gone = VENDOR.fails("frames 20 gone_after 8", ("", ""), 8);
    assert!(gone.contains("the device reports an error"), "{gone}");
    assert!(VENDOR.fails("frames 0 poll -19", ("", ""), 0).contains("No such device"));
}

#[test]
fn an_interrupted_wait_is_none() {
    let (_device, mut capture) = VENDOR.opened("frames 0 poll -4", ("", ""));
    assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
}

#[test]
fn a_failed_open_says_why() {
    assert!(VENDOR.refuses("open_errno 13", "").contains("Permission denied"));
    assert!(VENDOR.refuses("queues -19", "").contains("No such device"));
    assert!(VENDOR.refuses("queues 0", "").contains("no usable receive queue"));
    let second = VENDOR.refuses("queues 2 queue_errno 16 queue_errno_at 1", "");
    assert!(second.contains("ndp_open_rx_queue") && second.contains("busy"), "{second}");
    assert!(VENDOR.refuses("queues 2 start 16", "").contains("ndp_queue_start"));
    let stand_in = StandIn::build("nfb", &[]);
    let spec = stand_in.spec("nfb:/nonexistent/nfb0");
    let error = NfbCard::open(&spec, &interface(), &CaptureOptions::default()).map(drop).unwrap_err();
    assert!(error.to_string().contains("on /nonexistent/nfb0"), "{error}");
}

#[test]
fn other_libraries_are_refused_before_opening() {
    let stand_in = StandIn::build("pf_ring", &[]);
    let refusal = (METHOD.supported)(&stand_in.spec("nfb")).unwrap_err();
    assert!(refusal.contains("no function nfb_open"), "{refusal}");
    assert_eq!((METHOD.supported)(&StandIn::build("nfb", &[]).spec("nfb")), Ok(()));
}

#[test]
fn settings_and_options_that_cannot_be_are_refused() {
    let check = |spec: &str, options| (METHOD.check)(&spec.parse().unwrap(), &interface(), &options);
    assert!(check("nfb+queue=x", CaptureOptions::default()).unwrap_err().to_string().contains("no number"));
    let error = check("nfb+header-time=x", CaptureOptions::default()).unwrap_err();
    assert!(error.to_string().contains("no number"), "{error}");
    let sent = CaptureOptions { direction: Direction::Out, ..CaptureOptions::default() };
    assert!(check("nfb", sent).unwrap_err().to_string().starts_with("--direction"));
}
