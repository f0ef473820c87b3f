//! Ranks methods by their lower bounds, and shows which differences chance explains.
//!
//! A search of a method is one sample. Two searches of the same method differ by some tenths of a per cent, often with bounds
//! that do not overlap. So one search per method proves no order. Several searches do: by their ranks, corrected for all
//! comparisons of the run.

use super::outcome::{SearchOutcome, Status};
use super::repeats;
use capbench_model::statistics::interval::Estimate;
use capbench_model::statistics::ranks::{self, Stratum};
use capbench_model::statistics::{FALSE_ALARMS, holm, least_by_chance};

/// With fewer searches of each method, no order can be distinguished from chance, for any number of methods.
const FEWEST: usize = 4;

/// The ranked methods of one scene by one goal.
#[derive(Clone, Debug)]
pub struct Ranking {
    /// The goal's name.
    pub goal: String,
    /// Frame size and placement, in words.
    pub scene: Option<String>,
    /// Highest median first.
    pub methods: Vec<Ranked>,
    /// For each method but the last: the probability that chance alone puts it this far above the next one, corrected for every
    /// comparison of the run.
    by_chance: Vec<f64>,
    /// Searches per method needed to distinguish this number of methods and goals.
    pub needed: usize,
}

/// The results of a method's searches for a goal.
#[derive(Clone, Debug, Default)]
pub struct Ranked {
    /// The method.
    pub method: String,
    /// The lower bound of each search, frames per second.
    pub lower: Vec<f64>,
    /// The upper bound of each search: infinite if no load showed the method's limit.
    pub upper: Vec<f64>,
    /// The trials of the bounds.
    pub trials: Vec<u32>,
}

impl Ranked {
    fn median(&self) -> f64 {
        Estimate::of(self.lower.iter().copied()).map_or(0.0, |estimate| estimate.median)
    }

    /// The probability that chance alone puts this method so far above another. It compares this method's lower bounds with the
    /// other's upper bounds. The order was not known before, so the test is two-sided.
    fn above_by_chance(&self, other: &Self) -> f64 {
        let strata = [Stratum { low: other.upper.len(), high: self.lower.len() }];
        (2.0 * ranks::by_chance(ranks::against(&other.upper, &self.lower), &strata)).min(1.0)
    }
}

/// For each goal of several methods in one scene, the ranked methods.
pub fn of(searches: &[SearchOutcome]) -> Vec<Ranking> {
    let mut scenes: Vec<(Vec<Option<String>>, Vec<&SearchOutcome>)> = Vec::new();
    for search in searches.iter().filter(|search| search.method.is_some()) {
        let scene = repeats::scene(search)[1..].to_vec();
        match scenes.iter_mut().find(|(known, _)| *known == scene) {
            Some((_, group)) => group.push(search),
            None => scenes.push((scene, vec![search])),
        }
    }
    let mut rankings: Vec<Ranking> = scenes.iter().flat_map(|(_, group)| of_scene(group)).collect();
    correct(&mut rankings);
    rankings
}

fn of_scene(group: &[&SearchOutcome]) -> Vec<Ranking> {
    let Some(first) = group.first() else { return Vec::new() };
    let scene = first.frame_size.as_ref().zip(first.placement.as_ref());
    let scene = scene.map(|(size, placement)| format!("{size}-byte frames, placement {placement}"));
    let goals = first.goals.iter().map(|result| &result.goal.name);
    let rankings = goals.map(|goal| Ranking {
        goal: goal.clone(),
        scene: scene.clone(),
        methods: methods(group, goal),
        by_chance: Vec::new(),
        needed: 0,
    });
    rankings.filter(|ranking| ranking.methods.len() > 1).collect()
}

fn methods(group: &[&SearchOutcome], goal: &str) -> Vec<Ranked> {
    let mut methods: Vec<Ranked> = Vec::new();
    for search in group {
        let Some(method) = search.method.as_deref() else { continue };
        let Some(result) = search.goals.iter().find(|result| result.goal.name == goal) else { continue };
        let Some((lower, _)) = repeats::lower(result) else { continue };
        // An "at least" result has no upper bound of the method.
        let upper = match result.status {
            Status::AtLeast => f64::INFINITY,
            _ => result.best_bounds().map_or(f64::INFINITY, |(_, upper)| upper.intended_pps),
        };
        let place = methods.iter().position(|known| known.method == method).unwrap_or_else(|| {
            methods.push(Ranked { method: method.into(), ..Ranked::default() });
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
    let least = |searches| least_by_chance([(searches, searches)]);
    (FEWEST..).find(|&searches| least(searches) * comparisons as f64 <= FALSE_ALARMS).unwrap_or(FEWEST)
}

impl Ranking {
    /// Number of searches of the method with the fewest.
    pub fn fewest(&self) -> usize {
        self.methods.iter().map(|ranked| ranked.lower.len()).min().unwrap_or(0)
    }

    /// Whether there are enough searches to distinguish an order from chance.
    pub fn is_told(&self) -> bool {
        self.fewest() >= self.needed
    }

    /// Whether a method is above the next by more than chance explains; `None` if there are too few searches.
    pub fn is_above_next(&self, nth: usize) -> Option<bool> {
        self.is_told().then(|| self.by_chance.get(nth).is_some_and(|by_chance| *by_chance <= FALSE_ALARMS))
    }
}
