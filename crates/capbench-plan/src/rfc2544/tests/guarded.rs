//! The tests of RFC 2544 as the product runs them, through guards: what disturbs single trials changes nothing that is found,
//! and every attempt is accounted for.

use super::setup;
use super::suite::{ALL, passed_over, suite};
use crate::for_tests::{Collected, conclusion};
use crate::guards::Guarded;
use crate::rfc2544::{Extent, Test};
use crate::simulated::tampered::{
    Found, GuardingCounts, Spoiling, Tampered, accounted, assert_guards_change_nothing, contradicts_itself,
    guarded, recovers_after,
};
use crate::simulated::{Room, SimulatedLaboratory, SimulatedMethod};
use capbench_judge::rfc2544::{Ended, Found as TestFound};
use capbench_judge::search::End;
use capbench_model::laboratory::Laboratory;
use capbench_model::trial::TrialResult;

fn path() -> SimulatedLaboratory {
    let method = SimulatedMethod::new("packet-v3", 400_000.0).room(Room::Frames(1000));
    SimulatedLaboratory::new(1e6, vec![method])
}

fn kept(path: &mut dyn Laboratory) -> Collected {
    let mut kept = Collected::default();
    assert!(!suite(&ALL, Extent::quick()).run(&setup(), path, &mut kept).unwrap());
    let searched = kept.searches.iter().flat_map(|search| &search.trials);
    let tested = kept.tested.iter().flat_map(|tested| &tested.trials);
    let of_tests: Vec<u32> = searched.chain(tested).copied().collect();
    let numbers: Vec<u32> = kept.trials.iter().map(|trial| trial.number).collect();
    assert_eq!(of_tests, numbers, "every accepted trial is part of one test");
    kept
}

fn run<F: FnMut(u32, &mut TrialResult)>(
    path: &mut Guarded<Tampered<SimulatedLaboratory, F>>,
) -> (Collected, GuardingCounts) {
    let kept = kept(path);
    let guarding = accounted(path, &kept.trials);
    (kept, guarding)
}

/// What the tests found, without the numbers of trials.
fn essence(kept: &Collected) -> Vec<String> {
    let goals = kept.searches.iter().flat_map(|search| &search.goals).map(conclusion);
    let tests = kept.tested.iter().map(|tested| match &tested.found {
        TestFound::Latency(latency) => {
            format!(
                "{:.3} {} {:?} {:?}",
                latency.rate_pps.get(),
                latency.repetitions,
                latency.lossy.len(),
                latency.ended
            )
        }
        TestFound::FrameLoss(loss) => {
            let points: Vec<_> =
                loss.points.iter().map(|point| (point.load_percent, point.delivered)).collect();
            format!("{points:?} {} {:?}", loss.ends_without_loss, loss.ended)
        }
        TestFound::BackToBack(burst) => {
            let lengths: Vec<_> = burst.searches.iter().map(|one| (one.frames, one.step_frames)).collect();
            format!("{lengths:?} {:?} {:?} {:?}", burst.benchmark, burst.invalid_because, burst.ended)
        }
        TestFound::Recovery(recovery) => {
            let all: Vec<_> = recovery.repetitions.iter().map(|one| &one.recovery).collect();
            format!("{:.3} {all:?} {:?}", recovery.overload_pps.get(), recovery.ended)
        }
    });
    goals.chain(tests).collect()
}

fn undisturbed() -> (Collected, GuardingCounts) {
    run(&mut guarded(path(), |_, _| {}))
}

#[test]
fn what_guards_repeat_or_wait_for_changes_nothing_that_is_found() {
    assert_guards_change_nothing(path, &Spoiling { after_overload: 4, disturbed_every: 11 }, |path| {
        let kept = kept(path);
        assert_eq!((kept.tested.len(), kept.untested.len()), (4, 0));
        let conclusion = essence(&kept).join("\n");
        Found { trials: kept.trials, conclusion }
    });
    // The throughput of a trial of a second is a little above what is taken: what the ring holds at its end counts.
    let kept = undisturbed().0;
    let TestFound::BackToBack(burst) = &kept.tested[2].found else { panic!("{:?}", kept.tested) };
    let mean = burst.benchmark.unwrap().average_frames;
    assert!((mean / (1000.0 / 0.6) - 1.0).abs() <= 0.011, "{mean}");
}

#[test]
fn a_path_that_does_not_recover_ends_the_search_and_no_test_follows() {
    let (kept, guarding) = run(&mut guarded(path(), recovers_after(1000)));
    let End::Invalid { because, .. } = &kept.searches[0].ended else { panic!("{:?}", kept.searches) };
    assert!(because.contains("5 probes at low load were not clean"), "{because}");
    assert_eq!((kept.tested.len(), guarding.probes), (0, 5));
    let tests: Vec<&str> = passed_over(&kept).into_iter().map(|(test, _)| test).collect();
    assert_eq!(tests, ALL.map(Test::key));
}

#[test]
fn contradictions_end_a_test_where_they_stay() {
    let (exact, _) = undisturbed();
    // From the middle of the tests on nothing adds up: each ends at its first trial, with the reason.
    let search = exact.searches[0].trials.iter().max().copied().unwrap();
    let (kept, _) = run(&mut guarded(path(), contradicts_itself(|trial| trial > search)));
    assert_eq!(essence(&kept)[0], essence(&exact)[0]);
    assert_eq!(kept.tested.len(), 4);
    for tested in &kept.tested {
        let Ended::Invalid { trials, because } = tested.found.ended() else { panic!("{:?}", tested.found) };
        assert_eq!(
            (trials.as_slice(), trials.last()),
            (&tested.trials[tested.trials.len() - 1..], tested.trials.last())
        );
        assert!(because.contains("negative loss"), "{because}");
    }
}
