//! Soaks on the simulated path: days in a moment, and what is stored of them.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::SoakPlan;
use crate::Observer;
use crate::Result;
use crate::for_tests::Collected;
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::soak::record::{EVENTS, INTERVALS, Interval, SoakRecord};
use capbench_judge::soak::segment::Segment;
use capbench_model::for_tests::setup;
use capbench_model::places::Place;
use capbench_model::trial::{Phase, Verdict};

#[derive(Default)]
struct Watch {
    segments: u64,
    stop_after: u64,
    seen: Vec<Segment>,
}

impl Observer for Watch {
    fn stopping(&self) -> bool {
        self.segments >= self.stop_after
    }

    fn segment(&mut self, segment: &Segment, _: &Interval, _: &SoakRecord) -> Result<()> {
        self.segments += 1;
        self.seen.push(segment.clone());
        Ok(())
    }
}

fn plan(pps: f64, length: Duration) -> SoakPlan {
    let rate = Pps::new(pps).unwrap();
    SoakPlan { setup: setup(64), rate, length, interval: Duration::from_secs(10) }
}

fn path(bursts_above: f64) -> SimulatedLaboratory {
    let method = SimulatedMethod::new("packet-v3", 900_000.0).bursts_lost_above(bursts_above);
    SimulatedLaboratory::new(1_000_000.0, vec![method])
}

#[test]
fn three_days_are_stored_in_bounded_records_and_every_frame_is_in_them() {
    let days = Duration::from_secs(3 * 86_400);
    let plan = plan(200_000.0, days);
    assert_eq!(plan.segments(), 25_920);
    let outcome = plan.run(&mut path(100_000.0), &mut Collected::default()).unwrap();
    let record = &outcome.record;
    let whole = record.whole.as_ref().unwrap();
    assert_eq!((record.segments, whole.segments, whole.lossy), (25_920, 25_920, 25_920));
    assert_eq!(whole.counts.sent, 200_000 * days.as_secs());
    assert_eq!((whole.lost(), record.loss_ratio()), (whole.counts.sent / 1000, 0.001));
    assert!((INTERVALS / 2..=INTERVALS).contains(&record.intervals.len()), "{}", record.intervals.len());
    assert_eq!(record.segments_per_interval, 8);
    let sum: u64 = record.intervals.iter().map(|interval| interval.counts.delivered).sum();
    assert_eq!(sum, whole.counts.delivered);
    assert_eq!(record.intervals[1].from_s, 80.0);
    assert!(record.events.len() <= EVENTS && record.kept.len() <= 2);
    let stored = serde_json::to_string(record).unwrap();
    assert!(stored.len() < 4 << 20, "{} octets", stored.len());
    let read: SoakRecord = serde_json::from_str(&stored).unwrap();
    assert_eq!((read.intervals.len(), read.segments), (record.intervals.len(), 25_920));
    assert!(read.whole.is_some_and(|read| read.counts == whole.counts));
}

#[test]
fn the_ledger_of_the_whole_is_the_sum_of_the_segments() {
    let outcome =
        plan(950_000.0, Duration::from_secs(35)).run(&mut path(f64::INFINITY), &mut Collected::default());
    let record = outcome.unwrap().record;
    let whole = record.whole.as_ref().unwrap();
    // 50,000 of 950,000 are more than it holds.
    assert_eq!((record.segments, whole.lost(), whole.counts.unexplained), (4, 50_000 * 35, 0));
    let count = |place| record.ledger.iter().find(|entry| entry.place == place).unwrap().count;
    assert_eq!(count(Place::Ring), Some(50_000 * 35));
    assert_eq!(count(Place::Stack), None, "unknown stays unknown");
    assert_eq!(whole.sending_s, 35.0, "the last segment is shorter");
    assert_eq!(record.worst.as_ref().map(Interval::lost), Some(500_000));
    assert!(record.kept.iter().all(|trial| trial.phase == Phase::Soak && trial.verdict == Verdict::Lossy));
}

#[test]
fn a_stop_keeps_what_was_measured() {
    let mut watch = Watch { stop_after: 3, ..Watch::default() };
    let outcome =
        plan(1000.0, Duration::from_secs(86_400)).run(&mut path(f64::INFINITY), &mut watch).unwrap();
    assert!(outcome.stopped && outcome.failure.is_none());
    assert_eq!((outcome.record.segments, outcome.record.loss_ratio()), (3, 0.0));
    assert_eq!(outcome.record.unsent_ratio(), 0.0);
}

#[test]
fn what_the_generator_does_not_reach_is_unsent_and_no_loss() {
    let outcome = plan(1_250_000.0, Duration::from_secs(10));
    let mut path = SimulatedLaboratory::new(1_000_000.0, vec![SimulatedMethod::new("packet-v3", 2e6)]);
    let record = outcome.run(&mut path, &mut Collected::default()).unwrap().record;
    assert_eq!((record.loss_ratio(), record.unsent_ratio()), (0.0, 0.2));
}

#[test]
fn an_application_that_is_a_little_too_slow_is_found_out_though_nothing_is_lost() {
    let soak = |capacity: f64| {
        // Room for 30 s of the load, of which 2 % are not taken: nothing is ever lost in segments of 10 s.
        let method = SimulatedMethod::new("packet-v3", capacity).room(Room::Frames(6_000_000));
        let mut path = SimulatedLaboratory::new(1_000_000.0, vec![method]);
        plan(200_000.0, Duration::from_secs(100)).run(&mut path, &mut Collected::default()).unwrap().record
    };
    let record = soak(196_000.0);
    let whole = record.whole.as_ref().unwrap();
    assert_eq!((whole.lost(), whole.segments, whole.buffered), (0, 10, 10));
    assert!((record.backlogged_ratio() - 0.02).abs() < 1e-4, "{}", record.backlogged_ratio());
    assert!((whole.behind_s - 40_000.0 / 196_000.0).abs() < 1e-4, "{}", whole.behind_s);
    let enough = soak(201_000.0);
    assert_eq!((enough.backlogged_ratio(), enough.whole.unwrap().buffered), (0.0, 0));
}

#[test]
fn segments_add_up_to_the_record_that_the_soak_had() {
    let mut watch = Watch { stop_after: 9, ..Watch::default() };
    let soak = plan(950_000.0, Duration::from_secs(86_400));
    let record = soak.run(&mut path(100_000.0), &mut watch).unwrap().record;
    let mut added = SoakRecord::new(soak.rate, soak.length, soak.interval);
    for segment in watch.seen {
        added.add(segment);
    }
    assert_eq!(added, record);
}
