//! Several searches: the ranks of methods by their lower bounds, and the spread of the searches of one set-up.
//!
//! A search is one sample, independent of the others including its self-test. Two searches of the same method differ by some
//! tenths of a per cent, often with bounds that do not overlap. So one search per method proves no order. Several searches do:
//! by their ranks, corrected for all comparisons of the run. The intervals of their medians must not overlap either, because a
//! report shows them.

use serde::Serialize;

use super::goal_result::{GoalResult, Status};
use super::outcome::SearchOutcome;
use crate::thresholds::{MOST_ADVISED_SEARCHES, SEARCH_ORDER_FALSE_ALARMS};
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::SizeLabel;
use capbench_statistics::interval::Estimate;
use capbench_statistics::ranks::{self, Stratum};
use capbench_statistics::{by_key, holm, least_by_chance, median};

/// The ranked methods of one scene by one goal. A scene is a set-up without method.
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
    /// The methods, the one with the highest median of its lower bounds first.
    pub methods: Vec<Ranked>,
    /// For each method but the last: the corrected probability that chance puts it this far above the next one.
    by_chance: Vec<f64>,
    /// Number of comparisons of the run, which share the probability of a false one.
    comparisons: usize,
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
    /// The median of its lower bounds.
    pub(crate) fn median(&self) -> f64 {
        median(self.lower.iter().copied()).unwrap_or_default()
    }

    /// Whether the interval of the median of its lower bounds is above that of another method.
    fn has_higher_interval(&self, other: &Self) -> bool {
        let interval = Estimate::of(self.lower.iter().copied());
        let other_interval = Estimate::of(other.lower.iter().copied());
        let low = interval.and_then(|interval| interval.low);
        let other_high = other_interval.and_then(|interval| interval.high);
        low.zip(other_high).is_some_and(|(low, other_high)| low > other_high)
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
    goal.best_lower().map_or(0.0, |bound| bound.achieved_pps)
}

/// For each goal of several methods in one scene, the ranked methods.
pub fn rankings(searches: &[SearchOutcome]) -> Vec<Ranking> {
    let scenes = by_key(searches.iter().filter(|search| search.method.is_some()), |search| {
        Scene::of_search(search).without_method()
    });
    let mut rankings: Vec<Ranking> =
        scenes.iter().flat_map(|(_, searches)| rankings_in_scene(searches)).collect();
    compare_methods(&mut rankings);
    rankings
}

/// A ranking for each goal of the searches of one scene, if several methods have a bound. They are not compared yet.
fn rankings_in_scene(searches: &[&SearchOutcome]) -> Vec<Ranking> {
    let Some(first) = searches.first() else { return Vec::new() };
    let mut rankings = Vec::new();
    for result in &first.goals {
        let methods = methods(searches, &result.goal.name);
        if methods.len() > 1 {
            rankings.push(Ranking {
                goal: result.goal.name.clone(),
                frame_size: first.frame_size.clone(),
                placement: first.placement.clone(),
                work: first.work.clone(),
                methods,
                by_chance: Vec::new(),
                comparisons: 0,
                needed: 0,
            });
        }
    }
    rankings
}

/// The methods with a lower bound for a goal, the one with the highest median first.
fn methods(searches: &[&SearchOutcome], goal: &str) -> Vec<Ranked> {
    let mut methods: Vec<Ranked> = Vec::new();
    for search in searches {
        let Some(method) = &search.method else { continue };
        let Some(result) = search.goals.iter().find(|result| result.goal.name == goal) else { continue };
        let Some(lower) = result.best_lower() else { continue };
        // An "at least" result has no upper bound of the method.
        let upper = match result.status {
            Status::AtLeast => f64::INFINITY,
            _ => result.best_upper().map_or(f64::INFINITY, |upper| upper.intended_pps),
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
        ranked.lower.push(lower.achieved_pps);
        ranked.upper.push(upper);
        ranked.trials.extend(result.trials());
    }
    methods.sort_by(|a, b| b.median().total_cmp(&a.median()));
    methods
}

/// A comparison of a method with one that is ranked below it.
struct Compared {
    /// Index of the ranking.
    ranking: usize,
    /// Whether the methods are next to each other in the ranking.
    are_neighbours: bool,
    /// The probability that chance puts the first above the second.
    by_chance: f64,
}

/// Compares the methods of every ranking, each with each, and keeps the corrected probabilities of neighbours. The other comparisons
/// count for the correction, because the ranks, and so the neighbours, follow from the results.
fn compare_methods(rankings: &mut [Ranking]) {
    let mut all = Vec::new();
    for (nth, ranking) in rankings.iter().enumerate() {
        let methods = &ranking.methods;
        for higher in 0..methods.len() {
            for lower in higher + 1..methods.len() {
                all.push(Compared {
                    ranking: nth,
                    are_neighbours: lower == higher + 1,
                    by_chance: methods[higher].above_by_chance(&methods[lower]),
                });
            }
        }
    }
    let chances: Vec<f64> = all.iter().map(|compared| compared.by_chance).collect();
    let comparisons = all.len();
    let needed = searches_to_distinguish(comparisons);
    for (compared, by_chance) in all.iter().zip(holm::corrected(&chances)) {
        let ranking = &mut rankings[compared.ranking];
        ranking.comparisons = comparisons;
        ranking.needed = needed;
        // The comparisons of a ranking begin with its first method, so neighbours come in the order of their ranks.
        if compared.are_neighbours {
            ranking.by_chance.push(by_chance);
        }
    }
}

/// Searches per method with which the clearest order is distinguished among this number of comparisons.
pub fn searches_to_distinguish(comparisons: usize) -> usize {
    let level = SEARCH_ORDER_FALSE_ALARMS / comparisons.max(1) as f64;
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

    /// How many searches of each method show that the first is above the second, if further ones are like these. `None` if no reasonable number
    /// does.
    fn searches_that_decide(&self) -> Option<usize> {
        let [first, second, ..] = &self.methods[..] else { return None };
        let pairs = (first.lower.len() * second.upper.len()).max(1) as f64;
        let contrary_share = ranks::against(&second.upper, &first.lower) as f64 / pairs;
        let level = SEARCH_ORDER_FALSE_ALARMS / self.comparisons.max(1) as f64;
        for searches in self.needed..=MOST_ADVISED_SEARCHES {
            let contrary = (contrary_share * (searches * searches) as f64).ceil() as usize;
            let by_chance = ranks::by_chance(contrary, &[Stratum { low: searches, high: searches }]);
            if 2.0 * by_chance <= level {
                return Some(searches);
            }
        }
        None
    }

    /// Whether a method is above the next by more than chance explains; `None` if there are too few searches.
    pub fn is_above_next(&self, nth: usize) -> Option<bool> {
        if !self.has_enough_searches() {
            return None;
        }
        let [method, next, ..] = self.methods.get(nth..)? else { return Some(false) };
        let is_by_chance =
            self.by_chance.get(nth).is_none_or(|by_chance| *by_chance > SEARCH_ORDER_FALSE_ALARMS);
        Some(!is_by_chance && method.has_higher_interval(next))
    }
}

/// Whether repeated searches show which of several methods sustains most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct FirstPlace {
    /// Whether the first method is above the second one by more than chance explains.
    pub is_distinguished: bool,
    /// How many searches of each method show it, if there are too few, and if further ones are like these.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needed_searches: Option<usize>,
}

impl FirstPlace {
    /// The first place by the first goal of the first set-up; `None` unless several methods have a bound, and one was searched several
    /// times.
    pub fn of_searches(searches: &[SearchOutcome]) -> Option<Self> {
        if searches.iter().all(|search| search.nth.is_none()) {
            return None;
        }
        let first = searches.first()?;
        let scene = Scene::of_search(first).without_method();
        let goal = &first.goals.first()?.goal.name;
        let all = rankings(searches);
        let ranking = all.iter().find(|ranking| {
            let of_ranking = Scene {
                method: None,
                placement: ranking.placement.as_ref(),
                work: ranking.work.as_ref(),
                frame_size: ranking.frame_size.as_ref(),
            };
            of_ranking == scene && ranking.goal == *goal
        })?;
        Some(Self {
            is_distinguished: ranking.is_above_next(0) == Some(true),
            needed_searches: match ranking.has_enough_searches() {
                true => None,
                false => ranking.searches_that_decide(),
            },
        })
    }
}

/// The results of a set-up's searches for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
    /// Whether the interval ends at a load of a search with an "at least" result, so that its true end can be higher.
    #[serde(default)]
    pub is_end_open: bool,
    /// The trials of the lower bounds.
    pub trials: Vec<u32>,
}

/// For each set-up with several searches, and each goal: their results, unless no search found a lower bound.
pub fn repeated(searches: &[SearchOutcome]) -> Vec<Repeated> {
    let numbered = searches.iter().filter(|search| search.nth.is_some() && search.method.is_some());
    let mut repeated = Vec::new();
    for (_, group) in by_key(numbered, |search| Scene::of_search(search)) {
        if group.len() < 2 {
            continue;
        }
        for result in &group[0].goals {
            repeated.extend(Repeated::new(&result.goal.name, &group));
        }
    }
    repeated
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

/// Whether the interval of the median of these lower bounds has no known upper end: a search without an upper bound of the method can
/// have a higher load than was tried, and such searches are enough to reach the end.
pub(crate) fn is_end_open<'r>(results: impl IntoIterator<Item = &'r GoalResult>) -> bool {
    let mut highest_pps = Vec::new();
    for result in results {
        let Some(bound) = result.best_lower() else { continue };
        highest_pps.push(match result.status {
            Status::AtLeast => f64::INFINITY,
            _ => bound.achieved_pps,
        });
    }
    let interval = Estimate::of(highest_pps);
    interval.and_then(|interval| interval.high).is_some_and(f64::is_infinite)
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

    /// The results of these searches of one set-up for a goal; `None` if none has a lower bound.
    fn new(goal: &str, searches: &[&SearchOutcome]) -> Option<Self> {
        let first = searches.first()?;
        let mut lower_pps = Vec::new();
        let mut trials = Vec::new();
        let mut results = 0;
        let mut regular = 0;
        let mut at_least = 0;
        let mut coarser = 0;
        let mut without = 0;
        let mut of_goal = Vec::new();
        for result in searches.iter().flat_map(|search| &search.goals) {
            if result.goal.name != goal {
                continue;
            }
            of_goal.push(result);
            results += 1;
            regular += u32::from(result.status == Status::Regular);
            at_least += u32::from(result.status == Status::AtLeast);
            let Some(bound) = result.best_lower() else {
                without += 1;
                continue;
            };
            coarser += u32::from(result.so_far.is_some());
            lower_pps.push(bound.achieved_pps);
            trials.extend(&bound.trials);
        }
        Some(Self {
            goal: goal.into(),
            method: first.method.clone()?,
            placement: first.placement.clone()?,
            frame_size: first.frame_size.clone()?,
            work: first.work.clone()?,
            lower_pps: Estimate::of(lower_pps.iter().copied())?,
            least_pps: lower_pps.iter().copied().reduce(f64::min)?,
            most_pps: lower_pps.iter().copied().reduce(f64::max)?,
            searches: results,
            regular,
            at_least,
            coarser,
            without,
            is_end_open: is_end_open(of_goal),
            trials,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Ranked, Ranking, searches_to_distinguish};

    /// A ranking of two methods with these bounds.
    fn ranking(first: &[f64], second: &[f64]) -> Ranking {
        let mut methods = Vec::new();
        for (method, bounds) in [("packet-v3", first), ("recv", second)] {
            methods.push(Ranked {
                method: method.into(),
                lower: bounds.to_vec(),
                upper: bounds.to_vec(),
                trials: Vec::new(),
            });
        }
        Ranking {
            goal: "ndr".into(),
            frame_size: None,
            placement: None,
            work: None,
            methods,
            by_chance: Vec::new(),
            comparisons: 1,
            needed: searches_to_distinguish(1),
        }
    }

    #[test]
    fn searches_are_named_that_decide_if_further_ones_are_like_these() {
        let far_apart = ranking(&[5.0, 6.0, 7.0], &[1.0, 2.0, 3.0]);
        assert_eq!(far_apart.searches_that_decide(), Some(4));
        let near = ranking(&[3.0, 6.0, 7.0], &[1.0, 2.0, 4.0]);
        assert_eq!(
            near.searches_that_decide(),
            Some(6),
            "a ninth of the pairs contradict: 4 of 36, and 5 may"
        );
        let mixed = ranking(&[1.0, 6.0, 7.0], &[2.0, 5.0, 6.5]);
        assert_eq!(mixed.searches_that_decide(), None, "more of these show nothing");
    }

    #[test]
    fn twelve_searches_are_asked_for_and_not_more() {
        let quarter = ranking(&[1.0, 6.0, 7.0, 8.0], &[2.0, 3.0, 4.0, 5.0]);
        assert_eq!(
            quarter.searches_that_decide(),
            Some(12),
            "of 144 pairs 36 contradict and 37 may; of 121 pairs 31 do and 30 may"
        );
        // Of 196 pairs of 14 searches 55 contradict, and may.
        let seven_of_25 = ranking(&[1.0, 4.5, 8.0, 9.0, 10.0], &[2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(seven_of_25.searches_that_decide(), None);
    }

    #[test]
    fn a_method_is_above_the_next_if_chance_explains_it_in_fewer_than_one_of_20_cases() {
        let mut ranking = Ranking { needed: 2, ..ranking(&[2e5; 2], &[1e5; 2]) };
        for (by_chance, is_above) in [(0.048, true), (0.052, false)] {
            ranking.by_chance = vec![by_chance];
            assert_eq!(ranking.is_above_next(0), Some(is_above), "{by_chance}");
        }
        ranking.by_chance = vec![0.01];
        assert_eq!(ranking.is_above_next(0), Some(true));
        ranking.methods[1].lower = vec![1e5, 2.1e5];
        assert_eq!(ranking.is_above_next(0), Some(false), "the intervals of the medians overlap");
    }
}
