//! What a search has shown, as it is saved: for each goal its attributes, its bounds and what they are worth (reporting
//! rules of RFC 9971 section 4.8). All rates are frames per second of one interface.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::database::{Database, Observation};
use super::goal::Goal;
use super::maximum::{MaximumLoad, MaximumSource};
use super::numbers::LossNumbers;
use super::plan::SearchPlan;
use super::runner::End;
use crate::trial::SizeLabel;

/// A search and what it has shown. Its trials stand with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SearchOutcome {
    /// The method of its trials; this and the next are absent where no trial was run.
    pub method: Option<String>,
    /// Their placement.
    pub placement: Option<String>,
    /// Their frame size.
    pub frame_size: Option<SizeLabel>,
    /// Their work per packet.
    pub work: Option<String>,
    /// What was asked for; a search that is gone on with needs it.
    pub plan: SearchPlan,
    /// The highest load of the search, and where it comes from; absent where that was not found out.
    pub maximum: Option<MaximumLoad>,
    /// A result for each goal.
    pub goals: Vec<GoalResult>,
    /// Strict, NDR, PDR and loss events.
    pub numbers: LossNumbers,
    /// How the search ended.
    pub ended: End,
    /// What is to be taken with care.
    pub warnings: Vec<String>,
    /// Numbers of its trials, in the order in which they were asked for.
    pub trials: Vec<u32>,
    /// Seconds of traffic.
    pub sending_s: f64,
    /// Seconds in all, drains included.
    pub spent_s: f64,
}

/// What a goal's result is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// A regular goal result: both bounds, at most the goal's width apart.
    Regular,
    /// The lower bound is as high as the generator, the link or the user let the search go: an irregular result that says
    /// "at least", and never a throughput.
    AtLeast,
    /// Any other irregular result.
    Irregular,
}

/// Why a result is not regular.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Reason {
    /// The maximum load is held.
    MaximumLoad {
        /// What limited it.
        limit: MaximumSource,
    },
    /// At the upper bound the generator left frames unsent; the path did not lose too many of those that were sent.
    GeneratorFellShort,
    /// The least load of the search is not held.
    LeastLoadNotHeld,
    /// The search ended before the bounds were close enough.
    Ended {
        /// How.
        end: End,
    },
}

/// A load that is held, or is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Bound {
    /// Intended load, frames per second.
    pub intended_pps: f64,
    /// The least offered load of the trials that count for it: what a lower bound is good for.
    pub achieved_pps: f64,
    /// Seconds of trials at this load.
    pub seconds: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
}

/// What a search has shown for one goal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GoalResult {
    /// The goal with all its attributes.
    pub goal: Goal,
    /// What the result is worth.
    pub status: Status,
    /// Why it is not regular; absent where it is.
    pub reason: Option<Reason>,
    /// Relevant Lower Bound.
    pub lower: Option<Bound>,
    /// Relevant Upper Bound.
    pub upper: Option<Bound>,
    /// Distance of the bounds as a share of the upper one.
    pub relative_width: Option<f64>,
    /// Conditional Throughput: what was forwarded at the lower bound in the worst trial that counts.
    pub conditional_throughput_pps: Option<f64>,
}

impl Bound {
    pub(super) fn new(trials: &[Observation], counts: impl Fn(&Observation) -> bool) -> Option<Self> {
        let intended_pps = trials.first()?.load.get();
        let achieved = trials.iter().filter(|trial| counts(trial)).map(|trial| trial.achieved.get());
        Some(Self {
            intended_pps,
            achieved_pps: achieved.fold(intended_pps, f64::min),
            seconds: trials.iter().map(|trial| trial.duration.as_secs_f64()).sum(),
            trials: trials.iter().map(|trial| trial.number).collect(),
        })
    }
}

impl GoalResult {
    pub(super) fn new(goal: &Goal, seen: &Database, maximum: Option<&MaximumLoad>, ended: &End) -> Self {
        let criteria = goal.criteria();
        let bounds = seen.bounds(&criteria);
        let is_low = |trial: &Observation| trial.loss_ratio <= goal.loss_ratio.get();
        let lower = bounds.lower.and_then(|load| Bound::new(seen.at(load), is_low));
        let upper = bounds.upper.and_then(|load| Bound::new(seen.at(load), |trial| !is_low(trial)));
        let top = maximum.map_or(f64::INFINITY, |maximum| maximum.load_pps.get());
        let reason = match (bounds.lower, bounds.upper) {
            (Some(_), Some(upper)) if !seen.is_limit_of_path(upper, &criteria) => {
                Some(Reason::GeneratorFellShort)
            }
            (Some(lower), Some(upper)) if goal.width.is_met(lower.get(), upper.get(), top) => None,
            (Some(lower), None) if lower.get() >= top => {
                maximum.map(|maximum| Reason::MaximumLoad { limit: maximum.source })
            }
            (None, Some(_)) if *ended == End::Complete => Some(Reason::LeastLoadNotHeld),
            _ => Some(Reason::Ended { end: ended.clone() }),
        };
        let status = match reason {
            None => Status::Regular,
            Some(Reason::MaximumLoad { .. } | Reason::GeneratorFellShort) => Status::AtLeast,
            Some(_) => Status::Irregular,
        };
        Self {
            goal: goal.clone(),
            status,
            reason,
            lower,
            upper,
            relative_width: bounds
                .lower
                .zip(bounds.upper)
                .map(|(low, high)| (high.get() - low.get()) / high.get()),
            conditional_throughput_pps: bounds
                .lower
                .map(|load| load.get() * (1.0 - criteria.quantile_loss(seen.at(load)))),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Complete => f.write_str("the search went through to its end"),
            Self::Stopped => f.write_str("the user stopped the search"),
            Self::TimeUp => f.write_str("the time allowed was used up"),
            Self::Invalid { trials, because } => write!(f, "trial {trials:?} shows nothing: {because}"),
            Self::AboveLineRate { trial } => {
                write!(f, "trial {trial} counted more than the link can carry: counts or clock are wrong")
            }
            Self::Failed { reason } => f.write_str(reason),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MaximumLoad { limit: MaximumSource::Generator } => f.write_str("generator-limited"),
            Self::MaximumLoad { limit: MaximumSource::LineRate } => f.write_str("limited by the line rate"),
            Self::MaximumLoad { limit: MaximumSource::Given } => {
                f.write_str("limited by the maximum load given")
            }
            Self::GeneratorFellShort => {
                f.write_str("generator-limited: it left frames unsent at the next load")
            }
            Self::LeastLoadNotHeld => f.write_str("the least load of the search is not held"),
            Self::Ended { end } => end.fmt(f),
        }
    }
}

impl fmt::Display for GoalResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = |bound: &Option<Bound>, rate: fn(&Bound) -> f64| {
            bound.as_ref().map_or_else(|| "none".into(), |bound| format!("{:.0}", rate(bound).floor()))
        };
        let lower = bound(&self.lower, |bound| bound.achieved_pps);
        let upper = bound(&self.upper, |bound| bound.intended_pps);
        write!(f, "{}: ", self.goal.name)?;
        match (self.status, &self.reason) {
            (Status::AtLeast, Some(reason)) => write!(f, "at least {lower} packets/s, {reason}"),
            (_, None) => write!(f, "lower bound {lower}, upper bound {upper} packets/s"),
            (_, Some(reason)) => {
                write!(f, "irregular, lower bound {lower}, upper bound {upper} packets/s: {reason}")
            }
        }
    }
}
