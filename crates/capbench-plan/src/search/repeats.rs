//! Several searches of the same set-up together. Each search is independent of the others, including its self-test. The spread
//! of their results shows how accurate a result is; a single search cannot show that.

use super::outcome::{GoalResult, SearchOutcome, Status};
use capbench_model::statistics::by_key;
use capbench_model::statistics::interval::Estimate;
use capbench_model::trial::SizeLabel;

/// The results of a set-up's searches for one goal.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// The goal's name.
    pub goal: String,
    /// The method.
    pub method: String,
    /// The placement.
    pub placement: String,
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The work per packet.
    pub work: String,
    /// The lower bounds of the goal, frames per second. If a search ended early, the bound of a coarser target. Includes
    /// minimum, maximum and an interval for the median.
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

/// For each set-up with more than one search, and each goal, in the order of the searches. Set-ups for which no search found a
/// lower bound are omitted.
pub fn of(searches: &[SearchOutcome]) -> Vec<Repeated> {
    let repeated = searches.iter().filter(|search| search.nth.is_some() && search.method.is_some());
    by_key(repeated, |search| scene(search))
        .iter()
        .filter(|(_, group)| group.len() > 1)
        .flat_map(|(_, group)| {
            group[0].goals.iter().filter_map(|first| Repeated::of(&first.goal.name, group))
        })
        .collect()
}

/// The properties that distinguish set-ups.
pub(super) fn scene(search: &SearchOutcome) -> [Option<String>; 4] {
    let SearchOutcome { method, placement, work, frame_size, .. } = search;
    [method.clone(), placement.clone(), work.clone(), frame_size.as_ref().map(ToString::to_string)]
}

/// The lower bound of a search for a goal, or of its finest target that has one: frames per second and trials.
pub(super) fn lower(result: &GoalResult) -> Option<(f64, &[u32])> {
    let bound = result.lower.as_ref().or(result.so_far.as_ref().map(|so_far| &so_far.lower))?;
    Some((bound.achieved_pps, &bound.trials))
}

impl Repeated {
    fn of(goal: &str, group: &[&SearchOutcome]) -> Option<Self> {
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
