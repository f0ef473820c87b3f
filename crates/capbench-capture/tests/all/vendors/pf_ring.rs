//! `pf-ring` against a stand-in for libpfring: copied and in place, the calls and their order, and every way to fail.

use std::path::Path;
use std::time::Duration;

use crate::stand_ins::{StandIn, Vendor, failure, frame, interface, octets, take};
use capbench_capture::backends::pf_ring::{METHOD, PfRingSocket};
use capbench_capture::{Capture, FanoutMode, Interface, PacketType};
use capbench_model::direction::Direction;
use capbench_model::fanout::Fanout;
use capbench_model::options::CaptureOptions;
use capbench_model::places::Place as At;
use capbench_model::units::SnapLength;
use capbench_sys::pf_ring;
use capbench_testing::network::{Place, privileges};

/// The settings behind the device, and the module in front of it, of every way to read.
const READINGS: [(&str, &str); 3] = [("", ""), ("zc:", "+zero-copy"), ("zc:", "+burst=4")];

const VENDOR: Vendor<PfRingSocket> = Vendor {
    library: "pf_ring",
    method: "pf-ring",
    open: |device, spec, options| {
        let rings = format!("{}.rings", device.path);
        PfRingSocket::open_listed(spec, &interface(), options, rings.as_ref())
    },
};

#[test]
fn packets_are_read_in_order_however_they_are_read() {
    for reading in READINGS {
        let (device, mut capture) = VENDOR.opened("frames 20 burst 4 drop 3", reading);
        assert!(capture.running().engine.name.starts_with("libpfring 8.8.0 on "), "{:?}", capture.running());
        let seen = take(&mut capture, 20);
        assert_eq!(octets(&seen), (0..20).map(frame).collect::<Vec<_>>(), "{reading:?}");
        assert!(seen.iter().all(|frame| frame.wire_length as usize == frame.data.len()));
        assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
        let counters = capture.counters().unwrap();
        assert_eq!((counters.accepted, counters.lost_at(At::Ring)), (Some(23), Some(3)));
        assert_eq!((counters.raw("recv"), counters.raw("queued")), (Some(20), Some(0)));
        drop(capture);
        let calls: Vec<_> = device.calls().into_iter().filter(|call| !call.starts_with("burst")).collect();
        // As much as the snap length says; promiscuous, and no parsing.
        let expected = ["open 65600 208", "mode 2", "direction 1", "enable", "close"];
        assert_eq!(calls, expected, "{reading:?}");
    }
}

#[test]
fn a_member_joins_the_cluster_of_its_group_before_it_is_enabled() {
    for (mode, kind) in [(FanoutMode::Hash, 0), (FanoutMode::InTurn, 1)] {
        let device = VENDOR.device("frames 3");
        let options = CaptureOptions { fanout: Some(Fanout::new(mode)), ..CaptureOptions::default() };
        let mut capture = VENDOR.open_with(&device, READINGS[0], &options).unwrap();
        assert!(capture.running().engine.to_string().contains("member of a cluster"));
        assert_eq!(take(&mut capture, 3).len(), 3);
        drop(capture);
        // With parsed headers, by which the module finds the flow.
        let cluster = format!("cluster 1 type {kind}");
        let expected = ["open 65600 8", "mode 2", "direction 1", &cluster, "enable", "close"];
        assert_eq!(device.calls(), expected);
    }
    let device = VENDOR.device("frames 3 cluster -2");
    let options = CaptureOptions { fanout: Some(Fanout::new(FanoutMode::Hash)), ..CaptureOptions::default() };
    let text = VENDOR.open_with(&device, READINGS[0], &options).unwrap_err().to_string();
    assert!(text.contains("pfring_set_cluster") && text.contains("an argument was refused"), "{text}");
    let accepts = |spec: &str| METHOD.accepts(&spec.parse().unwrap(), &interface(), &options);
    accepts("pf-ring").unwrap();
    assert!(accepts("pf-ring:zc:eth1").unwrap_err().to_string().contains("another module's"));
    let by_cpu = CaptureOptions { fanout: Some(Fanout::new(FanoutMode::Cpu)), ..options.clone() };
    let text = METHOD.accepts(&"pf-ring".parse().unwrap(), &interface(), &by_cpu).unwrap_err().to_string();
    assert!(text.contains("write --fanout hash or lb, not cpu"), "{text}");
}

#[test]
fn header_fields_of_a_packet_are_kept() {
    for reading in &READINGS[..2] {
        let (_device, mut capture) = VENDOR.opened("frames 3 sent_at 2", *reading);
        let seen = take(&mut capture, 3);
        // Even ones have microseconds only, odd ones nanoseconds too.
        let times: Vec<_> = seen.iter().map(|frame| frame.time_ns).collect();
        assert_eq!(times, [3_000_000_000, 5_000_000_001, 3_000_002_000]);
        let types: Vec<_> = seen.iter().map(|frame| frame.packet_type).collect();
        assert_eq!(types, [PacketType::Host, PacketType::Host, PacketType::Outgoing]);
    }
}

#[test]
fn a_packet_that_was_cut_is_as_long_as_what_there_is_of_it() {
    for reading in READINGS {
        let (_device, mut capture) = VENDOR.opened("frames 3 burst 3 cut_at 1", reading);
        let seen = take(&mut capture, 3);
        assert_eq!(seen[1].data, frame(1)[..20], "{reading:?}");
        assert_eq!((seen[1].wire_length, seen[2].data.len()), (61, 62));
    }
    // Cut at the buffer's end by the library, although the header claims more.
    let device = VENDOR.device("frames 2 long_at 0");
    let options = CaptureOptions { snap_length: SnapLength::new(1522), ..CaptureOptions::default() };
    let seen = take(&mut VENDOR.open_with(&device, READINGS[0], &options).unwrap(), 2);
    assert_eq!((seen[0].data.len(), seen[0].wire_length), (1522, 9000));
    assert_eq!(seen[1].data, frame(1));
}

#[test]
fn packets_longer_than_the_mtu_are_whole() {
    for reading in READINGS {
        let (_device, mut capture) = VENDOR.opened("frames 70 burst 4 big_at 2 big 65226", reading);
        let seen = take(&mut capture, 70);
        assert_eq!((seen[2].data.len(), seen[2].wire_length), (65_226, 65_226), "{reading:?}");
        assert_eq!((&seen[1].data, &seen[69].data), (&frame(1), &frame(69)));
        assert_eq!(capture.counters().unwrap().raw("cut"), Some(0));
        assert_eq!(capture.running().shortfalls, [""; 0]);
    }
}

#[test]
fn packets_that_are_not_whole_are_counted_and_the_reason_is_said_at_the_start() {
    for reading in READINGS {
        let (_device, mut capture) =
            VENDOR.opened("frames 5 burst 4 big_at 2 big 30000 least 16384", reading);
        let shortfall = capture.running().shortfalls.join("; ");
        assert!(shortfall.contains("up to 16384 octets") && shortfall.contains("--snaplen"), "{shortfall}");
        assert_eq!(take(&mut capture, 5)[2].data.len(), 16_384);
        assert_eq!(capture.counters().unwrap().raw("cut"), Some(1), "{reading:?}");
    }
    // What the snap length leaves out is no loss.
    let device = VENDOR.device("frames 5 big_at 2 big 30000");
    let options = CaptureOptions { snap_length: SnapLength::new(96), ..CaptureOptions::default() };
    let mut capture = VENDOR.open_with(&device, READINGS[0], &options).unwrap();
    assert_eq!(take(&mut capture, 5)[2].data.len(), 96);
    assert_eq!(
        (capture.counters().unwrap().raw("cut"), capture.running().shortfalls.clone()),
        (Some(0), vec![])
    );
}

#[test]
fn the_ring_that_there_is_is_reported() {
    let device = VENDOR.device("frames 1 number 42");
    let geometry = VENDOR
        .open_with(&device, READINGS[0], &CaptureOptions::default())
        .unwrap()
        .running()
        .ring
        .to_string();
    assert!(
        geometry.starts_with("ring of 32840KiB, 512 slots or more, up to 65600 octets of each packet"),
        "{geometry}"
    );
    // Nothing is listed of it.
    let spec = device.library.spec(&format!("pf-ring:{}", device.path));
    let capture =
        PfRingSocket::open_listed(&spec, &interface(), &CaptureOptions::default(), "/none".as_ref());
    let geometry = capture.unwrap().running().ring.to_string();
    assert!(geometry.starts_with("ring of unknown size, "), "{geometry}");
}

#[test]
fn packets_that_come_late_are_waited_for() {
    let (_device, mut capture) = VENDOR.opened("frames 3 late 1", ("", ""));
    assert_eq!(take(&mut capture, 3).len(), 3);
    assert_eq!((capture.waits().waits, capture.waits().empty), (1, 0));
}

#[test]
fn options_and_settings_reach_the_library() {
    let device = VENDOR.device("frames 1");
    let options = CaptureOptions {
        snap_length: SnapLength::new(40),
        promiscuous: false,
        direction: Direction::Both,
        ..CaptureOptions::default()
    };
    let mut capture = VENDOR.open_with(&device, ("", "+watermark=16"), &options).unwrap();
    assert_eq!(take(&mut capture, 1)[0].data, frame(0)[..40]);
    drop(capture);
    assert_eq!(device.calls()[..5], ["open 40 200", "mode 2", "direction 0", "watermark 16", "enable"]);
}

#[test]
fn an_error_comes_after_the_packets_before_it() {
    for reading in READINGS {
        let error = VENDOR.fails("frames 9 burst 4 fail_at 5 fail -11", reading, 5);
        assert!(error.contains("wrong state (-11)"), "{reading:?}: {error}");
    }
    // One that the library would not repeat.
    assert!(VENDOR.fails("frames 9 fail_at 5 fail -11 fail_once 1", READINGS[0], 5).contains("(-11)"));
}

#[test]
fn impossible_frames_of_the_library_are_errors() {
    for script in ["frames 9 huge_at 5", "frames 9 null_at 5"] {
        let error = VENDOR.fails(script, READINGS[1], 5);
        assert!(
            error.contains("pfring_recv(") && error.contains("octets, without data or beyond"),
            "{error}"
        );
    }
    assert!(VENDOR.fails("frames 9 burst 5 null_at 5", ("zc:", "+burst"), 5).contains("pfring_recv_burst("));
    assert!(VENDOR.fails("frames 9 burst 4 over 1", ("zc:", "+burst=4"), 0).contains("5 packets where 4"));
}

#[test]
fn a_module_without_bursts_is_no_reason_to_read_otherwise() {
    let error = VENDOR.fails("frames 9", ("zc:", "+burst"), 0);
    assert!(error.contains("pfring_recv_burst") && error.contains("this module does not have it"), "{error}");
    let old = StandIn::build("pf_ring", &["VERSION=0x070800"]).device("frames 1");
    let open = |setting| VENDOR.open_with(&old, ("zc:", setting), &CaptureOptions::default()).map(drop);
    let error = open("+burst").unwrap_err();
    assert!(error.contains("8.0.0 is the first"), "{error}");
    open("+zero-copy").unwrap();
}

#[test]
fn a_failure_while_waiting_is_an_error_and_a_signal_is_none() {
    assert!(VENDOR.fails("frames 0 poll -7", ("", ""), 0).contains("does not have it (-7)"));
    // ENETDOWN
    assert!(VENDOR.fails("frames 0 poll -1 poll_errno 100", ("", ""), 0).contains("Network is down"));
    let (_device, mut capture) = VENDOR.opened("frames 0 poll -1 poll_errno 4", ("", ""));
    assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
}

#[test]
fn counters_that_are_refused_are_an_error() {
    let device = VENDOR.device("no_stats -7");
    let error = VENDOR
        .open_with(&device, ("", ""), &CaptureOptions::default())
        .unwrap()
        .counters()
        .unwrap_err()
        .to_string();
    assert!(error.contains("pfring_stats"), "{error}");
}

#[test]
fn a_failed_open_says_why() {
    assert!(VENDOR.refuses("open_errno 1", "").contains("Operation not permitted"));
    assert!(VENDOR.refuses("mode -1", "").contains("pfring_set_socket_mode"));
    assert!(VENDOR.refuses("direction -7", "").contains("pfring_set_direction"));
    assert!(VENDOR.refuses("watermark -2", "+watermark=9").contains("an argument was refused"));
    assert!(VENDOR.refuses("enable -6", "").contains("licence"));
    // Without a device, that of the interface is opened, which the stand-in does not have.
    let stand_in = StandIn::build("pf_ring", &[]);
    let error = PfRingSocket::open(&stand_in.spec("pf-ring"), &interface(), &CaptureOptions::default());
    let text = error.map(drop).unwrap_err().to_string();
    assert!(text.contains("pfring_open(lo)"), "{text}");
}

#[test]
fn each_reason_has_its_own_hint() {
    let module = "the kernel module pf_ring is not loaded";
    // EAFNOSUPPORT, EPERM, EINVAL, ENODEV, ENETDOWN and ENOMEM.
    for (errno, hint) in [
        (97, module),
        (1, "needs the capability CAP_NET_RAW"),
        (22, "must be an Ethernet interface"),
        (19, "must be an Ethernet interface"),
        (100, "set the interface up first"),
        (12, "dmesg"),
    ] {
        let text = VENDOR.refuses(&format!("open_errno {errno}"), "");
        assert!(text.contains(hint), "{errno}: {text}");
        assert_eq!(text.contains(module), errno == 97, "{errno}: {text}");
    }
}

#[test]
fn root_an_interface_that_goes_down_or_is_removed_is_noticed() {
    let Some(()) = privileges() else { return };
    let place = Place::with_pair();
    place.inside(|| {
        let interface = Interface::of_name(place.interface, 1500).unwrap();
        // It is never ready: the real one gives nothing for ever when its interface is gone.
        let device = VENDOR.device("frames 0");
        let spec = device.library.spec(&format!("pf-ring:{}", device.path));
        let options = CaptureOptions::default();
        let mut capture = PfRingSocket::open_listed(&spec, &interface, &options, "/none".as_ref()).unwrap();
        assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
        place.ip(&format!("link set {} down", place.interface));
        let down = failure(&mut capture);
        assert!(down.contains("Network is down"), "{down}");
        place.ip(&format!("link set {} up", place.interface));
        assert!(capture.next_batch(Duration::from_millis(1)).unwrap().is_none());
        place.ip(&format!("link del {}", place.interface));
        let removed = failure(&mut capture);
        assert!(removed.contains("it was removed"), "{removed}");
    });
}

#[test]
fn unusable_libraries_are_refused_before_opening() {
    let supported = |stand_in: &StandIn| (METHOD.supported)(&stand_in.spec("pf-ring"));
    let lacking = supported(&StandIn::build("pf_ring", &["WITHOUT_ENABLE"])).unwrap_err();
    assert!(lacking.contains("no function pfring_enable_ring"), "{lacking}");
    let old = supported(&StandIn::build("pf_ring", &["VERSION=0x060203"])).unwrap_err();
    assert!(old.contains("release 6.2.3; 6.5.0 is the first"), "{old}");
    // The library alone is enough for modules that need no module of the kernel's.
    let whole = StandIn::build("pf_ring", &[]);
    assert_eq!((METHOD.supported)(&whole.spec("pf-ring:nt:0")), Ok(()));
    let has_module = Path::new(pf_ring::FOLDER).exists();
    for spec in ["pf-ring", "pf-ring:eth1", "pf-ring:zc:eth1"] {
        let here =
            (METHOD.supported)(&whole.spec(spec)).map_err(|error| error.contains("pf_ring is not loaded"));
        assert!(here == Err(true) || has_module, "{spec}: {here:?}");
    }
    let here = StandIn::build("pf_ring", &[]);
    std::fs::write(here.library(), "no library at all, but a text").unwrap();
    assert!(supported(&here).unwrap_err().contains("no ELF header"));
}

#[test]
fn memory_that_is_returned_too_early_is_not_read_in_place() {
    let check = |spec: &str| {
        let options = CaptureOptions::default();
        (METHOD.check)(&spec.parse().unwrap(), &interface(), &options).map_err(|error| error.to_string())
    };
    for spec in ["pf-ring+zero-copy", "pf-ring:eth1@2+burst", "pf-ring:xdp:eth1+zero-copy"] {
        let error = check(spec).unwrap_err();
        assert!(error.contains("cannot be read in place"), "{error}");
    }
    assert!(check("pf-ring:zc:eth1+zero-copy+burst").unwrap_err().contains("zero-copy already"));
    assert!(check("pf-ring+burst=256").unwrap_err().contains("no number"));
    assert!(check("pf-ring+watermark=0").is_err());
    for spec in ["pf-ring", "pf-ring:eth1@2", "pf-ring:zc:eth1+zero-copy", "pf-ring:zc:eth1@3+burst=32"] {
        assert_eq!(check(spec), Ok(()));
    }
}
