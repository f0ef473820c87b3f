//! The answers of a run of searches: what each method sustains, what limits it, which goals are not settled, and the results of
//! repeated searches.

use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::statistics::by_key;
use capbench_model::trial::SizeLabel;
use serde::{Deserialize, Serialize};

use super::each_once;
use crate::finding::{Finding, Found};
use crate::limit::Limit;
use crate::search::ranking::{self, Repeated};
use crate::search::{GoalResult, Reason, SearchOutcome, Status};

/// An answer to the question of a run of searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
pub enum SearchAnswer {
    /// What the methods of the first set-up sustain by the first goal.
    Sustained(SustainedLoads),
    /// What limits, from where the next load lost frames.
    Limits {
        /// Each limit.
        limits: Vec<LimitOfMethods>,
    },
    /// Goals with a bound, but without a regular result.
    Unsettled {
        /// Each goal of each set-up.
        goals: Vec<UnsettledGoal>,
    },
    /// Results of set-ups that were searched several times.
    Repeated {
        /// Each set-up and goal.
        results: Vec<Repeated>,
    },
}

/// What a search measured, as far as known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "SearchedSetUp")]
pub struct SetUp {
    /// The method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<SavedMethod>,
    /// The frame size.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<SizeLabel>,
    /// The placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<SavedPlacement>,
    /// The work per packet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work: Option<SavedWork>,
    /// The number of the search among those of this set-up, if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<u32>,
}

impl SetUp {
    /// The set-up of a search.
    pub fn of_search(search: &SearchOutcome) -> Self {
        Self {
            method: search.method.clone(),
            frame_size: search.frame_size.clone(),
            placement: search.placement.clone(),
            work: search.work.clone(),
            nth: search.nth,
        }
    }

    /// The set-up of a search without its method: in it methods are compared.
    pub fn for_any_method(search: &SearchOutcome) -> Self {
        Self { method: None, nth: None, ..Self::of_search(search) }
    }
}

/// The loads that methods of one set-up sustain by one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SustainedLoads {
    /// The share of frames that the goal allows to be lost.
    pub loss_ratio: f64,
    /// The set-up; its method and number are absent.
    pub set_up: SetUp,
    /// The methods, highest first, at least one.
    pub methods: Vec<MethodLoad>,
    /// Number of other set-ups.
    pub other_set_ups: usize,
}

/// The load that a method sustains.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MethodLoad {
    /// The method; absent if no trial was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<SavedMethod>,
    /// What the search found.
    pub load: FoundLoad,
    /// The trials.
    pub trials: Vec<u32>,
}

/// What a search found for a goal, frames per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "known", rename_all = "snake_case")]
pub enum FoundLoad {
    /// A regular result.
    Regular {
        /// The load.
        pps: f64,
    },
    /// The load is sustained, and no higher one is decided.
    AtLeast {
        /// The load.
        pps: f64,
    },
    /// Only both bounds are known.
    Between {
        /// The lower bound.
        lower_pps: f64,
        /// The upper bound.
        upper_pps: f64,
    },
    /// Both bounds are known by fewer trials than the goal asks for.
    BetweenByFewTrials {
        /// The lower bound.
        lower_pps: f64,
        /// The upper bound.
        upper_pps: f64,
    },
    /// Only a load that is not sustained is known.
    Below {
        /// The load.
        pps: f64,
    },
    /// No bound is known.
    Undecided {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
}

impl FoundLoad {
    /// What a search found for a goal.
    pub fn of_goal(goal: &GoalResult) -> Self {
        let lower_pps = goal.lower.as_ref().map(|lower| lower.achieved_pps);
        let upper_pps = goal.upper.as_ref().map(|upper| upper.intended_pps);
        match (goal.status, lower_pps, upper_pps) {
            (Status::Regular, Some(pps), _) => return Self::Regular { pps },
            (Status::AtLeast, Some(pps), _) => return Self::AtLeast { pps },
            (_, Some(lower_pps), Some(upper_pps)) => return Self::Between { lower_pps, upper_pps },
            _ => {}
        }
        if let Some(so_far) = &goal.so_far {
            return Self::BetweenByFewTrials {
                lower_pps: so_far.lower.achieved_pps,
                upper_pps: so_far.upper.intended_pps,
            };
        }
        match (lower_pps, upper_pps) {
            (Some(pps), _) => Self::AtLeast { pps },
            (None, Some(pps)) => Self::Below { pps },
            (None, None) => Self::Undecided { reason: goal.reason.clone() },
        }
    }
}

/// A limit, and the methods that it limits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LimitOfMethods {
    /// The limit.
    pub limit: Limit,
    /// The methods, each once; absent for a search without a trial.
    pub methods: Vec<Option<SavedMethod>>,
    /// The trials of the upper bounds.
    pub trials: Vec<u32>,
}

/// A goal with a bound, but without a regular result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct UnsettledGoal {
    /// The goal's name.
    pub goal: String,
    /// The set-up.
    pub set_up: SetUp,
    /// The load that is sustained at least, frames per second; absent if the result is not even that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_least_pps: Option<f64>,
    /// Why it is not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<Reason>,
    /// The trials of the lower bound.
    pub trials: Vec<u32>,
}

/// The answers, the verdict first.
pub fn answers(searches: &[SearchOutcome]) -> Vec<Found> {
    let mut answers = Vec::new();
    if let Some(loads) = sustained(searches) {
        let trials = loads.methods.iter().flat_map(|method| method.trials.clone()).collect();
        answers.push(found(SearchAnswer::Sustained(loads), trials));
    }
    let limits = limits(searches);
    if !limits.is_empty() {
        let trials = limits.iter().flat_map(|limit| limit.trials.clone()).collect();
        answers.push(found(SearchAnswer::Limits { limits }, trials));
    }
    let goals = unsettled(searches);
    if !goals.is_empty() {
        let trials = goals.iter().flat_map(|goal| goal.trials.clone()).collect();
        answers.push(found(SearchAnswer::Unsettled { goals }, trials));
    }
    let results = ranking::repeated(searches);
    if !results.is_empty() {
        let trials = results.iter().flat_map(|result| result.trials.clone()).collect();
        answers.push(found(SearchAnswer::Repeated { results }, trials));
    }
    answers
}

fn found(answer: SearchAnswer, trials: Vec<u32>) -> Found {
    Found::new(Finding::SearchAnswer(answer), each_once(trials))
}

/// What the methods of the first set-up sustain by the first goal; `None` without a search.
fn sustained(searches: &[SearchOutcome]) -> Option<SustainedLoads> {
    let ranked = ranking::ranked_goals(searches);
    let (first, first_goal) = *ranked.first()?;
    let set_up = SetUp::for_any_method(first);
    let mut methods: Vec<MethodLoad> = Vec::new();
    for (search, goal) in &ranked {
        if SetUp::for_any_method(search) != set_up || goal.goal.name != first_goal.goal.name {
            continue;
        }
        // The highest of several searches comes first.
        if methods.iter().any(|known| known.method == search.method) {
            continue;
        }
        let load = FoundLoad::of_goal(goal);
        methods.push(MethodLoad { method: search.method.clone(), load, trials: goal.trials() });
    }
    let set_ups = by_key(&ranked, |(search, _)| SetUp::for_any_method(search)).len();
    let loss_ratio = first_goal.goal.loss_ratio.get();
    Some(SustainedLoads { loss_ratio, set_up, methods, other_set_ups: set_ups - 1 })
}

/// The limits, from where the next load lost frames.
fn limits(searches: &[SearchOutcome]) -> Vec<LimitOfMethods> {
    let mut limits: Vec<LimitOfMethods> = Vec::new();
    for (search, goal) in ranking::goals(searches) {
        let Some(limit) = goal.limit else { continue };
        let Some(upper) = &goal.upper else { continue };
        let index = limits.iter().position(|known| known.limit == limit).unwrap_or_else(|| {
            limits.push(LimitOfMethods { limit, methods: Vec::new(), trials: Vec::new() });
            limits.len() - 1
        });
        let known = &mut limits[index];
        if !known.methods.contains(&search.method) {
            known.methods.push(search.method.clone());
        }
        known.trials.extend(upper.trials.iter().copied());
    }
    limits
}

/// Goals with a bound, but without a regular result. What the methods sustain is said elsewhere, also that a goal has no bound.
fn unsettled(searches: &[SearchOutcome]) -> Vec<UnsettledGoal> {
    let mut unsettled = Vec::new();
    for (search, goal) in ranking::goals(searches) {
        let is_undecided = matches!(FoundLoad::of_goal(goal), FoundLoad::Undecided { .. });
        if goal.status == Status::Regular || is_undecided {
            continue;
        }
        let lower = goal.lower.as_ref();
        unsettled.push(UnsettledGoal {
            goal: goal.goal.name.clone(),
            set_up: SetUp::of_search(search),
            at_least_pps: lower.filter(|_| goal.status == Status::AtLeast).map(|lower| lower.achieved_pps),
            reason: goal.reason.clone(),
            trials: lower.map_or_else(Vec::new, |lower| lower.trials.clone()),
        });
    }
    unsettled
}
