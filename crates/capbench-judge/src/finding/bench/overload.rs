//! What the methods lose at maximum load, by the worst trial of each at the generator's maximum rate.

use std::cmp::Ordering;

use capbench_model::places::Place;
use capbench_model::saved::SavedMethod;
use capbench_model::trial::{Phase, TrialResult};
use capbench_statistics::by_key;
use serde::Serialize;

use super::pauses::Paused;
use super::{BenchFinding, SetUp, found, is_sound};
use crate::finding::Found;
use crate::recommendation::Ranking;
use crate::run::RunFacts;
use crate::sustained::buffered_frames;

/// The loss of a method at maximum load.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct OverloadLoss {
    /// The method.
    pub method: SavedMethod,
    /// Share of the sent frames that it lost.
    pub loss_ratio: f64,
    /// The offered load in packets per second.
    pub offered_pps: f64,
    /// Where it lost most of them; absent if unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<Place>,
}

/// The trial of each method at maximum load that lost the largest share, the smallest share first.
pub fn at_overload<'r>(ranking: &Ranking, trials: &'r [TrialResult]) -> Vec<&'r TrialResult> {
    let set_up = SetUp::of_ranking(ranking);
    let at_maximum = trials
        .iter()
        .filter(|trial| trial.phase == Phase::BestEffort && is_sound(trial) && set_up.includes(trial));
    let mut worst = Vec::new();
    for (_, trials) in by_key(at_maximum, |trial| &trial.profile.method) {
        worst.extend(trials.into_iter().max_by(by_loss));
    }
    worst.sort_by(by_loss);
    worst
}

fn by_loss(one: &&TrialResult, other: &&TrialResult) -> Ordering {
    one.sent_loss_ratio().total_cmp(&other.sent_loss_ratio())
}

/// The methods that lose least and most at maximum load, and where; `None` if none loses frames.
pub(super) fn overload(ranking: &Ranking, run: &RunFacts<'_>, paused: &[Paused<'_>]) -> Option<Found> {
    let mut worst = at_overload(ranking, run.trials);
    worst.retain(|trial| !is_of_pause(trial, paused));
    // The smallest share of lost frames is first, so the largest is last.
    let most = worst.last().filter(|trial| trial.lost() > 0)?;
    let mut lossless = Vec::new();
    let mut behind = Vec::new();
    for trial in worst.iter().filter(|trial| trial.lost() == 0) {
        let methods = if buffered_frames(trial, 1) > 0 { &mut behind } else { &mut lossless };
        methods.push(trial.profile.method.clone());
    }
    let has_least = lossless.is_empty() && behind.is_empty() && worst.len() > 1;
    let least = has_least.then(|| loss(worst[0]));
    let fact = BenchFinding::Overload { lossless, behind, least, most: loss(most) };
    Some(found(fact, worst.iter().map(|trial| trial.number)))
}

/// Whether the losses of a trial are not counted, because the host stopped the capture thread.
fn is_of_pause(trial: &TrialResult, paused: &[Paused<'_>]) -> bool {
    paused.iter().flat_map(|method| &method.lossy).any(|lossy| lossy.number == trial.number)
}

fn loss(trial: &TrialResult) -> OverloadLoss {
    OverloadLoss {
        method: trial.profile.method.clone(),
        loss_ratio: trial.sent_loss_ratio(),
        offered_pps: trial.offered_pps,
        place: trial.losses().first().map(|(place, _)| *place),
    }
}
