//! What the trials show if a run ended before its conclusions: the highest load without loss, and the lowest with loss.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::{TrialResult, Verdict};
use serde::Serialize;

use super::{Finding, Found};
use crate::run::RunFacts;
use crate::sustained::captures_all;

/// The bounds of loss in a run without a conclusion.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Unfinished {
    /// Trials of the run.
    pub trials: u32,
    /// Whether the run was stopped before its end.
    #[schemars(default)]
    pub is_stopped: bool,
    /// The highest load without loss; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossless: Option<TriedLoad>,
    /// The lowest load with loss; absent if there was none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lossy: Option<TriedLoad>,
}

/// The load of a trial.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TriedLoad {
    /// The trial.
    pub trial: u32,
    /// Its method.
    pub method: SavedMethod,
    /// Its offered load in packets per second.
    pub offered_pps: f64,
}

/// The highest load without loss, and the lowest with loss.
pub fn unfinished(run: &RunFacts<'_>) -> Found {
    let trials = run.trials;
    let mut lossless: Option<&TrialResult> = None;
    let mut lossy: Option<&TrialResult> = None;
    for trial in trials.iter().filter(|trial| trial.verdict != Verdict::Invalid) {
        if trial.lost() > 0 {
            if lossy.is_none_or(|known| trial.offered_pps < known.offered_pps) {
                lossy = Some(trial);
            }
        } else if captures_all(trial) {
            // Of equal loads, the last one counts.
            if lossless.is_none_or(|known| trial.offered_pps >= known.offered_pps) {
                lossless = Some(trial);
            }
        }
    }
    let shown = lossless.into_iter().chain(lossy).map(|trial| trial.number);
    let fact = Unfinished {
        trials: trials.len() as u32,
        is_stopped: !run.complete,
        lossless: lossless.map(tried_load),
        lossy: lossy.map(tried_load),
    };
    Found::new(Finding::Unfinished(fact), shown.collect::<Vec<_>>())
}

fn tried_load(trial: &TrialResult) -> TriedLoad {
    TriedLoad { trial: trial.number, method: trial.profile.method.clone(), offered_pps: trial.offered_pps }
}
