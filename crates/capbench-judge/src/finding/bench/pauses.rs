//! Losses at loads that a method is said to sustain. The ranking does not count them: they are of single moments, in which the
//! host stopped the capture thread, or no second trial repeats them.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::TrialResult;
use serde::Serialize;

use super::{BenchFinding, SetUp, is_sound};
use crate::finding::Found;
use crate::recommendation::Ranking;
use crate::run::RunFacts;
use crate::sustained::is_higher;

/// A method with losses in pauses of the host.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct PausedMethod {
    /// The method.
    pub method: SavedMethod,
    /// How many trials ran at loads up to the highest that it is said to sustain.
    pub trials: u32,
    /// How many of them lost frames.
    pub lossy_trials: u32,
    /// The largest share of the sent frames that one of them lost.
    pub largest_loss_ratio: f64,
}

/// A method that lost frames at loads that it sustains.
pub(super) struct Paused<'r> {
    pub(super) method: &'r SavedMethod,
    /// Number of its trials at such loads.
    trials: u32,
    /// Those of them that lost frames, at least one.
    pub(super) lossy: Vec<&'r TrialResult>,
}

/// The methods of a ranking that lost frames at loads that they sustain.
pub(super) fn paused<'r>(ranking: &'r Ranking, run: &RunFacts<'r>) -> Vec<Paused<'r>> {
    let set_up = SetUp::of_ranking(ranking);
    let mut all = Vec::new();
    for ranked in &ranking.methods {
        let Some(highest_pps) = ranked.lossless.lower_pps else { continue };
        let mut paused = Paused { method: &ranked.method, trials: 0, lossy: Vec::new() };
        for trial in run.trials.iter().filter(|trial| is_sound(trial) && set_up.includes(trial)) {
            if trial.profile.method == ranked.method && !is_higher(trial.offered_pps, highest_pps) {
                paused.trials += 1;
                if trial.lost() > 0 {
                    paused.lossy.push(trial);
                }
            }
        }
        if !paused.lossy.is_empty() {
            all.push(paused);
        }
    }
    all
}

/// The fact about these methods; `None` if there are none.
pub(super) fn found(paused: &[Paused<'_>]) -> Option<Found> {
    if paused.is_empty() {
        return None;
    }
    let mut methods = Vec::new();
    for method in paused {
        methods.push(PausedMethod {
            method: method.method.clone(),
            trials: method.trials,
            lossy_trials: method.lossy.len() as u32,
            largest_loss_ratio: method.lossy.iter().map(|trial| trial.sent_loss_ratio()).fold(0.0, f64::max),
        });
    }
    let trials = paused.iter().flat_map(|method| &method.lossy).map(|trial| trial.number);
    Some(super::found(BenchFinding::Paused { methods }, trials))
}
