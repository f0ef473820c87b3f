//! Set-ups in receive livelock, and placements whose offered load depends on the receiver.

use std::collections::BTreeMap;

use capbench_model::trial::{Livelock, TrialResult};

use super::{LivelockedTrial, TrialFinding, found, numbers};
use crate::finding::Found;

/// A trial in livelock, and the trial of its set-up that delivered most.
#[derive(Clone, Copy)]
struct Livelocked<'r> {
    trial: &'r TrialResult,
    best: Livelock,
}

/// Set-ups that deliver less at a higher load: the trial that delivered least against the best.
pub(super) fn livelocks(trials: &[TrialResult]) -> Vec<Found> {
    // By the number of the best trial, which is the same for all trials of a set-up.
    let mut worst_by_best: BTreeMap<u32, Livelocked<'_>> = BTreeMap::new();
    for trial in trials {
        let Some(best) = trial.livelock else { continue };
        let livelocked = Livelocked { trial, best };
        let worst = worst_by_best.entry(best.against).or_insert(livelocked);
        if trial.delivered_pps < worst.trial.delivered_pps {
            *worst = livelocked;
        }
    }
    let mut all = Vec::new();
    for Livelocked { trial, best } in worst_by_best.into_values() {
        let livelocked = LivelockedTrial {
            trial: trial.number,
            method: trial.profile.method.clone(),
            frame_size: trial.profile.frame_size.clone(),
            placement: trial.profile.placement.clone(),
            work: trial.profile.work.clone(),
            offered_pps: trial.offered_pps,
            delivered_pps: trial.delivered_pps,
            best,
        };
        all.push(found(TrialFinding::Livelock(livelocked), [best.against, trial.number]));
    }
    all
}

/// Trials whose offered load depended on the receiver, by placement and reason.
pub(super) fn dependences(trials: &[TrialResult]) -> Vec<Found> {
    let mut by_reason: BTreeMap<_, Vec<&TrialResult>> = BTreeMap::new();
    for trial in trials {
        if let Some(reason) = &trial.profile.load_depends_because {
            by_reason.entry((&trial.profile.placement, reason)).or_default().push(trial);
        }
    }
    let mut all = Vec::new();
    for ((placement, reason), dependent) in by_reason {
        let fact = TrialFinding::LoadDepends { placement: placement.clone(), reason: reason.clone() };
        all.push(found(fact, numbers(&dependent)));
    }
    all
}
