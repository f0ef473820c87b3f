//! What a run shows.

use capbench_model::disturbance::{CpuDisturbance, Disturbance};
use capbench_model::loss_pattern::{LossPattern, Window};
use capbench_model::trial::{Phase, TrialResult};

use super::trial;
use crate::finding::bench::{BenchFinding, BenchVerdict};
use crate::finding::{Finding, bench, loss_pattern};
use crate::limit::Limit;
use crate::recommendation::{Conclusion, Question, Ranking, Recommendation, recommend};
use crate::run::RunFacts;

/// Number of facts about a trial of 100,000 frames that lost frames in this pattern.
fn facts(pattern: LossPattern) -> usize {
    let lossy = TrialResult { loss_pattern: Some(pattern), ..trial(100_000, 1000) };
    loss_pattern::find(&[lossy]).len()
}

/// Losses of a trial of 100,000 frames, of which one window had some.
struct AtStart {
    windows: u64,
    lost: u64,
    /// How many of them were lost in the first window.
    lost_at_start: u64,
}

impl AtStart {
    fn is_fact(&self) -> bool {
        let lossy_windows = 1;
        let pattern = LossPattern::in_windows(100_000, self.lost, self.windows, lossy_windows);
        facts(LossPattern { lost_at_start: self.lost_at_start, ..pattern }) == 1
    }
}

#[test]
fn loss_at_the_start_needs_five_windows() {
    assert!(AtStart { windows: 5, lost: 1000, lost_at_start: 1000 }.is_fact());
    assert!(!AtStart { windows: 4, lost: 1000, lost_at_start: 1000 }.is_fact());
}

#[test]
fn loss_at_the_start_needs_a_hundred_lost_frames() {
    assert!(AtStart { windows: 10, lost: 100, lost_at_start: 100 }.is_fact());
    assert!(!AtStart { windows: 10, lost: 99, lost_at_start: 99 }.is_fact());
}

#[test]
fn loss_at_the_start_is_nine_tenths_of_all_that_is_lost() {
    assert!(AtStart { windows: 10, lost: 1000, lost_at_start: 910 }.is_fact());
    assert!(!AtStart { windows: 10, lost: 1000, lost_at_start: 890 }.is_fact());
}

/// Whether the worst window of a trial that lost 1 % of its frames is a fact.
fn is_worst_window_fact(sent: u64, lost: u64) -> bool {
    let worst_window = Some(Window { from_ns: 0, length_ns: 100_000_000, sent, lost });
    let lossy_in_all_windows = LossPattern::in_windows(100_000, 1000, 10, 10);
    facts(LossPattern { worst_window, ..lossy_in_all_windows }) == 1
}

#[test]
fn a_window_is_a_fact_if_it_lost_three_times_the_share_of_the_trial() {
    assert!(!is_worst_window_fact(10_000, 290), "2.9 % of its frames");
    assert!(is_worst_window_fact(10_000, 310), "3.1 % of its frames");
    assert!(!is_worst_window_fact(1000, 99), "less than a hundred frames");
    assert!(is_worst_window_fact(1000, 101));
}

/// Whether a fact says that one thread has no time for the load.
fn is_no_time(fact: &Finding) -> bool {
    let Finding::Bench(bench::BenchFinding::Verdict(verdict)) = fact else { return false };
    matches!(verdict, bench::BenchVerdict::NoTime { .. })
}

#[test]
fn an_application_has_no_time_if_it_fills_a_cpu_by_a_fifth_more() {
    // At 100,000 packets/s, 12,000 ns a packet fill 1.2 CPUs.
    for (app_ns, has_no_time) in [(11_900.0, false), (12_100.0, true)] {
        let mut lossy = TrialResult { phase: Phase::FixedLoad, ..trial(100_000, 5000) };
        lossy.cpu.app_ns_per_packet = Some(app_ns);
        let trials = [lossy];
        let question = Question::CheapestAt { pps: 100_000.0 };
        let mut ranking: Ranking = recommend(&trials, &[]).unwrap().rankings.remove(0);
        // It is asked only where the trials name no method, and the application limits one.
        ranking.conclusion = Conclusion::Nothing;
        ranking.methods[0].limited_by = Some(Limit::Application);
        let known = Recommendation { question, method: None, certainty: None, rankings: vec![ranking] };
        let run = RunFacts::of_trials(&trials);
        let answers = bench::answers(Some(&known), &run, &[]);
        assert_eq!(answers.iter().any(|found| is_no_time(&found.fact)), has_no_time, "{app_ns} ns");
    }
}

/// Whether packet-v3 may sustain a load of which it captured this share, while others took all of the time of a CPU. recv sustains it.
fn may_sustain(captured: f64) -> bool {
    let mut trials = Vec::new();
    for (number, method, share) in [(1, "recv", 1.0), (2, "packet-v3", captured)] {
        let lost = ((1.0 - share) * 100_000.0) as u64;
        let mut trial = TrialResult { number, phase: Phase::FixedLoad, ..trial(100_000, lost) };
        trial.profile.method = method.into();
        trial.loss_pattern = None;
        if lost > 0 {
            let cpus = vec![CpuDisturbance {
                window_ns: 1_000_000_000,
                steal_ns: 1_000_000_000,
                ..Default::default()
            }];
            trial.disturbance = Disturbance { cpus, sending_ns: 1_000_000_000, ..Disturbance::default() };
        }
        trials.push(trial);
    }
    let recommendation = recommend(&trials, &[]).unwrap();
    let run = RunFacts::of_trials(&trials);
    let answers = bench::answers(Some(&recommendation), &run, &[]);
    let may =
        matches!(&answers[0].fact, Finding::Bench(BenchFinding::Verdict(BenchVerdict::UseMeanwhile { .. })));
    let only = matches!(&answers[0].fact, Finding::Bench(BenchFinding::Verdict(BenchVerdict::Use { .. })));
    assert!(may || only, "{answers:?}");
    let undecided = recommendation.headline().unwrap().undecided();
    assert_eq!(undecided.len() > 1, may, "what is saved and what is said agree");
    may
}

#[test]
fn a_method_that_captured_less_than_half_of_a_load_does_not_sustain_it() {
    assert!(may_sustain(0.55));
    assert!(!may_sustain(0.45));
}
