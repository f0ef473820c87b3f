//! The answers of a run of searches: what each method sustains, what limits it, which goals are not settled, and the results of
//! repeated searches.

use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::statistics::by_key;
use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::{SizeLabel, TrialResult};
use serde::{Deserialize, Serialize};

use super::each_once;
use crate::finding::{Finding, Found};
use crate::limit::Limit;
use crate::search::bound::Trials;
use crate::search::ranking::{self, FirstPlace, Repeated};
use crate::search::{GoalResult, Held, Reason, SearchOutcome, Status};

/// An answer to the question of a run of searches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a run has few of them")]
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
    /// Whether repeated searches show that the first method sustains most; absent without them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_place: Option<FirstPlace>,
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
    /// The search did not decide a load, but no trial up to this one lost a frame.
    Clean {
        /// The load.
        pps: f64,
        /// Seconds of trials at it.
        seconds: f64,
        /// A load that is not sustained; absent if none is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        upper_pps: Option<f64>,
        /// Why the search decided no load.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
    /// The lower bounds of several searches.
    Repeated {
        /// Their median, with its interval.
        lower_pps: Estimate,
        /// Searches.
        searches: u32,
        /// Searches without an upper bound of the method: the median is at least that.
        at_least: u32,
        /// Searches without a lower bound, which no figure includes.
        without: u32,
    },
    /// No bound is known.
    Undecided {
        /// Why.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
    },
}

impl FoundLoad {
    /// What searches of one set-up found for a goal, at least one: the median of several, or what a single one found.
    fn of_searches(results: &[(&SearchOutcome, &GoalResult)]) -> Self {
        let (search, goal) = results[0];
        if results.len() == 1 {
            return Self::of_goal(goal).or_clean(&search.numbers.strict_lossless, goal);
        }
        let mut lower_pps = Vec::new();
        let mut at_least = 0;
        for (_, goal) in results {
            lower_pps.extend(ranking::lower_bound(goal).map(|bound| bound.achieved_pps));
            at_least += u32::from(goal.status == Status::AtLeast);
        }
        let without = (results.len() - lower_pps.len()) as u32;
        match Estimate::of(lower_pps) {
            Some(lower_pps) => {
                Self::Repeated { lower_pps, searches: results.len() as u32, at_least, without }
            }
            None => Self::of_goal(goal),
        }
    }

    /// A load that is known to be clean is a bound where the search found none.
    fn or_clean(self, lossless: &Held, goal: &GoalResult) -> Self {
        let upper_pps = match self {
            Self::Undecided { .. } => None,
            Self::Below { pps } => Some(pps),
            found => return found,
        };
        match lossless.pps {
            Some(pps) => {
                Self::Clean { pps, seconds: lossless.seconds, upper_pps, reason: goal.reason.clone() }
            }
            None => self,
        }
    }

    /// The load by which methods are ordered; 0 if none is known to be sustained.
    fn sustained_pps(&self) -> f64 {
        match self {
            Self::Regular { pps } | Self::AtLeast { pps } | Self::Clean { pps, .. } => *pps,
            Self::Between { lower_pps, .. } | Self::BetweenByFewTrials { lower_pps, .. } => *lower_pps,
            Self::Repeated { lower_pps, .. } => lower_pps.median,
            Self::Below { .. } | Self::Undecided { .. } => 0.0,
        }
    }

    /// What one search found for a goal.
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
pub fn answers(searches: &[SearchOutcome], trials: &[TrialResult]) -> Vec<Found> {
    let mut answers = Vec::new();
    if let Some(loads) = sustained(searches) {
        let trials = loads.methods.iter().flat_map(|method| method.trials.clone()).collect();
        answers.push(found(SearchAnswer::Sustained(loads), trials));
    }
    let limits = limits(searches, trials);
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

/// What the methods of the first set-up sustain by the first goal, the highest load first; `None` without a search.
fn sustained(searches: &[SearchOutcome]) -> Option<SustainedLoads> {
    let first = searches.iter().find(|search| !search.goals.is_empty())?;
    let first_goal = &first.goals[0].goal;
    let set_up = SetUp::for_any_method(first);
    let of_first_goal = ranking::goals(searches).filter(|(search, goal)| {
        SetUp::for_any_method(search) == set_up && goal.goal.name == first_goal.name
    });
    let mut methods = Vec::new();
    for (method, results) in by_key(of_first_goal, |(search, _)| &search.method) {
        let trials = results.iter().flat_map(|(_, goal)| goal.trials()).collect();
        methods.push(MethodLoad { method: method.clone(), load: FoundLoad::of_searches(&results), trials });
    }
    methods.sort_by(|one, other| other.load.sustained_pps().total_cmp(&one.load.sustained_pps()));
    let set_ups = by_key(ranking::goals(searches), |(search, _)| SetUp::for_any_method(search)).len();
    Some(SustainedLoads {
        loss_ratio: first_goal.loss_ratio.get(),
        set_up,
        methods,
        first_place: FirstPlace::of_searches(searches),
        other_set_ups: set_ups - 1,
    })
}

/// What limits each method in each set-up by the first goal, from the loads where its searches lost frames.
fn limits(searches: &[SearchOutcome], trials: &[TrialResult]) -> Vec<LimitOfMethods> {
    let mut limits: Vec<LimitOfMethods> = Vec::new();
    for (set_up, searches) in by_key(searches, |search| SetUp { nth: None, ..SetUp::of_search(search) }) {
        let Some((limit, trials)) = limit_of_set_up(&searches, trials) else { continue };
        let index = limits.iter().position(|known| known.limit == limit).unwrap_or_else(|| {
            limits.push(LimitOfMethods { limit, methods: Vec::new(), trials: Vec::new() });
            limits.len() - 1
        });
        let known = &mut limits[index];
        if !known.methods.contains(&set_up.method) {
            known.methods.push(set_up.method);
        }
        known.trials.extend(trials);
    }
    limits
}

/// What limits a set-up by the first goal, with the trials that show it: all at the upper bounds of its searches. `None` without an
/// upper bound.
fn limit_of_set_up(searches: &[&SearchOutcome], trials: &[TrialResult]) -> Option<(Limit, Vec<u32>)> {
    let first = searches.first()?;
    let by_number = Trials::new(trials, first.plan.burst_frames);
    let mut saved = None;
    let mut numbers = Vec::new();
    for goal in searches.iter().filter_map(|search| search.goals.first()) {
        if let Some(upper) = &goal.upper {
            saved = saved.or(goal.limit);
            numbers.extend(&upper.trials);
        }
    }
    let limit = match by_number.all_of(&numbers) {
        Some(at_bounds) => Limit::at_load(&at_bounds, first.plan.burst_frames),
        None => saved,
    };
    Some((limit?, numbers))
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
