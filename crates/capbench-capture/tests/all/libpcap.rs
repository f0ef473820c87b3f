//! libpcap's method against stand-ins that check how they are called: the calls and their order, how long a packet is
//! valid, errors, counters, and builds with false claims.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crate::stand_in::{ReadFrame, StandIn, take};
use capbench_capture::{Batch, Capture, CaptureError, Interface, Visitor, methods, open_with};
use capbench_model::direction::Direction;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place;
use capbench_model::units::{ByteCount, SnapLength};
use capbench_testing::network::{PATIENCE, privileges};

const CALLS: [&str; 4] = ["+dispatch", "+loop", "+next-ex", "+next"];

/// Packets as a stand-in returns them.
fn canned(packets: u8, snap: usize, time_part: u64) -> Vec<ReadFrame> {
    (0..packets)
        .map(|n| {
            let length = 60 + usize::from(n);
            (vec![n; length.min(snap)], length as u32, (1000 + u64::from(n)) * 1_000_000_000 + time_part)
        })
        .collect()
}

#[test]
fn calls_come_in_libpcaps_order_and_once() {
    let stand_in = StandIn::new(&[]);
    let options = CaptureOptions {
        ring: ByteCount(3 << 20),
        retire_timeout: Duration::from_millis(7),
        snap_length: SnapLength::new(96),
        promiscuous: false,
        direction: Direction::Out,
        ..CaptureOptions::default()
    };
    drop(stand_in.open(&options).unwrap());
    let expected = [
        "create lo",
        "set_snaplen 96",
        "set_promisc 0",
        "set_timeout 7",
        "set_buffer_size 3145728",
        "set_tstamp_precision 1",
        "activate",
        "setdirection 2",
        "setnonblock 1",
        "close",
    ];
    assert_eq!(stand_in.calls(), expected);
    let immediate = StandIn::new(&[]).with("+immediate+buffer=64KiB+timeout=20ms");
    drop(immediate.open(&CaptureOptions::default()).unwrap());
    for call in
        ["set_immediate_mode 1", "set_buffer_size 65536", "set_timeout 20", "set_promisc 1", "setdirection 1"]
    {
        assert!(immediate.calls().iter().any(|made| made == call), "{call}: {:?}", immediate.calls());
    }
}

#[test]
fn every_call_gives_every_packet_whole_and_in_order() {
    for settings in CALLS {
        let stand_in = StandIn::new(&["PACKETS=250"]).with(settings);
        let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
        let (seen, error) = take(&mut capture, 1000);
        assert_eq!(
            (seen, error.map(|error| error.to_string())),
            (canned(250, 400, 123_456_789), None),
            "{settings}"
        );
    }
}

#[test]
fn a_packet_is_not_used_after_its_time() {
    for settings in CALLS {
        let stand_in = StandIn::new(&["PACKETS=20"]).with(settings);
        let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
        // Two frames of one batch, looked at twice: the first must be what it was until the next call.
        let mut seen = Vec::new();
        while let Some(batch) = capture.next_batch(Duration::from_millis(5)).unwrap() {
            for _ in 0..2 {
                seen.extend(
                    batch.frames().map(|frame| (frame.data.to_vec(), frame.wire_length, frame.time_ns)),
                );
            }
        }
        let twice: Vec<_> =
            canned(20, 400, 123_456_789).into_iter().flat_map(|frame| [frame.clone(), frame]).collect();
        assert_eq!(seen, twice, "{settings}");
    }
}

#[test]
fn a_snap_length_is_libpcaps_to_keep_and_old_builds_have_microseconds() {
    let options = CaptureOptions { snap_length: SnapLength::new(64), ..CaptureOptions::default() };
    let stand_in = StandIn::new(&["OLD"]);
    let mut capture = stand_in.open(&options).unwrap();
    assert!(capture.running().time_source.to_string().contains("microseconds"), "{:?}", capture.running());
    assert_eq!(take(&mut capture, 100).0, canned(10, 64, 123_456_000));
    let refused = StandIn::new(&["OLD"]).with("+immediate").refusal().to_string();
    assert!(
        refused.contains("pcap_set_immediate_mode") && refused.contains("no immediate mode"),
        "{refused}"
    );
}

#[test]
fn waiting_ends_although_nothing_comes() {
    for settings in CALLS {
        for macros in [&["PACKETS=0"][..], &["PACKETS=0", "NO_DESCRIPTOR"]] {
            let stand_in = StandIn::new(macros).with(settings);
            let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
            let start = Instant::now();
            for _ in 0..3 {
                assert!(!capture.for_each(Duration::from_millis(10), |_| ()).unwrap());
            }
            assert!(start.elapsed() < PATIENCE, "{settings}");
        }
    }
}

#[test]
fn the_reason_of_a_failed_reading_call_is_reported() {
    for (settings, function) in
        [("", "pcap_dispatch"), ("+loop", "pcap_loop"), ("+next-ex", "pcap_next_ex"), ("+next", "pcap_next")]
    {
        // A text from before, which says nothing of a reading call.
        let stand_in =
            StandIn::new(&["FAILS_AFTER=2", "ACTIVATE=1", "ACTIVATE_TEXT=\"an old text\""]).with(settings);
        let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
        let (seen, error) = take(&mut capture, 100);
        let text = error.expect("an error").to_string();
        assert_eq!(seen.len(), 2, "{settings}");
        assert!(text.starts_with("libpcap on lo: ") && text.lines().count() == 1, "{text}");
        assert!(text.contains(function) && text.contains("the stand-in fails on purpose"), "{text}");
    }
}

#[test]
fn the_reason_of_a_failed_activation_is_reported_and_the_handle_is_closed() {
    let denied = StandIn::new(&["ACTIVATE=-8", "ACTIVATE_TEXT=\"CAP_NET_RAW may be required\""]);
    let error = denied.refusal();
    assert!(matches!(error, CaptureError::Privilege { .. }), "{error:?}");
    assert!(error.to_string().contains("CAP_NET_RAW may be required"), "{error}");
    let generic = StandIn::new(&["ACTIVATE=-1", "ACTIVATE_TEXT=\"no memory for that\""]);
    let text = generic.refusal().to_string();
    assert!(text.contains("pcap_activate") && text.contains("no memory for that"), "{text}");
    let other = StandIn::new(&["ACTIVATE=-9"]);
    assert!(other.refusal().to_string().contains("another status"));
    let created = StandIn::new(&["CREATE_FAILS"]);
    assert!(created.refusal().to_string().contains("the stand-in makes none"));
    for (macros, warning) in [
        (&["ACTIVATE=1", "ACTIVATE_TEXT=\"something is odd\""][..], "something is odd"),
        (&["ACTIVATE=2"], "not promiscuous"),
    ] {
        // pcap_next says nothing of errors but by the text, which is the warning's here.
        let stand_in = StandIn::new(macros).with("+next");
        let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
        let shortfall = capture.running().shortfalls.join("; ");
        assert!(shortfall.contains("libpcap warns") && shortfall.contains(warning), "{shortfall}");
        let (seen, error) = take(&mut capture, 100);
        assert!(seen.len() == 10 && error.is_none(), "{error:?}");
    }
}

#[test]
fn a_panic_in_a_callback_does_not_pass_through_libpcap() {
    for settings in CALLS {
        let stand_in = StandIn::new(&[]).with(settings);
        let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
        let mut calls = 0;
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            capture.for_each(Duration::from_millis(5), |_| {
                calls += 1;
                assert!(calls < 3, "the third");
            })
        }));
        assert!(outcome.is_err(), "{settings}");
        assert_eq!(calls, 3, "{settings}: none after it");
    }
}

#[test]
fn counters_are_kept_by_their_names_and_pass_32_bits() {
    let stand_in = StandIn::new(&["STATS_STEP=0x70000000u"]);
    let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
    for read in 1..=5u64 {
        let counters = capture.counters().unwrap();
        assert_eq!(counters.raw("ps_recv"), Some(read * 0x7000_0000));
        assert_eq!(counters.raw("ps_drop"), Some(read * 0x3800_0000));
        assert_eq!(counters.raw("ps_ifdrop"), Some(0));
        // Nobody knows what this engine counts.
        assert_eq!((counters.accepted, counters.dropped()), (None, None));
        assert_eq!(counters.losses.iter().map(|loss| loss.place).collect::<Vec<_>>(), [Place::Ring]);
    }
}

#[test]
fn an_unknown_engine_is_reported_as_found() {
    let stand_in = StandIn::new(&["VERSION=\"libpcap version 1.9.1 (with PF_RING)\""]);
    let capture = stand_in.open(&CaptureOptions::default()).unwrap();
    let running = capture.running();
    let path = stand_in.library().display().to_string();
    let engine = format!("libpcap version 1.9.1 (with PF_RING) from {path}, pcap_dispatch; found: ");
    assert!(running.engine.to_string().starts_with(&engine), "{running:?}");
    assert!(running.engine.to_string().contains("eventfd") && running.shortfalls.is_empty(), "{running:?}");
    let hidden = StandIn::new(&["NO_DESCRIPTOR"]);
    let capture = hidden.open(&CaptureOptions::default()).unwrap();
    assert!(capture.running().engine.to_string().contains("found: no descriptor"), "{:?}", capture.running());
}

#[test]
fn root_a_build_that_falls_back_silently_is_caught() {
    let Some(()) = privileges() else { return };
    let stand_in = StandIn::new(&["PACKET_SOCKET", "VERSION=\"libpcap version 1.9.1 (with PF_RING)\""]);
    let mut capture = stand_in.open(&CaptureOptions::default()).unwrap();
    let running = capture.running().clone();
    let shortfall = running.shortfalls.join("; ");
    assert!(
        running
            .engine
            .to_string()
            .contains("claims PF_RING, fell back silently to: AF_PACKET socket without a ring"),
        "{}",
        running.engine
    );
    assert!(shortfall.contains("claims PF_RING and captures with AF_PACKET instead: it fell back silently"));
    // It is a packet socket after all, so its counters are known.
    let counters = capture.counters().unwrap();
    assert_eq!((counters.accepted, counters.dropped()), (Some(100), Some(50)));
    let honest = StandIn::new(&["PACKET_SOCKET"]);
    let capture = honest.open(&CaptureOptions::default()).unwrap();
    let shortfall = capture.running().shortfalls.join("; ");
    assert!(!shortfall.contains("silently") && shortfall.contains("no ring"), "{shortfall}");
}

struct Nothing;

impl Visitor for Nothing {
    type Output = ();

    fn visit<C: Capture>(self, _: C) {}
}

#[test]
fn a_library_that_cannot_be_used_is_named_with_the_reason() {
    let folder = StandIn::new(&["NO_STATS"]);
    let ancient = StandIn::new(&["ANCIENT"]);
    let file = |name: &str, content: &[u8]| {
        let path = folder.library().with_file_name(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let mut foreign = std::fs::read(folder.library()).unwrap();
    foreign[18] ^= 0xff;
    let cases = [
        (folder.library().display().to_string(), "pcap_stats"),
        (
            ancient.library().display().to_string(),
            "no function pcap_set_snaplen: it may be too old, libpcap 1.0 or newer is needed",
        ),
        ("libc.so.6".to_string(), "pcap_"),
        ("/nonexistent/libpcap.so.1".to_string(), "No such file"),
        ("libnosuchpcap.so.7".to_string(), "cannot open"),
        (file("text.so", b"this is a text and no library, despite its name"), "no ELF header"),
        (file("foreign.so", &foreign), "it is for machine number"),
        (file("empty.so", b""), "too short"),
    ];
    let interface = Interface::of_name("lo", 65_536).unwrap();
    for (library, reason) in cases {
        let spec: MethodSpec = format!("libpcap:{library}").parse().unwrap();
        let error = open_with(&spec, &interface, &CaptureOptions::default(), Nothing).unwrap_err();
        assert!(matches!(error, CaptureError::Library { .. }), "{error:?}");
        let text = error.to_string();
        assert!(text.contains(&library) && text.contains(reason), "{text}");
        assert_eq!(text.lines().count(), 1, "{text}");
        let supported = (methods::find(&spec).unwrap().supported)(&spec).unwrap_err();
        assert!(supported.contains(&library) && supported.contains(reason), "{supported}");
    }
}
