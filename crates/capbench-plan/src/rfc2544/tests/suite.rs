//! The whole of a suite on the simulated path, guarded as it is in the product.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use super::{pps, setup};
use crate::cost::Spread;
use crate::for_tests::Collected;
use crate::guards::{Guarded, Policy};
use crate::rfc2544::{Extent, Suite, Test, Throughput};
use crate::simulated::tampered::guarded;
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::rfc2544::{Found, MaximumRate, NotTested};
use capbench_judge::search::{Goal, MaximumSource, Reason, SearchPlan, Status, parse};
use capbench_judge::thresholds::TRIAL_OVERHEAD;
use capbench_model::laboratory::Setup;
use capbench_model::trial::TrialResult;

pub(super) const ALL: [Test; 4] = [Test::Latency, Test::FrameLoss, Test::BackToBack, Test::Recovery];
const QUIET: Duration = Duration::from_millis(500);

/// Tests that had no meaning, and why.
pub(super) fn passed_over(kept: &Collected) -> Vec<(&'static str, &NotTested)> {
    kept.untested.iter().map(|one| (one.test, &one.because)).collect()
}

/// These tests after a search for the throughput.
pub(super) fn suite(tests: &[Test], extent: Extent) -> Suite {
    let trial = |goal: Goal| Goal {
        final_duration: extent.trial,
        duration_sum: extent.trial,
        initial_duration: extent.trial.min(Duration::from_secs(1)),
        ..goal
    };
    let plan = SearchPlan::new(parse("rfc2544").unwrap().into_iter().map(trial).collect());
    let throughput = Throughput::Search(SearchPlan { quiet: QUIET, ..plan });
    Suite { tests: tests.to_vec(), extent, throughput }
}

fn waiting() -> Setup {
    Setup { quiet: QUIET, ..setup() }
}

/// What a suite did on a guarded path that nothing disturbs, and how long it left the path idle.
fn run(suite: &Suite, path: SimulatedLaboratory) -> (Collected, Duration) {
    let mut guarded = guarded(path, |_, _| {});
    let mut kept = Collected::default();
    assert!(!suite.run(&waiting(), &mut guarded, &mut kept).unwrap());
    let idle = guarded.inner().rests.iter().sum();
    (kept, idle)
}

/// The time that it would have taken on a path where time passes.
fn took(trials: &[TrialResult], idle: Duration) -> f64 {
    let one = |trial: &TrialResult| trial.sending_s + trial.drain_s + TRIAL_OVERHEAD.as_secs_f64();
    let guards = |trial: &TrialResult| -> f64 {
        let recovery = trial.guarding.as_ref().and_then(|guarding| guarding.recovery.as_ref());
        recovery.map_or(0.0, |recovery| recovery.probes.iter().map(one).sum())
    };
    trials.iter().map(|trial| one(trial) + guards(trial)).sum::<f64>() + idle.as_secs_f64()
}

fn path(maximum: f64, capacity: f64, room: Room) -> SimulatedLaboratory {
    SimulatedLaboratory::new(maximum, vec![SimulatedMethod::new("packet-v3", capacity).room(room)])
}

/// Whether what was needed lies between half of the least and twice the most.
fn is_in(spread: Spread, needed: f64) -> bool {
    let time = |cost: crate::cost::Cost| cost.least_time(QUIET).as_secs_f64();
    (time(spread.least) / 2.0..=time(spread.most) * 2.0).contains(&needed)
}

#[test]
fn each_test_takes_what_was_estimated_to_within_a_factor_of_two() {
    let extents = [Extent::quick(), Extent { bursts: NonZeroU32::new(4).unwrap(), ..Extent::standard() }];
    for extent in extents {
        for test in ALL.map(Some).into_iter().chain([None]) {
            let suite = suite(test.as_slice(), extent);
            let estimate = suite.estimate(&waiting()).unwrap();
            for capacity in [1e5, 4e5, 9e5] {
                for room in [Room::Frames(200), Room::Slots("2KiB".parse().unwrap()), Room::Frames(70_000)] {
                    let (kept, idle) = run(&suite, path(1e6, capacity, room));
                    // The search goes first. The path is left idle for the tests only.
                    let (of_search, of_test) = kept.trials.split_at(kept.searches[0].trials.len());
                    assert_eq!((kept.tested.len(), &kept.untested), (test.iter().count(), &Vec::new()));
                    let what = format!("{test:?}, {capacity} packets/s, {room:?}: {:?}", estimate.tests);
                    let search = took(of_search, Duration::ZERO);
                    assert!(is_in(estimate.throughput.unwrap(), search), "{search} s of search; {what}");
                    let needed = took(of_test, idle);
                    for (_, spread) in &estimate.tests {
                        assert!(is_in(*spread, needed), "{needed} s; {what}");
                    }
                    assert!(is_in(estimate.all, search + needed), "{needed} s and the search; {what}");
                    // The one figure that stands first holds for a ring of the set-up in the middle of the range.
                    if capacity == 4e5 && room == Room::Slots("2KiB".parse().unwrap()) {
                        for (_, spread) in &estimate.tests {
                            let about = spread.median.least_time(QUIET).as_secs_f64();
                            assert!(
                                (about / 2.0..=about * 2.0).contains(&needed),
                                "{needed}, {about}; {what}"
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn the_trials_are_those_of_the_estimate_where_the_path_is_the_one_that_was_supposed() {
    let suite = suite(&ALL, Extent::quick());
    let given = |capacity: f64| Suite {
        throughput: Throughput::Given { throughput: pps(capacity), maximum: pps(1e6) },
        ..suite.clone()
    };
    let suite = given(3e5);
    let estimate = suite.estimate(&waiting()).unwrap();
    assert_eq!((estimate.throughput, estimate.at_maximum), (None, None));
    // The longer a burst that the buffer holds, the more lengths the search for it tries.
    let trials_with = |room| run(&suite, path(1e6, 3e5, room)).0.trials.len() as u32;
    let all = estimate.all;
    assert_eq!(all.least.trials, trials_with(Room::Frames(16)));
    assert_eq!(all.median.trials, trials_with(Room::Slots("2KiB".parse().unwrap())));
    assert_eq!(all.most.trials, trials_with(Room::Slots("128B".parse().unwrap())));
}

#[test]
fn what_is_held_at_the_generators_limit_is_no_throughput() {
    let suite = suite(&ALL, Extent::quick());
    let (kept, idle) = run(&suite, path(8e5, 2e6, Room::Frames(1000)));
    let goal = &kept.searches[0].goals[0];
    assert_eq!((goal.status, goal.lower.as_ref().unwrap().achieved_pps), (Status::AtLeast, 8e5));
    let reason = Reason::MaximumLoad { limit: MaximumSource::Generator };
    let because = NotTested::NoOverloadKnown { sustained_pps: 8e5, reason };
    assert_eq!(passed_over(&kept), [("back-to-back", &because), ("recovery", &because)]);
    assert_eq!(kept.tested.len(), 2);
    assert!(kept.tested.iter().all(|tested| tested.throughput_status == Some(Status::AtLeast)));
    let Found::Latency(latency) = &kept.tested[0].found else { panic!("{:?}", kept.tested) };
    assert_eq!((latency.rate_pps.get(), latency.repetitions), (8e5, 3));
    let Found::FrameLoss(loss) = &kept.tested[1].found else { panic!("{:?}", kept.tested) };
    assert_eq!((loss.points.len(), loss.ends_without_loss), (2, true));
    // That is what the estimate says of such a path.
    let at_maximum = suite.estimate(&waiting()).unwrap().at_maximum.unwrap();
    assert_eq!((at_maximum.trials as usize, at_maximum.probes), (kept.trials.len(), 0));
    let estimated = at_maximum.least_time(QUIET).as_secs_f64();
    assert!((took(&kept.trials, idle) - estimated).abs() < 1e-6, "{estimated}");
}

#[test]
fn a_throughput_within_two_clocks_of_the_maximum_rate_leaves_no_overload() {
    let maximum = MaximumRate { pps: pps(1e6), source: MaximumSource::Given };
    for (throughput, is_tested) in [(999_750.0, true), (999_840.0, false)] {
        let throughput = pps(throughput);
        let suite = Suite {
            tests: vec![Test::BackToBack, Test::Recovery],
            extent: Extent::quick(),
            throughput: Throughput::Given { throughput, maximum: maximum.pps },
        };
        let (kept, _) = run(&suite, path(1e6, throughput.get(), Room::Frames(1000)));
        let because = NotTested::NoOverload { throughput_pps: throughput.get(), maximum };
        let refused = [("back-to-back", &because), ("recovery", &because)];
        assert_eq!(passed_over(&kept), if is_tested { &[][..] } else { &refused[..] }, "{throughput}");
    }
}

#[test]
fn where_nothing_is_held_every_test_says_why_it_was_not_run() {
    let (kept, _) = run(&suite(&ALL, Extent::quick()), path(1e6, 100.0, Room::None));
    assert_eq!((kept.tested.len(), kept.untested.len()), (0, 4));
    assert!(passed_over(&kept).iter().all(|(_, because)| **because == NotTested::NoThroughput));
}

#[test]
fn a_stop_ends_the_suite_where_it_is() {
    let suite = suite(&ALL, Extent::quick());
    let whole = run(&suite, path(1e6, 4e5, Room::Frames(1000))).0;
    let search = whole.searches[0].trials.len();
    // In the search; when it is over and the first test has begun; after the three repetitions of the first test, in the second one.
    for (stop_after, searches, tested) in [(2, 1, 0), (search, 1, 1), (search + 4, 1, 2)] {
        let mut kept = Collected::stopping_after(stop_after);
        let mut path = Guarded::new(path(1e6, 4e5, Room::Frames(1000)), Policy::default(), Arc::default());
        assert!(suite.run(&waiting(), &mut path, &mut kept).unwrap());
        let seen = (kept.trials.len(), kept.searches.len(), kept.tested.len());
        assert_eq!(seen, (stop_after, searches, tested));
    }
}
