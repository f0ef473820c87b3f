//! The outcome of a test of frame loss rate (RFC 2544 26.3): the share of lost frames at loads from the maximum rate down, until
//! two trials in succession lose nothing.

use serde::{Deserialize, Serialize};

use super::{Ended, MaximumRate};
use crate::bursts::Percent;
use crate::sustained::has_unsent_frames;
use crate::thresholds::LOSSLESS_TRIALS_IN_SUCCESSION;
use capbench_model::trial::{TrialResult, Verdict};

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrameLossOutcome {
    /// The rate of which loads are shares: 100 %.
    pub maximum: MaximumRate,
    /// Difference of successive loads, as a share of the maximum rate.
    pub step_percent: Percent,
    /// Length of a trial in seconds.
    pub duration_s: f64,
    /// The curve, the highest load first.
    pub points: Vec<LossPoint>,
    /// Whether the last two trials sent everything and lost nothing, as the standard requires. If not, no lower load was left.
    pub ends_without_loss: bool,
    /// How it ended.
    pub ended: Ended,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossPoint {
    /// Intended load in percent of the maximum rate.
    pub load_percent: f64,
    /// Offered load in percent of the maximum rate; lower than the intended load if the generator fell short.
    pub offered_percent: f64,
    /// `(sent - delivered) * 100 / sent`.
    pub loss_percent: f64,
    /// Frames to send.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// Whether the generator left frames unsent, so that the point does not represent this load.
    #[serde(rename = "generator_limited", default)]
    pub has_unsent_frames: bool,
    /// How its trial ended.
    pub verdict: Verdict,
    /// Number of the trial.
    pub trial: u32,
}

impl LossPoint {
    /// The point of a trial at this share of the maximum rate.
    pub fn new(load: Percent, maximum: &MaximumRate, trial: &TrialResult) -> Self {
        Self {
            load_percent: load.get(),
            offered_percent: trial.offered_pps * 100.0 / maximum.pps.get(),
            loss_percent: trial.sent_loss_ratio() * 100.0,
            intended: trial.intended,
            sent: trial.sent,
            delivered: trial.delivered,
            has_unsent_frames: has_unsent_frames(trial),
            verdict: trial.verdict,
            trial: trial.number,
        }
    }
}

impl FrameLossOutcome {
    /// Whether the last trials in succession sent all intended frames and lost none.
    pub fn is_clean(&self) -> bool {
        let last = self.points.iter().rev().take(LOSSLESS_TRIALS_IN_SUCCESSION);
        let clean = last.filter(|point| !point.has_unsent_frames && point.loss_percent == 0.0);
        clean.count() == LOSSLESS_TRIALS_IN_SUCCESSION
    }
}
