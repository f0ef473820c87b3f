//! The outcome of a test with back-to-back frames (RFC 2544 26.4 as updated by RFC 9004).

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::{Ended, MaximumRate};
use crate::bursts::{BurstEnd, BurstLengths, Percent};

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackToBackOutcome {
    /// The rate of a burst: the theoretical rate of the formulas.
    pub maximum: MaximumRate,
    /// The highest rate without loss, frames per second.
    pub throughput_pps: Pps,
    /// The maximum length of a burst.
    pub limit_frames: u64,
    /// The resolution of the length, as a share of it.
    pub resolution_percent: Percent,
    /// How many times a lossy length was tried again.
    pub verifications: u32,
    /// Minimum idle time of the path between bursts, in seconds.
    pub depletion_s: f64,
    /// Each completed search.
    pub searches: Vec<Searched>,
    /// The benchmark computed from them; absent without a search.
    pub benchmark: Option<Benchmark>,
    /// Why the benchmark is invalid; absent if it is valid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub invalid_because: Option<String>,
    /// How it ended.
    pub ended: Ended,
}

/// One search for the longest burst without loss.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Searched {
    /// How it ended; `found` in results of early versions.
    #[serde(default)]
    pub end: BurstEnd,
    /// The longest burst without loss; 0 if the shortest one lost frames.
    pub frames: u64,
    /// The next tried length minus this one: the resolution of the result. Absent if the limit was reached without loss.
    pub step_frames: Option<u64>,
    /// The rate at which the longest burst was sent, frames per second.
    pub offered_pps: Option<f64>,
    /// Numbers of its trials.
    pub trials: Vec<u32>,
}

/// The benchmark of RFC 9004 section 6 over all searches.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Benchmark {
    /// Mean length in frames: the benchmark.
    pub average_frames: f64,
    /// The shortest.
    pub min_frames: u64,
    /// The longest.
    pub max_frames: u64,
    /// Standard deviation in frames; absent with a single search.
    pub stdev_frames: Option<f64>,
    /// Seconds that the mean length lasts at the theoretical rate.
    pub implied_buffer_s: f64,
    /// Seconds that the buffer lasts: the same, minus what was read from it meanwhile.
    pub corrected_buffer_s: f64,
    /// The lowest rate of the longest bursts, in percent of the theoretical rate. Below 99 it is not a burst.
    pub offered_percent: Option<f64>,
}

impl Benchmark {
    /// Of these searches, at the theoretical rate `maximum_pps`; `None` without a search.
    pub fn from_searches(searches: &[Searched], throughput_pps: f64, maximum_pps: f64) -> Option<Self> {
        let frames: Vec<u64> = searches.iter().map(|search| search.frames).collect();
        let lengths = BurstLengths::from_frames(&frames)?;
        let slowest_pps = searches.iter().filter_map(|search| search.offered_pps).min_by(f64::total_cmp);
        Some(Self {
            average_frames: lengths.mean_frames,
            min_frames: lengths.least_frames,
            max_frames: lengths.most_frames,
            stdev_frames: lengths.deviation_frames,
            implied_buffer_s: lengths.implied_buffer_s(maximum_pps),
            corrected_buffer_s: lengths.corrected_buffer_s(maximum_pps, throughput_pps),
            offered_percent: slowest_pps.map(|pps| pps * 100.0 / maximum_pps),
        })
    }
}
