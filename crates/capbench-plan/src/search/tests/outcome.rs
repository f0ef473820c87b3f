//! Results of a search that ends early, on a host that loses frames now and then, and of repeated searches.

use std::time::Duration;

use crate::search;

use super::paths::{Path, plan, run};
use crate::for_tests::Collected;
use crate::search::{Finished, Stored};
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::limit::Limit;
use capbench_judge::search::ranking;
use capbench_judge::search::{End, GoalResult, Reason, SearchOutcome, SearchPlan, Status};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Laboratory;
use capbench_model::places::Place;

/// A host that loses 500 frames in a moment, once in two seconds, at any load.
fn stalling() -> Path {
    Path { generator: 1.4e6, bursts_per_s: 0.5, seed: 7, ..Path::new(1e6) }
}

fn read_back(outcome: &SearchOutcome) -> SearchOutcome {
    serde_json::from_str(&serde_json::to_string(outcome).unwrap()).unwrap()
}

#[test]
fn a_search_that_ends_early_says_what_coarser_targets_decided() {
    let mut coarser = 0;
    for trials in 3..35 {
        let mut record = Collected::stopping_after(trials);
        let mut path = Path::new(1e6);
        let finished =
            search::run(&plan("ndr,pdr"), "a path", &mut path, Stored::default(), &mut record).unwrap();
        for goal in &finished.outcome.goals {
            let has_both = goal.lower.is_some() && goal.upper.is_some();
            let Some(so_far) = &goal.so_far else { continue };
            assert!(!has_both && goal.status == Status::Irregular, "{goal:?}");
            let low = so_far.lower.intended_pps;
            let high = so_far.upper.intended_pps;
            let forwarded = 1.0 - goal.goal.loss_ratio.get();
            assert!(low * forwarded < 1_000_001.0 && high * forwarded > 1e6, "{low} {high}");
            assert!((so_far.relative_width - (high - low) / high).abs() < 1e-12);
            assert!(so_far.duration_sum < goal.goal.duration_sum);
            // What the goal itself has decided is no nearer to the limit.
            assert!(goal.lower.as_ref().is_none_or(|lower| lower.intended_pps <= low), "{goal:?}");
            assert!(goal.upper.as_ref().is_none_or(|upper| upper.intended_pps >= high), "{goal:?}");
            coarser += 1;
        }
    }
    assert!(coarser > 5, "{coarser}");
}

#[test]
fn the_traffic_allowed_counts_neither_drains_nor_anything_else() {
    let second = Duration::from_secs(1);
    let plan = SearchPlan { traffic_allowed: Some(30 * second), ..plan("ndr,pdr") };
    let first = run(&plan, &Path::new(1e6));
    assert_eq!((first.outcome.ended.clone(), first.trials.len()), (End::TrafficUp, 30));
    // Stored trials that drained for long count for what they sent.
    let mut drained = first.trials.clone();
    for trial in &mut drained {
        trial.drain_s = 2.0;
    }
    let more = SearchPlan { traffic_allowed: Some(32 * second), ..plan.clone() };
    let mut path = Path { trials: 30, ..Path::new(1e6) };
    let stored = Stored::new(&drained, |_| true).unwrap();
    let second_run = search::run(&more, "a path", &mut path, stored, &mut ()).unwrap();
    assert_eq!((second_run.outcome.ended, second_run.trials.len()), (End::TrafficUp, 32));
    assert!(second_run.outcome.spent_s > 90.0);
    let refused =
        search::validate(&SearchPlan { traffic_allowed: Some(second), ..plan }).unwrap_err().to_string();
    assert!(refused.contains("1s of traffic is too short"), "{refused}");
}

#[test]
fn at_least_is_said_only_where_the_load_that_the_generator_could_not_send_is_near() {
    let path = Path { generator: 700_000.0, ..Path::new(2e6) };
    let goal = "s:loss=0,duration=1s,sum=1s,exceed=0,targets=0";
    let mut early = 0;
    for trials in 1..40 {
        let mut record = Collected::stopping_after(trials);
        let finished =
            search::run(&plan(goal), "a path", &mut path.clone(), Stored::default(), &mut record).unwrap();
        let goal = &finished.outcome.goals[0];
        let is_over = finished.outcome.ended == End::Complete;
        let width = goal.relative_width;
        let is_near = width.is_some_and(|width| width <= 0.005 + 1e-9);
        assert_eq!(goal.status == Status::AtLeast, is_over || is_near, "{goal:?}");
        assert_eq!(goal.reason == Some(Reason::GeneratorFellShort), is_over || is_near, "{goal:?}");
        assert!(goal.status == Status::AtLeast || !finished.outcome.numbers.pdr.at_least);
        assert!(goal.conditional_throughput_pps.is_none() || goal.status != Status::AtLeast);
        early += u32::from(width.is_some() && !is_near);
    }
    assert!(early > 0, "some were stopped with bounds far apart");
}

#[test]
fn loss_events_are_those_of_every_load_that_is_no_overload() {
    let finished = run(&SearchPlan { maximum_pps: None, ..plan("ndr,pdr") }, &stalling());
    let numbers = &finished.outcome.numbers;
    let events = numbers.loss_events.as_ref().unwrap();
    assert!(events.up_to_pps <= 1e6 && events.up_to_pps > 9e5, "{events:?}");
    assert!(events.events > 3 && events.lossy_trials > 3, "whatever was decided: {events:?}");
    let [least, most] = events.per_second_limits.unwrap();
    assert!(least < events.per_second && events.per_second < most && least < 0.5 && 0.5 < most, "{events:?}");
    // A quiet path says what it says by its seconds.
    let quiet = run(&plan("ndr"), &Path::new(1e6)).outcome.numbers.loss_events.unwrap();
    let [least, most] = quiet.per_second_limits.unwrap();
    assert_eq!((quiet.events, least), (0, 0.0));
    assert!((most - 2.9957 / quiet.seconds).abs() < 1e-3);
}

#[test]
fn a_path_that_holds_nothing_has_no_rate_of_loss_events_and_a_strict_upper_bound() {
    let numbers = run(&plan("ndr"), &Path::new(400.0)).outcome.numbers;
    assert_eq!(numbers.loss_events, None);
    let strict = &numbers.strict_lossless;
    assert_eq!((strict.pps, strict.upper_pps, strict.at_least), (None, Some(1000.0), false));
    assert!(strict.seconds.is_sign_positive(), "nothing is 0 and not -0");
}

#[test]
fn where_frames_were_lost_and_what_limits_stand_with_the_upper_bound() {
    let mut laboratory = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("packet-v3", 400_000.0)]);
    let mut trial = laboratory.prepare(&setup(64)).unwrap();
    let plan = SearchPlan { maximum_pps: None, ..plan("ndr") };
    let finished = search::run(&plan, "a path", &mut *trial, Stored::default(), &mut ()).unwrap();
    let goal = &read_back(&finished.outcome).goals[0];
    let losses = goal.upper.as_ref().unwrap().losses.as_ref().unwrap();
    assert_eq!(losses.lost[0].place, Place::Ring);
    assert!(matches!(goal.limit, Some(Limit::RingOrApplication | Limit::Application)), "{:?}", goal.limit);
    assert_eq!(goal.lower.as_ref().unwrap().losses, None);
    // Early versions said nothing of it.
    let mut early = serde_json::to_value(&finished.outcome).unwrap();
    let goal = early["goals"][0].as_object_mut().unwrap();
    for key in ["so_far", "apart", "limit"] {
        goal.remove(key);
    }
    for bound in ["lower", "upper"] {
        let bound = goal[bound].as_object_mut().unwrap();
        bound.retain(|key, _| ["intended_pps", "achieved_pps", "seconds", "trials"].contains(&key.as_str()));
    }
    early["numbers"]["loss_events"].as_object_mut().unwrap().remove("per_second_limits");
    early["plan"].as_object_mut().unwrap().remove("traffic_allowed_s");
    let early: SearchOutcome = serde_json::from_value(early).unwrap();
    let goal = &early.goals[0];
    assert_eq!(
        (goal.limit, goal.distinction, goal.upper.as_ref().unwrap().losses.as_ref()),
        (None, None, None)
    );
}

/// The `nth` search of a set-up, on a path whose capacity varies by a hundredth.
fn nth_search(nth: u32, seed: u64) -> Finished {
    let mut path = Path { noise: 0.01, seed, ..Path::new(1e6) };
    search::run_nth(&plan("ndr"), Some(nth), "a path", &mut path, Stored::default(), &mut ()).unwrap()
}

#[test]
fn searches_of_a_set_up_are_said_together_with_their_spread() {
    let finished: Vec<_> = (1..=7).map(|number| nth_search(number, u64::from(number))).collect();
    assert!(finished[2].trials.iter().all(|trial| trial.search == Some(3)));
    let outcomes: Vec<_> = finished.iter().map(|finished| read_back(&finished.outcome)).collect();
    let lower = |result: &GoalResult| result.lower.as_ref().unwrap().achieved_pps;
    let mut found: Vec<_> = outcomes.iter().map(|outcome| lower(&outcome.goals[0])).collect();
    found.sort_by(f64::total_cmp);
    let all = ranking::repeated(&outcomes);
    let [repeated] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!((repeated.searches, repeated.regular, repeated.without), (7, 7, 0));
    assert_eq!(
        (repeated.least_pps, repeated.lower_pps.median, repeated.most_pps),
        (found[0], found[3], found[6])
    );
    assert_eq!(repeated.lower_pps.low, Some(found[0]));
    assert_eq!(repeated.lower_pps.level.map(|level| (level * 100.0).round()), Some(98.0));
    assert!(ranking::repeated(&outcomes[..1]).is_empty(), "one alone has no spread");
}

/// The goals that give a search its NDR and its PDR.
#[derive(Debug, PartialEq)]
struct Givers {
    ndr: String,
    pdr: String,
}

/// Which goals give NDR and PDR where these goals are searched for.
fn givers(goals: &str) -> Givers {
    let numbers = run(&plan(goals), &Path::new(1e6)).outcome.numbers;
    Givers { ndr: numbers.ndr.by, pdr: numbers.pdr.by }
}

#[test]
fn ndr_and_pdr_are_those_of_the_goals_that_are_called_so_or_ask_for_the_same() {
    let expected = |ndr: &str, pdr: &str| Givers { ndr: ndr.into(), pdr: pdr.into() };
    assert_eq!(givers("ndr,pdr"), expected("ndr", "pdr"));
    // What others call so, or what allows for some loss, is another thing.
    for goals in ["nfvbench-ndr,nfvbench-pdr", "trex-like,pdr", "tst009,ndr", "quick", "strict-capture"] {
        assert_eq!(givers(goals), expected("ndr", "pdr"), "{goals}");
    }
    assert_eq!(givers("mine:from=pdr,width=1%;tst009"), expected("ndr", "mine"));
    assert_eq!(givers("ndr:loss=0,duration=2s,sum=10s;other:from=ndr"), expected("ndr", "pdr"));
}

#[test]
fn the_goals_of_others_lend_no_bounds_to_ndr_and_pdr() {
    let outcome = run(&plan("trex-like,pdr"), &Path::new(1e6)).outcome;
    let goal = |name: &str| outcome.goals.iter().find(|result| result.goal.name == name).unwrap();
    let lower = |name: &str| goal(name).lower.as_ref().unwrap().achieved_pps;
    assert_eq!(outcome.numbers.pdr.pps, Some(lower("pdr")));
    assert!(lower("trex-like") < lower("pdr"));
}
