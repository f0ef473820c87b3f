//! The answers of a run of searches: what each method sustains, what limits it, which goals are not settled, and the results of
//! repeated searches.

use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::{SizeLabel, TrialResult};
use capbench_statistics::by_key;
use capbench_statistics::interval::Estimate;
use serde::Serialize;

use super::each_once;
use crate::finding::{Finding, Found};
use crate::limit::Limit;
use crate::search::bound::Trials;
use crate::search::ranking::{self, FirstPlace, Repeated};
use crate::search::{GoalResult, Held, Reason, SearchOutcome, Status};

/// An answer to the question of a run of searches.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[schemars(rename = "SearchedSetUp")]
pub struct SetUp {
    /// The method.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<SavedMethod>,
    /// The frame size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame_size: Option<SizeLabel>,
    /// The placement.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<SavedPlacement>,
    /// The work per packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<SavedWork>,
    /// The number of the search among those of this set-up, if there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SustainedLoads {
    /// The share of frames that the goal allows to be lost.
    pub loss_ratio: f64,
    /// The set-up; its method and number are absent.
    pub set_up: SetUp,
    /// The methods, highest first, at least one.
    pub methods: Vec<MethodLoad>,
    /// Whether repeated searches show that the first method sustains most; absent without them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_place: Option<FirstPlace>,
    /// Number of other set-ups.
    pub other_set_ups: usize,
}

/// The load that a method sustains.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MethodLoad {
    /// The method; absent if no trial was run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub method: Option<SavedMethod>,
    /// What the search found.
    pub load: FoundLoad,
    /// The trials.
    pub trials: Vec<u32>,
}

/// What a search found for a goal, frames per second.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
        #[serde(skip_serializing_if = "Option::is_none")]
        upper_pps: Option<f64>,
        /// Why the search decided no load.
        #[serde(skip_serializing_if = "Option::is_none")]
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
        /// Whether the interval ends at a load of a search without an upper bound, so that its true end can be higher.
        #[schemars(default)]
        is_end_open: bool,
    },
    /// No bound is known.
    Undecided {
        /// Why.
        #[serde(skip_serializing_if = "Option::is_none")]
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
            lower_pps.extend(goal.best_lower().map(|bound| bound.achieved_pps));
            at_least += u32::from(goal.status == Status::AtLeast);
        }
        let without = (results.len() - lower_pps.len()) as u32;
        match Estimate::of(lower_pps) {
            Some(lower_pps) => Self::Repeated {
                lower_pps,
                searches: results.len() as u32,
                at_least,
                without,
                is_end_open: ranking::is_end_open(results.iter().map(|(_, goal)| *goal)),
            },
            None => Self::clean_in_all(results),
        }
    }

    /// What searches without a lower bound found: the load up to which none of them lost a frame. Those that decided nothing contradict no
    /// load.
    fn clean_in_all(results: &[(&SearchOutcome, &GoalResult)]) -> Self {
        let mut lowest = Self::of_goal(results[0].1);
        for (search, goal) in results {
            let found = Self::of_goal(goal).or_clean(&search.numbers.strict_lossless, goal);
            let is_first = matches!(lowest, Self::Undecided { .. });
            if is_first
                || (!matches!(found, Self::Undecided { .. })
                    && found.sustained_pps() < lowest.sustained_pps())
            {
                lowest = found;
            }
        }
        lowest
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
        let lower_pps = goal.best_lower().map(|lower| lower.achieved_pps);
        let upper_pps = goal.best_upper().map(|upper| upper.intended_pps);
        match (goal.status, lower_pps, upper_pps) {
            (Status::Regular, Some(pps), _) => Self::Regular { pps },
            (Status::AtLeast, Some(pps), _) | (_, Some(pps), None) => Self::AtLeast { pps },
            (_, Some(lower_pps), Some(upper_pps)) => match goal.so_far {
                Some(_) => Self::BetweenByFewTrials { lower_pps, upper_pps },
                None => Self::Between { lower_pps, upper_pps },
            },
            // A load that the generator did not send shows nothing of the method.
            (_, None, Some(pps)) if goal.reason != Some(Reason::LeastLoadNotSent) => Self::Below { pps },
            (_, None, _) => Self::Undecided { reason: goal.reason.clone() },
        }
    }
}

/// A limit, and the methods that it limits.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct LimitOfMethods {
    /// The limit.
    pub limit: Limit,
    /// The methods, each once; absent for a search without a trial.
    pub methods: Vec<Option<SavedMethod>>,
    /// How many of the searches of these methods it limits; absent in files of versions that did not count them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub searches: Option<LimitedSearches>,
    /// The trials of the upper bounds of the searches that it limits; of a search that sustains all that is sent, of its lower bound.
    pub trials: Vec<u32>,
}

/// Searches of methods, and those of them that one limit has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct LimitedSearches {
    /// Those that it limits.
    pub limited: u32,
    /// All of them; in older files only those with an upper bound.
    pub all: u32,
}

/// A goal with a bound, but without a regular result.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct UnsettledGoal {
    /// The goal's name.
    pub goal: String,
    /// The set-up.
    pub set_up: SetUp,
    /// The load that is sustained at least, frames per second; absent if the result is not even that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at_least_pps: Option<f64>,
    /// Why it is not settled.
    #[serde(skip_serializing_if = "Option::is_none")]
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
        let Some(of_set_up) = limit_of_set_up(&searches, trials) else { continue };
        let index = limits.iter().position(|known| known.limit == of_set_up.limit).unwrap_or_else(|| {
            limits.push(LimitOfMethods {
                limit: of_set_up.limit,
                methods: Vec::new(),
                searches: Some(LimitedSearches::default()),
                trials: Vec::new(),
            });
            limits.len() - 1
        });
        let known = &mut limits[index];
        if !known.methods.contains(&set_up.method) {
            known.methods.push(set_up.method);
        }
        if let Some(counted) = &mut known.searches {
            counted.limited += of_set_up.searches.limited;
            counted.all += of_set_up.searches.all;
        }
        known.trials.extend(of_set_up.trials);
    }
    limits
}

/// A limit of searches of one set-up.
struct LimitOfSearches {
    limit: Limit,
    searches: LimitedSearches,
    /// As in [`LimitOfMethods`].
    trials: Vec<u32>,
}

/// What limits the most searches of a set-up by the first goal: each search as its row in the table has it. Of limits of equally many
/// searches, the one with more trials counts. `None` if no search has one.
fn limit_of_set_up(searches: &[&SearchOutcome], trials: &[TrialResult]) -> Option<LimitOfSearches> {
    let mut limits: Vec<LimitOfSearches> = Vec::new();
    for search in searches {
        let Some(goal) = search.goals.first() else { continue };
        let Some(bound) = goal.best_upper().or(goal.best_lower()) else { continue };
        let by_number = Trials::new(trials, search.plan.burst_frames);
        let Some(limit) = goal.limit_by_trials(&by_number) else { continue };
        match limits.iter_mut().find(|known| known.limit == limit) {
            Some(known) => {
                known.searches.limited += 1;
                known.trials.extend(&bound.trials);
            }
            None => limits.push(LimitOfSearches {
                limit,
                searches: LimitedSearches { limited: 1, all: searches.len() as u32 },
                trials: bound.trials.clone(),
            }),
        }
    }
    // Of several that are equal, the first one counts.
    limits.reverse();
    limits.into_iter().max_by_key(|limit| (limit.searches.limited, limit.trials.len()))
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use capbench_model::for_tests::{measured, profile};
    use capbench_model::trial::{Load, Phase, TrialResult};

    use super::{FoundLoad, LimitOfMethods, LimitedSearches, limits, sustained};
    use crate::limit::Limit;
    use crate::search::preset::goals_of_preset;
    use crate::search::{
        Bound, End, GoalResult, Held, LossNumbers, MaximumSource, Reason, SearchOutcome, SearchPlan, Status,
    };

    /// A trial of a second at 100,000 packets/s that sent and lost so many, in each tenth of it.
    fn trial(number: u32, sent: u64, lost: u64) -> TrialResult {
        let load = Load::Rate("100k".parse().unwrap());
        let measured = measured(100_000, sent, sent - lost, lost);
        let mut trial =
            measured.result(number, Phase::Search, &profile("recv"), load, Duration::from_secs(1));
        trial.loss_pattern = None;
        trial
    }

    fn bound(pps: f64, trials: &[u32]) -> Bound {
        Bound {
            intended_pps: pps,
            achieved_pps: pps,
            seconds: 1.0,
            trials: trials.to_vec(),
            high_loss: None,
            losses: None,
            backlogged: None,
            disturbed: Vec::new(),
        }
    }

    /// A search that sustained a load, and did not sustain a higher one in these trials.
    fn search(nth: u32, status: Status, lower_pps: Option<f64>, upper: &[u32]) -> SearchOutcome {
        let goal = GoalResult {
            goal: goals_of_preset("ndr").unwrap().remove(0),
            status,
            reason: lower_pps.is_none().then_some(Reason::LeastLoadNotSent),
            lower: lower_pps.map(|pps| bound(pps, &[])),
            upper: Some(bound(100_000.0, upper)),
            relative_width: None,
            conditional_throughput_pps: None,
            so_far: None,
            distinction: None,
            limit: None,
        };
        let held = Held {
            by: "ndr".into(),
            pps: None,
            at_least: false,
            upper_pps: None,
            seconds: 0.0,
            trials: Vec::new(),
        };
        SearchOutcome {
            method: Some("recv".into()),
            placement: None,
            frame_size: None,
            work: None,
            nth: Some(nth),
            plan: SearchPlan::new(Vec::new()),
            maximum: None,
            goals: vec![goal],
            numbers: LossNumbers {
                strict_lossless: held.clone(),
                ndr: held.clone(),
                pdr: held,
                loss_events: None,
            },
            buffered: None,
            ended: End::Complete,
            warnings: Vec::new(),
            warning_facts: Vec::new(),
            trials: upper.to_vec(),
            sending_s: 0.0,
            spent_s: 0.0,
        }
    }

    #[test]
    fn repeated_searches_have_the_limit_that_most_of_them_have() {
        // The losses of the second search are more than all others together; it is one of three.
        let trials = [trial(1, 90_000, 0), trial(2, 100_000, 90_000), trial(3, 90_000, 0)];
        let one_each = |nth| search(nth, Status::AtLeast, Some(9e4), &[nth]);
        let searches = [one_each(1), one_each(2), one_each(3)];
        let found = limits(&searches, &trials);
        let [LimitOfMethods { limit, searches: counted, trials: named, .. }] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((*limit, &named[..]), (Limit::Generator, &[1, 3][..]));
        assert_eq!(*counted, Some(LimitedSearches { limited: 2, all: 3 }));
    }

    #[test]
    fn the_generator_limits_a_search_that_sustains_all_that_it_sends_and_each_search_counts() {
        let trials = [trial(1, 90_000, 0), trial(2, 100_000, 0)];
        let mut sustains_all = search(2, Status::AtLeast, Some(1e5), &[]);
        sustains_all.goals[0].lower = Some(bound(1e5, &[2]));
        sustains_all.goals[0].upper = None;
        let mut ended = sustains_all.clone();
        sustains_all.goals[0].reason = Some(Reason::MaximumLoad { limit: MaximumSource::Generator });
        ended.goals[0].reason = Some(Reason::Ended { end: End::TimeUp });
        let found = limits(&[search(1, Status::AtLeast, Some(9e4), &[1]), sustains_all, ended], &trials);
        let [LimitOfMethods { limit, searches: counted, trials: named, .. }] = &found[..] else {
            panic!("{found:?}")
        };
        assert_eq!((*limit, &named[..]), (Limit::Generator, &[1, 2][..]));
        assert_eq!(*counted, Some(LimitedSearches { limited: 2, all: 3 }));
    }

    /// Whether the end of the interval is open if the searches with these loads found no upper bound.
    fn is_end_open(at_least_pps: &[f64]) -> bool {
        let mut searches = Vec::new();
        for nth in 1..=9 {
            let pps = f64::from(nth) * 1e4;
            let status = if at_least_pps.contains(&pps) { Status::AtLeast } else { Status::Regular };
            searches.push(search(nth, status, Some(pps), &[]));
        }
        match &sustained(&searches).unwrap().methods[0].load {
            FoundLoad::Repeated { is_end_open, .. } => *is_end_open,
            load => panic!("{load:?}"),
        }
    }

    #[test]
    fn an_interval_has_no_known_end_where_searches_without_an_upper_bound_can_reach_it() {
        assert!(!is_end_open(&[]));
        assert!(
            !is_end_open(&[1e4]),
            "of nine searches the second highest is the end, and one can be higher"
        );
        assert!(is_end_open(&[1e4, 2e4]), "two can be higher");
    }

    #[test]
    fn searches_without_a_bound_have_the_load_that_is_clean_in_all_that_show_one() {
        let load_of = |searches: &[SearchOutcome]| sustained(searches).unwrap().methods[0].load.clone();
        let mut searches = [1, 2, 3].map(|nth| search(nth, Status::Irregular, None, &[]));
        searches[1].numbers.strict_lossless.pps = Some(8e4);
        assert!(matches!(load_of(&searches), FoundLoad::Clean { pps: 8e4, .. }), "one shows a load");
        searches[2].numbers.strict_lossless.pps = Some(6e4);
        assert!(
            matches!(load_of(&searches), FoundLoad::Clean { pps: 6e4, .. }),
            "what another one lost is no clean load"
        );
    }

    #[test]
    fn a_load_that_the_generator_did_not_send_is_no_load_that_the_method_does_not_sustain() {
        let unsent = search(1, Status::Irregular, None, &[1]);
        assert_eq!(
            FoundLoad::of_goal(&unsent.goals[0]),
            FoundLoad::Undecided { reason: Some(Reason::LeastLoadNotSent) }
        );
    }
}
