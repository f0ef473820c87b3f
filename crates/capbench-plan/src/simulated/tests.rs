use std::time::Duration;

use capbench_model::for_tests::setup;
use capbench_model::method_spec::MethodSpec;
use capbench_model::units::ByteCount;
use proptest::prelude::*;

use super::{LossBursts, Noise, Room, SimulatedLaboratory, SimulatedMethod};
use crate::for_tests::{at, dain};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::placement::PlacementChoice;
use capbench_model::places::Place;
use capbench_model::trial::{Load, TrialResult, Verdict};

fn named(method: &str) -> Setup {
    Setup { method: method.parse().unwrap(), ..setup(64) }
}

fn run(laboratory: &mut SimulatedLaboratory, setup: &Setup, load: Load, duration: Duration) -> TrialResult {
    laboratory.prepare(setup).unwrap().run(load, duration).unwrap()
}

fn lost(trial: &TrialResult, place: Place) -> u64 {
    trial.ledger.iter().find(|entry| entry.place == place).and_then(|entry| entry.count).unwrap()
}

const SECOND: Duration = Duration::from_secs(1);

#[test]
fn what_exceeds_the_capacity_waits_in_the_ring_until_it_is_full() {
    let method = SimulatedMethod::new("recv", 500_000.0).room(Room::Frames(1000));
    let mut path = SimulatedLaboratory::new(2e6, vec![method]);
    // 1 of 2 frames waits: 2000 frames fill the ring.
    let burst = |path: &mut _, frames: u64| run(path, &named("recv"), at(1e6), Duration::from_micros(frames));
    assert_eq!(burst(&mut path, 2000).verdict, Verdict::Lossless);
    let longer = burst(&mut path, 2200);
    assert_eq!((longer.lost(), lost(&longer, Place::Ring)), (100, 100));
}

#[test]
fn whole_slots_in_whole_blocks_make_the_room() {
    let mut setup = setup(64);
    let room = Room::Slots(ByteCount(2048));
    setup.capture.ring = ByteCount(1 << 20);
    setup.capture.block = ByteCount(1 << 18);
    assert_eq!(room.frames(&setup.capture), 512);
    setup.capture.block = ByteCount(3000);
    assert_eq!(room.frames(&setup.capture), 349, "a block holds one slot and wastes the rest");
    setup.capture.block = ByteCount(1 << 30);
    assert_eq!(room.frames(&setup.capture), 512);
}

#[test]
fn loss_is_booked_where_it_happens() {
    let mut path =
        SimulatedLaboratory::new(900_000.0, vec![SimulatedMethod::new("recv", 500_000.0)]).backlog(800_000.0);
    let trial = run(&mut path, &named("recv"), at(1e6), SECOND);
    let places = [Place::Unsent, Place::Backlog, Place::Ring].map(|place| lost(&trial, place));
    assert_eq!((places, trial.unexplained), ([100_000, 100_000, 300_000], 0));
    assert_eq!(lost(&trial, Place::Transmit), 0);
}

#[test]
fn an_application_that_is_kept_busy_pays_less_per_packet() {
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::with_regimes("recv", dain())]);
    let mut capacity = |work: &str| {
        let setup = Setup { work: work.parse().unwrap(), ..named("recv") };
        let trial = run(&mut path, &setup, Load::Maximum, SECOND);
        (trial.delivered, trial.cpu.frames_per_wakeup, trial.cpu.frames_per_batch)
    };
    let (delivered, wakeup, batch) = capacity("ns:8000");
    assert_eq!((delivered, wakeup, batch), ((1e9_f64 / 25_300.0).round() as u64, Some(1.0), Some(1.0)));
    let (delivered, wakeup, batch) = capacity("loop:20000");
    assert_eq!((delivered, wakeup), ((1e9_f64 / 24_600.0).round() as u64, None));
    assert!((batch.unwrap() - 20.0).abs() < 0.1, "{batch:?}");
    let (between, wakeup, _) = capacity("ns:13500");
    assert_eq!(between, (1e9_f64 / (13_500.0 + 10_950.0)).round() as u64);
    assert!((wakeup.unwrap() - 2.0).abs() < 0.01);
}

#[test]
fn the_kernel_goes_before_the_application_on_a_shared_cpu() {
    let method = SimulatedMethod::new("ring", 1e6).cost(100, 500).sharing_cpu();
    let mut path = SimulatedLaboratory::new(1e7, vec![method]);
    assert_eq!(run(&mut path, &named("ring"), at(1e6), SECOND).delivered, 500_000);
    let other = Setup { placement: PlacementChoice::Other, ..named("ring") };
    assert_eq!(run(&mut path, &other, at(1e6), SECOND).delivered, 1_000_000);
    assert_eq!(run(&mut path, &named("ring"), at(4e6), SECOND).delivered, 0, "livelock");
}

#[test]
fn octets_cost_what_they_are_to_cost() {
    let method = SimulatedMethod::new("recv", 1e6).per_octet(Duration::from_nanos(1));
    let mut path = SimulatedLaboratory::new(1e7, vec![method]);
    let large = Setup { method: MethodSpec::plain("recv"), ..setup(1000) };
    let trial = run(&mut path, &large, Load::Maximum, SECOND);
    assert_eq!((trial.delivered, trial.profile.mean_frame_size), (500_000, 1000.0));
}

#[test]
fn bursts_come_as_often_and_as_large_as_they_are_to() {
    let bursts = LossBursts { per_second: 0.1, frames: 500 };
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 1e6)]).bursts(3, bursts);
    let lost: Vec<_> = (0..2000).map(|_| run(&mut path, &named("recv"), at(1e5), SECOND).lost()).collect();
    assert!(lost.iter().all(|lost| [0, 500].contains(lost)));
    let count = lost.iter().filter(|lost| **lost > 0).count();
    assert!((150..250).contains(&count), "{count}");
}

#[test]
fn noise_has_the_deviation_that_was_asked_for() {
    let noise = Noise { per_trial: 0.01, per_second: 0.0 };
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 5e5)]).noise(7, noise);
    let got: Vec<f64> =
        (0..1000).map(|_| run(&mut path, &named("recv"), Load::Maximum, SECOND).delivered_pps).collect();
    let mean = got.iter().sum::<f64>() / 1000.0;
    let deviation = (got.iter().map(|pps| (pps - mean).powi(2)).sum::<f64>() / 999.0).sqrt();
    assert!(
        (mean / 5e5 - 1.0).abs() < 0.002 && (0.009..0.011).contains(&(deviation / 5e5)),
        "{mean} {deviation}"
    );
}

proptest! {
    #[test]
    fn the_same_seed_gives_the_same_trials_and_every_frame_is_accounted_for(
        seed: u64,
        rates in prop::collection::vec(1.0..3e6_f64, 1..6),
        seconds in 0.000_01..5.0_f64,
        room in 0..100_000_u64,
        livelock in 0.0..2.0_f64,
    ) {
        let methods = vec![SimulatedMethod::new("recv", 5e5).room(Room::Frames(room)).livelock(livelock)];
        let path = SimulatedLaboratory::new(2e6, methods)
            .backlog(1.5e6)
            .noise(seed, Noise { per_trial: 0.05, per_second: 0.1 })
            .bursts(seed, LossBursts { per_second: 0.5, frames: 700 });
        let duration = Duration::from_secs_f64(seconds);
        let all = |mut path: SimulatedLaboratory| -> Vec<_> {
            rates.iter().map(|&pps| run(&mut path, &named("recv"), at(pps), duration)).collect()
        };
        let trials = all(path.clone());
        prop_assert_eq!(&trials, &all(path));
        for trial in trials {
            prop_assert_eq!(trial.unexplained, 0);
            prop_assert!(trial.delivered <= trial.sent && trial.sent <= trial.intended);
        }
    }
}
