//! The numbers that belong together: what is held without a single loss, what is held by the usual tolerance of NDR and PDR,
//! and how often something is lost. Any one of them alone misleads on a noisy host.

use std::time::Duration;

use capbench_traffic::rates::Pps;
use serde::{Deserialize, Serialize};

use super::bound::{self, Moments, Trials};
use super::criteria::Criteria;
use super::database::{Bounds, Database};
use super::goal::Goal;
use super::outcome::{GoalResult, Status};
use super::presets;
use super::ratio::Ratio;
use crate::statistics::counts;
use crate::trial::TrialResult;

/// Of the trials of a search; a function of nothing else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossNumbers {
    /// The highest load at which no trial lost anything, below any at which one did. It says as much as its seconds.
    pub strict_lossless: Held,
    /// The no-drop rate: loss in a share of the time only, given by the goal's exceed ratio.
    pub ndr: Held,
    /// The partial-drop rate.
    pub pdr: Held,
    /// How often something was lost at loads that are no overload.
    pub loss_events: Option<LossEvents>,
}

/// A load that is held, and by what measure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Held {
    /// The goal whose attributes decide.
    pub by: String,
    /// Offered load of the lower bound; absent where trials do not decide any.
    pub pps: Option<f64>,
    /// Whether no higher load could show the path's limit: the maximum load of the search is held, or the generator left
    /// frames unsent at the next. What is held is at least this, and no throughput.
    pub at_least: bool,
    /// Intended load of the upper bound: the lowest that is not held. Absent where trials do not decide any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_pps: Option<f64>,
    /// Seconds of trials at `pps`.
    pub seconds: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
}

/// Loss at loads that are no overload: below all at which most trials lose in most times of 100 ms.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LossEvents {
    /// Intended load up to which trials were looked at.
    pub up_to_pps: f64,
    /// Seconds of those trials.
    pub seconds: f64,
    /// Trials.
    pub trials: u32,
    /// Those that lost something.
    pub lossy_trials: u32,
    /// Times of 100 ms in which something was lost: what one stall of the host loses lies in one of them, or two. A lossy
    /// trial nobody looked into counts as one. Early versions counted bursts, and up to the lower bound of NDR only.
    pub events: u64,
    /// Whether there may have been more, in lossy trials nobody looked into.
    pub at_least: bool,
    /// Events per second.
    pub per_second: f64,
    /// The rates that so many events can come from, if they come independently: exact, at level 0.95. Without an event the
    /// second is what the rate is below. Absent in results of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second_limits: Option<[f64; 2]>,
    /// Most frames lost one after the other, and how long that took; absent where nothing was lost, or nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<Longest>,
}

/// The longest burst of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Longest {
    /// Frames.
    pub frames: u64,
    /// Time from the first of them to the next frame that came.
    pub ns: u64,
}

/// No loss in any trial, however short.
const STRICT: Criteria = Criteria {
    loss_ratio: Ratio::ZERO,
    exceed_ratio: Ratio::ZERO,
    full_length: Duration::ZERO,
    duration_sum: Duration::from_nanos(1),
};

impl LossNumbers {
    /// From the trials of a search and the results of its goals. NDR and PDR are those of its goals, where it has one without
    /// and one with loss that may be exceeded; else of the presets `ndr` and `pdr`, as far as its trials decide them.
    pub(super) fn new(goals: &[GoalResult], seen: &Database, trials: &Trials<'_>, top: Option<Pps>) -> Self {
        let held = |by: &str, criteria: &Criteria| Held::new(by, criteria, seen, top);
        let of = |preset: &str, is_such: fn(&Goal) -> bool| match goals.iter().find(|own| is_such(&own.goal))
        {
            Some(own) => {
                Held { at_least: own.status == Status::AtLeast, ..held(&own.goal.name, &own.goal.criteria()) }
            }
            None => {
                let goal = presets::goals(preset).and_then(|goals| goals.into_iter().next());
                goal.map_or_else(|| held(preset, &STRICT), |goal| held(&goal.name, &goal.criteria()))
            }
        };
        Self {
            strict_lossless: held("strict", &STRICT),
            ndr: of("ndr", |goal| goal.loss_ratio == Ratio::ZERO && goal.exceed_ratio > Ratio::ZERO),
            pdr: of("pdr", |goal| goal.loss_ratio > Ratio::ZERO),
            loss_events: LossEvents::new(seen, trials),
        }
    }
}

impl Held {
    fn new(by: &str, criteria: &Criteria, seen: &Database, top: Option<Pps>) -> Self {
        let Bounds { lower, upper } = seen.bounds(criteria);
        let trials = lower.map_or(&[][..], |load| seen.at(load));
        let achieved = trials.iter().filter(|trial| trial.loss_ratio <= criteria.loss_ratio.get());
        let is_top = || lower.zip(top).is_some_and(|(lower, top)| lower >= top);
        Self {
            by: by.into(),
            pps: achieved.map(|trial| trial.achieved.get()).reduce(f64::min),
            at_least: match upper {
                Some(load) => lower.is_some() && !seen.is_limit_of_path(load, criteria),
                None => is_top(),
            },
            upper_pps: upper.map(Pps::get),
            seconds: bound::seconds(trials),
            trials: trials.iter().map(|trial| trial.number).collect(),
        }
    }
}

impl LossEvents {
    fn new(seen: &Database, trials: &Trials<'_>) -> Option<Self> {
        let is_no_overload = |trials: &[&TrialResult]| {
            trials.iter().filter(|trial| bound::is_overloaded(trial)).count() * 2 < trials.len()
        };
        let loads: Vec<(Pps, f64, Vec<&TrialResult>)> = seen
            .loads()
            .map(|(load, seen)| (load, bound::seconds(seen), bound::of(seen, trials)))
            .take_while(|(_, _, trials)| is_no_overload(trials))
            .collect();
        let up_to_pps = loads.last()?.0.get();
        let seconds = loads.iter().fold(0.0, |sum, (_, seconds, _)| sum + seconds);
        let trials: Vec<&TrialResult> = loads.into_iter().flat_map(|(_, _, trials)| trials).collect();
        let lossy = || trials.iter().filter(|trial| trial.lost() > 0);
        let looked_at = |trial: &&TrialResult| trial.loss_shape.as_ref().map(|shape| shape.lossy_windows);
        let events = lossy().map(|trial| looked_at(trial).unwrap_or(1)).sum();
        let (least, most) = counts::events(events);
        let longest = Moments::of(&trials).filter(|moments| moments.longest_frames > 0);
        (seconds > 0.0).then(|| Self {
            up_to_pps,
            seconds,
            trials: trials.len() as u32,
            lossy_trials: lossy().count() as u32,
            events,
            at_least: lossy().any(|trial| looked_at(trial).is_none()),
            per_second: events as f64 / seconds,
            per_second_limits: Some([least / seconds, most / seconds]),
            longest: longest
                .map(|moments| Longest { frames: moments.longest_frames, ns: moments.longest_ns }),
        })
    }
}
