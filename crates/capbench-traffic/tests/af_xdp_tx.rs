//! `af-xdp-tx` on veth pairs: dropped and unsent frames are reported exactly, and confirmed by the
//! interface's own counters.

use capbench_testing::network;

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use capbench_frames::TransmitSpec;
use capbench_frames::{FrameLayout, FramePlan, Mtu, Schedule, Sizes, StreamId, TrialId, Turn};
use capbench_sys::host::interface::index_of;
use capbench_sys::xdp::{Transmitter, TransmitterConfig};
use capbench_traffic::transmit::{METHODS, Opened, Refusal, method};
use capbench_traffic::{Limits, SendJob, SendReport, TrafficError, TransmitConfig};
use network::{Namespaces, eventually, privileges, program};

fn plan(size: &str) -> FramePlan {
    FramePlan::new(FrameLayout::default(), size.parse::<Sizes>().unwrap(), Mtu(9000)).unwrap()
}

fn open(plan: &FramePlan, refusal: Refusal) -> Result<Opened, String> {
    let config = TransmitConfig::for_frames(index_of("left").unwrap(), plan, refusal);
    method(&TransmitSpec::plain("af-xdp-tx"))
        .unwrap()
        .open(&config)
        .and_then(|open| open(0))
        .map_err(|error| error.to_string())
}

fn send(opened: &mut Opened, plan: &FramePlan, frames: u64) -> SendReport {
    let limits = Limits { duration: None, frames: Some(frames), stop: &AtomicBool::new(false) };
    let (trial, stream, start) = (TrialId(1), StreamId(0), Instant::now());
    let job = SendJob {
        frames: plan.into(),
        schedule: &Schedule::Maximum,
        limits,
        trial,
        stream,
        progress: None,
        start,
        turn: Turn::EVERY,
    };
    opened.sender.send(&job).unwrap()
}

/// `tx_dropped` of the interface `left`.
fn dropped(spaces: &Namespaces) -> u64 {
    let text = spaces.left.ip("-s -o link show dev left");
    let counts = text.rsplit("TX:").next().unwrap().split('\\').nth(1).unwrap();
    counts.split_whitespace().nth(3).unwrap().parse().unwrap()
}

/// Counts of a report that add up: accepted, lost, repeated, unsent.
fn counts(report: &SendReport) -> [u64; 4] {
    assert_eq!(report.frames.sent, report.frames.accepted + report.frames.refused_lost);
    assert_eq!(
        (report.frames.intended, report.frames.in_flight),
        (report.frames.sent + report.frames.unsent, 0)
    );
    [report.frames.accepted, report.frames.refused_lost, report.frames.refused_repeated, report.frames.unsent]
}

#[test]
fn root_what_the_driver_drops_is_refused_to_the_frame() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.inside(|| {
        let plan = plan("64");
        let mut lose = open(&plan, Refusal::Lose).unwrap();
        assert_eq!(counts(&send(&mut lose, &plan, 500)), [500, 0, 0, 0]);
        assert_eq!((spaces.left.sent(), dropped(&spaces)), (500, 0));
        eventually("all have arrived", || spaces.right.received() == 500);
        // Without carrier the kernel drops every frame, and completes it all the same.
        spaces.right.ip("link set dev right down");
        assert_eq!(counts(&send(&mut lose, &plan, 1000)), [0, 1000, 0, 0]);
        assert_eq!((spaces.left.sent(), dropped(&spaces)), (500, 1000));
        drop(lose);
        let mut repeat = open(&plan, Refusal::Repeat).unwrap();
        let [accepted, lost, repeated, unsent] = counts(&send(&mut repeat, &plan, 3));
        assert_eq!((accepted, lost, unsent), (0, 3, 0));
        assert_eq!(dropped(&spaces), 1000 + lost + repeated);
        spaces.right.ip("link set dev right up");
        eventually("carrier", || spaces.left.ip("-o link show dev left").contains("LOWER_UP"));
        let [accepted, lost, _, unsent] = counts(&send(&mut repeat, &plan, 500));
        assert_eq!((accepted, lost, unsent), (500, 0, 0));
    });
}

#[test]
fn root_what_was_not_sent_is_withdrawn_and_never_comes_later() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.inside(|| {
        let plan = plan("imix");
        let mut opened = open(&plan, Refusal::Lose).unwrap();
        for _ in 0..3 {
            spaces.left.ip("link set dev left down");
            let report = send(&mut opened, &plan, 100);
            let failure = report.failure.as_ref().map(ToString::to_string).unwrap_or_default();
            assert!(failure.contains("down"), "{report:?}");
            assert_eq!((report.frames.sent, report.frames.unsent), (0, 100));
            spaces.left.ip("link set dev left up");
            eventually("carrier", || spaces.left.ip("-o link show dev left").contains("LOWER_UP"));
            let before = spaces.left.sent();
            assert_eq!(counts(&send(&mut opened, &plan, 50)), [50, 0, 0, 0]);
            assert_eq!((spaces.left.sent() - before, dropped(&spaces)), (50, 0));
        }
    });
}

#[test]
fn root_requests_that_the_kernel_has_not_looked_at_are_made_void() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.inside(|| {
        let mut transmitter = Transmitter::open(&TransmitterConfig {
            interface: index_of("left").unwrap(),
            queue: 0,
            chunk_size: 2048,
            frames: 64,
            send_buffer_bytes: 1 << 20,
            budget: 32,
        })
        .unwrap();
        for round in 1..=5 {
            for (count, goes) in [(40, false), (30, true)] {
                assert_eq!(transmitter.queue().room(64), 64, "every chunk is free again");
                for slot in 0..count {
                    transmitter.queue().slot(slot)[..60].copy_from_slice(&[0x02; 60]);
                }
                transmitter.queue().request(&vec![60; count as usize]).unwrap();
                while goes && transmitter.queue().pending() > 0 {
                    transmitter.wake().unwrap();
                    transmitter.queue().take_count();
                }
                let withdrawn = if goes { 0 } else { count };
                assert_eq!(transmitter.withdraw().unwrap(), (0, withdrawn));
            }
            assert_eq!((spaces.left.sent(), dropped(&spaces)), (30 * round, 0));
            assert_eq!((transmitter.queue().in_flight(), transmitter.queue().impossible()), (0, 0));
        }
    });
}

#[test]
fn root_what_cannot_be_opened_says_why() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.ip("link set dev left mtu 9000");
    spaces.left.inside(|| {
        let first = open(&plan("4096"), Refusal::Lose);
        let busy = open(&plan("64"), Refusal::Lose).err().unwrap();
        assert!(busy.contains("another AF_XDP socket"), "{busy}");
        drop(first);
        let large = open(&plan("9018"), Refusal::Lose).err().unwrap();
        assert!(large.contains("9018") && large.contains("4100") && large.contains("packet-tx"), "{large}");
    });
}

#[test]
fn root_every_method_says_whether_it_can_be_used_and_sends_nothing_for_it() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.inside(|| {
        for method in METHODS {
            match (method.name, (method.supported)()) {
                (_, Ok(())) => {}
                // Depends on how this is built, and on the kernel.
                (name @ ("xdp-live" | "dpdk-tx"), Err(reason)) => {
                    assert!(reason.contains("the feature ") || reason.contains("5.18"), "{reason}");
                    eprintln!("{name}: {reason}");
                }
                (name, Err(reason)) => panic!("{name}: {reason}"),
            }
        }
    });
    assert_eq!((spaces.left.sent(), spaces.right.sent()), (0, 0));
}

const TASK: &str = "CAPBENCH_TEST_TASK";

#[test]
fn the_task_of_a_child() {
    if std::env::var_os(TASK).is_none() {
        return;
    }
    for method in METHODS {
        println!("{}: {:?}", method.name, (method.supported)());
    }
    let plan = plan("64");
    let config = TransmitConfig::for_frames(index_of("left").unwrap(), &plan, Refusal::Lose);
    for method in METHODS {
        let error = (method.open)(&config).and_then(|open| open(0)).err().unwrap();
        println!("{}: privilege: {} {error}", method.name, matches!(error, TrafficError::Privilege { .. }));
    }
}

#[test]
fn root_without_privilege_each_method_names_the_one_that_is_missing() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    let mut command = program("setpriv");
    command.args(["--bounding-set", "-all", "--inh-caps", "-all"]).arg(std::env::current_exe().unwrap());
    command.args(["--exact", "the_task_of_a_child", "--nocapture", "--test-threads=1"]).env(TASK, "1");
    let output = spaces.left.output(&mut command);
    let text = network::lossy(&output.stdout);
    for method in METHODS {
        let wanted = if method.name == "xdp-live" { "CAP_BPF and CAP_NET_ADMIN" } else { "CAP_NET_RAW" };
        let said = |start: &str| {
            let line = text.lines().find_map(|line| line.split_once(&format!("{}: {start}", method.name)));
            line.unwrap_or_else(|| panic!("{} {text}", method.name)).1.to_owned()
        };
        let (supported, refused) = (said("Err("), said("privilege: "));
        if supported.contains("without the feature ") {
            continue;
        }
        assert!(supported.contains(wanted), "{}: {supported}", method.name);
        assert!(refused.starts_with("true") && refused.contains(wanted), "{}: {refused}", method.name);
        eprintln!("{}: {supported}; {refused}", method.name);
    }
}
