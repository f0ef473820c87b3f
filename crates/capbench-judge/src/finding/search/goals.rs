//! Facts about the goals of a search: what limits them, how far their bounds can be trusted, and the bounds.

use capbench_statistics::by_key;
use serde::Serialize;

use super::{SearchFinding, SetUp, each_once, of_one_search};
use crate::finding::Found;
use crate::limit::Limit;
use crate::search::bound::Trials;
use crate::search::{Backlogged, GoalResult, HighLoss, Losses, SearchOutcome, SoFar, Status};

/// What one or several goals of a search show.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum GoalFact {
    /// What the upper bound lost, and what limits it.
    Losses(GoalLosses),
    /// The bounds are in doubt.
    Doubts {
        /// The bounds can differ by chance; absent if the trials distinguish them.
        by_chance: Option<BoundsByChance>,
        /// The host disturbed trials that decide the bounds; absent if it disturbed none.
        disturbed: Option<DisturbedTrials>,
    },
    /// Loss at the upper bound is from single moments, not from too high a load.
    Stalls {
        /// Intervals of 100 ms with a loss.
        lossy_windows: u64,
        /// All intervals of 100 ms.
        windows: u64,
    },
}

/// The losses of an upper bound.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct GoalLosses {
    /// The intended load of the upper bound, frames per second.
    pub at_pps: f64,
    /// What its trials lost; absent if they lost nothing.
    pub losses: Option<Losses>,
    /// Frames in buffers when sending ended, which count as lost; absent if there were none.
    pub backlogged: Option<Backlogged>,
    /// What limits; absent if unknown.
    pub limit: Option<Limit>,
}

/// Bounds that can differ by chance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct BoundsByChance {
    /// High-loss trials at the lower bound.
    pub lower: HighLoss,
    /// High-loss trials at the upper bound.
    pub upper: HighLoss,
    /// The probability that chance makes this difference.
    pub probability: f64,
    /// The nearest loads around them that are distinguished, lower one first, frames per second; absent if there are none.
    pub nearest_pps: Option<[f64; 2]>,
}

/// Trials that the host disturbed, among all that decide the bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct DisturbedTrials {
    /// Disturbed trials.
    pub disturbed: usize,
    /// All trials.
    pub trials: usize,
}

/// Bounds of a target that requires less trial time than the goal.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CoarserBounds {
    /// Maximum trial time that decides a load, in seconds.
    pub seconds_per_load: f64,
    /// The load that the lower bound offered, frames per second.
    pub lower_pps: f64,
    /// The intended load of the upper bound, frames per second.
    pub upper_pps: f64,
    /// Their distance as a share of the upper one.
    pub relative_width: f64,
}

impl CoarserBounds {
    fn new(so_far: &SoFar) -> Self {
        Self {
            seconds_per_load: so_far.duration_sum.as_secs_f64(),
            lower_pps: so_far.lower.achieved_pps,
            upper_pps: so_far.upper.intended_pps,
            relative_width: so_far.relative_width,
        }
    }
}

/// One kind of fact about the goals of a search. Goals that show the same share a fact.
pub(super) fn shared(
    search: &SearchOutcome,
    trials: &Trials<'_>,
    fact_of: fn(&GoalResult, &Trials<'_>) -> Option<GoalFact>,
) -> Vec<Found> {
    let mut found = Vec::new();
    for (fact, goals) in by_key(&search.goals, |goal| fact_of(goal, trials)) {
        let Some(shows) = fact else { continue };
        let names = goals.iter().map(|goal| goal.goal.name.clone()).collect();
        let trials = goals.iter().flat_map(|goal| goal.trials()).collect();
        let fact = SearchFinding::Goals { set_up: SetUp::of_search(search), goals: names, shows };
        found.push(of_one_search(search, fact, each_once(trials)));
    }
    found
}

/// The limit, and where frames were lost at the upper bound.
pub(super) fn losses(goal: &GoalResult, trials: &Trials<'_>) -> Option<GoalFact> {
    let upper = goal.best_upper()?;
    if upper.losses.is_none() && upper.backlogged.is_none() {
        return None;
    }
    Some(GoalFact::Losses(GoalLosses {
        at_pps: upper.intended_pps,
        losses: upper.losses.clone(),
        backlogged: upper.backlogged,
        limit: goal.limit_by_trials(trials),
    }))
}

/// How far the bounds can be trusted: they may differ by chance, or depend on trials that the host disturbed.
pub(super) fn doubts(goal: &GoalResult, _: &Trials<'_>) -> Option<GoalFact> {
    let (lower, upper) = goal.best_bounds()?;
    let by_chance = by_chance(goal);
    let mut disturbed = None;
    let disturbed_trials = lower.disturbed.len() + upper.disturbed.len();
    if disturbed_trials > 0 {
        let trials = lower.trials.len() + upper.trials.len();
        disturbed = Some(DisturbedTrials { disturbed: disturbed_trials, trials });
    }
    if by_chance.is_none() && disturbed.is_none() {
        return None;
    }
    Some(GoalFact::Doubts { by_chance, disturbed })
}

/// That the bounds can differ by chance; `None` if the trials distinguish them, or if that is unknown.
fn by_chance(goal: &GoalResult) -> Option<BoundsByChance> {
    let (lower, upper) = goal.best_bounds()?;
    let distinction = goal.distinction.filter(|distinction| !distinction.is_significant())?;
    Some(BoundsByChance {
        lower: lower.high_loss?,
        upper: upper.high_loss?,
        probability: distinction.by_chance,
        nearest_pps: distinction.nearest,
    })
}

/// Loss at the upper bound that comes from single moments.
pub(super) fn stalls(goal: &GoalResult, _: &Trials<'_>) -> Option<GoalFact> {
    let moments = goal.stalls()?;
    Some(GoalFact::Stalls { lossy_windows: moments.lossy_windows, windows: moments.windows })
}

/// The bounds of a goal.
pub(super) fn bounds(search: &SearchOutcome, goal: &GoalResult) -> Found {
    let set_up = SetUp::of_search(search);
    let name = goal.goal.name.clone();
    let has_bound = goal.lower.is_some() || goal.upper.is_some() || goal.so_far.is_some();
    let fact = match &goal.reason {
        Some(reason) if !has_bound => SearchFinding::NoBounds { set_up, goal: name, reason: reason.clone() },
        reason => SearchFinding::Bounds {
            set_up,
            goal: name,
            status: goal.status,
            lower_pps: goal.lower.as_ref().map(|lower| lower.achieved_pps),
            upper_pps: goal.upper.as_ref().map(|upper| upper.intended_pps),
            reason: reason.clone(),
            so_far: goal.so_far.as_ref().map(CoarserBounds::new),
            conditional_throughput_pps: conditional_throughput_pps(goal),
        },
    };
    of_one_search(search, fact, each_once(goal.trials()))
}

/// The conditional throughput, if it adds to the lower bound.
fn conditional_throughput_pps(goal: &GoalResult) -> Option<f64> {
    // Early versions also reported it for lower bounds.
    if goal.status == Status::AtLeast {
        return None;
    }
    let lower = goal.lower.as_ref()?;
    goal.conditional_throughput_pps.filter(|forwarded_pps| *forwarded_pps < lower.achieved_pps)
}
