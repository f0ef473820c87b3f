//! Rules about tests of RFC 2544: a throughput is a load without loss, and a loss is that of a trial.

use super::trials_of;
use crate::imports::{
    FoundThroughput, Phase, Results, Rfc2544Answer, TestFact, TestResult, Throughput, TrialResult, Verdict,
};

/// A trial at a load offered at least this share of it: a load may lack as much, and rates are rounded.
const ABOUT: f64 = 0.99;
/// Shares of a load in percent, and shares of frames, are rounded by less.
const ROUNDED: f64 = 0.01;

pub fn in_answer(answer: &Rfc2544Answer, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    match answer {
        Rfc2544Answer::NotRepeatable { contradiction, .. } => {
            let trials = trials_of(results, &contradiction.trials);
            let is_shown = trials.iter().any(|trial| {
                trial.lost() > 0
                    && trial.offered_pps == contradiction.at_pps
                    && trial.offered_pps * ABOUT <= contradiction.throughput_pps
            });
            if !is_shown {
                all.push("no named trial lost frames at or below the throughput".into());
            }
        }
        Rfc2544Answer::Throughput { set_ups } => {
            all.extend(set_ups.iter().filter_map(|set_up| against_throughput(set_up, results)));
        }
        Rfc2544Answer::Loss { tests } | Rfc2544Answer::Time { tests } => {
            all.extend(tests.iter().filter_map(|test| against_test(test, results)));
        }
    }
    all
}

/// A trial without loss offered the throughput. A fixture has no trials of its searches, not even others.
fn against_throughput(Throughput { found, trials, .. }: &Throughput, results: &Results) -> Option<String> {
    let pps = match found {
        FoundThroughput::Nothing { .. } => return None,
        FoundThroughput::Regular { pps }
        | FoundThroughput::AtLeast { pps, .. }
        | FoundThroughput::NotSettled { pps } => *pps,
    };
    let named = trials_of(results, trials);
    let is_shown = named.iter().any(|trial| trial.lost() == 0 && trial.offered_pps >= ABOUT * pps);
    let has_searches = results.trials.iter().any(|trial| trial.phase == Phase::Search);
    (!is_shown && has_searches).then(|| format!("no named trial from {pps:.0} packets/s on is without loss"))
}

/// What is said of the highest load is so in its trial.
fn against_test(test: &TestResult, results: &Results) -> Option<String> {
    let mut trials = trials_of(results, &test.trials);
    trials.retain(|trial| trial.phase == Phase::FrameLoss && trial.verdict != Verdict::Invalid);
    let highest = trials.iter().max_by(|one, other| one.offered_pps.total_cmp(&other.offered_pps));
    let lost = highest.map(|trial| trial.sent_loss_ratio());
    match &test.fact {
        TestFact::NoneLost { .. } if lost.is_some_and(|lost| lost > 0.0) => {
            Some(format!("the highest load lost {lost:?} of its frames"))
        }
        TestFact::SomeLost { highest, .. }
            if lost.is_some_and(|lost| (lost - highest.loss_ratio).abs() > ROUNDED) =>
        {
            Some(format!("the highest load lost {lost:?} of its frames, not {}", highest.loss_ratio))
        }
        TestFact::SomeLost { lossless_percent: Some(percent), maximum_pps, .. } => {
            let pps = percent / 100.0 * maximum_pps;
            let is_at_load = |trial: &&&TrialResult| (trial.offered_pps / pps - 1.0).abs() < ROUNDED;
            let at_load: Vec<_> = trials.iter().filter(is_at_load).collect();
            let is_lossy = !at_load.is_empty() && at_load.iter().all(|trial| trial.lost() > 0);
            is_lossy.then(|| format!("each trial at {percent} % lost frames"))
        }
        _ => None,
    }
}
