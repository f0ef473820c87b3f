//! What a search makes of paths and of interruptions.

use capbench_judge::search::warning::{ChanceToSuffice, SearchWarning, SelfTestCause};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use crate::search;
use capbench_frames::rates::Pps;

use super::paths::{Changing, Path, bounds, plan, run, search, stopped};
use crate::for_tests::Collected;
use crate::guards::{Guarded, Policy};
use crate::search::Stored;
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::search::{End, MaximumSource, Ratio, Reason, SearchPlan, Status, parse};
use capbench_model::for_tests::setup;
use capbench_model::laboratory::Laboratory;
use capbench_model::trial::{Load, Phase, TrialResult};

#[test]
fn the_generator_is_tested_first_and_its_limit_is_no_throughput() {
    let path = Path { generator: 800_000.0, ..Path::new(2e6) };
    let finished = run(&SearchPlan { maximum_pps: None, ..plan("ndr,pdr,rfc2544") }, &path);
    let maximum = finished.outcome.maximum.unwrap();
    assert_eq!((maximum.load_pps.get(), maximum.source), (800_000.0, MaximumSource::Generator));
    let tested = maximum.self_test.unwrap();
    assert_eq!((tested.unpaced_pps, tested.held, tested.tries.len()), (800_000.0, true, 3));
    for goal in &finished.outcome.goals {
        assert_eq!(goal.status, Status::AtLeast);
        assert_eq!(goal.lower.as_ref().unwrap().achieved_pps, 800_000.0);
        assert_eq!(goal.reason, Some(Reason::MaximumLoad { limit: MaximumSource::Generator }));
    }
    assert!(finished.trials[..3].iter().all(|trial| trial.phase == Phase::SelfTest));
    assert!(finished.trials[3..].iter().all(|trial| trial.phase == Phase::Search));
}

#[test]
fn unsent_frames_count_as_lost_and_never_as_the_methods_limit() {
    // The user asks for more than the generator can send.
    let finished = run(&plan("ndr"), &Path { generator: 700_000.0, ..Path::new(2e6) });
    let goal = &finished.outcome.goals[0];
    assert_eq!((goal.status, goal.reason.as_ref()), (Status::AtLeast, Some(&Reason::GeneratorFellShort)));
    let lower = goal.lower.as_ref().unwrap();
    assert!(lower.achieved_pps <= 700_000.0 && lower.achieved_pps > 690_000.0, "{lower:?}");
}

#[test]
fn unsent_frames_are_counted_among_the_trials_of_the_question() {
    // After its self-test of three trials the generator sends 99 % of each load.
    let falls_short = |path: &mut Path, load: Load| {
        path.generator = match load {
            Load::Rate(rate) if path.trials >= 3 => 0.99 * rate.get(),
            _ => 8e5,
        };
        Ok(())
    };
    let plan = SearchPlan { maximum_pps: None, ..plan("ndr") };
    let finished = search(&plan, &mut Changing(Path::new(5e5), falls_short));
    let of_question = finished.trials.iter().filter(|trial| trial.phase == Phase::Search).count();
    assert_eq!(of_question + 3, finished.trials.len());
    let unsent = finished.outcome.warning_facts.iter().find_map(|fact| match fact {
        SearchWarning::UnsentFrames { trials, all_trials } => Some((trials.len(), *all_trials as usize)),
        _ => None,
    });
    assert_eq!(unsent, Some((of_question, of_question)));
}

#[test]
fn a_lower_bound_is_given_at_the_load_that_was_sent() {
    // A few frames are left unsent, within the tolerance.
    let rounding = |path: &mut Path, load: Load| {
        path.generator = load.pps().unwrap_or(f64::INFINITY) - 3.0;
        Ok(())
    };
    let finished = search(&plan("ndr"), &mut Changing(Path::new(1e6), rounding));
    let goal = &finished.outcome.goals[0];
    let lower = goal.lower.as_ref().unwrap();
    assert_eq!(goal.status, Status::Regular);
    assert!((2.0..5.0).contains(&(lower.intended_pps - lower.achieved_pps)), "{lower:?}");
}

#[test]
fn a_generator_that_is_slower_by_plan_is_found_out() {
    let paced = |path: &mut Path, load: Load| {
        path.generator = if load == Load::Maximum { 1e6 } else { 900_000.0 };
        Ok(())
    };
    let plan = SearchPlan { maximum_pps: None, ..plan("quick") };
    let finished = search(&plan, &mut Changing(Path::new(5e5), paced));
    let maximum = finished.outcome.maximum.unwrap();
    assert_eq!(maximum.load_pps.get(), 900_000.0);
    assert!(maximum.self_test.is_some_and(|test| test.held && test.unpaced_pps == 1e6));
    assert!(finished.outcome.goals.iter().all(|goal| goal.status == Status::Regular));
}

#[test]
fn a_host_that_stalls_is_told_from_a_generator_that_reaches_no_more() {
    // A generator that reaches a million, on a host that takes a part of some trials from it.
    let plan = SearchPlan { maximum_pps: None, ..plan("quick") };
    // The part that is left to it depends on the number of the trial.
    let tested = |left: fn(u32) -> f64| {
        let stalling = |path: &mut Path, _| {
            path.generator = 1e6 * left(path.trials + 1);
            Ok(())
        };
        search(&plan, &mut Changing(Path::new(2e5), stalling)).outcome
    };
    // Once without a plan, and once by plan: what it reaches is found all the same.
    let outcome = tested(|trial| if trial == 1 || trial == 3 { 0.69 } else { 1.0 });
    assert_eq!(outcome.maximum.unwrap().load_pps.get(), 1e6);
    assert!(
        outcome.warning_facts.contains(&SearchWarning::SelfTestRate {
            planned_pps: 1e6,
            offered_pps: vec![690_000.0, 1e6],
            cause: SelfTestCause::Host,
        }),
        "{:?}",
        outcome.warning_facts
    );
    // Three times, by about as much: from what it reached it goes up again.
    let outcome = tested(|trial| if (3..6).contains(&trial) { 0.6 + f64::from(trial) / 50.0 } else { 1.0 });
    let maximum = outcome.maximum.unwrap();
    assert_eq!(maximum.load_pps.get(), 925_000.0, "{maximum:?}");
    let tries = maximum.self_test.unwrap().tries;
    assert_eq!(tries.len(), 8);
    assert_eq!(tries.iter().filter(|paced| !paced.held).count(), 3);
}

#[test]
fn the_line_rate_is_the_limit_where_the_generator_reaches_it() {
    let line_rate = Some("1000000".parse().unwrap());
    let plan = SearchPlan { maximum_pps: None, ..plan("quick") };
    let finished = run(&plan, &Path { generator: 1_000_100.0, line_rate, ..Path::new(2e6) });
    assert_eq!(finished.outcome.plan.line_rate_pps, line_rate, "what the trial says is saved");
    assert_eq!(finished.outcome.maximum.as_ref().unwrap().source, MaximumSource::LineRate);
    let goal = &finished.outcome.goals[0];
    assert_eq!((goal.status, goal.lower.as_ref().unwrap().achieved_pps), (Status::AtLeast, 1e6));
    assert_eq!(goal.reason, Some(Reason::MaximumLoad { limit: MaximumSource::LineRate }));
    // 0.1 % above it no clock explains.
    let finished = run(&plan, &Path { generator: 1_001_000.0, line_rate, ..Path::new(2e6) });
    assert_eq!(finished.outcome.ended, End::AboveLineRate { trial: 1 });
    assert_eq!(finished.trials.len(), 1, "the trial is kept");
}

#[test]
fn a_path_that_holds_nothing_has_no_lower_bound() {
    let finished = run(&plan("ndr,rfc2544"), &Path::new(500.0));
    assert_eq!(finished.outcome.ended, End::Complete);
    for goal in &finished.outcome.goals {
        assert_eq!((goal.status, goal.reason.as_ref()), (Status::Irregular, Some(&Reason::LeastLoadNotHeld)));
        assert_eq!(goal.upper.as_ref().unwrap().intended_pps, 1000.0);
    }
}

#[test]
fn a_generator_that_does_not_send_the_lowest_load_says_nothing_of_the_path() {
    let finished = run(&plan("ndr,rfc2544"), &Path { generator: 900.0, ..Path::new(2e6) });
    assert_eq!(finished.outcome.ended, End::Complete);
    for goal in &finished.outcome.goals {
        assert_eq!((goal.status, goal.reason.as_ref()), (Status::Irregular, Some(&Reason::LeastLoadNotSent)));
        assert!(goal.lower.is_none());
    }
}

#[test]
fn bounds_are_found_wherever_the_capacity_is() {
    for capacity in [1000.5, 1004.0, 1010.0, 5e3, 77_777.0, 1.2e6, 1.48e6, 1.4875e6] {
        let finished = run(&plan("ndr,rfc2544"), &Path::new(capacity));
        for name in ["ndr", "rfc2544"] {
            let (lower, upper) = bounds(&finished, name);
            let (lower, upper) = (lower.unwrap(), upper.unwrap());
            // A trial has a whole number of frames.
            assert!(lower < capacity + 1.0 && capacity < upper + 1.0, "{name}: {lower} {capacity} {upper}");
            assert!((upper - lower) / upper <= 0.005, "{name}: {lower} {upper}");
        }
    }
}

#[test]
fn a_load_that_is_held_above_one_that_is_not_is_passed_over() {
    let path = Path { hole: Some((400_000.0, 700_000.0)), ..Path::new(1e6) };
    let finished = run(&plan("low:from=ndr;rfc2544"), &path);
    let (_, upper) = bounds(&finished, "rfc2544");
    let (lower, _) = bounds(&finished, "low");
    // Whatever was tried first: once a load in the hole is known, none above it counts.
    assert!(upper.unwrap() > 0.0 && lower.unwrap() <= 1e6);
    for goal in &finished.outcome.goals {
        let (lower, upper) = (goal.lower.as_ref().unwrap(), goal.upper.as_ref().unwrap());
        let lossy = |trial: &&TrialResult| {
            trial.loss_ratio > 0.0 && trial.intended_pps.unwrap() <= lower.intended_pps
        };
        assert_eq!(finished.trials.iter().filter(lossy).count(), 0, "{goal:?}");
        assert!(lower.intended_pps < upper.intended_pps);
    }
}

#[test]
fn time_that_is_up_leaves_an_irregular_result_with_every_trial() {
    let whole = run(&plan("ndr,pdr"), &Path::new(1e6));
    let hurried = SearchPlan { time_allowed: Some(Duration::from_secs(30)), ..plan("ndr,pdr") };
    // The estimate says that it may not suffice, not that it cannot.
    let finished = run(&hurried, &Path::new(1e6));
    assert_eq!((finished.outcome.ended.clone(), finished.trials.len()), (End::TimeUp, 30));
    assert_eq!(finished.trials, whole.trials[..30]);
    let warns = |fact: &SearchWarning| matches!(fact, SearchWarning::MayNotSuffice { .. });
    assert!(finished.outcome.warning_facts.iter().any(warns));
    let pdr = &finished.outcome.goals[1];
    assert_eq!(
        (pdr.status, pdr.reason.clone()),
        (Status::Irregular, Some(Reason::Ended { end: End::TimeUp }))
    );
    assert!(pdr.lower.is_some(), "what is known is given");
    assert_eq!(finished.outcome.goals[0].status, Status::Regular, "it was finished before");
}

#[test]
fn a_stop_or_a_failure_keeps_the_trials() {
    let finished = stopped(&plan("ndr"), &Path::new(1e6), 4);
    assert_eq!((finished.outcome.ended, finished.trials.len()), (End::Stopped, 4));
    let breaking = |path: &mut Path, _| match path.trials {
        ..4 => Ok(()),
        _ => Err(capbench_model::TrialError::Laboratory("there is no interface eth9".into())),
    };
    let finished = search(&plan("ndr"), &mut Changing(Path::new(1e6), breaking));
    assert!(matches!(finished.outcome.ended, End::Failed { reason } if reason.contains("eth9")));
    assert_eq!(finished.trials.len(), 4);
}

#[test]
fn goals_share_trials() {
    let alone: usize =
        ["ndr", "pdr"].map(|goal| run(&plan(goal), &Path::new(1e6)).trials.len()).into_iter().sum();
    let together = run(&plan("ndr,pdr"), &Path::new(1e6)).trials.len();
    assert!(together < alone * 3 / 4, "{together} together, {alone} alone");
    // What short trials lost, long ones need not lose again.
    let with = run(&plan("ndr,rfc2544"), &Path::new(1e6)).trials;
    let long = with.iter().filter(|trial| trial.duration_s == 60.0).count();
    assert!(long < run(&plan("rfc2544"), &Path::new(1e6)).trials.len(), "{long}");
}

#[test]
fn strict_ndr_pdr_and_loss_events_are_shown_together() {
    // Rare bursts on a path with room for 1 million frames a second.
    let path = Path { bursts_per_s: 0.1, seed: 2, ..Path::new(1e6) };
    let finished = run(&plan("ndr,pdr"), &path);
    let numbers = &finished.outcome.numbers;
    let (strict, ndr) = (numbers.strict_lossless.pps, numbers.ndr.pps.unwrap());
    assert!(strict.is_none_or(|strict| strict < ndr), "{numbers:#?}");
    assert!((ndr - 996_665.0).abs() < 5000.0 && numbers.pdr.pps.unwrap() >= ndr, "{numbers:#?}");
    let events = numbers.loss_events.as_ref().unwrap();
    assert!(events.lossy_trials > 0 && !events.at_least);
    assert!((0.02..0.5).contains(&events.per_second), "{events:?}");

    let quiet = run(&plan("ndr,pdr"), &Path::new(1e6)).outcome.numbers;
    assert_eq!(quiet.strict_lossless.pps, quiet.ndr.pps);
    assert_eq!(quiet.strict_lossless.seconds, 11.0, "it says as much as its seconds");
    assert_eq!(quiet.loss_events.unwrap().events, 0);
    let strict = run(&plan("strict-capture"), &Path::new(1e6)).outcome.numbers;
    assert_eq!((strict.ndr.by.as_str(), strict.pdr.by.as_str()), ("ndr", "pdr"), "by the presets");
    assert_eq!(strict.ndr.pps, strict.strict_lossless.pps);
}

#[test]
fn plans_that_contradict_themselves_are_refused() {
    let rate = |text: &str| text.parse().unwrap();
    let cases = [
        (SearchPlan { goals: Vec::new(), ..plan("ndr") }, "there is no goal"),
        (plan("ndr,ndr"), "two goals are called ndr"),
        (SearchPlan { maximum_pps: Some(rate("1000")), ..plan("ndr") }, "is not above the least"),
        (SearchPlan { burst_frames: 2000, ..plan("ndr") }, "shorter than a burst of 2000"),
        (SearchPlan { time_allowed: Some(Duration::from_secs(5)), ..plan("ndr") }, "5s is too short"),
        (
            SearchPlan { time_allowed: Some(Duration::from_secs(59)), ..plan("rfc2544,tst009") },
            "59s is too short",
        ),
    ];
    for (plan, expected) in cases {
        let error =
            search::run(&plan, "a path", &mut Path::new(1e6), Stored::default(), &mut ()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
    let slow = Path { line_rate: Some(rate("148809.5")), ..Path::new(1e6) };
    for (plan, expected) in [
        (plan("ndr"), "1,488,095 packets/s, is above the line rate, 148,809 packets/s"),
        (SearchPlan { least_pps: rate("148810"), ..plan("ndr") }, "is not below the line rate, 148,809"),
    ] {
        let mut record = Collected::default();
        let error =
            search::run(&plan, "a path", &mut slow.clone(), Stored::default(), &mut record).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
        assert!(record.trials.is_empty());
    }
    // The generator's limit may be held at once; else it takes longer, and that is said.
    let hurried = SearchPlan { time_allowed: Some(Duration::from_secs(300)), ..plan("rfc2544,tst009") };
    let warnings = search::validate(&hurried).unwrap();
    assert!(
        warnings.iter().any(|warning| matches!(
            warning,
            SearchWarning::MayNotSuffice { chance: ChanceToSuffice::HardlyBelowMaximum, .. }
        )),
        "{warnings:?}"
    );
    let slow =
        run(&SearchPlan { maximum_pps: None, ..plan("ndr") }, &Path { generator: 900.0, ..Path::new(1e6) });
    assert!(
        matches!(slow.outcome.ended, End::Failed { ref reason } if reason.contains("reaches 900 packets/s only"))
    );
    assert_eq!(slow.trials.len(), 2);
}

#[test]
fn the_estimate_is_what_a_quiet_path_costs() {
    let estimate = search::estimate(&plan("ndr,pdr")).unwrap();
    assert_eq!(estimate.at_maximum.trials, 11);
    let cost = run(&plan("ndr,pdr"), &Path::new(1e6)).trials.len() as u32;
    assert!((estimate.below.least.trials..=estimate.below.most.trials).contains(&cost), "{estimate:?}");
    let tested = search::estimate(&SearchPlan { maximum_pps: None, ..plan("ndr,pdr") }).unwrap();
    assert_eq!(tested.at_maximum.trials, 14, "with the self-test");
}

/// A quick search on shared hosts of two CPUs, of load 0.6 to 15, took 36 to 57 s with up to 36 trials, and has 12 on a quiet one.
#[test]
fn a_quick_search_takes_as_long_as_the_estimate_says() {
    let quiet = Duration::from_millis(500);
    let quick = SearchPlan { quiet, ..SearchPlan::new(parse("quick").unwrap()) };
    let estimate = search::estimate(&quick).unwrap();
    assert_eq!(estimate.below.median.trials, 12);
    assert!((30..=42).contains(&estimate.noisy.median.trials), "{estimate:?}");
    let time = estimate.time(quiet, 1);
    let seconds = [time.quiet, time.disturbed].map(|time| time.as_secs_f64());
    assert!(seconds[0] < 36.0 && (57.0..57.0 * 1.5).contains(&seconds[1]), "{seconds:?}");
}

/// Six searches for the highest load without loss, of trials of 0.3 s, took 214 s with 179 trials while other programs ran.
#[test]
fn searches_of_short_trials_take_as_long_as_the_estimate_says() {
    let quiet = Duration::from_millis(500);
    let goals = parse("mine:loss=0%,duration=300ms,sum=1s,width=5%").unwrap();
    let estimate = search::estimate(&SearchPlan { quiet, ..SearchPlan::new(goals) }).unwrap();
    let seconds = estimate.time(quiet, 6).disturbed.as_secs_f64();
    assert!((214.0 / 1.5..214.0 * 1.5).contains(&seconds), "{seconds} s");
}

#[test]
fn noise_of_an_estimate_costs_2_percent_of_the_frames_of_a_trial() {
    let [less, more] = [0.015, 0.025].map(|loss_ratio| {
        let mut goals = parse("quick").unwrap();
        for goal in &mut goals {
            goal.loss_ratio = Ratio::new(loss_ratio).unwrap();
        }
        search::estimate(&SearchPlan::new(goals)).unwrap().noisy.median.trials
    });
    assert!(less > more, "{less} trials if goals allow less than it, {more} if they allow more");
}

#[test]
fn the_line_rate_of_a_guarded_link_caps_the_self_test_and_refuses_what_is_above() {
    let line: Pps = "500000.4".parse().unwrap();
    let method = SimulatedMethod::new("packet-v3", 2e6);
    let path = SimulatedLaboratory::new(1e6, vec![method]).line_rate(line);
    let stop = Arc::new(AtomicBool::new(false));
    let mut laboratory = Guarded::new(path, Policy::default(), stop);
    let mut trial = laboratory.prepare(&setup(64)).unwrap();
    let mut record = Collected::default();
    let error = search::run(&plan("ndr"), "a path", &mut *trial, Stored::default(), &mut record).unwrap_err();
    assert!(error.to_string().contains("above the line rate, 500,000 packets/s"), "{error}");
    assert!(record.trials.is_empty(), "before anything is sent");
    let tested = SearchPlan { maximum_pps: None, ..plan("ndr") };
    let finished = search::run(&tested, "a path", &mut *trial, Stored::default(), &mut record).unwrap();
    let maximum = finished.outcome.maximum.unwrap();
    assert_eq!((maximum.load_pps.get(), maximum.source), (500_000.0, MaximumSource::LineRate));
    assert_eq!(finished.outcome.ended, End::Complete);
}

#[test]
fn goals_with_trials_below_a_minute_get_a_warning() {
    for (seconds, is_short) in [(48, true), (75, false)] {
        let mut plan = plan("ndr");
        plan.goals[0].final_duration = Duration::from_secs(seconds);
        plan.goals[0].duration_sum = plan.goals[0].duration_sum.max(Duration::from_secs(seconds));
        let warnings = search::validate(&plan).unwrap();
        let is_warned = warnings.iter().any(|warning| matches!(warning, SearchWarning::ShortTrials { .. }));
        assert_eq!(is_warned, is_short, "{seconds} s: {warnings:?}");
    }
}
