//! Methods that captured far less of the load in question than noise explains. Disturbed trials can leave open what a method sustains, but
//! not of such a method.

use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};

use super::{SetUp, is_sound};
use crate::recommendation::{Question, Ranking};
use crate::run::RunFacts;
use crate::thresholds::FAR_BEHIND_SHARE;

/// The methods of a ranking that captured less than half of the load in each trial.
pub(super) fn far_behind<'r>(
    question: Question,
    ranking: &'r Ranking,
    run: &RunFacts<'_>,
) -> Vec<&'r SavedMethod> {
    let Question::CheapestAt { .. } = question else { return Vec::new() };
    let set_up = SetUp::of_ranking(ranking);
    let mut behind = Vec::new();
    for ranked in &ranking.methods {
        let mut trials: Vec<&TrialResult> = run.trials.iter().collect();
        trials.retain(|trial| {
            trial.phase == Phase::FixedLoad && trial.profile.method == ranked.method && set_up.includes(trial)
        });
        trials.retain(|trial| is_sound(trial));
        if !trials.is_empty() && trials.iter().all(|trial| captures_little(trial)) {
            behind.push(&ranked.method);
        }
    }
    behind
}

fn captures_little(trial: &TrialResult) -> bool {
    (trial.delivered as f64) < FAR_BEHIND_SHARE * trial.sent as f64
}
