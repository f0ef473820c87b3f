//! The numbers of a search that belong together: the load sustained without a single loss, the load sustained within the usual
//! tolerance of NDR and PDR, and how often frames are lost. Each one alone misleads on a noisy host.

use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::bound::{self, Trials};
use super::database::{Bounds, Database};
use super::goal_result::{GoalResult, Status};
use super::preset::goals_of_preset;
use crate::ratio::Ratio;
use crate::sustained::Criteria;
use crate::sustained::moments::{Moments, loses_throughout};
use crate::thresholds::OVERLOADED_TRIALS;
use capbench_model::trial::{TrialResult, Verdict};
use capbench_statistics::counts;

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
        Self {
            strict_lossless: Held::new("strict", &STRICT, seen, top),
            ndr: Held::of_goal("ndr", goals, seen, top),
            pdr: Held::of_goal("pdr", goals, seen, top),
            loss_events: LossEvents::new(seen, trials),
        }
    }
}

impl Held {
    /// By the goal with this name, or with the attributes of the preset with this name, else by that preset.
    fn of_goal(name: &str, goals: &[GoalResult], seen: &Database, top: Option<Pps>) -> Self {
        let usual = goals_of_preset(name).map_or(STRICT, |goals| goals[0].criteria());
        let of_name = goals.iter().find(|result| result.goal.name == name);
        let same = of_name.or_else(|| goals.iter().find(|result| result.goal.criteria() == usual));
        let Some(result) = same else { return Self::new(name, &usual, seen, top) };
        let held = Self::new(&result.goal.name, &result.goal.criteria(), seen, top);
        Self { at_least: result.status == Status::AtLeast, ..held }
    }

    fn new(by: &str, criteria: &Criteria, seen: &Database, top: Option<Pps>) -> Self {
        let Bounds { lower, upper } = seen.bounds(criteria);
        let trials = lower.map_or(&[][..], |load| seen.at(load));
        let achieved = trials.iter().filter(|trial| !criteria.is_high_loss(trial));
        Self {
            by: by.into(),
            pps: achieved.map(|trial| trial.achieved.get()).reduce(f64::min),
            at_least: match upper {
                Some(load) => lower.is_some() && !seen.is_limit_of_path(load, criteria),
                None => lower.is_some_and(|lower| top.is_some_and(|top| lower >= top)),
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
        let mut up_to_pps = None;
        let mut counted: Vec<&TrialResult> = Vec::new();
        for (load, observed) in seen.loads() {
            let trials = by_number.observed_trials(observed);
            let overloaded =
                trials.iter().filter(|trial| loses_throughout(trial, by_number.burst_frames())).count();
            if overloaded as f64 >= OVERLOADED_TRIALS * trials.len() as f64 {
                break;
            }
            up_to_pps = Some(load.get());
            counted.extend(trials);
        }
        let trials: Vec<&TrialResult> = counted.iter().flat_map(|trial| with_attempts(trial)).collect();
        let seconds = trials.iter().fold(0.0, |sum, trial| sum + trial.duration_s);
        if seconds <= 0.0 {
            return None;
        }
        let mut lossy = trials.clone();
        lossy.retain(|trial| trial.lost() > 0);
        let lossy_counted = counted.iter().filter(|trial| trial.lost() > 0).count();
        let mut events = 0;
        let mut at_least = false;
        for trial in &lossy {
            at_least |= trial.loss_pattern.is_none();
            events += trial.loss_pattern.as_ref().map_or(1, |pattern| pattern.lossy_windows);
        }
        let (least, most) = counts::events(events);
        let longest = Moments::from_trials(&trials).filter(|moments| moments.longest_frames > 0);
        Some(Self {
            up_to_pps: up_to_pps?,
            seconds,
            trials: trials.len() as u32,
            lossy_trials: lossy.len() as u32,
            set_aside: (trials.len() - counted.len()) as u32,
            set_aside_lossy: (lossy.len() - lossy_counted) as u32,
            events,
            at_least,
            per_second: events as f64 / seconds,
            per_second_limits: Some([least / seconds, most / seconds]),
            longest: longest
                .map(|moments| Longest { frames: moments.longest_frames, ns: moments.longest_ns }),
        })
    }
}

#[cfg(test)]
mod tests {
    use capbench_model::for_tests::{measured, profile};
    use capbench_model::loss_pattern::LossPattern;
    use capbench_model::trial::{Load, Phase};

    use super::*;
    use crate::sustained::Observation;

    /// The highest load whose losses are events, of a load without loss and one of which so many of five trials are too high throughout.
    fn events_up_to(overloaded: u32) -> f64 {
        let second = Duration::from_secs(1);
        let mut seen = Database::default();
        let mut trials = Vec::new();
        for number in 1..=6 {
            let load: Pps = if number == 1 { "1k".parse().unwrap() } else { "2k".parse().unwrap() };
            let lossy_windows = if (2..2 + overloaded).contains(&number) { 10 } else { 1 };
            let lost = if number == 1 { 0 } else { 100 };
            let mut trial = measured(2000, 2000, 2000 - lost, lost).result(
                number,
                Phase::Search,
                &profile("recv"),
                Load::Rate(load),
                second,
            );
            trial.loss_pattern = Some(LossPattern::in_windows(2000, lost, 10, lossy_windows));
            seen.add(Observation::of_trial(&trial, load, second, 1));
            trials.push(trial);
        }
        LossEvents::new(&seen, &Trials::new(&trials, 1)).unwrap().up_to_pps
    }

    #[test]
    fn losses_are_no_events_from_the_load_on_of_which_half_of_the_trials_are_too_high() {
        assert_eq!(events_up_to(2), 2000.0);
        assert_eq!(events_up_to(3), 1000.0);
    }
}
