//! Several searches: the ranks of methods by their lower bounds, and the spread of the searches of one set-up.
//!
//! A search is one sample, independent of the others including its self-test. Two searches of the same method differ by some
//! tenths of a per cent, often with bounds that do not overlap. So one search per method proves no order. Several searches do:
//! by their ranks, corrected for all comparisons of the run.

use serde::{Deserialize, Serialize};

use super::outcome::{GoalResult, SearchOutcome, Status};
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::statistics::interval::Estimate;
use capbench_model::statistics::ranks::{self, Stratum};
use capbench_model::statistics::{FALSE_ALARMS, by_key, holm, least_by_chance, median};
use capbench_model::trial::SizeLabel;

/// The ranked methods of one scene by one goal.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The goal's name.
    pub goal: String,
    /// The frame size of its scene; absent if no trial was run.
    pub frame_size: Option<SizeLabel>,
    /// The placement of its scene; absent if no trial was run.
    pub placement: Option<SavedPlacement>,
    /// The work of its scene; absent if no trial was run.
    pub work: Option<SavedWork>,
    /// Highest median first.
    pub methods: Vec<Ranked>,
    /// For each method but the last: the corrected probability that chance puts it this far above the next one.
    by_chance: Vec<f64>,
    /// Searches per method needed to distinguish this number of methods and goals.
    pub needed: usize,
}

/// The results of a method's searches for a goal.
#[derive(Clone, Debug)]
pub struct Ranked {
    /// The method.
    pub method: SavedMethod,
    /// The lower bound of each search, frames per second.
    pub lower: Vec<f64>,
    /// The upper bound of each search: infinite if no load showed the method's limit.
    pub upper: Vec<f64>,
    /// The trials of the bounds.
    pub trials: Vec<u32>,
}

impl Ranked {
    fn median(&self) -> f64 {
        median(self.lower.iter().copied()).unwrap_or_default()
    }

    /// The two-sided probability that chance puts its lower bounds this far above the other's upper bounds.
    fn above_by_chance(&self, other: &Self) -> f64 {
        let strata = [Stratum { low: other.upper.len(), high: self.lower.len() }];
        (2.0 * ranks::by_chance(ranks::against(&other.upper, &self.lower), &strata)).min(1.0)
    }
}

/// The goals of all searches.
pub fn goals(searches: &[SearchOutcome]) -> impl Iterator<Item = (&SearchOutcome, &GoalResult)> {
    searches.iter().flat_map(|search| search.goals.iter().map(move |goal| (search, goal)))
}

/// The goals of searches, grouped by set-up and goal in the order in which they come, the highest rate of a group first.
pub fn ranked_goals(searches: &[SearchOutcome]) -> Vec<(&SearchOutcome, &GoalResult)> {
    let mut groups = by_key(goals(searches), |(search, goal)| {
        (Scene::of_search(search).without_method(), goal.goal.name.as_str())
    });
    let mut ranked = Vec::new();
    for (_, group) in &mut groups {
        group.sort_by(|(_, a), (_, b)| sustained_pps(b).total_cmp(&sustained_pps(a)));
        ranked.append(group);
    }
    ranked
}

/// The lower bound of a goal, or of a coarser target; 0 without one.
fn sustained_pps(goal: &GoalResult) -> f64 {
    lower(goal).map_or(0.0, |(pps, _)| pps)
}

/// For each goal of several methods in one scene, the ranked methods.
pub fn rankings(searches: &[SearchOutcome]) -> Vec<Ranking> {
    let scenes = by_key(searches.iter().filter(|search| search.method.is_some()), |search| {
        Scene::of_search(search).without_method()
    });
    let mut rankings: Vec<Ranking> = scenes.iter().flat_map(|(_, group)| of_scene(group)).collect();
    correct(&mut rankings);
    rankings
}

fn of_scene(group: &[&SearchOutcome]) -> Vec<Ranking> {
    let Some(first) = group.first() else { return Vec::new() };
    let goals = first.goals.iter().map(|result| &result.goal.name);
    let rankings = goals.map(|goal| Ranking {
        goal: goal.clone(),
        frame_size: first.frame_size.clone(),
        placement: first.placement.clone(),
        work: first.work.clone(),
        methods: methods(group, goal),
        by_chance: Vec::new(),
        needed: 0,
    });
    rankings.filter(|ranking| ranking.methods.len() > 1).collect()
}

fn methods(group: &[&SearchOutcome], goal: &str) -> Vec<Ranked> {
    let mut methods: Vec<Ranked> = Vec::new();
    for search in group {
        let Some(method) = &search.method else { continue };
        let Some(result) = search.goals.iter().find(|result| result.goal.name == goal) else { continue };
        let Some((lower, _)) = lower(result) else { continue };
        // An "at least" result has no upper bound of the method.
        let upper = match result.status {
            Status::AtLeast => f64::INFINITY,
            _ => result.best_bounds().map_or(f64::INFINITY, |(_, upper)| upper.intended_pps),
        };
        let place = methods.iter().position(|known| known.method == *method).unwrap_or_else(|| {
            methods.push(Ranked {
                method: method.clone(),
                lower: Vec::new(),
                upper: Vec::new(),
                trials: Vec::new(),
            });
            methods.len() - 1
        });
        let ranked = &mut methods[place];
        ranked.lower.push(lower);
        ranked.upper.push(upper);
        ranked.trials.extend(result.trials());
    }
    methods.sort_by(|a, b| b.median().total_cmp(&a.median()));
    methods
}

/// Compares the methods of every ranking, each with each: the comparisons determine which methods are neighbours.
fn correct(rankings: &mut [Ranking]) {
    let all: Vec<(usize, usize, f64)> = rankings
        .iter()
        .enumerate()
        .flat_map(|(nth, ranking)| {
            let methods = &ranking.methods;
            let pairs = (0..methods.len())
                .flat_map(move |high| (high + 1..methods.len()).map(move |low| (high, low)));
            pairs.map(move |(high, low)| {
                let neighbours = if low == high + 1 { high } else { usize::MAX };
                (nth, neighbours, methods[high].above_by_chance(&methods[low]))
            })
        })
        .collect();
    let corrected = holm::corrected(&all.iter().map(|(_, _, by_chance)| *by_chance).collect::<Vec<_>>());
    let needed = needed(all.len());
    for ((nth, place, _), by_chance) in all.into_iter().zip(corrected) {
        let ranking = &mut rankings[nth];
        ranking.needed = needed;
        // Pairs of a ranking start with its first method, so neighbours come in rank order.
        if place != usize::MAX {
            ranking.by_chance.push(by_chance);
        }
    }
}

/// Searches per method with which the clearest order is distinguished among this number of comparisons.
fn needed(comparisons: usize) -> usize {
    let level = FALSE_ALARMS / comparisons.max(1) as f64;
    let mut searches = 2;
    while least_by_chance([(searches, searches)]) > level {
        searches += 1;
    }
    searches
}

impl Ranking {
    /// Number of searches of the method with the fewest.
    pub fn fewest(&self) -> usize {
        self.methods.iter().map(|ranked| ranked.lower.len()).min().unwrap_or(0)
    }

    /// Whether there are enough searches to distinguish an order from chance.
    pub fn has_enough_searches(&self) -> bool {
        self.fewest() >= self.needed
    }

    /// Whether a method is above the next by more than chance explains; `None` if there are too few searches.
    pub fn is_above_next(&self, nth: usize) -> Option<bool> {
        self.has_enough_searches()
            .then(|| self.by_chance.get(nth).is_some_and(|by_chance| *by_chance <= FALSE_ALARMS))
    }
}

/// The results of a set-up's searches for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repeated {
    /// The goal's name.
    pub goal: String,
    /// The method.
    pub method: SavedMethod,
    /// The placement.
    pub placement: SavedPlacement,
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The work per packet.
    pub work: SavedWork,
    /// The lower bounds of the goal, or of a coarser target if a search ended early, frames per second, with an interval.
    pub lower_pps: Estimate,
    /// The lowest of them.
    pub least_pps: f64,
    /// The highest.
    pub most_pps: f64,
    /// Number of searches.
    pub searches: u32,
    /// Regular searches.
    pub regular: u32,
    /// Searches with an "at least" result.
    pub at_least: u32,
    /// Searches whose lower bound is that of a coarser target.
    pub coarser: u32,
    /// Searches without a lower bound, which no figure includes.
    pub without: u32,
    /// The trials of the lower bounds.
    pub trials: Vec<u32>,
}

/// For each set-up with several searches, and each goal: their results, unless no search found a lower bound.
pub fn repeated(searches: &[SearchOutcome]) -> Vec<Repeated> {
    let repeated = searches.iter().filter(|search| search.nth.is_some() && search.method.is_some());
    by_key(repeated, |search| Scene::of_search(search))
        .iter()
        .filter(|(_, group)| group.len() > 1)
        .flat_map(|(_, group)| {
            group[0].goals.iter().filter_map(|first| Repeated::new(&first.goal.name, group))
        })
        .collect()
}

/// The properties that distinguish set-ups.
#[derive(PartialEq)]
struct Scene<'r> {
    method: Option<&'r SavedMethod>,
    placement: Option<&'r SavedPlacement>,
    work: Option<&'r SavedWork>,
    frame_size: Option<&'r SizeLabel>,
}

impl<'r> Scene<'r> {
    fn of_search(search: &'r SearchOutcome) -> Self {
        Self {
            method: search.method.as_ref(),
            placement: search.placement.as_ref(),
            work: search.work.as_ref(),
            frame_size: search.frame_size.as_ref(),
        }
    }

    fn without_method(self) -> Self {
        Self { method: None, ..self }
    }
}

/// The lower bound of a search for a goal, or of its finest target that has one: frames per second and trials.
fn lower(result: &GoalResult) -> Option<(f64, &[u32])> {
    let bound = result.lower.as_ref().or(result.so_far.as_ref().map(|so_far| &so_far.lower))?;
    Some((bound.achieved_pps, &bound.trials))
}

impl Repeated {
    /// Searches with a lower bound.
    pub fn with_bound(&self) -> u32 {
        self.searches.saturating_sub(self.without)
    }

    /// Searches with another irregular result.
    pub fn irregular(&self) -> u32 {
        let known = self.regular + self.at_least + self.coarser + self.without;
        self.searches.saturating_sub(known)
    }

    /// From the lowest to the highest lower bound, as a share of the median.
    pub fn spread_ratio(&self) -> f64 {
        (self.most_pps - self.least_pps) / self.lower_pps.median
    }

    fn new(goal: &str, group: &[&SearchOutcome]) -> Option<Self> {
        let first = group.first()?;
        let results: Vec<&GoalResult> = group
            .iter()
            .flat_map(|search| search.goals.iter().filter(|result| result.goal.name == goal))
            .collect();
        let found: Vec<_> = results.iter().filter_map(|result| lower(result)).collect();
        let values = || found.iter().map(|(pps, _)| *pps);
        let count =
            |is: &dyn Fn(&GoalResult) -> bool| results.iter().filter(|result| is(result)).count() as u32;
        Some(Self {
            goal: goal.into(),
            method: first.method.clone()?,
            placement: first.placement.clone()?,
            frame_size: first.frame_size.clone()?,
            work: first.work.clone()?,
            lower_pps: Estimate::of(values())?,
            least_pps: values().reduce(f64::min)?,
            most_pps: values().reduce(f64::max)?,
            searches: results.len() as u32,
            regular: count(&|result| result.status == Status::Regular),
            at_least: count(&|result| result.status == Status::AtLeast),
            coarser: count(&|result| result.lower.is_none() && lower(result).is_some()),
            without: count(&|result| lower(result).is_none()),
            trials: found.iter().flat_map(|(_, trials)| trials.iter().copied()).collect(),
        })
    }
}
