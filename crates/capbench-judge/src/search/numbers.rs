//! The numbers of a search that belong together: the load sustained without a single loss, the load sustained within the usual
//! tolerance of NDR and PDR, and how often frames are lost. Each one alone misleads on a noisy host.

use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::bound::{self, Moments, Trials};
use super::database::{Bounds, Database};
use super::notation::preset;
use super::outcome::{GoalResult, Status};
use crate::ratio::Ratio;
use crate::sustained::Criteria;
use capbench_model::statistics::counts;
use capbench_model::trial::{TrialResult, Verdict};

/// The numbers of a search, computed only from its trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossNumbers {
    /// The highest load below all lossy ones. Its value as evidence depends on its seconds.
    pub strict_lossless: Held,
    /// The no-drop rate: frames may be lost only in a share of the time, set by the goal's exceed ratio.
    pub ndr: Held,
    /// The partial-drop rate.
    pub pdr: Held,
    /// How often frames were lost at loads below overload.
    pub loss_events: Option<LossEvents>,
}

/// A sustained load, and the goal that decides it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Held {
    /// The goal whose attributes decide.
    pub by: String,
    /// Offered load of the lower bound; absent if the trials decide no load.
    pub pps: Option<f64>,
    /// Whether no higher load showed the path's limit: the maximum is sustained, or the generator left frames unsent.
    pub at_least: bool,
    /// Intended load of the upper bound: the lowest unsustained load. Absent if the trials decide no load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upper_pps: Option<f64>,
    /// Seconds of trials at `pps`.
    pub seconds: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
}

/// Loss at loads below overload. Overload begins at the lowest load at which at least half of the trials lose frames in most 100
/// ms windows, or did not receive frames as fast as they arrived.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossEvents {
    /// The highest intended load of the trials that were evaluated.
    pub up_to_pps: f64,
    /// Seconds of those trials.
    pub seconds: f64,
    /// Number of these trials.
    pub trials: u32,
    /// Trials among them that lost frames.
    pub lossy_trials: u32,
    /// Attempts that were retried because the host disturbed them. They decide no load; here they count. 0 in early versions.
    #[serde(default)]
    pub set_aside: u32,
    /// Retried attempts that lost frames.
    #[serde(default)]
    pub set_aside_lossy: u32,
    /// Number of 100 ms windows with a loss. The loss of one stall of the host falls in one or two of them. A lossy trial that
    /// was not inspected counts as one. Early versions counted bursts, and only up to the lower bound of NDR.
    pub events: u64,
    /// Whether there may have been more events, in lossy trials that were not inspected.
    pub at_least: bool,
    /// Events per second.
    pub per_second: f64,
    /// Confidence limits of that rate if events are independent: exact, at level 0.95. Without an event the second limit is the
    /// upper limit of the rate. Absent in results of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_second_limits: Option<[f64; 2]>,
    /// The longest run of consecutive lost frames and its duration; absent if nothing was lost, or no trial was inspected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longest: Option<Longest>,
}

/// The longest burst of loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Longest {
    /// Frames.
    pub frames: u64,
    /// Time from the first of them to the next received frame.
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
    /// Computes the numbers. NDR and PDR are the goals with these names or attributes, else the presets, as far as the trials
    /// decide them.
    pub fn new(goals: &[GoalResult], seen: &Database, trials: &Trials<'_>, top: Option<Pps>) -> Self {
        let held = |by: &str, criteria: &Criteria| Held::new(by, criteria, seen, top);
        let goal_called = |name: &str| {
            let usual = preset(name).map_or(STRICT, |goals| goals[0].criteria());
            let is_called_so = |own: &&GoalResult| own.goal.name == name;
            let asks_the_same = |own: &&GoalResult| own.goal.criteria() == usual;
            match goals.iter().find(is_called_so).or_else(|| goals.iter().find(asks_the_same)) {
                Some(own) => Held {
                    at_least: own.status == Status::AtLeast,
                    ..held(&own.goal.name, &own.goal.criteria())
                },
                None => held(name, &usual),
            }
        };
        Self {
            strict_lossless: held("strict", &STRICT),
            ndr: goal_called("ndr"),
            pdr: goal_called("pdr"),
            loss_events: LossEvents::new(seen, trials),
        }
    }
}

impl Held {
    fn new(by: &str, criteria: &Criteria, seen: &Database, top: Option<Pps>) -> Self {
        let Bounds { lower, upper } = seen.bounds(criteria);
        let trials = lower.map_or(&[][..], |load| seen.at(load));
        let achieved = trials.iter().filter(|trial| !criteria.is_high_loss(trial));
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

/// A trial with its earlier attempts that were retried and are still evidence.
fn with_attempts(trial: &TrialResult) -> impl Iterator<Item = &TrialResult> {
    let attempts = trial.guarding.iter().flat_map(|guarding| &guarding.discarded);
    let sound = attempts.map(|attempt| &attempt.trial).filter(|trial| trial.verdict != Verdict::Invalid);
    sound.chain([trial])
}

impl LossEvents {
    fn new(seen: &Database, by_number: &Trials<'_>) -> Option<Self> {
        let is_no_overload = |trials: &[&TrialResult]| {
            trials.iter().filter(|trial| by_number.is_overloaded(trial)).count() * 2 < trials.len()
        };
        let loads: Vec<(Pps, Vec<&TrialResult>)> = seen
            .loads()
            .map(|(load, seen)| (load, by_number.observed_trials(seen)))
            .take_while(|(_, trials)| is_no_overload(trials))
            .collect();
        let up_to_pps = loads.last()?.0.get();
        let stand: Vec<&TrialResult> = loads.into_iter().flat_map(|(_, trials)| trials).collect();
        let trials: Vec<&TrialResult> = stand.iter().flat_map(|trial| with_attempts(trial)).collect();
        let seconds = trials.iter().fold(0.0, |sum, trial| sum + trial.duration_s);
        let is_lossy = |trial: &&&TrialResult| trial.lost() > 0;
        let lossy = || trials.iter().filter(is_lossy);
        let looked_at = |trial: &&TrialResult| trial.loss_pattern.as_ref().map(|shape| shape.lossy_windows);
        let events = lossy().map(|trial| looked_at(trial).unwrap_or(1)).sum();
        let (least, most) = counts::events(events);
        let longest = Moments::from_trials(&trials).filter(|moments| moments.longest_frames > 0);
        (seconds > 0.0).then(|| Self {
            up_to_pps,
            seconds,
            trials: trials.len() as u32,
            lossy_trials: lossy().count() as u32,
            set_aside: (trials.len() - stand.len()) as u32,
            set_aside_lossy: (lossy().count() - stand.iter().filter(is_lossy).count()) as u32,
            events,
            at_least: lossy().any(|trial| looked_at(trial).is_none()),
            per_second: events as f64 / seconds,
            per_second_limits: Some([least / seconds, most / seconds]),
            longest: longest
                .map(|moments| Longest { frames: moments.longest_frames, ns: moments.longest_ns }),
        })
    }
}
