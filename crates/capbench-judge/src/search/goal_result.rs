//! The saved result of a goal: its bounds and their quality (reporting rules of RFC 9971 section 4.8). All rates are frames per
//! second of one interface.

use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::bound::{Bound, BoundsDistinction, Side, Trials};
use super::database::{Bounds, Database};
use super::end::End;
use super::goal::{Goal, seconds};
use super::maximum::{MaximumLoad, MaximumSource};
use crate::limit::{Limit, LimitedBy, is_mostly_buffered};
use crate::sustained::Criteria;
use crate::sustained::moments::Moments;

/// The quality of a goal's result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A regular goal result: both bounds are known, and their distance is within the goal's width.
    Regular,
    /// The lower bound is the highest load that generator, link or user allowed: an irregular result, never a throughput.
    AtLeast,
    /// Any other irregular result.
    Irregular,
}

/// Why a result is not regular.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// The maximum load is sustained.
    MaximumLoad {
        /// The origin of that limit.
        limit: MaximumSource,
    },
    /// At the upper bound the generator left frames unsent. The path did not lose too many of the sent frames.
    GeneratorFellShort,
    /// The same on a path where the offered load depends on the receiver: the receiver may have slowed down the generator.
    GeneratorAndReceiverFellShort,
    /// The minimum load of the search is not sustained.
    LeastLoadNotHeld,
    /// The generator left frames unsent at the minimum load of the search, and the path did not lose too many of the sent frames.
    LeastLoadNotSent,
    /// The search ended before the bounds were close enough.
    Ended {
        /// How it ended.
        end: End,
    },
}

impl Reason {
    /// The limit if there is no upper bound for this reason.
    fn limit(&self) -> Option<Limit> {
        matches!(self, Self::MaximumLoad { limit: MaximumSource::Generator }).then_some(Limit::Generator)
    }

    /// The quality of a result that is irregular for this reason.
    fn status(&self) -> Status {
        match self {
            Self::MaximumLoad { .. } | Self::GeneratorFellShort | Self::GeneratorAndReceiverFellShort => {
                Status::AtLeast
            }
            Self::LeastLoadNotHeld | Self::LeastLoadNotSent | Self::Ended { .. } => Status::Irregular,
        }
    }
}

/// Bounds by a coarser target of the search, which requires less trial time than the goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SoFar {
    /// Length of its full-length trials.
    #[serde(rename = "trial_duration_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub trial_duration: Duration,
    /// Maximum trial time that decides a load.
    #[serde(rename = "duration_sum_s", with = "seconds")]
    #[schemars(with = "f64")]
    pub duration_sum: Duration,
    /// Its Relevant Lower Bound.
    pub lower: Bound,
    /// Its Relevant Upper Bound.
    pub upper: Bound,
    /// Their distance as a share of the upper one.
    pub relative_width: f64,
}

/// The result of a search for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct GoalResult {
    /// The goal with all its attributes.
    pub goal: Goal,
    /// The quality of the result.
    pub status: Status,
    /// Why it is not regular; absent if it is.
    pub reason: Option<Reason>,
    /// Relevant Lower Bound.
    pub lower: Option<Bound>,
    /// Relevant Upper Bound.
    pub upper: Option<Bound>,
    /// Distance of the bounds as a share of the upper one.
    pub relative_width: Option<f64>,
    /// Conditional Throughput: the rate forwarded at the lower bound in the worst trial that counts. Absent for "at least".
    pub conditional_throughput_pps: Option<f64>,
    /// If the search ended before the goal had both bounds: those of the finest coarser target that has both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub so_far: Option<SoFar>,
    /// Whether the trials distinguish its bounds; absent unless both are known.
    #[serde(rename = "apart", default, skip_serializing_if = "Option::is_none")]
    pub distinction: Option<BoundsDistinction>,
    /// What limits it, by the trials at the upper bound, or without one the generator if it sends no more; absent if nothing shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<Limit>,
}

/// Bounds by some criteria with the losses of their trials.
fn bounded(criteria: &Criteria, seen: &Database, trials: &Trials<'_>) -> (Option<Bound>, Option<Bound>) {
    let found = seen.bounds(criteria);
    let lower = found.lower.and_then(|load| Bound::new(seen.at(load), trials, criteria, Side::Lower));
    let upper = found.upper.and_then(|load| Bound::new(seen.at(load), trials, criteria, Side::Upper));
    (lower, upper)
}

/// The distance of bounds as a share of the upper one.
fn width(lower: Pps, upper: Pps) -> f64 {
    (upper.get() - lower.get()) / upper.get()
}

impl SoFar {
    /// The bounds of the finest coarser target that has both; `None` if none has.
    fn new(goal: &Goal, seen: &Database, trials: &Trials<'_>) -> Option<Self> {
        let chain = goal.chain();
        let (_, coarser) = chain.split_last()?;
        coarser.iter().rev().find_map(|criteria| {
            let Bounds { lower, upper } = seen.bounds(criteria);
            // A load that only the generator could not reach is not a bound of the method.
            let relative_width = width(lower?, upper.filter(|&load| seen.is_limit_of_path(load, criteria))?);
            let (lower, upper) = bounded(criteria, seen, trials);
            Some(Self {
                trial_duration: criteria.full_length,
                duration_sum: criteria.duration_sum,
                lower: lower?,
                upper: upper?,
                relative_width,
            })
        })
    }
}

impl GoalResult {
    /// The result of a goal by these trials.
    pub fn new(
        goal: &Goal,
        seen: &Database,
        trials: &Trials<'_>,
        maximum: Option<&MaximumLoad>,
        ended: &End,
    ) -> Self {
        let criteria = goal.criteria();
        let bounds = seen.bounds(&criteria);
        let reason = why_irregular(goal, &bounds, seen, trials, maximum, ended);
        let status = reason.as_ref().map_or(Status::Regular, Reason::status);
        let (lower, upper) = bounded(&criteria, seen, trials);
        let has_both = lower.is_some() && upper.is_some();
        let is_unfinished = matches!(reason, Some(Reason::Ended { .. })) && !has_both;
        let so_far = if is_unfinished { SoFar::new(goal, seen, trials) } else { None };
        let mut conditional_throughput_pps = None;
        if let Some(load) = bounds.lower.filter(|_| status != Status::AtLeast) {
            conditional_throughput_pps = Some(load.get() * (1.0 - criteria.quantile_loss(seen.at(load))));
        }
        let mut result = Self {
            goal: goal.clone(),
            status,
            reason,
            relative_width: bounds.lower.zip(bounds.upper).map(|(low, high)| width(low, high)),
            conditional_throughput_pps,
            distinction: BoundsDistinction::from_bounds(seen, &criteria, bounds),
            limit: None,
            so_far,
            lower,
            upper,
        };
        result.limit = result.limit_by_trials(trials);
        result
    }

    /// The lower bound of the coarser target if there is one, else its own. A coarser target decides a load as the goal does, but after less
    /// trial time. So the goal's own bound is no nearer to the limit, unless it is a sustained load above an unsustained one, which
    /// [`Database::bounds`] ignores, too.
    pub fn best_lower(&self) -> Option<&Bound> {
        self.so_far.as_ref().map(|so_far| &so_far.lower).or(self.lower.as_ref())
    }

    /// The upper bound by the rule of [`Self::best_lower`].
    pub fn best_upper(&self) -> Option<&Bound> {
        self.so_far.as_ref().map(|so_far| &so_far.upper).or(self.upper.as_ref())
    }

    /// Both best bounds, which are of one target; `None` if one is missing.
    pub fn best_bounds(&self) -> Option<(&Bound, &Bound)> {
        self.best_lower().zip(self.best_upper())
    }

    /// What limits its load, by the trials at its upper bound: earlier versions saved another limit of the same trials. Without an upper
    /// bound it is the generator if that sends no more.
    pub fn limit_by_trials(&self, trials: &Trials<'_>) -> Option<Limit> {
        match self.best_upper().and_then(|upper| trials.all_of(&upper.trials)) {
            Some(of_bound) => Limit::at_load(&of_bound, trials.burst_frames()),
            None => self.limit.or(self.reason.as_ref().and_then(Reason::limit)),
        }
    }

    /// What limits its load, in one word of a table, by the upper bound that [`Self::best_upper`] gives.
    pub fn limited_by(&self, trials: &Trials<'_>) -> Option<LimitedBy> {
        let limit = self.limit_by_trials(trials);
        let Some(upper) = self.best_upper() else { return LimitedBy::from_limit(limit, None, false) };
        let lost = upper.losses.as_ref().map_or(&[][..], |losses| &losses.lost);
        let buffered = upper.backlogged.map_or(0, |backlogged| backlogged.frames);
        let lost_at = lost.first().map(|most| most.place);
        LimitedBy::from_limit(limit, lost_at, is_mostly_buffered(lost, buffered))
    }

    /// When frames were lost at the upper bound, if in single moments and not because the load was too high.
    pub fn stalls(&self) -> Option<Moments> {
        // Frames that were not read as fast as they arrived are no moments.
        let upper = self.best_upper().filter(|upper| !upper.is_too_much_to_take())?;
        let moments = upper.losses.as_ref()?.moments?;
        moments.are_few().then_some(moments)
    }

    /// Numbers of the trials that support its bounds, including those of the coarser target. Duplicates are possible.
    pub fn trials(&self) -> Vec<u32> {
        let coarser = self.so_far.iter().flat_map(|so_far| [&so_far.lower, &so_far.upper]);
        let bounds = self.lower.iter().chain(&self.upper).chain(coarser);
        bounds.flat_map(|bound| bound.trials.iter().copied()).collect()
    }
}

/// Why the result of a goal with these bounds is not regular; `None` if it is.
fn why_irregular(
    goal: &Goal,
    bounds: &Bounds,
    seen: &Database,
    trials: &Trials<'_>,
    maximum: Option<&MaximumLoad>,
    ended: &End,
) -> Option<Reason> {
    let top = maximum.map_or(f64::INFINITY, |maximum| maximum.load_pps.get());
    let is_over = *ended == End::Complete;
    match (bounds.lower, bounds.upper) {
        (Some(lower), Some(upper)) => {
            let is_met = goal.width.is_met(lower.get(), upper.get(), top);
            let is_limit = seen.is_limit_of_path(upper, &goal.criteria());
            if is_limit && is_met {
                None
            } else if is_limit || !is_met && !is_over {
                Some(Reason::Ended { end: ended.clone() })
            } else if trials.load_depends() {
                Some(Reason::GeneratorAndReceiverFellShort)
            } else {
                Some(Reason::GeneratorFellShort)
            }
        }
        (Some(lower), None) if lower.get() >= top => {
            maximum.map(|maximum| Reason::MaximumLoad { limit: maximum.source })
        }
        (None, Some(upper)) if is_over => Some(match seen.is_limit_of_path(upper, &goal.criteria()) {
            true => Reason::LeastLoadNotHeld,
            false => Reason::LeastLoadNotSent,
        }),
        _ => Some(Reason::Ended { end: ended.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::ledger::LostAt;
    use capbench_model::places::Place;
    use capbench_model::trial::{Emptying, Load, Phase, TrialResult};

    use super::*;
    use crate::limit::tests::in_one_window;
    use crate::search::preset::goals_of_preset;
    use crate::search::{Backlogged, Losses};

    /// An upper bound whose trials lost this many frames in a ring, and delivered others only because buffers had room.
    fn upper(lost: u64, buffered: u64) -> Bound {
        let lost_at = vec![LostAt { place: Place::Ring, frames: lost }];
        Bound {
            intended_pps: 1e6,
            achieved_pps: 1e6,
            seconds: 10.0,
            trials: vec![1],
            high_loss: None,
            losses: Some(Losses { lost: lost_at, most_of_a_trial: 0.01, moments: None }),
            backlogged: Some(Backlogged { frames: buffered, all_frames: buffered + lost }),
            disturbed: Vec::new(),
        }
    }

    fn result(upper: Option<Bound>, coarser_upper: Option<Bound>) -> GoalResult {
        let so_far = coarser_upper.map(|coarser| SoFar {
            trial_duration: Duration::from_secs(1),
            duration_sum: Duration::from_secs(2),
            lower: Bound { losses: None, backlogged: None, ..coarser.clone() },
            upper: coarser,
            relative_width: 0.1,
        });
        GoalResult {
            goal: goals_of_preset("ndr").unwrap().remove(0),
            status: Status::Irregular,
            reason: None,
            lower: None,
            upper,
            relative_width: None,
            conditional_throughput_pps: None,
            so_far,
            distinction: None,
            limit: Some(Limit::Application),
        }
    }

    #[test]
    fn a_table_names_the_application_where_more_frames_were_buffered_than_a_place_lost() {
        let limited_by =
            |lost, buffered| result(Some(upper(lost, buffered)), None).limited_by(&Trials::new(&[], 1));
        assert_eq!(limited_by(100, 20_000), Some(LimitedBy::Application));
        assert_eq!(limited_by(20_000, 100), Some(LimitedBy::Place(Place::Ring)));
    }

    #[test]
    fn the_bound_of_a_coarser_target_shows_what_limits_like_any_other() {
        let coarser = result(None, Some(upper(20_000, 100)));
        assert_eq!(coarser.limited_by(&Trials::new(&[], 1)), Some(LimitedBy::Place(Place::Ring)));
    }

    #[test]
    fn the_bounds_of_a_coarser_target_count_before_the_single_one_of_the_goal() {
        let of_goal = |intended_pps| Bound { intended_pps, ..upper(20_000, 100) };
        let mut early = result(Some(of_goal(1.2e6)), Some(of_goal(1e6)));
        assert_eq!(early.best_upper(), Some(&of_goal(1e6)));
        early.lower = Some(of_goal(8e5));
        let so_far = early.so_far.take().unwrap();
        assert_eq!(early.best_bounds(), Some((&of_goal(8e5), &of_goal(1.2e6))));
        early.upper = None;
        assert_eq!((early.best_lower(), early.best_bounds()), (Some(&of_goal(8e5)), None));
        let early = GoalResult { so_far: Some(so_far.clone()), ..early };
        assert_eq!(early.best_bounds(), Some((&so_far.lower, &so_far.upper)));
    }

    #[test]
    fn one_trial_of_several_that_was_behind_does_not_make_the_application_the_limit() {
        let mut trials: Vec<TrialResult> = Vec::new();
        for (number, lost, after_s) in [(1, 50, 0.0), (2, 50, 0.0), (3, 0, 0.25)] {
            let load = Load::Rate("100k".parse().unwrap());
            let measured = measured(100_000, 100_000, 100_000 - lost, lost);
            let second = Duration::from_secs(1);
            let mut trial = measured.result(number, Phase::Search, &profile("recv"), load, second);
            trial.emptying = Some(Emptying { after_s, holds_s: 0.0 });
            trial.loss_pattern = (lost > 0).then(|| in_one_window(100_000, lost, false));
            trial.cpu.batches = 100_000;
            trials.push(trial);
        }
        let losses = Losses::from_trials(&trials.iter().collect::<Vec<_>>());
        let bound = Bound { trials: vec![1, 2, 3], losses, ..upper(100, 20_000) };
        assert!(bound.is_too_much_to_take(), "all buffered frames are more than all lost ones");
        let trials = Trials::new(&trials, 1);
        let lost_in_ring = result(Some(bound), None);
        assert_eq!(lost_in_ring.limit_by_trials(&trials), Some(Limit::Ring));
        assert_eq!(lost_in_ring.limited_by(&trials), Some(LimitedBy::Place(Place::Ring)));
    }
}
