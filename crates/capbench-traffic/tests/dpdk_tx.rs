//! `dpdk-tx` over a veth: every frame is counted as the interfaces count it, from each queue. Only with the feature `dpdk`.
#![cfg(feature = "dpdk")]

use capbench_testing::network;

use std::num::NonZeroU16;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

use capbench_frames::{FrameLayout, FramePlan, Mtu, Schedule, Sizes, StreamId, TrialId, Turn};
use capbench_sys::host::interface::index_of;
use capbench_traffic::transmit::{Opened, Refusal, method};
use capbench_traffic::{Limits, SendJob, SendReport, TransmitConfig};
use network::{Namespaces, eventually, privileges};

fn plan(size: &str) -> FramePlan {
    FramePlan::new(FrameLayout::default(), size.parse::<Sizes>().unwrap(), Mtu(9000)).unwrap()
}

fn open(method_name: &str, plan: &FramePlan, threads: u16) -> Result<Vec<Opened>, String> {
    let config = TransmitConfig::for_frames(index_of("left").unwrap(), plan, Refusal::Repeat);
    let chosen = method(method_name).unwrap().with_threads(NonZeroU16::new(threads).unwrap());
    let opened = chosen.open(&config).and_then(|open| (0..threads).map(&*open).collect());
    opened.map_err(|error| error.to_string())
}

/// Sends `frames` frames from all threads at once.
fn send(opened: &mut [Opened], plan: &FramePlan, frames: u64) -> Vec<SendReport> {
    let (stop, start) = (AtomicBool::new(false), Instant::now());
    let turns = Turn::of_each((opened.len() as u32).try_into().unwrap());
    std::thread::scope(|scope| {
        let threads = opened.iter_mut().zip(turns).zip(0..).map(|((opened, turn), stream)| {
            let stop = &stop;
            scope.spawn(move || {
                let limits = Limits { duration: None, frames: Some(frames), stop };
                let (trial, stream) = (TrialId(1), StreamId(stream));
                let schedule = &Schedule::Maximum;
                let job = SendJob {
                    frames: plan.into(),
                    schedule,
                    limits,
                    trial,
                    stream,
                    progress: None,
                    start,
                    turn,
                };
                opened.sender.send(&job).unwrap()
            })
        });
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// Counts of reports that add up: accepted, lost, unsent.
fn counts(reports: &[SendReport]) -> [u64; 3] {
    for report in reports {
        assert_eq!(report.frames.sent, report.frames.accepted + report.frames.refused_lost, "{report:?}");
        assert_eq!(
            (report.frames.intended, report.frames.in_flight),
            (report.frames.sent + report.frames.unsent, 0),
            "{report:?}"
        );
    }
    let sum = |of: fn(&SendReport) -> u64| reports.iter().map(of).sum();
    [
        sum(|report| report.frames.accepted),
        sum(|report| report.frames.refused_lost),
        sum(|report| report.frames.unsent),
    ]
}

#[test]
fn root_every_frame_of_each_queue_is_on_the_link() {
    let Some(()) = privileges() else { return };
    for (threads, size) in [(1, "64"), (2, "imix"), (3, "64,1518"), (1, "9014")] {
        let spaces = Namespaces::make();
        for space in [&spaces.left, &spaces.right] {
            space.ip(&format!("link set dev {} mtu 9000", space.interface));
        }
        spaces.left.inside(|| {
            let plan = plan(size);
            let mut opened = open("dpdk-tx", &plan, threads).unwrap();
            for round in 1..=3 {
                let reports = send(&mut opened, &plan, 20_000);
                assert_eq!(counts(&reports), [20_000, 0, 0], "{threads} {size}");
                assert_eq!(spaces.left.sent(), round * 20_000, "{threads} {size}");
                eventually("all have arrived", || spaces.right.received() == round * 20_000);
            }
        });
    }
}

#[test]
fn root_what_the_port_drops_is_lost_and_what_it_does_not_take_is_unsent() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.inside(|| {
        let plan = plan("64");
        let mut opened = open("dpdk-tx", &plan, 1).unwrap();
        assert_eq!(counts(&send(&mut opened, &plan, 100)), [100, 0, 0]);
        spaces.left.ip("link set dev left down");
        // The driver counts errors of the frames that it put into its ring, and then finds the ring full.
        let limits = Limits { duration: Some(SHORT), frames: Some(5000), stop: &AtomicBool::new(false) };
        let job = SendJob {
            frames: (&plan).into(),
            schedule: &Schedule::Maximum,
            turn: Turn::EVERY,
            limits,
            trial: TrialId(1),
            stream: StreamId(0),
            progress: None,
            start: Instant::now(),
        };
        let report = opened[0].sender.send(&job).unwrap();
        let [accepted, lost, _] = counts(&[report]);
        assert_eq!((accepted, lost), (0, 1024));
        assert_eq!(spaces.left.sent(), 100);
    });
}

/// Longer than the driver needs to fill its ring.
const SHORT: std::time::Duration = std::time::Duration::from_millis(200);

#[test]
fn root_what_cannot_be_opened_says_why() {
    let Some(()) = privileges() else { return };
    let spaces = Namespaces::make();
    spaces.left.inside(|| {
        let plan = plan("64");
        let error = |method: &str| open(method, &plan, 1).err().unwrap();
        let xdp = error("dpdk-tx:net_af_xdp");
        assert!(xdp.contains("dpdk-tx:net_af_xdp on left") && xdp.contains("af-xdp-tx"), "{xdp}");
        let pci = error("dpdk-tx:0000:7f:1f.7");
        assert!(pci.contains("not the PCI device 0000:7f:1f.7") && pci.contains("-i lo"), "{pci}");
    });
}
