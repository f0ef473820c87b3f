//! What a sweep saves beside its trials.

use serde::{Deserialize, Serialize};

use super::axis::AxisKind;
use super::back_to_back::BackToBack;
use crate::trial::{TrialResult, Verdict};
use capbench_model::ledger::{LostAt, Place};
use capbench_model::statistics::interval::Estimate;

/// A sweep as it came out: what was varied, and what each method did at each point. The trials are referred to by their
/// numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SweepOutcome {
    /// What was varied.
    pub axis: AxisKind,
    /// Unit of the points; absent where they are names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<String>,
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
    /// Whether it did not go to its end: the user stopped it, or its process ended in the midst of it. Then points have
    /// fewer repeats, or none.
    pub stopped: bool,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Series {
    /// The method.
    pub method: String,
    /// The placement; absent where it is the axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// The load in words; absent where it is the axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// What a unit of the points takes the application when nothing else runs on its CPU, nanoseconds; absent where that is
    /// unknown, or no work. It is a matter of the CPU, and so of the placement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_ns: Option<f64>,
    /// What was measured, in the order of the axis. Points that could not be measured are not there.
    pub readings: Vec<Reading>,
}

/// One method at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
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
    /// and the time that it was behind then. Above what it can do for long, `delivered_pps` counts what only lay in its buffers, too. Too high
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
            taken_pps: estimate(TrialResult::taken_pps)?,
            sent_loss_ratio: estimate(TrialResult::sent_loss_ratio)?,
            total_ns_per_packet: costs.and_then(Estimate::of),
            lost: LostAt::sum(valid.iter().flat_map(|trial| trial.losses())),
            back_to_back,
        })
    }

    /// Whether the application was the limit: it took frames more slowly than they reached the method, so that they were
    /// lost where frames wait for it, or still lay there when sending ended. Frames that were lost before that, for want of
    /// the kernel's own CPU time or of a card's buffers, are no limit of the application's, and may be lost beside it.
    pub fn is_saturated(&self) -> bool {
        self.taken_pps.median < SATURATED * self.reached_pps() && self.taken_pps.median > 0.0
    }

    /// Whether the kernel's receive work was the limit, and nothing behind it: it refused frames, and the application took
    /// what it let through.
    pub fn is_limited_by_kernel(&self) -> bool {
        let refused = |place| matches!(place, Place::LinkQueue | Place::Backlog);
        !self.is_saturated() && self.lost_share(refused) > 1.0 - SATURATED
    }

    /// Frames per second that reached the method.
    pub fn reached_pps(&self) -> f64 {
        self.offered_pps.median * (1.0 - self.lost_share(|place| !place.is_before_application()))
    }

    /// Share of the sent frames that was lost at some of the places.
    fn lost_share(&self, at: impl Fn(Place) -> bool) -> f64 {
        let all: u64 = self.lost.iter().map(|lost| lost.frames).sum();
        let there: u64 = self.lost.iter().filter(|lost| at(lost.place)).map(|lost| lost.frames).sum();
        if all == 0 { 0.0 } else { self.sent_loss_ratio.median * there as f64 / all as f64 }
    }

    /// Whether nothing was lost in any trial.
    pub fn is_clean(&self) -> bool {
        self.lossless as usize == self.trials.len()
    }

    /// Whether frames are lost, or would be in longer trials: more came than could be kept up with.
    pub fn falls_short(&self) -> bool {
        self.loses() || self.is_saturated()
    }

    /// Whether frames were lost in most of the trials.
    pub fn loses(&self) -> bool {
        self.sent_loss_ratio.median > 0.0
    }
}

impl SweepOutcome {
    /// What reports call a reading's point.
    pub fn label(&self, reading: &Reading) -> &str {
        self.points.get(reading.point).map_or("?", |point| &point.label)
    }
}

impl Series {
    /// The series as reports name it.
    pub fn name(&self) -> String {
        let scene = self.scene().map(|scene| format!(", {scene}"));
        format!("{}{}", self.method, scene.unwrap_or_default())
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

/// The rate that a method could keep up, as far as the trial shows it: what it delivered, unless much of that only lay in
/// its buffers when sending ended. Methods with buffers of different depth compare by this and not by what was delivered:
/// a deep buffer delivers more of a short trial and no more of a long one.
pub(super) fn sustained_pps(trial: &TrialResult) -> f64 {
    trial.taken_pps().min(trial.delivered_pps)
}
