//! Rules about single trials and their sums: where packets are, when they were lost, and the bounds of a run without a conclusion.

use std::collections::BTreeMap;

use super::trials_of;
use crate::imports::{
    Account, Finding, LossPatternFinding, Results, TrialFinding, TrialResult, TriedLoad, Unfinished,
};

pub fn in_finding(fact: &TrialFinding, finding: &Finding, results: &Results) -> Vec<String> {
    let named = trials_of(results, &finding.trials);
    let mut all = Vec::new();
    match fact {
        TrialFinding::AccountedFor(account) => all.extend(against_account(account, results)),
        TrialFinding::Unexplained { packets, .. } => {
            all.extend(named.iter().filter(|trial| trial.unexplained != *packets).map(|trial| {
                format!(
                    "{packets} packets are unexplained, and {} in trial {}",
                    trial.unexplained, trial.number
                )
            }));
        }
        TrialFinding::Invalid { reason, invalid_trials, all_trials, .. } => {
            let of_reason =
                results.trials.iter().filter(|trial| trial.invalid_because.as_ref() == Some(reason)).count();
            let counted = [of_reason, results.trials.len()];
            let said = [*invalid_trials, *all_trials].map(|trials| trials as usize);
            if said != counted {
                all.push(format!("invalid and all are {counted:?}, not {said:?}"));
            }
        }
        TrialFinding::Noisy { noise, noisy_trials, all_trials, .. } => {
            let with_reason = named.iter().filter(|trial| trial.noise.reasons.contains(noise)).count();
            let counted = [with_reason, named.len(), results.trials.len()];
            let said = [*noisy_trials, *noisy_trials, *all_trials].map(|trials| trials as usize);
            if said != counted {
                all.push(format!("noisy, named and all are {counted:?}, not {said:?}"));
            }
        }
        TrialFinding::Livelock(livelocked) => {
            let trial = named.iter().find(|trial| trial.number == livelocked.trial);
            let shown = trial.map(|trial| (trial.offered_pps, trial.delivered_pps));
            if shown != Some((livelocked.offered_pps, livelocked.delivered_pps)) {
                all.push(format!("the trial in livelock has {shown:?}"));
            }
            if livelocked.delivered_pps >= livelocked.best.delivered_pps {
                all.push(format!("the best trial delivered {} packets/s", livelocked.best.delivered_pps));
            }
        }
        TrialFinding::ProgramReports(sums) => {
            let frames = |frames: fn(&TrialResult) -> u64| named.iter().map(|trial| frames(trial)).sum();
            let counted: [u64; 2] = [frames(|trial| trial.sent), frames(|trial| trial.delivered)];
            if [sums.sent, sums.delivered] != counted {
                all.push(format!("sent and delivered are {counted:?}"));
            }
        }
        _ => {}
    }
    all
}

/// Every sent frame was delivered, or is lost at a place.
fn against_account(account: &Account, results: &Results) -> Vec<String> {
    let mut lost: BTreeMap<&str, u64> = BTreeMap::new();
    let mut all = Vec::new();
    for trial in &results.trials {
        for (place, frames) in trial.losses() {
            *lost.entry(place.key()).or_default() += frames;
        }
        if trial.unexplained != 0 {
            all.push(format!("trial {} has {} unexplained packets", trial.number, trial.unexplained));
        }
    }
    let said: BTreeMap<&str, u64> = account.lost.iter().map(|lost| (lost.place.key(), lost.frames)).collect();
    if said != lost {
        all.push(format!("the trials lost {lost:?}"));
    }
    let sent: u64 = results.trials.iter().map(|trial| trial.sent).sum();
    if (account.sent_frames, account.trials as usize) != (sent, results.trials.len()) {
        all.push(format!("{sent} frames were sent in {} trials", results.trials.len()));
    }
    all
}

pub fn in_loss_pattern(fact: &LossPatternFinding, finding: &Finding, results: &Results) -> Vec<String> {
    let named = trials_of(results, &finding.trials);
    let mut all = Vec::new();
    match fact {
        LossPatternFinding::AtStart { lost, share, .. } => {
            for trial in named {
                let pattern = trial.loss_pattern.as_ref();
                let at_start = pattern.map(|pattern| (pattern.lost, pattern.lost_at_start));
                let is_shown = at_start.is_some_and(|(all, at_start)| {
                    all == *lost && (at_start as f64 - share * all as f64).abs() < 1.0
                });
                if !is_shown || trial.lost() == 0 {
                    all.push(format!(
                        "trial {} lost {at_start:?} frames, in all and at its start",
                        trial.number
                    ));
                }
            }
        }
        LossPatternFinding::WorstWindow { loss_ratio, trial_loss_ratio, .. }
        | LossPatternFinding::WorstFlow { loss_ratio, trial_loss_ratio, .. }
            if loss_ratio <= trial_loss_ratio =>
        {
            all.push("the worst part lost no more than the whole".into());
        }
        LossPatternFinding::UnmarkedLoss { ring_drops, without_mark, .. } if without_mark > ring_drops => {
            all.push(format!("the ring counted {ring_drops} frames"));
        }
        LossPatternFinding::RingLossConfirmed { ring_drops, .. } => {
            let marks = named.iter().filter_map(|trial| trial.loss_pattern.as_ref()?.marks);
            let counted: u64 = marks.clone().filter_map(|marks| marks.ring_drops).sum();
            if counted != *ring_drops || marks.clone().any(|marks| marks.drops_without_mark != Some(0)) {
                all.push(format!("the rings of the named trials counted {counted} frames, or lack marks"));
            }
        }
        _ => {}
    }
    all
}

/// The named trials have the loads that are said: one without loss, one with.
pub fn in_unfinished(fact: &Unfinished, results: &Results) -> Vec<String> {
    let mut all = Vec::new();
    let find = |tried: &TriedLoad| results.trials.iter().find(|trial| trial.number == tried.trial);
    for (tried, is_lossy) in [(&fact.lossless, false), (&fact.lossy, true)] {
        let Some(tried) = tried else { continue };
        let is_shown = find(tried)
            .is_some_and(|trial| (trial.lost() > 0) == is_lossy && trial.offered_pps == tried.offered_pps);
        if !is_shown {
            all.push(format!(
                "trial {} does not show what is said of {} packets/s",
                tried.trial, tried.offered_pps
            ));
        }
    }
    all
}
