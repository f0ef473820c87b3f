//! What a run shows.

use capbench_model::environment::Environment;
use capbench_model::loss_pattern::Window;

use super::*;
use crate::finding::{Finding, bench, loss_pattern};
use crate::limit::Limit;
use crate::recommendation::{Conclusion, Question, Ranking, Recommendation, recommend};
use crate::run::RunFacts;

/// Facts about the loss pattern of a trial of 100,000 frames.
fn facts(pattern: LossPattern) -> usize {
    let lossy = TrialResult { loss_pattern: Some(pattern), ..trial(100_000, 1000) };
    loss_pattern::find(&[lossy]).len()
}

#[test]
fn loss_is_at_the_start_in_five_windows_of_a_hundred_frames_nine_tenths_of_them() {
    let at_start = |windows, lost, lost_at_start| {
        facts(LossPattern { lost_at_start, ..LossPattern::in_windows(100_000, lost, windows, 1) })
    };
    assert_eq!((at_start(5, 1000, 1000), at_start(4, 1000, 1000)), (1, 0), "windows");
    assert_eq!((at_start(10, 100, 100), at_start(10, 99, 99)), (1, 0), "lost frames");
    assert_eq!((at_start(10, 1000, 910), at_start(10, 1000, 890)), (1, 0), "share of them at the start");
}

#[test]
fn a_window_is_a_fact_if_it_lost_three_times_the_share_of_the_trial() {
    // The trial lost 1 %.
    let worst = |sent, lost| {
        let worst_window = Some(Window { from_ns: 0, length_ns: 100_000_000, sent, lost });
        facts(LossPattern { worst_window, ..LossPattern::in_windows(100_000, 1000, 10, 10) })
    };
    assert_eq!((worst(10_000, 290), worst(10_000, 310)), (0, 1));
    assert_eq!((worst(1000, 99), worst(1000, 101)), (0, 1), "a hundred frames");
}

#[test]
fn an_application_has_no_time_if_it_fills_a_cpu_by_a_fifth_more() {
    for (app_ns, has_no_time) in [(11_900.0, false), (12_100.0, true)] {
        let mut lossy = TrialResult { phase: Phase::FixedLoad, ..trial(100_000, 5000) };
        lossy.cpu.app_ns_per_packet = Some(app_ns);
        let trials = [lossy];
        let question = Question::CheapestAt { pps: 100_000.0 };
        let mut ranking: Ranking = recommend(&trials, &[]).unwrap().rankings.remove(0);
        ranking.conclusion = Conclusion::Nothing;
        ranking.methods[0].limited_by = Some(Limit::Application);
        let known = Recommendation { question, method: None, certainty: None, rankings: vec![ranking] };
        let run = RunFacts {
            command: &[],
            started_unix_s: 1,
            complete: true,
            environment: &Environment::default(),
            statements: &[],
            trials: &trials,
            searches: &[],
            sweeps: &[],
            soak: None,
        };
        let is_no_time = |fact: &Finding| {
            let Finding::Bench(bench::BenchFinding::Verdict(verdict)) = fact else { return false };
            matches!(verdict, bench::BenchVerdict::NoTime { .. })
        };
        let answers = bench::answers(Some(&known), &run);
        assert_eq!(answers.iter().any(|found| is_no_time(&found.fact)), has_no_time, "{app_ns} ns");
    }
}
