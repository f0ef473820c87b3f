//! The longest bursts that a method received without loss at a point of a sweep, and the time that its buffers can store.

use serde::{Deserialize, Serialize};

use crate::bursts::{BurstEnd, BurstLengths};
use capbench_model::ledger::LostAt;

/// One search for the longest burst without loss. It begins with an overload: a trial at the rate of the bursts that is long enough to fill
/// the buffer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[schemars(rename = "Burst")]
pub struct SweptBurst {
    /// How it ended.
    pub end: BurstEnd,
    /// The invalid trial that ended the search in words, for readers of the file. The report makes them when the sweep is saved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// The same as a fact. Absent in files of versions that did not write it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because_fact: Option<InvalidTrial>,
    /// Frames of the longest burst without loss. If `end` is `at-limit`, the longest burst has at least that length.
    pub frames: Option<u64>,
    /// The rate of the burst.
    pub burst_pps: f64,
    /// The rate at which the application read frames in the overload, once its buffer was full.
    pub drained_pps: f64,
    /// Trials of the search, the overload first.
    pub trials: Vec<u32>,
    /// Where the shortest burst that lost frames lost them, most first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lost: Vec<LostAt>,
}

/// A trial that is invalid, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InvalidTrial {
    /// Its number; absent in files of earlier versions, whose reason names it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trial: Option<u32>,
    /// Why it is invalid.
    pub because: String,
}

impl SweptBurst {
    /// The invalid trial that ended the search.
    pub fn invalid_trial(&self) -> Option<InvalidTrial> {
        let earlier = self.because.clone().map(|because| InvalidTrial { trial: None, because });
        self.because_fact.clone().or(earlier)
    }
}

/// All searches at one point. The figures are those of the searches that found a longest burst. A search that reached the limit of lengths
/// did not, so it is left out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct BackToBack {
    /// The searches.
    pub searches: Vec<SweptBurst>,
    /// Mean length of the longest bursts, in frames: the benchmark.
    pub mean_frames: Option<f64>,
    /// The shortest of the longest bursts, in frames.
    pub least_frames: Option<u64>,
    /// The longest of them, in frames.
    pub most_frames: Option<u64>,
    /// Standard deviation of their lengths, in frames.
    pub deviation_frames: Option<f64>,
    /// `mean_frames` divided by the rate of the burst, seconds.
    pub implied_buffer_s: Option<f64>,
    /// How long the buffer lasts without the frames that were read from it meanwhile: `implied x (1 - drained / burst rate)`, seconds.
    #[serde(alias = "corrected_buffer_s")]
    pub drain_corrected_buffer_s: Option<f64>,
}

impl BackToBack {
    /// Summary of these searches; `None` if there are none.
    pub fn from_searches(searches: Vec<SweptBurst>) -> Option<Self> {
        if searches.is_empty() {
            return None;
        }
        let mut lengths = Vec::new();
        let mut burst_rates = Vec::new();
        let mut drain_rates = Vec::new();
        for search in searches.iter().filter(|search| search.end == BurstEnd::Found) {
            lengths.extend(search.frames);
            burst_rates.push(search.burst_pps);
            drain_rates.push(search.drained_pps);
        }
        let found = BurstLengths::from_frames(&lengths);
        let mut implied_buffer_s = None;
        let mut drain_corrected_buffer_s = None;
        if let (Some(found), Some(burst_pps)) = (found, mean(&burst_rates)) {
            implied_buffer_s = Some(found.implied_buffer_s(burst_pps));
            drain_corrected_buffer_s =
                mean(&drain_rates).map(|read_pps| found.corrected_buffer_s(burst_pps, read_pps));
        }
        Some(Self {
            mean_frames: found.map(|found| found.mean_frames),
            least_frames: found.map(|found| found.least_frames),
            most_frames: found.map(|found| found.most_frames),
            deviation_frames: found.and_then(|found| found.deviation_frames),
            implied_buffer_s,
            drain_corrected_buffer_s,
            searches,
        })
    }
}

/// The mean; `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::{InvalidTrial, SweptBurst};

    #[test]
    fn a_search_of_an_earlier_version_has_the_text_of_its_invalid_trial() {
        let saved = r#"{"end": "invalid", "because": "trial 4: a reason", "frames": null, "burst_pps": 1.0, "drained_pps": 1.0,
            "trials": [4]}"#;
        let mut search: SweptBurst = serde_json::from_str(saved).unwrap();
        let earlier = InvalidTrial { trial: None, because: "trial 4: a reason".into() };
        assert_eq!(search.invalid_trial(), Some(earlier));
        let fact = InvalidTrial { trial: Some(4), because: "a reason".into() };
        search.because_fact = Some(fact.clone());
        assert_eq!(search.invalid_trial(), Some(fact));
    }
}
