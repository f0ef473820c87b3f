//! A load that is held, or is not, with what its trials lost: how many of them, where, and how much at a time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::database::Observation;
use crate::ledger::LostAt;
use crate::statistics::counts;
use crate::trial::TrialResult;

/// Trials by number.
pub(super) type Trials<'t> = BTreeMap<u32, &'t TrialResult>;

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
    /// Those of them that lost more than the goal allows, or left it unsent; absent in results of early versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_loss: Option<HighLoss>,
    /// What they lost; absent where they lost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// Those of them that the host disturbed, and that stand because repeats were used up: they decide as the others do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<u32>,
}

/// High-loss trials among all of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HighLoss {
    /// High-loss trials.
    pub trials: u32,
    /// All trials.
    pub of: u32,
    /// The least share of such trials that this is compatible with (Clopper and Pearson, level 0.95).
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// What trials of one load lost, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Losses {
    /// Where, most first.
    pub lost: Vec<LostAt>,
    /// The largest part of the sent frames that any of them lost.
    pub most_of_a_trial: f64,
    /// When; absent where frames were not looked at one by one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub moments: Option<Moments>,
}

/// When frames were lost, in times of 100 ms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moments {
    /// Such times.
    pub windows: u64,
    /// Those in which something was lost.
    pub lossy_windows: u64,
    /// Most frames lost one after the other.
    pub longest_frames: u64,
    /// Time from the first of them to the next frame that came.
    pub longest_ns: u64,
}

impl HighLoss {
    fn new(trials: u32, of: u32) -> Self {
        let (low, high) = counts::share(trials, of);
        Self { trials, of, low, high }
    }
}

impl Losses {
    /// What trials lost; `None` where that is nothing.
    pub(super) fn of(trials: &[&TrialResult]) -> Option<Self> {
        let lossy = || trials.iter().filter(|trial| trial.lost() > 0);
        let most_of_a_trial = lossy().map(|trial| trial.sent_loss_ratio()).reduce(f64::max)?;
        let lost = LostAt::sum(lossy().flat_map(|trial| trial.losses()));
        Some(Self { lost, most_of_a_trial, moments: Moments::of(trials) })
    }
}

impl Moments {
    /// Those of all these trials; `None` where one lost frames that nobody looked at. One that lost nothing needs no look.
    pub(super) fn of(trials: &[&TrialResult]) -> Option<Self> {
        trials.iter().try_fold(Self::default(), |all, trial| {
            let Some(shape) = trial.loss_shape.as_ref().filter(|_| trial.lost() > 0) else {
                let windows = all.windows + (trial.sending_s * 10.0).ceil() as u64;
                return (trial.lost() == 0).then_some(Self { windows, ..all });
            };
            let longest = shape.longest.first();
            let (frames, ns) =
                longest.map_or((0, 0), |burst| (burst.frames, burst.to_ns.saturating_sub(burst.from_ns)));
            let (longest_frames, longest_ns) =
                (all.longest_frames, all.longest_ns).max((frames.max(shape.bursts.max.unwrap_or(0)), ns));
            Some(Self {
                windows: all.windows + shape.windows,
                lossy_windows: all.lossy_windows + shape.lossy_windows,
                longest_frames,
                longest_ns,
            })
        })
    }
}

/// A trial that loses in at least half of its times of 100 ms is overloaded: what is offered is too much all the time. One
/// that loses in fewer meets moments in which nobody takes frames. Without a look at the frames, a part in a hundred tells.
pub(super) fn is_overloaded(trial: &TrialResult) -> bool {
    match &trial.loss_shape {
        _ if trial.lost() == 0 => false,
        Some(shape) => shape.lossy_windows * 2 >= shape.windows.max(1),
        None => trial.sent_loss_ratio() >= 0.01,
    }
}

impl Bound {
    pub(super) fn new(
        seen: &[Observation],
        trials: &Trials<'_>,
        is_high: impl Fn(&Observation) -> bool,
        counts: impl Fn(&Observation) -> bool,
    ) -> Option<Self> {
        let intended_pps = seen.first()?.load.get();
        let achieved = seen.iter().filter(|trial| counts(trial)).map(|trial| trial.achieved.get());
        let own = of(seen, trials);
        let high = seen.iter().filter(|trial| is_high(trial)).count();
        Some(Self {
            intended_pps,
            achieved_pps: achieved.fold(intended_pps, f64::min),
            seconds: seconds(seen),
            trials: seen.iter().map(|trial| trial.number).collect(),
            high_loss: Some(HighLoss::new(high as u32, seen.len() as u32)),
            losses: Losses::of(&own),
            disturbed: own
                .iter()
                .filter(|trial| !trial.disturbance.reasons().is_empty())
                .map(|trial| trial.number)
                .collect(),
        })
    }
}

/// The trials that observations were made of.
pub(super) fn of<'t>(seen: &[Observation], trials: &Trials<'t>) -> Vec<&'t TrialResult> {
    seen.iter().filter_map(|trial| trials.get(&trial.number).copied()).collect()
}

/// Their intended durations together; 0 of none, without the sign that an empty sum of numbers has.
pub(super) fn seconds<'o>(seen: impl IntoIterator<Item = &'o Observation>) -> f64 {
    seen.into_iter().fold(0.0, |sum, trial| sum + trial.duration.as_secs_f64())
}
