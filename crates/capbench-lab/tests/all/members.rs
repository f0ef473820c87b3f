//! Several members that share the frames of a trial: their ledgers add up to the trial's, and flows stay together where the
//! fanout promises it.

use std::time::Duration;

use capbench_frames::Pps;
use capbench_frames::layout::{Flows, FrameLayout};
use capbench_lab::for_tests::{live, live_setup, virtual_link, virtual_link_of};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place;
use capbench_model::trial::{Load, TrialResult, Verdict};
use capbench_model::units::ByteCount;
use capbench_testing::network::privileges;
use capbench_testing::{HostLoad, busy};

/// No multiple of the members: in turn, each flow comes to all of them.
const FLOWS: u32 = 37;

/// Several frames of each flow.
const ENOUGH: u64 = 10 * FLOWS as u64;

/// Trials of a set-up until one shows something.
const ATTEMPTS: usize = 20;

fn setup(method: &str) -> Setup {
    Setup {
        placement: PlacementChoice::Same,
        layout: FrameLayout { flows: Flows::new(FLOWS).unwrap(), ..FrameLayout::default() },
        ..live_setup(method, 4 << 20, Duration::from_millis(250))
    }
}

fn run(laboratory: &mut LiveLaboratory, setup: &Setup, load: Load) -> TrialResult {
    let run = |laboratory: &mut LiveLaboratory| {
        laboratory.prepare(setup).unwrap().run(load, Duration::from_millis(60)).unwrap()
    };
    // On a busy host the generator can be without its CPU for most of a trial: it sends few frames, which show nothing.
    for _ in 0..ATTEMPTS {
        let trial = run(laboratory);
        if trial.sent > 0 {
            assert_whole(&trial);
        }
        if trial.sent >= ENOUGH {
            return trial;
        }
    }
    panic!("{}: the generator sent fewer than {ENOUGH} frames in each of {ATTEMPTS} trials", setup.method)
}

/// Each member's account is whole, and all of them are the trial's.
fn assert_whole(trial: &TrialResult) {
    let what = format!("{} {:?} {:?}", trial.profile.method, trial.ledger, trial.members);
    assert_ne!(trial.verdict, Verdict::Invalid, "{what}");
    assert_eq!(trial.unexplained, 0, "{what}");
    let sum = |of: fn(&capbench_model::members::Member) -> u64| trial.members.iter().map(of).sum::<u64>();
    for member in &trial.members {
        assert_eq!(member.accepted, member.lost().map(|lost| lost + member.read), "{what}");
    }
    assert_eq!(sum(|member| member.delivered), trial.delivered + trial.duplicates, "{what}");
    let lost_at =
        |place| trial.ledger.iter().find(|entry| entry.place == place).and_then(|entry| entry.count);
    let lost = lost_at(Place::Ring).zip(lost_at(Place::FillRing)).map(|(ring, fill_ring)| ring + fill_ring);
    assert_eq!(Some(sum(|member| member.lost().unwrap())), lost, "{what}");
    let shape = trial.loss_pattern.as_ref().unwrap();
    assert_eq!(shape.lost, trial.sent - trial.delivered, "{what}");
    assert_eq!(
        trial.flow_sharing.unwrap().flows,
        shape.flows.as_ref().map_or(1, |flows| flows.flows),
        "{what}"
    );
}

fn rate(pps: f64) -> Load {
    Load::Rate(Pps::new(pps).unwrap())
}

/// Each fanout with a method that reads from the socket and one that reads from a ring, and each method with two of them.
#[test]
fn root_members_share_the_frames_as_their_fanout_promises() {
    const FANOUTS: [(&str, usize); 6] =
        [("lb", 4), ("hash", 4), ("cpu", 3), ("queue", 2), ("rollover", 3), ("bpf", 4)];
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link());
    for (method, fanouts) in [
        ("recv", &FANOUTS[..]),
        ("recvmmsg", &FANOUTS[..2]),
        ("packet-v1", &FANOUTS[..2]),
        ("packet-v2", &FANOUTS[..2]),
        ("packet-v3", &FANOUTS[..]),
    ] {
        for &(fanout, members) in fanouts {
            let method = format!("{method}+members={members}+fanout={fanout}");
            let trial = run(&mut laboratory, &setup(&method), rate(20_000.0));
            assert_eq!(trial.members.len(), members, "{method}");
            let sharing = trial.flow_sharing.unwrap();
            let reached: Vec<u64> = trial.members.iter().map(|member| member.accepted.unwrap()).collect();
            match fanout {
                "lb" => {
                    let (least, most) = (reached.iter().min().unwrap(), reached.iter().max().unwrap());
                    assert!(
                        most - least <= 1 && sharing.split == sharing.flows,
                        "{method}: {reached:?} {sharing:?}"
                    );
                }
                _ => assert_eq!((sharing.split, sharing.split_frames), (0, 0), "{method}: {reached:?}"),
            }
            if ["hash", "bpf"].contains(&fanout) {
                assert!(reached.iter().filter(|frames| **frames > 0).count() > 1, "{method}: {reached:?}");
            }
        }
    }
}

#[test]
fn root_alone_what_members_lose_at_overload_is_booked_to_each_of_them() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link_of(2));
    for (method, fanouts) in [
        ("recv", &["hash", "lb"][..]),
        ("packet-v2", &["bpf"]),
        ("packet-v3", &["hash"]),
        ("af-xdp", &["queue"]),
    ] {
        for fanout in fanouts {
            let method = format!("{method}+members=2+fanout={fanout}");
            let base = setup(&method);
            let capture =
                CaptureOptions { ring: ByteCount(256 << 10), block: ByteCount(64 << 10), ..base.capture };
            let setup = Setup { work: "ns:50000".parse().unwrap(), capture, ..base };
            both_lose(&mut laboratory, &setup);
        }
    }
}

/// A generator that hardly gets its CPU is slower than its readers: not in each trial, and only beside others.
fn both_lose(laboratory: &mut LiveLaboratory, setup: &Setup) {
    let host = HostLoad::watch();
    let mut trial = run(laboratory, setup, Load::Maximum);
    for _ in 0..ATTEMPTS {
        if trial.members.iter().filter(|member| member.lost() > Some(0)).count() == 2 {
            return;
        }
        trial = run(laboratory, setup, Load::Maximum);
    }
    let others = host.others().unwrap_or_else(|| panic!("{}: {:?}", setup.method, trial.members));
    busy(format_args!("{}: {:?}; {others}", setup.method, trial.members));
}

/// A receive queue of a link with several belongs to one member, and each flow to one queue.
#[test]
fn root_members_of_af_xdp_share_the_queues_and_none_is_left_out() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link_of(4));
    for (method, members) in [("af-xdp", 4), ("af-xdp", 3), ("af-xdp", 1), ("af-xdp+generic", 4)] {
        let method = format!("{method}+members={members}");
        let trial = run(&mut laboratory, &setup(&method), rate(20_000.0));
        // A busy host can lose frames on the way, but the program leaves none to the stack.
        let passed =
            trial.ledger.iter().find(|entry| entry.place == Place::Xdp).and_then(|entry| entry.count);
        assert_eq!((trial.members.len(), passed), (members, Some(0)), "{method}: {:?}", trial.ledger);
        let sharing = trial.flow_sharing.unwrap();
        assert_eq!((sharing.split, sharing.split_frames), (0, 0), "{method}: {:?}", trial.members);
        let got_some = trial.members.iter().filter(|member| member.read > 0).count();
        assert!(got_some > 1 || members == 1, "{method}: {:?}", trial.members);
        assert!(trial.engine().contains("member of a fanout group (queue)"), "{}", trial.engine());
    }
    let refused = |laboratory: &mut LiveLaboratory, method: &str| {
        laboratory.prepare(&setup(method)).map(drop).unwrap_err().to_string()
    };
    let many = refused(&mut laboratory, "af-xdp+members=5");
    assert!(many.contains("the interface has 4") && many.contains("--queues N"), "{many}");
    let by_hash = refused(&mut laboratory, "af-xdp+members=4+fanout=hash");
    assert!(by_hash.contains("write --fanout queue, not hash"), "{by_hash}");
}

/// Methods that need a NAPI thread have one for each queue.
#[test]
fn root_the_frames_of_all_queues_come_through_their_napi_threads() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link_of(3));
    for method in ["af-xdp", "packet-v3+napi-thread", "recv+napi-defer", "packet-v3+members=3+fanout=queue"] {
        let trial =
            laboratory.prepare(&setup(method)).unwrap().run(rate(20_000.0), Duration::from_millis(60));
        let trial = trial.unwrap();
        assert_eq!(trial.unexplained, 0, "{method}: {:?}", trial.ledger);
        let split = trial.flow_sharing.map_or(0, |sharing| sharing.split);
        assert_eq!(split, 0, "{method}");
    }
    // It counts, and looks at no frame.
    let trial =
        laboratory.prepare(&setup("xdp-count")).unwrap().run(rate(20_000.0), Duration::from_millis(60));
    let trial = trial.unwrap();
    assert_eq!(trial.unexplained, 0, "{:?}", trial.ledger);
}

#[test]
fn root_a_soak_keeps_its_members_open() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link());
    let setup = setup("packet-v3+members=3");
    let mut trial = laboratory.prepare(&setup).unwrap();
    let mut held = trial.keep_open().unwrap();
    for _ in 0..3 {
        let trial = held.run(rate(10_000.0), Duration::from_millis(40)).unwrap();
        if trial.sent > 0 {
            assert_whole(&trial);
        }
        assert_eq!(trial.members.len(), 3);
    }
}
