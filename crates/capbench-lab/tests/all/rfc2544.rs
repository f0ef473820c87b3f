//! The tests of RFC 2544 on the bed. Nothing here depends on how fast the host is: an application that works for long on
//! each frame is the slowest part of the path on any.

use capbench_testing::is_root;
use std::num::{NonZeroU32, NonZeroU64};
use std::time::Duration;

use capbench_frames::Pps;
use capbench_lab::for_tests::{live, live_setup, virtual_link};
use capbench_lab::live::LiveLaboratory;
use capbench_model::laboratory::Setup;
use capbench_model::options::CaptureOptions;
use capbench_model::placement::PlacementChoice;
use capbench_model::trial::{LoadShape, TrialResult, Verdict};
use capbench_model::units::ByteCount;
use capbench_model::work::WorkModel;
use capbench_plan::bursts::BurstSearch;
use capbench_plan::for_tests::Collected;
use capbench_plan::rfc2544::recovery::Recovery;
use capbench_plan::rfc2544::{BackToBackTest, Ended, FrameLossTest, MaximumRate, Percent, RecoveryTest};
use capbench_plan::search::MaximumSource;

fn laboratory() -> LiveLaboratory {
    live(virtual_link())
}

/// `packet-v2` with a ring of so many octets, and 50 us of work: no more than 20,000 frames a second.
fn slow(ring: u64) -> Setup {
    Setup {
        placement: PlacementChoice::Other,
        work: WorkModel::Nanoseconds(50_000).into(),
        capture: CaptureOptions {
            ring: ByteCount(ring),
            block: ByteCount(16 << 10),
            ..CaptureOptions::default()
        },
        ..live_setup("packet-v2", ring, Duration::from_millis(200))
    }
}

fn given(pps: f64) -> MaximumRate {
    MaximumRate { pps: Pps::new(pps).unwrap(), source: MaximumSource::Given }
}

/// Every trial shows something, and each of its frames is accounted for.
fn assert_accounted(trials: &[TrialResult]) {
    for trial in trials {
        assert!(trial.sent > 0 && trial.verdict != Verdict::Invalid, "{trial:?}");
        assert_eq!(trial.unexplained, 0, "{:?}", trial.ledger);
    }
}

#[test]
fn root_lengthy_loss_goes_down_with_the_load_until_there_is_none() {
    if !is_root() {
        return;
    }
    let test = FrameLossTest {
        maximum: given(40_000.0),
        step: Percent::new(10.0).unwrap(),
        duration: Duration::from_millis(500),
    };
    let finished = test.run(&slow(256 << 10), &mut laboratory(), &mut Collected::default()).unwrap();
    assert_accounted(&finished.trials);
    let outcome = finished.outcome;
    for point in &outcome.points {
        println!(
            "{:.0} %: offered {:.1} %, lost {:.2} %",
            point.load_percent, point.offered_percent, point.loss_percent
        );
    }
    assert_eq!(outcome.ended, Ended::Complete);
    assert!(outcome.points[0].loss_percent > 25.0, "twice what the application can take");
    assert_eq!(outcome.points.len(), finished.trials.len());
}

#[test]
fn root_lengthy_a_larger_ring_holds_a_longer_burst() {
    if !is_root() {
        return;
    }
    let mut laboratory = laboratory();
    let mut longest = |ring: u64| {
        let test = BackToBackTest {
            search: BurstSearch {
                first: NonZeroU64::new(4).unwrap(),
                limit: Duration::from_secs(1),
                resolution: Percent::new(5.0).unwrap(),
                verifications: 2,
                depletion: Duration::from_millis(20),
            },
            repetitions: NonZeroU32::new(3).unwrap(),
            ..BackToBackTest::standard(given(100_000.0), Pps::new(20_000.0).unwrap())
        };
        let finished = test.run(&slow(ring), &mut laboratory, &mut Collected::default()).unwrap();
        assert_accounted(&finished.trials);
        for trial in &finished.trials {
            assert_eq!(trial.load, Some(LoadShape::Burst { frames: trial.intended }));
            assert_eq!(trial.intended_pps, Some(100_000.0));
        }
        let benchmark = finished.outcome.benchmark.unwrap();
        println!("ring of {ring} octets: {benchmark:?}");
        assert_eq!((finished.outcome.ended, finished.outcome.searches.len()), (Ended::Complete, 3));
        benchmark.average_frames
    };
    // 32 and 256 slots: both less than what the backlog in front of the ring holds.
    let (small, large) = (longest(64 << 10), longest(512 << 10));
    assert!(small > 0.0 && large > 2.0 * small, "{small} and {large}");
}

#[test]
fn root_lengthy_an_overload_is_followed_by_half_of_it() {
    if !is_root() {
        return;
    }
    let test = RecoveryTest {
        overload: Percent::new(300.0).unwrap(),
        after: Percent::new(10.0).unwrap(),
        overloaded: Duration::from_millis(500),
        observed: Duration::from_millis(1000),
        repetitions: 3,
        ..RecoveryTest::standard(Pps::new(15_000.0).unwrap(), given(100_000.0))
    };
    let finished = test.run(&slow(256 << 10), &mut laboratory(), &mut Collected::default()).unwrap();
    assert_accounted(&finished.trials);
    println!("{:#?}", finished.outcome);
    for (repetition, trial) in finished.outcome.repetitions.iter().zip(&finished.trials) {
        assert_eq!(trial.load, Some(LoadShape::Step { before_pps: 45_000.0, at_s: 0.5, after_pps: 4_500.0 }));
        assert_eq!(trial.intended, 22_500 + 4_500);
        // On a host that is busy with other things the generator may be late, and then nothing is claimed.
        assert!(repetition.generator_late_ns.is_some());
        assert_ne!(repetition.recovery, Recovery::NothingLost, "{:?}", trial.ledger);
    }
}
