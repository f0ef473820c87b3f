//! The data that a sweep saves in addition to its trials.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::axis::{AxisKind, PointUnit};
use super::back_to_back::BackToBack;
use super::scaling::Scaling;
use crate::limit::{Limit, is_kernel_limit, is_receive_work};
use crate::sustained::Visits;
use capbench_model::ledger::LostAt;
use capbench_model::places::Place;
use capbench_model::saved::{SavedMethod, SavedPlacement};
use capbench_model::trial::{TrialResult, Verdict};
use capbench_statistics::interval::{Estimate, IntervalMethod};
use capbench_statistics::{by_key, median};

/// The outcome of a sweep: the varied parameter, and the readings of each method at each point. It refers to trials by number.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct SweepOutcome {
    /// The varied parameter.
    pub axis: AxisKind,
    /// Unit of the points; absent if they are names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit: Option<PointUnit>,
    /// The seed of the order.
    pub seed: u64,
    /// Planned number of visits per point.
    pub repeats: u32,
    /// How long trials waited for missing frames, seconds.
    pub quiet_s: f64,
    /// What the intervals around medians are; absent in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval_method: Option<IntervalMethod>,
    /// The same in words.
    pub interval: String,
    /// The points, in the order of the axis.
    pub points: Vec<PointRecord>,
    /// One series per method, placement and load.
    pub series: Vec<Series>,
    /// Whether it ended early: the user stopped it, or its process ended. Then points have fewer repeats, or none.
    pub stopped: bool,
}

/// A point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct PointRecord {
    /// Its name in reports.
    pub label: String,
    /// Its coordinate on the axis; absent for names.
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
    pub method: SavedMethod,
    /// The placement; absent if it is the axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<SavedPlacement>,
    /// The load in words; absent if it is the axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
    /// Time of one unit of work on an idle application CPU, ns; absent if it is unknown, or if the points are not work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_ns: Option<f64>,
    /// How the rate grows with the number of members; absent if the points are no such numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scaling: Option<Scaling>,
    /// The readings, in the order of the axis, without points that could not be measured.
    pub readings: Vec<Reading>,
}

/// One method at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Reading {
    /// Index of the point, from 0.
    pub point: usize,
    /// Trials that count, in the order in which they ran. For bursts, the overload.
    pub trials: Vec<u32>,
    /// Trials that contradict themselves and do not count.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub invalid: Vec<u32>,
    /// Trials that lost none of the sent frames.
    pub lossless: u32,
    /// Offered load, frames per second.
    pub offered_pps: Estimate,
    /// Offered load times the delivered share.
    pub delivered_pps: Estimate,
    /// The rate at which the application read frames as long as there were any; too high by up to one batch. Above the
    /// sustainable rate, `delivered_pps` also counts frames that were only buffered.
    pub taken_pps: Estimate,
    /// Share of the sent frames that was lost.
    pub sent_loss_ratio: Estimate,
    /// CPU time of application and kernel per received frame; absent if a trial does not know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total_ns_per_packet: Option<Estimate>,
    /// Where frames were lost, in all trials together, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAt>,
    /// Searches for the longest burst, if the user requested them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub back_to_back: Option<BackToBack>,
}

impl Reading {
    /// Summary of the trials of one method at one point; `None` if none of them is valid.
    pub fn from_trials(
        point: usize,
        trials: &[&TrialResult],
        back_to_back: Option<BackToBack>,
    ) -> Option<Self> {
        let (invalid, valid): (Vec<&TrialResult>, Vec<&TrialResult>) =
            trials.iter().partition(|trial| trial.verdict == Verdict::Invalid);
        let costs: Option<Vec<f64>> = valid.iter().map(|trial| trial.total_ns_per_packet()).collect();
        Some(Self {
            point,
            trials: valid.iter().map(|trial| trial.number).collect(),
            invalid: invalid.iter().map(|trial| trial.number).collect(),
            lossless: valid.iter().filter(|trial| trial.lost() == 0).count() as u32,
            offered_pps: estimate_of(&valid, |trial| trial.offered_pps)?,
            delivered_pps: estimate_of(&valid, |trial| trial.delivered_pps)?,
            taken_pps: estimate_of(&valid, TrialResult::read_pps)?,
            sent_loss_ratio: estimate_of(&valid, TrialResult::sent_loss_ratio)?,
            total_ns_per_packet: costs.and_then(Estimate::of),
            lost: LostAt::sum(valid.iter().flat_map(|trial| trial.losses())),
            back_to_back,
        })
    }

    /// Whether the application was the limit: it read frames more slowly than they reached the method, whatever was lost
    /// before. Both kinds of loss may occur together.
    pub fn is_saturated(&self) -> bool {
        self.visits().is_saturated()
    }

    /// Whether only the kernel's receive work was the limit: it dropped frames, and the application read all that it passed on.
    pub fn is_limited_by_kernel(&self) -> bool {
        is_kernel_limit(self.is_saturated(), self.lost_share(is_receive_work))
    }

    /// Frames per second that reached the method.
    pub fn reached_pps(&self) -> f64 {
        self.offered_pps.median * (1.0 - self.lost_share(|place| !place.holds_frames_for_application()))
    }

    /// Share of the sent frames that was lost at the selected places.
    fn lost_share(&self, is_selected: impl Fn(Place) -> bool) -> f64 {
        let mut all = 0;
        let mut selected = 0;
        for lost in &self.lost {
            all += lost.frames;
            selected += if is_selected(lost.place) { lost.frames } else { 0 };
        }
        if all == 0 { 0.0 } else { self.sent_loss_ratio.median * selected as f64 / all as f64 }
    }

    /// Whether no trial lost a frame.
    pub fn is_clean(&self) -> bool {
        self.visits().is_clean()
    }

    /// Whether frames are lost, or would be in longer trials: the load exceeds the sustainable rate.
    pub fn falls_short(&self) -> bool {
        self.visits().falls_short()
    }

    /// Whether frames were lost in most of the trials. A reading that does not lose need not be clean.
    pub fn loses(&self) -> bool {
        self.visits().loses()
    }

    fn visits(&self) -> Visits {
        Visits {
            trials: self.trials.len(),
            lossless: self.lossless as usize,
            loss_ratio: self.sent_loss_ratio.median,
            read_pps: self.taken_pps.median,
            reached_pps: self.reached_pps(),
        }
    }
}

/// A figure of all trials together; `None` without trials.
fn estimate_of(trials: &[&TrialResult], figure: fn(&TrialResult) -> f64) -> Option<Estimate> {
    Estimate::of(trials.iter().map(|trial| figure(trial)))
}

impl SweepOutcome {
    /// Whether the points are names without an order, such as placements. Else they are numbers of one unit.
    pub fn has_named_points(&self) -> bool {
        self.unit.is_none()
    }

    /// The name of a reading's point in reports.
    pub fn label(&self, reading: &Reading) -> &str {
        self.points.get(reading.point).map_or("?", |point| &point.label)
    }
}

impl Series {
    /// The name of the series in reports.
    pub fn name(&self) -> String {
        let scene = self.scene().map(|scene| format!(", {scene}"));
        format!("{}{}", self.method, scene.unwrap_or_default())
    }

    /// Placement and load of the series, without the method, in words.
    pub fn scene(&self) -> Option<String> {
        self.placement_and_load().words()
    }

    /// Placement and load of the series, without the method.
    pub fn placement_and_load(&self) -> SweepScene {
        SweepScene { placement: self.placement.clone(), load: self.load.clone() }
    }
}

/// What series share that are compared with each other.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SweepScene {
    /// The placement; absent if it is the axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub placement: Option<SavedPlacement>,
    /// The load in words; absent if it is the axis.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load: Option<String>,
}

impl SweepScene {
    /// Placement and load in words; `None` if neither is constant.
    pub fn words(&self) -> Option<String> {
        let placement = self.placement.as_ref().map(|placement| format!("placement {placement}"));
        let parts: Vec<_> = placement.into_iter().chain(self.load.clone()).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}

/// The rate that a method could sustain: the delivered rate, less what was only buffered when sending ended. Buffers of any depth give
/// the same, so it compares methods.
pub fn sustained_pps(trial: &TrialResult) -> f64 {
    trial.read_pps().min(trial.delivered_pps)
}

/// A sweep with its trials.
pub struct Swept<'r> {
    /// The sweep.
    pub outcome: &'r SweepOutcome,
    trials: BTreeMap<u32, &'r TrialResult>,
}

impl<'r> Swept<'r> {
    /// Combines a sweep and the trials of its run.
    pub fn new(outcome: &'r SweepOutcome, trials: &'r [TrialResult]) -> Self {
        Self { outcome, trials: trials.iter().map(|trial| (trial.number, trial)).collect() }
    }

    /// Series grouped by scene, in their order.
    pub fn scenes(&self) -> Vec<Vec<&'r Series>> {
        let scenes = by_key(&self.outcome.series, |series| series.scene());
        scenes.into_iter().map(|(_, scene)| scene).collect()
    }
}

impl Swept<'_> {
    /// The trials of a reading.
    pub fn trials_of(&self, reading: &Reading) -> impl Iterator<Item = &TrialResult> {
        reading.trials.iter().filter_map(|number| self.trials.get(number).copied())
    }

    /// The sustainable rates that its trials show.
    pub fn sustained(&self, reading: &Reading) -> Vec<f64> {
        self.trials_of(reading).map(sustained_pps).collect()
    }

    /// Their median; 0 if there are none.
    pub fn sustained_pps(&self, reading: &Reading) -> f64 {
        median(self.sustained(reading)).unwrap_or_default()
    }

    /// The limiting component at a point; `None` if nothing was lost, or only occasionally.
    pub fn limit(&self, reading: &Reading) -> Option<Limit> {
        Limit::of_visits(&reading.lost, self.trials_of(reading))
    }

    /// The name of a reading's point in reports.
    pub fn label(&self, reading: &Reading) -> &str {
        self.outcome.label(reading)
    }

    /// The median of a figure over the trials of a reading; `None` if one trial does not know it.
    pub fn median(&self, reading: &Reading, of: impl Fn(&TrialResult) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> = self.trials_of(reading).map(of).collect();
        median(values?)
    }
}

/// Numbers of the trials of readings.
pub fn numbers<'r>(readings: impl IntoIterator<Item = &'r Reading>) -> Vec<u32> {
    readings.into_iter().flat_map(|reading| reading.trials.iter().copied()).collect()
}
