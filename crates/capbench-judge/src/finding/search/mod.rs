//! Facts about searches.
//!
//! | file | about |
//! |---|---|
//! | `goals` | the limit of each goal, the doubts about its bounds, and the bounds |
//! | `answers` | the answers to the question of a run of searches |

mod answers;
mod goals;

pub use answers::{
    FoundLoad, LimitOfMethods, LimitedSearches, MethodLoad, SearchAnswer, SetUp, SustainedLoads,
    UnsettledGoal, answers,
};
pub use goals::{BoundsByChance, CoarserBounds, DisturbedTrials, GoalFact, GoalLosses};

use capbench_model::saved::{SavedMethod, SavedPlacement};
use capbench_model::trial::{Phase, SizeLabel, TrialResult};
use serde::Serialize;

use super::{Finding, Found, Subject};
use crate::search::bound::Trials;
use crate::search::ranking::{self, Ranking, Repeated};
use crate::search::{Buffered, End, Held, LossEvents, MaximumSource, Reason, SearchOutcome, Status};

/// A fact about one search, or about several together. Loads are frames per second.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(clippy::large_enum_variant, reason = "a run has few of them")]
pub enum SearchFinding {
    /// The order of several methods by one goal.
    Ranking {
        /// What the methods are compared in; its method and number are absent.
        set_up: SetUp,
        /// The goal's name.
        goal: String,
        /// The methods, highest first.
        methods: Vec<RankedMethod>,
        /// With too few searches of each method, chance can explain any order: how many there are, and how many decide it.
        too_few_searches: Option<TooFewSearches>,
    },
    /// The results of a set-up that was searched several times.
    Repeated(Repeated),
    /// What goals have in common.
    Goals {
        /// What the search measured.
        set_up: SetUp,
        /// Names of the goals.
        goals: Vec<String>,
        /// What they have in common.
        shows: GoalFact,
    },
    /// The numbers that belong together: without loss, NDR, PDR, and how often frames are lost.
    Numbers {
        /// What the search measured.
        set_up: SetUp,
        /// The highest load without a loss.
        strict_lossless: Held,
        /// If no load is without a loss: the lowest that was tried. Absent if trials are not saved.
        #[serde(skip_serializing_if = "Option::is_none")]
        lowest_load: Option<LowestLoad>,
        /// The no-drop rate.
        ndr: Held,
        /// The partial-drop rate.
        pdr: Held,
        /// How often frames were lost; absent if the trials do not show it.
        loss_events: Option<LossEvents>,
    },
    /// The bounds of a goal.
    Bounds {
        /// What the search measured.
        set_up: SetUp,
        /// The goal's name.
        goal: String,
        /// The quality of the result.
        status: Status,
        /// The load that the lower bound offered; absent without a lower bound.
        lower_pps: Option<f64>,
        /// The intended load of the upper bound; absent without an upper bound.
        upper_pps: Option<f64>,
        /// Why the result is not regular; absent if it is.
        reason: Option<Reason>,
        /// Bounds of a coarser target, if the search ended before the goal had both.
        so_far: Option<CoarserBounds>,
        /// The rate forwarded at the lower bound; absent if it is not below the lower bound.
        conditional_throughput_pps: Option<f64>,
    },
    /// A goal without any bound.
    NoBounds {
        /// What the search measured.
        set_up: SetUp,
        /// The goal's name.
        goal: String,
        /// Why.
        reason: Reason,
    },
    /// The highest load of the search, after a self-test of the generator.
    MaximumLoad {
        /// What the search measured.
        set_up: SetUp,
        /// The load.
        load_pps: f64,
        /// Its origin.
        source: MaximumSource,
        /// Whether the generator sent everything at that load.
        sustained: bool,
        /// What it sent without a plan.
        unpaced_pps: f64,
    },
    /// Trials lost nothing only because buffers had room.
    Buffered {
        /// What the search measured.
        set_up: SetUp,
        /// The trials.
        buffered: Buffered,
    },
    /// The search is incomplete.
    Incomplete {
        /// What the search measured.
        set_up: SetUp,
        /// How it ended.
        end: End,
    },
}

/// A method in a ranking.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct RankedMethod {
    /// The method.
    pub method: SavedMethod,
    /// The median of the lower bounds of several searches, by which they are ordered; absent of a single one, and in files of versions
    /// that did not write it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub median_pps: Option<f64>,
    /// The lowest lower bound of its searches.
    pub least_pps: f64,
    /// The highest upper bound of its searches; absent if a search found no limit of the method.
    pub most_pps: Option<f64>,
    /// Whether it is above the next method by more than chance explains; absent with too few searches, and for the last method.
    pub above_next: Option<bool>,
}

/// The lowest load of a search, of which a trial lost frames or has unsent ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LowestLoad {
    /// The load.
    pub pps: f64,
    /// Its trials.
    pub trials: u32,
    /// Those of them that sent and delivered every frame.
    pub clean: u32,
}

impl LowestLoad {
    /// The lowest load, if no load of a search is without a loss; `None` if another load is, or if its trials are not saved.
    fn without_bound(search: &SearchOutcome, trials: &Trials<'_>) -> Option<Self> {
        let lossless = &search.numbers.strict_lossless;
        let pps = lossless.upper_pps.filter(|_| lossless.pps.is_none())?;
        let mut lowest = Self { pps, trials: 0, clean: 0 };
        for trial in search.trials.iter().filter_map(|&number| trials.get(number)) {
            if trial.phase == Phase::Search && trial.intended_pps == Some(pps) {
                lowest.trials += 1;
                lowest.clean += u32::from(trials.is_clean(trial));
            }
        }
        (lowest.trials > 0).then_some(lowest)
    }
}

/// Searches of each method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct TooFewSearches {
    /// The searches of the method with the fewest.
    pub searches: usize,
    /// How many of each method decide the order.
    pub needed: usize,
}

/// All facts about the searches of a run: methods against each other, searches of one set-up together, and each search alone.
pub fn find(searches: &[SearchOutcome], trials: &[TrialResult]) -> Vec<Found> {
    let mut found = Vec::new();
    for ranking in ranking::rankings(searches) {
        found.push(found_ranking(&ranking));
    }
    for repeated in ranking::repeated(searches) {
        found.push(found_repeated(repeated));
    }
    for search in searches {
        found.extend(facts_of_search(search, &Trials::new(trials, search.plan.burst_frames)));
    }
    found
}

/// The order of the methods of a ranking.
fn found_ranking(ranking: &Ranking) -> Found {
    let mut methods = Vec::new();
    let mut trials = Vec::new();
    for (nth, ranked) in ranking.methods.iter().enumerate() {
        let is_last = nth + 1 == ranking.methods.len();
        let most_pps = ranked.upper.iter().copied().fold(0.0, f64::max);
        methods.push(RankedMethod {
            method: ranked.method.clone(),
            median_pps: (ranked.lower.len() > 1).then(|| ranked.median()),
            least_pps: ranked.lower.iter().copied().fold(f64::INFINITY, f64::min),
            most_pps: most_pps.is_finite().then_some(most_pps),
            above_next: if is_last { None } else { ranking.is_above_next(nth) },
        });
        trials.extend(ranked.trials.iter().copied());
    }
    let too_few = TooFewSearches { searches: ranking.fewest(), needed: ranking.needed };
    let fact = SearchFinding::Ranking {
        set_up: SetUp {
            method: None,
            frame_size: ranking.frame_size.clone(),
            placement: ranking.placement.clone(),
            work: ranking.work.clone(),
            nth: None,
        },
        goal: ranking.goal.clone(),
        methods,
        too_few_searches: (!ranking.has_enough_searches()).then_some(too_few),
    };
    Found {
        subject: subject(&ranking.frame_size, &ranking.placement),
        fact: Finding::Search(fact),
        trials: each_once(trials),
    }
}

fn found_repeated(repeated: Repeated) -> Found {
    let subject =
        Subject::Frames { frame_size: repeated.frame_size.clone(), placement: repeated.placement.clone() };
    let trials = each_once(repeated.trials.clone());
    Found { subject: Some(subject), fact: Finding::Search(SearchFinding::Repeated(repeated)), trials }
}

/// What limits each goal, the related numbers, doubts, the bounds, and the limit of the search.
fn facts_of_search(search: &SearchOutcome, trials: &Trials<'_>) -> Vec<Found> {
    let mut found = goals::shared(search, trials, goals::losses);
    found.push(numbers(search, trials));
    found.extend(goals::shared(search, trials, goals::doubts));
    found.extend(goals::shared(search, trials, goals::stalls));
    for goal in &search.goals {
        found.push(goals::bounds(search, goal));
    }
    found.extend(maximum_load(search));
    if let Some(buffered) = &search.buffered {
        let fact = SearchFinding::Buffered { set_up: SetUp::of_search(search), buffered: buffered.clone() };
        found.push(of_one_search(search, fact, buffered.trials.clone()));
    }
    if search.ended != End::Complete {
        let fact = SearchFinding::Incomplete { set_up: SetUp::of_search(search), end: search.ended.clone() };
        found.push(of_one_search(search, fact, search.trials.clone()));
    }
    found
}

/// The numbers of a search that belong together. If no trial decides one, all trials of the search support them.
fn numbers(search: &SearchOutcome, by_number: &Trials<'_>) -> Found {
    let numbers = &search.numbers;
    let mut trials = Vec::new();
    for held in [&numbers.strict_lossless, &numbers.ndr, &numbers.pdr] {
        trials.extend(held.trials.iter().copied());
    }
    let mut trials = each_once(trials);
    if trials.is_empty() {
        trials.clone_from(&search.trials);
    }
    let fact = SearchFinding::Numbers {
        set_up: SetUp::of_search(search),
        lowest_load: LowestLoad::without_bound(search, by_number),
        strict_lossless: numbers.strict_lossless.clone(),
        ndr: numbers.ndr.clone(),
        pdr: numbers.pdr.clone(),
        loss_events: numbers.loss_events.clone(),
    };
    of_one_search(search, fact, trials)
}

/// The highest load of a search; `None` if no self-test found it.
fn maximum_load(search: &SearchOutcome) -> Option<Found> {
    let maximum = search.maximum.as_ref()?;
    let self_test = maximum.self_test.as_ref()?;
    let fact = SearchFinding::MaximumLoad {
        set_up: SetUp::of_search(search),
        load_pps: maximum.load_pps.get(),
        source: maximum.source,
        sustained: self_test.held,
        unpaced_pps: self_test.unpaced_pps,
    };
    Some(of_one_search(search, fact, self_test.tries.iter().map(|tried| tried.trial).collect()))
}

/// A fact about a search.
fn of_one_search(search: &SearchOutcome, fact: SearchFinding, trials: Vec<u32>) -> Found {
    Found { subject: subject(&search.frame_size, &search.placement), fact: Finding::Search(fact), trials }
}

/// The subject of a fact about a search: its frames and its placement, if both are known.
fn subject(frame_size: &Option<SizeLabel>, placement: &Option<SavedPlacement>) -> Option<Subject> {
    Some(Subject::Frames { frame_size: frame_size.clone()?, placement: placement.clone()? })
}

/// Numbers of trials in order, each once.
fn each_once(mut trials: Vec<u32>) -> Vec<u32> {
    trials.sort_unstable();
    trials.dedup();
    trials
}
