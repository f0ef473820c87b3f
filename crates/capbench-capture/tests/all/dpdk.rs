//! DPDK on a real interface, by its drivers for interfaces: frames whole, in order and counted, losses at their place,
//! many captures in one process, and errors instead of silence. Only with the feature `dpdk`.

use capbench_testing::network;
use std::fs;
use std::num::NonZeroU16;
use std::process::Command;
use std::time::Duration;

use crate::wire::{OTHER_MAC, Wire, dpdk, drain, frame, options, take};
use capbench_capture::backends::dpdk::{Dpdk, METHOD};
use capbench_capture::backends::frame_slots::FrameSlots;
use capbench_capture::{Capture, CaptureError, FanoutMode, Interface};
use capbench_model::counters::Counters;
use capbench_model::fanout::Fanout;
use capbench_model::method_spec::MethodSpec;
use capbench_model::options::CaptureOptions;
use capbench_model::units::ByteCount;
use capbench_sys::packet::Frame;
use network::{Namespaces, Place, RIGHT_MAC, eventually, privileges};

const DEVICES: [&str; 2] = ["dpdk", "dpdk:net_af_xdp"];

fn open(method: &str, interface: &str, options: &CaptureOptions) -> Result<Dpdk, CaptureError> {
    let spec: MethodSpec = method.parse().unwrap();
    Dpdk::open(&spec, &Interface::of_name(interface, 1500).unwrap(), options)
}

/// Opens a method on the interface of a place and works with it there.
fn capture<T: Send>(
    place: &Place,
    method: &str,
    options: &CaptureOptions,
    work: impl FnOnce(&mut Dpdk) -> T + Send,
) -> T {
    place.inside(|| {
        work(&mut open(method, place.interface, options).unwrap_or_else(|error| panic!("{error}")))
    })
}

/// Runs a test with each device that can be had here, on a separate pair.
fn with_each_device(work: impl Fn(&'static str, &Namespaces)) {
    let Some(()) = privileges() else { return };
    dpdk().into_iter().for_each(|method| work(method, &Namespaces::make()));
}

#[test]
fn root_frames_that_this_host_sends_are_left_out() {
    with_each_device(|method, spaces| {
        let (coming, going) = (Wire::new(&spaces.left), Wire::new(&spaces.right));
        let (seen, rest, counters) = capture(&spaces.right, method, &options(), |capture| {
            for number in 0..3 {
                coming.send(&frame(OTHER_MAC, 10 + number, 60));
                going.send(&frame(OTHER_MAC, 20 + number, 60));
            }
            (take(capture, 3), drain(capture), capture.counters().unwrap())
        });
        let numbers: Vec<_> = seen.iter().map(|seen| seen.data[20]).collect();
        assert_eq!((numbers, rest), (vec![10, 11, 12], 0), "{method}");
        assert_eq!(counters.raw("rx_good_packets"), Some(3), "{method}");
    });
}

/// Sockets that the process has open.
fn sockets() -> usize {
    let links = fs::read_dir("/proc/self/fd").unwrap().flatten();
    links.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.starts_with("socket:"))).count()
}

/// Pages of memory that the process has (proc_pid_statm(5)).
fn resident_pages() -> u64 {
    fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap()
}

/// IPv4 and UDP from a port, by which drivers spread frames.
fn datagram(port: u8) -> Vec<u8> {
    let mut frame = frame(RIGHT_MAC, 0, 60);
    frame[12..14].copy_from_slice(&[8, 0]);
    let head =
        [0x45, 0, 0, 46, 0, 0, 0x40, 0, 64, 17, 0, 0, 198, 18, 0, 1, 198, 18, 0, 2, 4, port, 0, 9, 0, 26];
    frame[14..40].copy_from_slice(&head);
    frame
}

/// The ports of frames.
fn ports(seen: &[Vec<u8>]) -> Vec<u8> {
    seen.iter().map(|data| data[35]).collect()
}

/// A group of this many members.
fn group(members: u16) -> CaptureOptions {
    let fanout = Fanout::new(FanoutMode::Queue).with_members(NonZeroU16::new(members).unwrap());
    CaptureOptions { fanout: Some(fanout), ..options() }
}

/// A pair where `net_af_packet` runs, which has as many queues as it is asked for.
fn with_queues() -> Option<Namespaces> {
    privileges().filter(|()| dpdk().contains(&"dpdk")).map(|()| Namespaces::make())
}

#[test]
fn root_each_flow_is_read_by_one_member_and_counters_add_up() {
    let Some(spaces) = with_queues() else { return };
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        let shared = group(2);
        let mut members = [0, 1].map(|_| open("dpdk", "right", &shared).unwrap());
        let third = open("dpdk", "right", &shared).unwrap_err();
        assert!(matches!(third, CaptureError::Unsupported { .. }), "{third}");
        for _ in 0..2 {
            (0..=255u8).for_each(|port| wire.send(&datagram(port)));
        }
        let mut seen = [Vec::new(), Vec::new()];
        eventually("all frames", || {
            for (member, seen) in members.iter_mut().zip(&mut seen) {
                let mut note = |frame: &Frame<'_>| seen.push(frame.data.to_vec());
                while member.for_each(Duration::ZERO, &mut note).unwrap() {}
            }
            seen.iter().map(Vec::len).sum::<usize>() == 512
        });
        let seen = seen.map(|seen| ports(&seen));
        assert!(seen.iter().all(|ports| !ports.is_empty()), "spread over both");
        for port in 0..=255u8 {
            let times = seen.each_ref().map(|seen| seen.iter().filter(|one| **one == port).count());
            assert!(matches!(times, [2, 0] | [0, 2]), "port {port} {times:?}");
        }
        let counters = members.each_mut().map(|member| member.counters().unwrap());
        for (queue, counters) in counters.iter().enumerate() {
            let read = seen[queue].len() as u64;
            assert_eq!((counters.accepted, counters.dropped()), (Some(read), Some(0)));
            let of_queue = [0, 1].map(|queue| counters.raw(&format!("rx_q{queue}_packets")));
            assert_eq!(of_queue, [0, 1].map(|of| (of == queue).then_some(read)));
        }
        // The whole port's counters are those of one member.
        assert_eq!(Counters::sum(&counters).raw("rx_good_packets"), Some(512));
        let engine = members[1].running().engine.to_string();
        assert!(engine.contains("member of a fanout group (queue)"), "{engine}");
    });
}

#[test]
fn root_members_lose_in_their_own_rings() {
    let Some(spaces) = with_queues() else { return };
    let wire = Wire::new(&spaces.left);
    spaces.right.inside(|| {
        // 16 slots a queue.
        let small = CaptureOptions { ring: ByteCount(32 << 10), block: ByteCount(32 << 10), ..group(2) };
        let mut members = [0, 1].map(|_| open("dpdk", "right", &small).unwrap());
        (0..=255u8).for_each(|port| wire.send(&datagram(port)));
        let read = members.each_mut().map(drain);
        let counters = members.each_mut().map(|member| member.counters().unwrap());
        for (read, counters) in read.iter().zip(&counters) {
            let lost = counters.dropped().unwrap();
            assert!(lost > 0 && counters.accepted == Some(read + lost), "{read} {counters:?}");
        }
        let sum = Counters::sum(&counters);
        assert_eq!((sum.accepted, sum.dropped()), (Some(256), Some(256 - read.iter().sum::<u64>())));
    });
}

#[test]
fn root_members_without_a_queue_are_refused() {
    let Some(spaces) = with_queues() else { return };
    spaces.right.inside(|| {
        let refused = |method: &str, members| match open(method, "right", &group(members)).unwrap_err() {
            error @ CaptureError::Unsupported { .. } => error.to_string(),
            other => panic!("{other}"),
        };
        let one = refused("dpdk+devargs=qpairs=1", 2);
        assert!(one.contains("the port of net_af_packet has 1: use fewer members"), "{one}");
        if dpdk().contains(&"dpdk:net_af_xdp") {
            // It asks for combined channels, which a veth has not.
            let two = refused("dpdk:net_af_xdp", 2);
            assert!(two.contains("asked for 2 receive queues, one for each member"), "{two}");
        }
        // Nothing is left of them.
        drop(open("dpdk", "right", &group(2)).unwrap());
    });
}

#[test]
fn root_all_queues_of_a_device_are_read_and_counted() {
    with_each_device(|method, spaces| {
        if method != "dpdk" {
            // A veth has one queue.
            return;
        }
        let wire = Wire::new(&spaces.left);
        let (seen, counters) =
            capture(&spaces.right, "dpdk+devargs=qpairs=2+burst=7", &options(), |capture| {
                (0..=255u8).for_each(|port| wire.send(&datagram(port)));
                (take(capture, 256), capture.counters().unwrap())
            });
        let mut ports: Vec<_> = seen.iter().map(|seen| seen.data[35]).collect();
        ports.sort_unstable();
        assert!(ports.into_iter().eq(0..=255u8));
        assert_eq!((counters.accepted, counters.dropped()), (Some(256), Some(0)), "{counters:?}");
        assert!(counters.raw("rx_q0_packets").unwrap() > 0 && counters.raw("rx_q1_packets").unwrap() > 0);
    });
}

// Also: the sockets that net_af_xdp leaves open are closed, or the second capture would find the queue busy.
#[test]
fn root_many_captures_in_one_process_leave_nothing_behind() {
    with_each_device(|method, spaces| {
        let wire = Wire::new(&spaces.left);
        let mut state = Vec::new();
        for round in 0..12u8 {
            let seen = capture(&spaces.right, method, &options(), |capture| {
                (0..40).for_each(|_| wire.send(&frame(RIGHT_MAC, round, 100)));
                take(capture, 40)
            });
            assert!(seen.iter().all(|seen| seen.data[20] == round), "{method}: frames of another capture");
            state.push((sockets(), resident_pages()));
        }
        assert!(state[1..].iter().all(|(sockets, _)| *sockets == state[0].0), "{method}: {state:?}");
        // What one capture takes, ten more do not take again.
        assert!(state[11].1 < state[1].1 + 512, "{method}: {state:?}");
        assert!(!spaces.right.ip("link show dev right").contains("xdp"), "{method}");
        // Threads that DPDK leaves running keep no namespace of a trial alive.
        let own = fs::read_link("/proc/self/ns/net").unwrap();
        for thread in fs::read_dir("/proc/self/task").unwrap().flatten() {
            if fs::read_to_string(thread.path().join("comm")).is_ok_and(|name| name.starts_with("eal-")) {
                assert_eq!(fs::read_link(thread.path().join("ns/net")).unwrap(), own, "{method}");
            }
        }
    });
}

#[test]
fn root_methods_follow_each_other_and_two_run_in_one_thread() {
    with_each_device(|method, spaces| {
        let wire = Wire::new(&spaces.left);
        let send = || (0..50u8).for_each(|number| wire.send(&frame(RIGHT_MAC, number, 200)));
        let interface = || Interface::of_name("right", 1500).unwrap();
        spaces.right.inside(|| {
            for _ in 0..2 {
                let mut first =
                    FrameSlots::open(&MethodSpec::plain("packet-v2"), &interface(), &options()).unwrap();
                send();
                assert_eq!(take(&mut first, 50).len(), 50);
                drop(first);
                let mut second = open(method, "right", &options()).unwrap();
                send();
                assert_eq!(take(&mut second, 50).len(), 50);
            }
            spaces.right.ip("link set dev lo up");
            let mut one = open(method, "right", &options()).unwrap();
            let other = open("dpdk", "lo", &options()).unwrap();
            drop(other);
            send();
            assert_eq!(
                take(&mut one, 50).len(),
                50,
                "{method}: the thread is registered as long as it has one"
            );
        });
    });
}

#[test]
fn root_what_a_device_refuses_is_said_in_its_words() {
    with_each_device(|method, spaces| {
        spaces.right.inside(|| {
            let error = open(&format!("{method}+devargs=no_such=1"), "right", &options()).unwrap_err();
            let text = error.to_string();
            assert!(text.starts_with("dpdk on right: rte_eal_hotplug_add(vdev:"), "{text}");
            assert!(text.contains("no_such") && text.lines().count() == 1, "{text}");
            // And what was half open is closed.
            drop(open(method, "right", &options()).unwrap());
            let started = CaptureOptions { eal_arguments: vec!["--log-level=8".into()], ..options() };
            let text = open(method, "right", &started).unwrap_err().to_string();
            assert!(text.starts_with("--eal: ") && text.contains("once per process"), "{text}");
        });
    });
}

/// Runs one of the tests below in a separate process, which `wrapper` starts; its output.
fn in_own_process(wrapper: &[&str], test: &str) -> (bool, String) {
    let own = std::env::current_exe().unwrap();
    let mut command = Command::new(wrapper[0]);
    command
        .args(&wrapper[1..])
        .arg(own)
        .args(["--exact", test, "--nocapture"])
        .env("CAPBENCH_TEST_INNER", test);
    let output = command.output().unwrap();
    (
        output.status.success(),
        [output.stdout, output.stderr].iter().map(|bytes| network::lossy(bytes)).collect(),
    )
}

fn is_inner(test: &str) -> bool {
    std::env::var("CAPBENCH_TEST_INNER").is_ok_and(|inner| inner == test)
}

#[test]
fn root_without_privilege_it_says_which_one() {
    let test = "root_without_privilege_it_says_which_one";
    if is_inner(test) {
        let error = open("dpdk", "lo", &options()).unwrap_err();
        assert!(matches!(error, CaptureError::Privilege { .. }), "{error}");
        assert!(error.to_string().contains("CAP_NET_RAW"), "{error}");
        for method in DEVICES {
            let reason = (METHOD.supported)(&method.parse().unwrap()).unwrap_err();
            assert!(reason.contains("CAP_NET_RAW"), "{reason}");
        }
    } else if privileges().is_some() {
        let (passed, output) =
            in_own_process(&["setpriv", "--bounding-set", "-all", "--inh-caps", "-all"], test);
        assert!(passed, "{output}");
    }
}

/// Opens with these arguments for the EAL, or says why not.
fn with_eal(arguments: &[&str]) -> Result<Dpdk, String> {
    let eal_arguments = arguments.iter().map(ToString::to_string).collect();
    open("dpdk", "lo", &CaptureOptions { eal_arguments, ..options() }).map_err(|error| error.to_string())
}

/// Runs `inner` in a separate process, in which DPDK has not started, and expects no output.
fn in_silence(test: &str, inner: impl Fn()) {
    if is_inner(test) {
        inner();
    } else if privileges().is_some() {
        let (passed, output) = in_own_process(&["env"], test);
        assert!(passed, "{output}");
        for noise in ["EAL", "Usage", "PMD", "unrecognized", "libxdp", "libbpf", "--file-prefix"] {
            assert!(!output.contains(noise), "{output}");
        }
    }
}

#[test]
fn root_bad_arguments_for_dpdk_are_refused_in_its_words_and_nothing_is_printed() {
    in_silence("root_bad_arguments_for_dpdk_are_refused_in_its_words_and_nothing_is_printed", || {
        let help = with_eal(&["--help"]).unwrap_err();
        assert!(help.starts_with("--eal: ") && help.contains("would end the program"), "{help}");
        let unknown = with_eal(&["--no-such-argument"]).unwrap_err();
        assert!(unknown.starts_with("--eal: ") && unknown.contains("no-such-argument"), "{unknown}");
        assert_eq!(with_eal(&["--no-such-argument"]).unwrap_err().matches("no-such-argument").count(), 2);
        // It cannot be started again, which is said.
        let again = with_eal(&["-m", "64"]).unwrap_err();
        assert!(again.contains("once per process") && again.lines().count() == 1, "{again}");
    });
}

#[test]
fn root_arguments_for_dpdk_get_there_and_nothing_is_printed() {
    in_silence("root_arguments_for_dpdk_get_there_and_nothing_is_printed", || {
        let capture = with_eal(&["-m", "64", "--no-huge", "--log-level=*:8"]).unwrap();
        assert!(
            capture.running().engine.to_string().ends_with("-m 64 --no-huge --log-level=*:8"),
            "{:?}",
            capture.running()
        );
    });
}
