//! Shares of trials, frames and values from which on they decide. Of five, two do not and three do.

use capbench_model::disturbance::{CpuDisturbance, Stall};
use capbench_model::ledger::Entry;
use capbench_model::loss_pattern::{Burst, LossPattern, Position};
use capbench_model::places::Place;
use capbench_model::trial::{Phase, TrialResult};

use super::comparisons::compared_runs;
use super::trial;
use crate::comparison::{Judgement, Measure, NotCompared};
use crate::finding::Finding;
use crate::finding::trials::{LostMeanwhile, TrialFinding, find};
use crate::search::bound::Backlogged;

/// The judgement of the losses of two runs of twenty trials. So many of the second one lost frames, each less than is reported.
fn judgement_of_new_loss(lossy: u64) -> Judgement {
    let mut then = Vec::new();
    let mut now = Vec::new();
    for nth in 0..20 {
        let number = nth as u32 + 1;
        let lost = if nth < lossy { 5 } else { 0 };
        then.push(TrialResult { number, ..trial(100_000, 0) });
        now.push(TrialResult { number, ..trial(100_000, lost) });
    }
    let mut contrasts = compared_runs(&then, &now).contrasts.into_iter();
    contrasts.find(|contrast| contrast.measure == Measure::LossRatio).expect("it is compared").judgement
}

#[test]
fn a_loss_of_most_trials_where_none_was_is_a_regression_of_any_size() {
    assert_eq!(judgement_of_new_loss(8), Judgement::BelowThreshold);
    assert_eq!(judgement_of_new_loss(12), Judgement::Regression);
}

/// A trial at maximum load.
fn at_maximum(number: u32, delivered_pps: f64, lost: u64) -> TrialResult {
    TrialResult {
        number,
        phase: Phase::BestEffort,
        intended_pps: None,
        delivered_pps,
        ..trial(100_000, lost)
    }
}

/// Trials that are left out because the generator made the second run slower, which lost nothing in so many of five trials.
fn trials_of_generator(lossless: u32) -> u32 {
    let mut then = Vec::new();
    let mut now = Vec::new();
    for number in 1..=5 {
        then.push(at_maximum(number, 1e5, 100));
        now.push(at_maximum(number, 9e4, if number <= lossless { 0 } else { 100 }));
    }
    // A trial at a fixed load is compared in any case, so that the runs have something in common.
    let fixed = TrialResult { number: 6, phase: Phase::FixedLoad, ..trial(100_000, 0) };
    then.push(fixed.clone());
    now.push(fixed);
    let mut trials = 0;
    for left_out in compared_runs(&then, &now).left_out {
        if left_out.because == NotCompared::RateOfGenerator {
            trials += left_out.trials;
        }
    }
    trials
}

#[test]
fn a_rate_is_the_generators_if_most_trials_lost_nothing() {
    assert_eq!(trials_of_generator(2), 0);
    assert_eq!(trials_of_generator(3), 10);
}

#[test]
fn a_load_is_too_high_because_of_backlogged_frames_if_they_are_most_of_the_missing_ones() {
    assert!(!Backlogged { frames: 40, all_frames: 100 }.decides());
    assert!(Backlogged { frames: 60, all_frames: 100 }.decides());
}

/// What a trial lost while its CPU stalled, by the frames of 100 that it lost in the backlog.
fn lost_while_stalled(in_backlog: u64) -> Option<LostMeanwhile> {
    let mut trial = trial(100_000, 100);
    trial.ledger = Vec::new();
    for (place, frames) in [(Place::Backlog, in_backlog), (Place::Ring, 100 - in_backlog)] {
        trial.ledger.push(Entry { place, count: Some(frames), source: String::new(), source_fact: None });
    }
    let stall = Stall { until_ns: 2_000_000, at_least_ns: 1_000_000, at_most_ns: 2_000_000 };
    trial.disturbance.cpus = vec![CpuDisturbance { stalls: Some(vec![stall]), ..CpuDisturbance::default() }];
    let burst = Burst {
        first: 100,
        frames: 70,
        from_ns: 1_000_000,
        to_ns: 1_700_000,
        position: Position::Steady,
        marked: None,
    };
    let pattern = LossPattern::in_windows(100_000, 100, 10, 1);
    trial.loss_pattern = Some(LossPattern { longest: vec![burst], ..pattern });
    for found in find(&[trial], Vec::new()) {
        if let Finding::Trials(TrialFinding::Stalled(stalled)) = found.fact {
            return stalled.lost_meanwhile;
        }
    }
    panic!("no stall was found")
}

#[test]
fn what_a_stalled_cpu_lost_is_reported_if_the_backlog_lost_most() {
    assert_eq!(lost_while_stalled(40), None);
    let all = LostMeanwhile { lost_frames: 100, while_stalled_frames: 70 };
    assert_eq!(lost_while_stalled(60), Some(all));
}
