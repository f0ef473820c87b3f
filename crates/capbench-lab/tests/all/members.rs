//! Several members that share the frames of a trial: their ledgers add up to the trial's, and flows stay together where the
//! fanout promises it.

use std::time::Duration;

use capbench_frames::Pps;
use capbench_frames::layout::{Flows, FrameLayout};
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place;
use capbench_model::trial::{Load, TrialResult, Verdict};
use capbench_model::units::ByteCount;
use capbench_testing::network::privileges;

/// No multiple of the members: in turn, each flow comes to all of them.
const FLOWS: u32 = 37;

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
    // On a busy host the generator can be without its CPU for a whole trial: it sends nothing, and nothing is shown.
    let mut trial = run(laboratory);
    while trial.sent == 0 {
        trial = run(laboratory);
    }
    assert_whole(&trial);
    trial
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
    let lost = trial.ledger.iter().find(|entry| entry.place == Place::Ring).and_then(|entry| entry.count);
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

#[test]
fn root_alone_members_share_the_frames_as_their_fanout_promises() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link());
    for method in ["recv", "recvmmsg", "packet-v1", "packet-v2", "packet-v3"] {
        for (fanout, members) in [("hash", 4), ("cpu", 3), ("queue", 2), ("lb", 4), ("rollover", 3)] {
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
            if fanout == "hash" {
                assert!(reached.iter().filter(|frames| **frames > 0).count() > 1, "{method}: {reached:?}");
            }
        }
    }
}

#[test]
fn root_alone_what_members_lose_at_overload_is_booked_to_each_of_them() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link());
    for method in ["recv", "packet-v2", "packet-v3"] {
        for fanout in ["hash", "lb"] {
            let method = format!("{method}+members=2+fanout={fanout}");
            let base = setup(&method);
            let capture =
                CaptureOptions { ring: ByteCount(256 << 10), block: ByteCount(64 << 10), ..base.capture };
            let setup = Setup { work: "ns:50000".parse().unwrap(), capture, ..base };
            let trial = run(&mut laboratory, &setup, Load::Maximum);
            let lossy = trial.members.iter().filter(|member| member.lost() > Some(0)).count();
            assert_eq!(lossy, 2, "{method}: {:?}", trial.members);
        }
    }
}

#[test]
fn root_alone_a_soak_keeps_its_members_open() {
    let Some(()) = privileges() else { return };
    let mut laboratory = live(virtual_link());
    let setup = setup("packet-v3+members=3");
    let mut trial = laboratory.prepare(&setup).unwrap();
    let mut held = trial.keep_open().unwrap();
    for _ in 0..3 {
        let trial = held.run(rate(10_000.0), Duration::from_millis(40)).unwrap();
        assert_whole(&trial);
        assert_eq!(trial.members.len(), 3);
    }
}
