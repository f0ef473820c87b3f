//! A load that is held, or is not, with what its trials lost: how many of them, where, and how much at a time.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::criteria::Criteria;
use super::database::Observation;
use crate::ledger::LostAt;
use crate::statistics::counts::{self, Hits};
use crate::trial::TrialResult;

/// Trials by number, and what tells frames that wait because they came together from those that are too many.
#[derive(Clone, Debug)]
pub(super) struct Trials<'t> {
    by_number: BTreeMap<u32, &'t TrialResult>,
    burst_frames: u32,
}

impl<'t> Trials<'t> {
    /// Those of a search whose traffic sends so many frames at once.
    pub(super) fn new(trials: &'t [TrialResult], burst_frames: u32) -> Self {
        Self { by_number: trials.iter().map(|trial| (trial.number, trial)).collect(), burst_frames }
    }

    /// The trial of this number.
    pub(super) fn get(&self, number: u32) -> Option<&'t TrialResult> {
        self.by_number.get(&number).copied()
    }

    /// Whether the offered load depended on the receiver.
    pub(super) fn load_depends(&self) -> bool {
        self.by_number.values().any(|trial| trial.profile.load_depends_because.is_some())
    }

    /// The trials that observations were made of.
    pub(super) fn of(&self, seen: &[Observation]) -> Vec<&'t TrialResult> {
        seen.iter().filter_map(|trial| self.get(trial.number)).collect()
    }

    /// Frames of a trial that were delivered only because there was room for them.
    pub(super) fn untaken(&self, trial: &TrialResult) -> u64 {
        trial.buffered_frames(self.burst_frames)
    }

    /// A trial that loses in at least half of its times of 100 ms is overloaded: what is offered is too much all the time. One
    /// that loses in fewer meets moments in which nobody takes frames. Without a look at the frames, a part in a hundred tells.
    /// And what was taken more slowly than it came is too much whether room for it was there or not.
    pub(super) fn is_overloaded(&self, trial: &TrialResult) -> bool {
        match &trial.loss_shape {
            _ if self.untaken(trial) > 0 => true,
            _ if trial.lost() == 0 => false,
            Some(shape) => shape.lossy_windows * 2 >= shape.windows.max(1),
            None => trial.sent_loss_ratio() >= 0.01,
        }
    }
}

/// A load that is held, or is not.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Bound {
    /// Intended load, frames per second.
    pub intended_pps: f64,
    /// The least offered load of the trials that count for it: what a lower bound is good for.
    pub achieved_pps: f64,
    /// Seconds of trials at this load.
    pub seconds: f64,
    /// Their numbers.
    pub trials: Vec<u32>,
    /// Those of its full-length trials that lost more than the goal allows, or left it unsent; absent in results of the
    /// first versions. Early versions counted all its trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high_loss: Option<HighLoss>,
    /// What they lost; absent where they lost nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub losses: Option<Losses>,
    /// Frames that high-loss trials delivered only because there was room; absent where there were none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub untaken: Option<Untaken>,
    /// Those of them that the host disturbed, and that stand because repeats were used up, or because a slow CPU is no reason
    /// for one: they decide as the others do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub disturbed: Vec<u32>,
}

/// Frames that were not taken while the load lasted, and lay in buffers when it ended: a longer trial loses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Untaken {
    /// Those frames, of all high-loss trials of the load.
    pub frames: u64,
    /// All frames that made these trials high-loss ones: those, the lost and the unsent.
    pub of: u64,
}

impl Untaken {
    fn of(high: &[&TrialResult], trials: &Trials<'_>) -> Option<Self> {
        let frames = high.iter().map(|trial| trials.untaken(trial)).sum();
        let others = |trial: &&TrialResult| trial.lost() + trial.shortfall();
        let of = frames + high.iter().map(others).sum::<u64>();
        (frames > 0).then_some(Self { frames, of })
    }

    /// Whether it is above all they that make the load too high.
    pub fn decides(self) -> bool {
        self.frames * 2 >= self.of
    }
}

/// High-loss trials among the full-length ones of a load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct HighLoss {
    /// High-loss trials.
    pub trials: u32,
    /// All that count.
    pub of: u32,
    /// The least share of such trials that this is compatible with (Clopper and Pearson, level 0.95).
    pub low: f64,
    /// The largest.
    pub high: f64,
}

/// What trials of one load lost, together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
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
    fn of(Hits { hits, of }: Hits) -> Self {
        let (low, high) = counts::share(hits, of);
        Self { trials: hits, of, low, high }
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

impl Bound {
    /// The load of these trials by some criteria; `counts` are those by which it is as high or as low as it is.
    pub(super) fn new(
        seen: &[Observation],
        trials: &Trials<'_>,
        criteria: &Criteria,
        counts: impl Fn(&Observation) -> bool,
    ) -> Option<Self> {
        let intended_pps = seen.first()?.load.get();
        let achieved = seen.iter().filter(|trial| counts(trial)).map(|trial| trial.achieved.get());
        let own = trials.of(seen);
        let is_high = |trial: &&Observation| trial.loss_ratio > criteria.loss_ratio.get();
        let high = seen.iter().filter(is_high).filter_map(|trial| trials.get(trial.number));
        Some(Self {
            intended_pps,
            achieved_pps: achieved.fold(intended_pps, f64::min),
            seconds: seconds(seen),
            trials: seen.iter().map(|trial| trial.number).collect(),
            high_loss: Some(HighLoss::of(hits(seen, criteria))),
            losses: Losses::of(&own),
            untaken: Untaken::of(&high.collect::<Vec<_>>(), trials),
            disturbed: own
                .iter()
                .filter(|trial| !trial.disturbance.reasons().is_empty())
                .map(|trial| trial.number)
                .collect(),
        })
    }

    /// Whether it is too high a load above all because frames were not taken as they came.
    pub fn is_too_much_to_take(&self) -> bool {
        self.untaken.is_some_and(Untaken::decides)
    }
}

/// High-loss trials among the full-length ones: short ones lose less often, so that a mix of both would say something of their
/// lengths, too.
pub(super) fn hits(seen: &[Observation], criteria: &Criteria) -> Hits {
    let full = || seen.iter().filter(|trial| trial.duration >= criteria.full_length);
    let high = full().filter(|trial| trial.loss_ratio > criteria.loss_ratio.get());
    Hits { hits: high.count() as u32, of: full().count() as u32 }
}

/// Their intended durations together; 0 of none, without the sign that an empty sum of numbers has.
pub(super) fn seconds<'o>(seen: impl IntoIterator<Item = &'o Observation>) -> f64 {
    seen.into_iter().fold(0.0, |sum, trial| sum + trial.duration.as_secs_f64())
}
