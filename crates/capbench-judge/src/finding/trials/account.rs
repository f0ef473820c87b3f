//! Whether every packet is accounted for, and what was not verified.

use std::collections::BTreeMap;

use capbench_model::ledger::LostAt;
use capbench_model::trial::TrialResult;

use super::{Account, TrialFinding, found, methods, numbers};
use crate::finding::{Found, OddFrames};
use crate::sustained::buffered_frames;

/// Invalid trials, by reason.
pub(super) fn invalid(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_reason: BTreeMap<&str, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.invalid_because {
            by_reason.entry(reason).or_default().push(trial);
        }
    }
    let mut all = Vec::new();
    for (reason, invalid) in by_reason {
        let fact = TrialFinding::Invalid {
            reason: reason.into(),
            invalid_trials: invalid.len() as u32,
            all_trials: trials.len() as u32,
            methods: methods(&invalid),
        };
        all.push(found(fact, numbers(&invalid)));
    }
    all
}

/// Counts of sent frames that only the generator has, by the reason.
pub(super) fn unverified_senders(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_reason: BTreeMap<&str, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials {
        for reason in trial.generators.iter().filter_map(|generator| generator.unverified_because.as_ref()) {
            by_reason.entry(reason).or_default().push(trial);
        }
    }
    let mut all = Vec::new();
    for (reason, unverified) in by_reason {
        let fact = TrialFinding::SentUnverified { reason: reason.into() };
        all.push(found(fact, numbers(&unverified)));
    }
    all
}

/// That no packet of any trial is unexplained, and where the lost ones are.
pub(super) fn accounted_for(trials: &[TrialResult]) -> Option<Found> {
    if trials.is_empty() || trials.iter().any(|trial| trial.unexplained != 0) {
        return None;
    }
    let account = Account {
        trials: trials.len() as u32,
        sent_frames: trials.iter().map(|trial| trial.sent).sum(),
        is_sent_unverified: trials.iter().any(is_sent_unverified),
        buffered_frames: trials.iter().map(|trial| buffered_frames(trial, 1)).sum(),
        lost: LostAt::sum(trials.iter().flat_map(TrialResult::losses)),
    };
    Some(found(TrialFinding::AccountedFor(account), trials.iter().map(|trial| trial.number)))
}

fn is_sent_unverified(trial: &TrialResult) -> bool {
    trial.generators.iter().any(|generator| generator.unverified_because.is_some())
}

/// Trials with packets that no counter explains.
pub(super) fn unexplained(trials: &[TrialResult]) -> Vec<Found> {
    let mut all = Vec::new();
    for trial in trials.iter().filter(|trial| trial.unexplained != 0) {
        let fact = TrialFinding::Unexplained {
            trial: trial.number,
            method: trial.profile.method.clone(),
            packets: trial.unexplained,
        };
        all.push(found(fact, [trial.number]));
    }
    all
}

/// Trials with frames that arrived otherwise than they were sent.
pub(super) fn odd_frames(trials: &[TrialResult]) -> Vec<Found> {
    let mut all = Vec::new();
    for trial in trials {
        let frames = OddFrames {
            foreign: trial.foreign,
            duplicates: trial.duplicates,
            reordered: trial.reordered,
            truncated: trial.truncated,
            corrupt: trial.corrupt,
        };
        if frames == OddFrames::default() {
            continue;
        }
        let method = trial.profile.method.clone();
        let fact = TrialFinding::OddFrames { trial: trial.number, method, frames };
        all.push(found(fact, [trial.number]));
    }
    all
}

/// Methods whose frames only they themselves have seen, by the reason.
pub(super) fn unverified_methods(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_reason: BTreeMap<_, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.unverified_because {
            by_reason.entry((&trial.profile.method, reason)).or_default().push(trial);
        }
    }
    let mut all = Vec::new();
    for ((method, reason), unverified) in by_reason {
        let fact = TrialFinding::MethodUnverified { method: method.clone(), reason: reason.clone() };
        all.push(found(fact, numbers(&unverified)));
    }
    all
}
