//! What a sweep saves beside its trials.

use serde::{Deserialize, Serialize};

use super::axis::AxisKind;
use super::back_to_back::BackToBack;
use super::interval::Estimate;
use crate::ledger::LostAt;
use crate::receiver::TICK;
use crate::trial::{TrialResult, Verdict};

/// A sweep as it came out: what was varied, and what each method did at each point. The trials are referred to by their
/// numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SweepOutcome {
    /// What was varied.
    pub axis: AxisKind,
    /// Unit of the points; absent where they are names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
    /// What a unit takes the application, nanoseconds; absent where that is unknown, or no work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_ns: Option<f64>,
    /// The seed of the order.
    pub seed: u64,
    /// How often each point was to be visited.
    pub repeats: u32,
    /// How long trials waited for missing frames, seconds.
    pub quiet_s: f64,
    /// Which interval stands beside medians.
    pub interval: String,
    /// The points, in the order of the axis.
    pub points: Vec<PointRecord>,
    /// A method in a placement at a load.
    pub series: Vec<Series>,
    /// Whether the user stopped it: then points have fewer repeats, or none.
    pub stopped: bool,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointRecord {
    /// What reports call it.
    pub label: String,
    /// Where it lies on the axis; absent for names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<f64>,
    /// Whether it was added because the curve bends there.
    #[serde(default)]
    pub refined: bool,
}

/// One method over the axis.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// The method.
    pub method: String,
    /// The placement; absent where it is the axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The load in words; absent where it is the axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// What was measured, in the order of the axis. Points that could not be measured are not there.
    pub readings: Vec<Reading>,
}

/// One method at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// Which point, counted from 0.
    pub point: usize,
    /// Trials that count, in the order in which they ran. Of bursts, the overload.
    pub trials: Vec<u32>,
    /// Trials that contradict themselves and do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<u32>,
    /// Trials in which nothing that was sent was lost.
    pub lossless: u32,
    /// Offered load, frames per second.
    pub offered_pps: Estimate,
    /// Offered load times the share delivered.
    pub delivered_pps: Estimate,
    /// The rate at which the application took frames as long as there were any: delivered ones by the time of sending
    /// and of draining. Above what it can do for long, `delivered_pps` counts what only lay in its buffers, too. Too high
    /// by what is taken in one batch, at most: it is after a batch that the receiver sees the end of sending.
    pub taken_pps: Estimate,
    /// Share of the sent frames that was lost.
    pub sent_loss_ratio: Estimate,
    /// CPU time of application and kernel per frame that arrived; absent where a trial cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ns_per_packet: Option<Estimate>,
    /// Where frames were lost, in all trials together, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAt>,
    /// Searches for the longest burst, where that was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to_back: Option<BackToBack>,
}

/// An application that takes at least this part of what is offered is not known to be the limit.
pub(super) const SATURATED: f64 = 0.99;

impl Reading {
    /// What trials of one method at one point say together; `None` where none of them says anything.
    pub(super) fn of(
        point: usize,
        trials: &[&TrialResult],
        quiet_s: f64,
        back_to_back: Option<BackToBack>,
    ) -> Option<Self> {
        let (invalid, valid): (Vec<&TrialResult>, Vec<&TrialResult>) =
            trials.iter().partition(|trial| trial.verdict == Verdict::Invalid);
        let estimate = |of: fn(&TrialResult) -> f64| Estimate::of(valid.iter().map(|trial| of(trial)));
        let costs: Option<Vec<f64>> = valid.iter().map(|trial| trial.cpu.total_ns_per_packet).collect();
        Some(Self {
            point,
            trials: valid.iter().map(|trial| trial.number).collect(),
            invalid: invalid.iter().map(|trial| trial.number).collect(),
            lossless: valid.iter().filter(|trial| trial.lost() == 0).count() as u32,
            offered_pps: estimate(|trial| trial.offered_pps)?,
            delivered_pps: estimate(|trial| trial.delivered_pps)?,
            taken_pps: Estimate::of(valid.iter().map(|trial| taken_pps(trial, quiet_s)))?,
            sent_loss_ratio: estimate(TrialResult::sent_loss_ratio)?,
            total_ns_per_packet: costs.and_then(Estimate::of),
            lost: LostAt::sum(valid.iter().flat_map(|trial| trial.losses())),
            back_to_back,
        })
    }

    /// Whether the application was the limit: it took frames more slowly than they came, and they were lost where frames
    /// wait for it, or still lay there when sending ended. Frames that the kernel loses before that, for want of CPU time of
    /// its own, are no limit of the application's.
    pub fn is_saturated(&self) -> bool {
        let waits_for_it = self.lost.first().is_none_or(|most| most.place.is_before_application());
        waits_for_it
            && self.taken_pps.median < SATURATED * self.offered_pps.median
            && self.taken_pps.median > 0.0
    }

    /// Whether nothing was lost in any trial.
    pub fn is_clean(&self) -> bool {
        self.lossless as usize == self.trials.len()
    }

    /// Whether frames were lost in most of the trials.
    pub fn loses(&self) -> bool {
        self.sent_loss_ratio.median > 0.0
    }
}

impl Series {
    /// The series as reports name it.
    pub fn name(&self) -> String {
        let mut name = self.method.clone();
        if let Some(placement) = &self.placement {
            name.push_str(&format!(", placement {placement}"));
        }
        if let Some(load) = &self.load {
            name.push_str(&format!(", {load}"));
        }
        name
    }

    /// Where and how the series was measured, without the method.
    pub fn scene(&self) -> Option<String> {
        let parts: Vec<_> =
            [self.placement.as_ref().map(|placement| format!("placement {placement}")), self.load.clone()]
                .into_iter()
                .flatten()
                .collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// A trial that misses frames ends when nothing has come for the quiet time, which is no time of work; nor is the tick
/// in which its receiver finds that out.
pub(super) fn taken_pps(trial: &TrialResult, quiet_s: f64) -> f64 {
    let waited = if trial.lost() > 0 { quiet_s } else { 0.0 };
    let drained = Some(trial.drain_s - waited).filter(|&s| s > TICK.as_secs_f64()).unwrap_or(0.0);
    trial.delivered as f64 / (trial.sending_s + drained).max(f64::MIN_POSITIVE)
}
