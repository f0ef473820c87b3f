//! What several searches of the same set-up say together. Each is independent of the others, its self-test included: how far
//! their results lie apart is what a result is good for, which no search by itself can tell.

use super::outcome::{GoalResult, SearchOutcome, Status};
use crate::trial::SizeLabel;
use capbench_model::statistics::by_key;
use capbench_model::statistics::interval::Estimate;

/// What searches of a set-up found for one goal.
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
    /// The lower bounds, frames per second: those of the goal, or where a search ended before, by a coarser target. With the
    /// least and the most of them, and an interval for the median.
    pub lower_pps: Estimate,
    /// The least of them.
    pub least_pps: f64,
    /// The largest.
    pub most_pps: f64,
    /// Searches.
    pub searches: u32,
    /// Those that were regular.
    pub regular: u32,
    /// Those that found only what is held at least.
    pub at_least: u32,
    /// Those whose lower bound is that of a coarser target.
    pub coarser: u32,
    /// Those that have none, and are in no figure.
    pub without: u32,
    /// The trials of the lower bounds.
    pub trials: Vec<u32>,
}

/// For each set-up that was searched more than once, and each goal, in the order of the searches. `None` of those is one
/// where no search found a lower bound.
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

/// What tells set-ups apart.
pub(super) fn scene(search: &SearchOutcome) -> [Option<String>; 4] {
    let SearchOutcome { method, placement, work, frame_size, .. } = search;
    [method.clone(), placement.clone(), work.clone(), frame_size.as_ref().map(ToString::to_string)]
}

/// The lower bound that a search has for a goal, or comes nearest to: frames per second and trials.
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
