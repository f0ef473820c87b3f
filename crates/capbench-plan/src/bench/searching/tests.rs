//! Which searches and confirmations run.

use super::*;
use crate::bench::BenchOutcome;
use crate::for_tests::{Collected, searching_bench_plan};
use crate::simulated::tampered::Tampered;
use crate::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_judge::thresholds::TURN_LENGTH;
use capbench_model::for_tests::{measured, profile, setup};
use capbench_model::laboratory::Setup;
use capbench_model::trial::Verdict;
use capbench_model::trial::{Load, Phase};

/// Trials of 400 ms for a precision of 5 %.
fn searching() -> Searching {
    searching_bench_plan(&["recv"]).searching.unwrap()
}

/// A trial of a second at maximum load.
fn at_maximum(number: u32, method: &str, sent: u64, lost: u64) -> TrialResult {
    let measured = measured(sent, sent, sent - lost, lost);
    let profile = profile(method);
    measured.result(number, Phase::BestEffort, &profile, Load::Maximum, Duration::from_secs(1))
}

fn of_method(method: &str, overload: TrialResult) -> Measured {
    let setup = Setup { method: method.parse().unwrap(), ..setup(64) };
    Measured { setup, overload, sustained: None }
}

#[test]
fn trials_show_an_excess_of_the_precision_after_20_ms() {
    assert_eq!(Searching::least_trial(Ratio::new(0.05).unwrap()), Duration::from_millis(400));
}

#[test]
fn trials_are_longer_if_the_searches_need_less_than_three_tenths_of_the_time() {
    // Ten trials of 1.6 s.
    for (left_s, trial_ms) in [(16.0 / 0.29, 1600), (16.0 / 0.31, 800)] {
        let longer = searching().longer(Duration::from_secs_f64(left_s), |searching| 10 * searching.trial);
        assert_eq!(longer.trial, Duration::from_millis(trial_ms), "{left_s} s are left");
    }
}

#[test]
fn a_search_begins_at_a_twentieth_of_what_was_read() {
    let plan = searching().plan(&at_maximum(1, "recv", 1_000_000, 600_000), 1).unwrap();
    assert_eq!(plan.least_pps.get(), 20_000.0);
}

#[test]
fn a_method_below_half_of_the_fastest_one_is_searched_coarsely_first() {
    for (delivered, is_fine) in [(510_000, true), (490_000, false)] {
        let one = of_method("recv", at_maximum(1, "recv", 1_000_000, 1_000_000 - delivered));
        assert_eq!(may_be_best(&one, None, 1e6), is_fine, "{delivered} of 1,000,000 packets/s");
    }
}

#[test]
fn a_method_that_was_sent_a_tenth_less_than_another_sustains_is_sent_more() {
    let plan = searching_bench_plan(&["recv", "packet-v3"]);
    for (sent, runs_again) in [(910_000, 0), (890_000, 1)] {
        let methods = ["recv", "packet-v3"].map(|name| SimulatedMethod::new(name, 2e6)).to_vec();
        let mut path = SimulatedLaboratory::new(1e6, methods);
        let mut record = Collected::default();
        let mut session = Session::new(&mut path, &mut record);
        let behind = at_maximum(2, "packet-v3", sent, 0);
        session.trials = vec![at_maximum(1, "recv", 1_000_000, 0), behind.clone()];
        let mut measured = of_method("packet-v3", behind);
        let progress = Progress::before(1, None);
        let ends_at = Duration::from_secs(60);
        plan.catch_up(&mut [&mut measured], ends_at, &progress, &mut session).unwrap();
        assert_eq!(session.trials.len() - 2, runs_again, "{sent} of 1,000,000");
    }
}

#[test]
fn an_answer_is_confirmed_up_to_five_times_each_time_a_hundredth_below_what_was_read() {
    // What lasts longer than a search's trials loses 6 %.
    let path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 4e5)]);
    let mut path = Tampered::new(path, |_, result: &mut TrialResult| {
        if result.duration_s > 1.9 {
            result.delivered -= result.delivered * 6 / 100;
            result.verdict = Verdict::Lossy;
        }
    });
    let plan = searching_bench_plan(&["recv"]);
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    let mut confirmations = outcome.trials;
    confirmations.retain(|trial| trial.phase == Phase::Confirmation);
    assert_eq!(confirmations.len(), 5);
    for pair in confirmations.windows(2) {
        let share = pair[1].intended_pps.unwrap() / pair[0].read_pps();
        assert!((0.985..0.995).contains(&share), "{share}");
    }
}

#[test]
fn a_plan_counts_five_trials_for_a_search() {
    let trials = |methods: &[&str]| searching_bench_plan(methods).trials();
    assert_eq!((trials(&["recv"]), trials(&["recv", "packet-v3"])), (8, 15));
}

/// A bench of two frame sizes with turns, of two methods that both lose frames at maximum load, in this time.
fn bench_with_turns(budget_s: u64) -> BenchOutcome {
    let budget = Duration::from_secs(budget_s);
    let plan = searching_bench_plan(&["recv", "packet-v3"]);
    let searching = plan.searching.map(|searching| Searching { budget, ..searching });
    let plan = BenchPlan { searching, turns: Some(budget), sizes: vec![setup(64), setup(1518)], ..plan };
    let methods = vec![SimulatedMethod::new("recv", 2e5), SimulatedMethod::new("packet-v3", 4e5)];
    let mut path = SimulatedLaboratory::new(1e6, methods);
    plan.run(&mut path, &mut Collected::default()).unwrap()
}

#[test]
fn all_set_ups_have_their_turns_before_the_rate_of_the_best_method_of_each_is_searched() {
    let outcome = bench_with_turns(60);
    let first_search = outcome.trials.iter().position(|trial| trial.phase == Phase::Search).unwrap();
    let last_turn = outcome.trials.iter().rposition(|trial| trial.phase == Phase::Turns).unwrap();
    assert!(last_turn < first_search, "{last_turn} {first_search}");
    let mut searched = Vec::new();
    for search in &outcome.searches {
        searched.push((
            search.method.as_ref().unwrap().to_string(),
            search.frame_size.as_ref().unwrap().to_string(),
        ));
    }
    let expected = [("packet-v3", "64"), ("packet-v3", "1518"), ("recv", "64"), ("recv", "1518")];
    assert_eq!(searched, expected.map(|(method, octets)| (method.to_string(), octets.to_string())));
    assert!(outcome.left_out.is_empty());
    for trial in outcome.trials.iter().filter(|trial| trial.phase == Phase::CommonLoad) {
        assert_eq!(trial.duration_s, TURN_LENGTH.as_secs_f64(), "turns compare the costs");
    }
}

#[test]
fn searches_for_which_turns_leave_no_time_are_named() {
    let mut has_some = false;
    for budget_s in 3..15 {
        let outcome = bench_with_turns(budget_s);
        let has_all = outcome.searches.len() >= 4;
        has_some |= !outcome.searches.is_empty() && !has_all;
        let mut searches_left_out = outcome.left_out;
        searches_left_out.retain(|left_out| left_out.part == PartOfBench::Searches);
        assert_eq!(searches_left_out.is_empty(), has_all, "{budget_s} s: {searches_left_out:?}");
    }
    assert!(has_some);
}

#[test]
fn a_set_up_whose_methods_cannot_take_turns_compares_costs_at_a_common_load() {
    let plan = BenchPlan { turns: Some(Duration::from_secs(60)), ..searching_bench_plan(&["recv"]) };
    let mut path = SimulatedLaboratory::new(1e6, vec![SimulatedMethod::new("recv", 4e5)]);
    let outcome = plan.run(&mut path, &mut Collected::default()).unwrap();
    assert!(outcome.trials.iter().any(|trial| trial.phase == Phase::CommonLoad));
    let ranking = recommend(&outcome.trials, &outcome.searches).unwrap().rankings.remove(0);
    assert!(ranking.equal_load_pps.is_some() && ranking.methods[0].cost.is_some());
}
