//! Back-to-back bursts and the time that buffers hold for.

use capbench_model::reasons::Invalid;
use capbench_model::statement::Statement;
use capbench_model::units::ByteCount;

use super::*;
use crate::bursts::BurstSearch;
use crate::simulated::tampered::Tampered;
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use crate::sweep::BackToBackTest;
use capbench_judge::bursts::BurstEnd;
use capbench_judge::sweep::back_to_back::{BackToBack, InvalidTrial};
use capbench_model::trial::Trial;

const SLOT: ByteCount = ByteCount(2048);

fn rings(from: u32, to: u32, pps: f64) -> SweepPlan {
    SweepPlan {
        probe: Probe::BackToBack(BackToBackTest(BurstSearch {
            limit: Duration::from_millis(500),
            ..BackToBackTest::default().0
        })),
        loads: vec![at(pps)],
        ..plan(Axis::rings(from, to, SLOT).unwrap(), &["recv"])
    }
}

fn tests(run: &SweepRun) -> Vec<&BackToBack> {
    run.outcome.series[0].readings.iter().map(|reading| reading.back_to_back.as_ref().unwrap()).collect()
}

fn path(generator: f64, capacity: f64) -> SimulatedLaboratory {
    SimulatedLaboratory::new(generator, vec![SimulatedMethod::new("recv", capacity).room(Room::Slots(SLOT))])
}

#[test]
fn corrected_buffer_time_is_that_of_the_ring() {
    let run = run(&SweepPlan { repeats: 2, ..rings(8, 4096, 1e6) }, &mut path(1e6, 750_000.0));
    let frames = [8.0, 16.0, 32.0, 64.0, 128.0, 256.0, 512.0, 1024.0, 2048.0, 4096.0];
    for (test, room) in tests(&run).into_iter().zip(frames) {
        // Of 4 frames 3 are taken meanwhile.
        let found = test.mean_frames.unwrap();
        // A frame's rounding, and the resolution of the search.
        assert!(found <= 4.0 * room + 2.0 && found >= 4.0 * room / 1.03 - 2.0, "{found} for {room}");
        assert_eq!(test.searches.len(), 2);
        let corrected = test.drain_corrected_buffer_s.unwrap();
        assert!((corrected / (found / 1e6 * 0.25) - 1.0).abs() < 0.001, "{corrected} for {found}");
    }
}

#[test]
fn the_longest_burst_of_a_point_is_known_to_three_percent() {
    // Half of the frames are taken while a burst arrives, so that the buffer is full after twice its room.
    for (room, frames) in [(950, 1888), (750, 1472)] {
        let methods = vec![SimulatedMethod::new("recv", 5e5).room(Room::Frames(room))];
        let run = run(&rings(8, 8, 1e6), &mut SimulatedLaboratory::new(1e6, methods));
        assert_eq!(tests(&run)[0].searches[0].frames, Some(frames), "a burst of {} fits", 2 * room);
    }
}

#[test]
fn bursts_that_show_nothing_say_why() {
    let end = |generator, capacity, room| {
        let methods = vec![SimulatedMethod::new("recv", capacity).room(Room::Frames(room))];
        let run = run(&rings(8, 8, 1e6), &mut SimulatedLaboratory::new(generator, methods));
        tests(&run)[0].searches[0].clone()
    };
    assert_eq!(end(1e6, 2e6, 1).end, BurstEnd::NeverFills);
    assert_eq!(end(5e5, 2e6, 1).end, BurstEnd::GeneratorLimited);
    assert_eq!(end(1e6, 1e5, 0).end, BurstEnd::NoneHeld);
    // Half a second of frames, half of them waiting, fit.
    let far = end(1e6, 5e5, 499_000);
    assert_eq!((far.end, far.frames), (BurstEnd::AtLimit, Some(500_000)));
    // A trial of a second loses nothing, but leaves half of its frames in the buffer.
    assert_eq!(end(1e6, 5e5, 1_000_000).end, BurstEnd::AtLimit);
}

#[test]
fn a_search_that_an_invalid_burst_ends_says_so_and_keeps_its_overload() {
    let mut path = Tampered::new(path(1e6, 5e5), |trial, result: &mut TrialResult| {
        if trial == 3 {
            result.invalidate(&Invalid::Contradiction);
        }
    });
    let run = run(&rings(8, 8, 1e6), &mut path);
    let reading = &run.outcome.series[0].readings[0];
    assert_eq!(reading.trials, [1], "the overload stands");
    let burst = &reading.back_to_back.as_ref().unwrap().searches[0];
    assert_eq!((burst.end, burst.frames, &burst.trials), (BurstEnd::Invalid, None, &vec![1, 2, 3, 4]));
    let because = "its account contradicts itself".into();
    assert_eq!(burst.because_fact, Some(InvalidTrial { trial: Some(4), because }));
}

#[test]
fn a_search_whose_burst_cannot_be_run_keeps_its_overload_and_is_not_tried_again() {
    /// Runs no bursts.
    struct Steady(SimulatedLaboratory);
    struct Rates<'t>(Box<dyn Trial + 't>);
    impl Laboratory for Steady {
        fn prepare(&mut self, setup: &Setup) -> capbench_model::Result<Box<dyn Trial + '_>> {
            Ok(Box::new(Rates(self.0.prepare(setup)?)))
        }
        fn rest(&mut self, _: Duration) {}
        fn number_after(&mut self, last: u32) {
            self.0.number_after(last);
        }
        fn statements(&self) -> Vec<Statement> {
            Vec::new()
        }
    }
    impl Trial for Rates<'_> {
        fn run(&mut self, load: Load, duration: Duration) -> capbench_model::Result<TrialResult> {
            if let Load::Burst { .. } = load {
                return Err(capbench_model::TrialError::Unsupported {
                    what: load.to_string(),
                    reason: "no bursts".into(),
                });
            }
            self.0.run(load, duration)
        }
        fn line_rate(&self) -> Option<Pps> {
            self.0.line_rate()
        }
    }
    let plan = SweepPlan { repeats: 3, ..rings(8, 8, 1e6) };
    let run = plan.run(&mut Steady(path(1e6, 5e5)), &mut Collected::expecting_skips()).unwrap();
    let reading = &run.outcome.series[0].readings[0];
    assert_eq!((&reading.trials, run.trials.len()), (&vec![1], 1));
    assert_eq!(reading.back_to_back.as_ref().unwrap().searches[0].end, BurstEnd::NotRun);
}

#[test]
fn a_burst_needs_a_rate_and_a_limit_that_holds_one() {
    let text = |plan: SweepPlan| plan.check().unwrap_err().to_string();
    assert!(text(SweepPlan { loads: vec![Load::Maximum], ..rings(8, 16, 1e6) }).contains("needs a rate"));
    assert!(text(rings(8, 16, 10.0)).contains("longer limit"));
}

#[test]
fn a_stop_within_a_search_keeps_the_trials() {
    let mut record = Collected::stopping_after(5);
    let run = rings(8, 64, 1e6).run(&mut path(1e6, 5e5), &mut record).unwrap();
    assert!(run.outcome.stopped && run.trials.len() == 5);
}
