//! The longest bursts that a method received without loss at a point of a sweep, and the time that its buffers can store.

use serde::{Deserialize, Serialize};

use crate::bursts::BurstEnd;
use capbench_model::ledger::LostAt;

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Burst {
    /// How it ended.
    pub end: BurstEnd,
    /// Why a trial of it is invalid, if that ended the search.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Frames of the longest burst without loss. If `end` is `at-limit`, the longest burst has at least that length.
    pub frames: Option<u64>,
    /// The rate of the burst.
    pub burst_pps: f64,
    /// The rate at which the application read frames under that load, once its buffer was full.
    pub drained_pps: f64,
    /// Trials of the search, the overload first.
    pub trials: Vec<u32>,
    /// Where the shortest burst that lost frames lost them, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAt>,
}

/// All searches at one point.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackToBack {
    /// The searches.
    pub searches: Vec<Burst>,
    /// Mean frames of the searches that found a burst: the benchmark.
    pub mean_frames: Option<f64>,
    /// The minimum.
    pub least_frames: Option<u64>,
    /// The maximum.
    pub most_frames: Option<u64>,
    /// Their standard deviation.
    pub deviation_frames: Option<f64>,
    /// `mean_frames` divided by the rate of the burst, seconds.
    pub implied_buffer_s: Option<f64>,
    /// The same minus the frames delivered meanwhile: `implied x (1 - drained / burst rate)`, seconds.
    #[serde(alias = "corrected_buffer_s")]
    pub drain_corrected_buffer_s: Option<f64>,
}

impl BackToBack {
    /// Summary of these searches; `None` if there are none.
    pub fn from_searches(searches: Vec<Burst>) -> Option<Self> {
        if searches.is_empty() {
            return None;
        }
        let found: Vec<&Burst> = searches.iter().filter(|burst| burst.end == BurstEnd::Found).collect();
        let frames: Vec<f64> =
            found.iter().filter_map(|burst| burst.frames.map(|frames| frames as f64)).collect();
        let mean =
            |values: &[f64]| (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64);
        let mean_frames = mean(&frames);
        let deviation_frames = mean_frames.filter(|_| frames.len() > 1).map(|mean| {
            let squares: f64 = frames.iter().map(|frames| (frames - mean).powi(2)).sum();
            (squares / (frames.len() - 1) as f64).sqrt()
        });
        let rate = mean(&found.iter().map(|burst| burst.burst_pps).collect::<Vec<_>>());
        let drained = mean(&found.iter().map(|burst| burst.drained_pps).collect::<Vec<_>>());
        let implied_buffer_s = mean_frames.zip(rate).map(|(frames, rate)| frames / rate);
        let drain_corrected_buffer_s = implied_buffer_s
            .zip(rate.zip(drained))
            .map(|(implied, (rate, drained))| implied * (1.0 - drained / rate));
        Some(Self {
            mean_frames,
            least_frames: found.iter().filter_map(|burst| burst.frames).min(),
            most_frames: found.iter().filter_map(|burst| burst.frames).max(),
            deviation_frames,
            implied_buffer_s,
            drain_corrected_buffer_s,
            searches,
        })
    }
}
