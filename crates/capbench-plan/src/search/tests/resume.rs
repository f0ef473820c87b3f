//! Searches that go on from the trials of an earlier run.

use std::time::Duration;

use super::paths::{Path, plan, run, stopped};
use crate::for_tests::{Collected, conclusion};
use crate::search;
use crate::search::{Finished, Stored};
use capbench_judge::search::SearchWarning;
use capbench_judge::search::{End, SearchPlan};
use capbench_model::noise::NoiseOfAttempt;
use capbench_model::trial::{Guarding, Phase, Profile, Retried, TrialResult};

/// All trials of a search, as a results file gives them back.
fn stored(trials: &[TrialResult]) -> Stored {
    let text = serde_json::to_string(trials).unwrap();
    let read: Vec<TrialResult> = serde_json::from_str(&text).unwrap();
    Stored::new(&read, |_| true).unwrap()
}

/// What a search concluded for each of its goals.
fn conclusions(finished: &Finished) -> Vec<String> {
    finished.outcome.goals.iter().map(conclusion).collect()
}

#[test]
fn a_search_interrupted_anywhere_comes_to_the_same_result() {
    let plan =
        SearchPlan { maximum_pps: None, ..plan("ndr,pdr,strict-capture;b:from=rfc2544,duration=2s,sum=2s") };
    for path in [
        Path { generator: 1.4e6, ..Path::new(1e6) },
        Path { generator: 1.1e6, noise: 0.01, bursts_per_s: 0.05, seed: 3, ..Path::new(5e5) },
    ] {
        let whole = run(&plan, &path);
        assert_eq!(whole.outcome.ended, End::Complete);
        for after in 0..whole.trials.len() {
            let first = stopped(&plan, &path, after);
            assert_eq!((first.outcome.ended, first.trials.len()), (End::Stopped, after));
            // The path goes on from where it was: what it does depends on what ran before.
            let mut path = path.clone().after(&first.trials);
            let mut record = Collected::default();
            let second = search::run(&plan, "a path", &mut path, stored(&first.trials), &mut record).unwrap();
            assert_eq!(second.outcome.goals, whole.outcome.goals, "interrupted after {after}");
            assert_eq!(second.outcome.trials, whole.outcome.trials);
            assert_eq!(record.trials.len(), whole.trials.len() - after, "only new trials are run");
        }
    }
}

#[test]
fn a_search_that_a_trial_ended_goes_on_without_it() {
    let plan = plan("ndr,pdr");
    let path = Path::new(1e6);
    let whole = run(&plan, &path);
    let spoiled = Path { invalid: |trial| trial == 7, ..path.clone() };
    let first = run(&plan, &spoiled);
    assert!(matches!(&first.outcome.ended, End::Invalid { trials, .. } if *trials == [7]));
    assert_eq!(stored(&first.trials).left(), 6, "what shows nothing is not taken");
    let mut record = Collected::default();
    let mut path = Path { trials: 7, ..path };
    let second = search::run(&plan, "a path", &mut path, stored(&first.trials), &mut record).unwrap();
    assert_eq!(second.outcome.ended, End::Complete);
    assert_eq!(conclusions(&second), conclusions(&whole));
    assert_eq!(second.outcome.trials[..7], [1, 2, 3, 4, 5, 6, 8]);
    assert_eq!(record.trials.len(), whole.trials.len() - 6);
    // More than the link can carry ends a search in the same way.
    let mut fast = first.trials[..6].to_vec();
    fast[5].line_rate_pps = Some(150.0);
    assert_eq!(stored(&fast).left(), 5);
}

#[test]
fn what_was_spent_before_counts_against_the_time_allowed() {
    let path = Path::new(1e6);
    let plan = SearchPlan { time_allowed: Some(Duration::from_secs(30)), ..plan("ndr,pdr") };
    // Each trial takes a second, and the whole search has 35.
    let first = stopped(&plan, &path, 20);
    let mut record = Collected::default();
    let mut path = Path { trials: 20, ..path };
    let second = search::run(&plan, "a path", &mut path, stored(&first.trials), &mut record).unwrap();
    assert_eq!((second.outcome.ended.clone(), record.trials.len()), (End::TimeUp, 10));
    let more = SearchPlan { time_allowed: None, ..plan };
    let third = search::run(&more, "a path", &mut path, stored(&second.trials), &mut record).unwrap();
    assert_eq!((third.outcome.ended, third.trials.len()), (End::Complete, 35));
    let mut numbers = third.outcome.trials.clone();
    numbers.dedup();
    assert_eq!(numbers, (1..=35).collect::<Vec<_>>(), "every trial has its own number");
}

#[test]
fn what_guards_sent_for_a_trial_counts_as_time_and_traffic() {
    let path = Path::new(1e6);
    let mut trials = stopped(&plan("ndr"), &path, 5).trials;
    let discarded = vec![Retried { because: NoiseOfAttempt::default(), trial: trials[0].clone() }];
    trials[1].guarding = Some(Box::new(Guarding { attempt: 2, discarded, recovery: None }));
    let more = SearchPlan { time_allowed: Some(Duration::from_secs(27)), ..plan("ndr") };
    let mut record = Collected::default();
    let mut path = Path { trials: 5, ..path.clone() };
    let outcome = search::run(&more, "a path", &mut path, stored(&trials), &mut record).unwrap().outcome;
    // Each trial takes a second, and so does the discarded attempt.
    let seconds = (outcome.trials.len() + 1) as f64;
    assert_eq!((outcome.sending_s, outcome.spent_s), (seconds, seconds));
}

#[test]
fn another_goal_uses_the_trials_that_it_can() {
    let path = Path::new(1e6);
    let ndr = run(&plan("ndr"), &path);
    let mut record = Collected::default();
    let both =
        search::run(&plan("ndr,pdr"), "a path", &mut path.clone(), stored(&ndr.trials), &mut record).unwrap();
    assert_eq!((both.trials.len(), record.trials.len()), (35, 35 - ndr.trials.len()));
    // Another width means other loads: then they are of no use, and that is said.
    let wide = plan("c:from=ndr,width=3%");
    let other = search::run(&wide, "a path", &mut path.clone(), stored(&ndr.trials), &mut record).unwrap();
    assert!(
        other.outcome.warning_facts.iter().any(|fact| matches!(fact, SearchWarning::UnusedTrials { .. })),
        "{:?}",
        other.outcome.warning_facts
    );
}

#[test]
fn trials_of_another_set_up_are_refused() {
    let path = Path::new(1e6);
    let first = stopped(&plan("ndr"), &path, 5);
    let mut other = first.trials.clone();
    other[2].profile.work = "touch".into();
    assert!(Stored::new(&other, |_| true).unwrap_err().contains("trial 3 is of another set-up"));
    let touching = |profile: &Profile| profile.work == "touch";
    let stored = Stored::new(&other, touching).unwrap();
    assert_eq!(stored.left(), 1);
    let refused = search::run(&plan("ndr"), "a path", &mut path.clone(), stored, &mut ()).unwrap();
    assert!(matches!(refused.outcome.ended, End::Failed { reason } if reason.contains("work touch")));
}

#[test]
fn trials_that_are_of_no_search_are_left_out() {
    let path = Path::new(1e6);
    let mut trials = stopped(&plan("ndr"), &path, 5).trials;
    trials[0].phase = Phase::BestEffort;
    let stored = Stored::new(&trials, |_| true).unwrap();
    assert_eq!(stored.left(), 4);
}

#[test]
fn who_is_killed_has_what_a_stop_would_have_left() {
    let (plan, path) = (plan("ndr,pdr"), Path::new(1e6));
    let mut following = Collected { follows_searches: true, ..Collected::default() };
    let whole = search::run(&plan, "a path", &mut path.clone(), Stored::default(), &mut following).unwrap();
    assert_eq!((following.searching.len(), &following.trials), (whole.trials.len(), &whole.trials));
    assert!(following.started.iter().all(|what| what.starts_with("a path, ")), "{:?}", following.started);
    for trials in [0, 1, 7, whole.trials.len() - 1] {
        let stopped = stopped(&plan, &path, trials).outcome;
        assert_eq!((stopped.trials.len(), &stopped.ended), (trials, &End::Stopped));
        assert_eq!(following.searching[trials], stopped);
    }
}
