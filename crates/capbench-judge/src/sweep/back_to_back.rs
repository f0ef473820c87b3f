//! The longest bursts that a method received without loss at a point of a sweep, and the time that its buffers can store.

use serde::{Deserialize, Serialize};

use crate::bursts::BurstEnd;
use capbench_model::ledger::LostAt;

/// One search.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Burst {
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
    /// The rate at which the application read frames under that load, once its buffer was full.
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

impl Burst {
    /// The invalid trial that ended the search.
    pub fn invalid_trial(&self) -> Option<InvalidTrial> {
        let earlier = self.because.clone().map(|because| InvalidTrial { trial: None, because });
        self.because_fact.clone().or(earlier)
    }
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
        let mut lengths = Vec::new();
        let mut burst_rates = Vec::new();
        let mut drain_rates = Vec::new();
        for search in searches.iter().filter(|search| search.end == BurstEnd::Found) {
            lengths.extend(search.frames);
            burst_rates.push(search.burst_pps);
            drain_rates.push(search.drained_pps);
        }
        let frames: Vec<f64> = lengths.iter().map(|frames| *frames as f64).collect();
        let mean_frames = mean(&frames);
        let mut implied_buffer_s = None;
        let mut drain_corrected_buffer_s = None;
        if let (Some(frames), Some(burst_pps)) = (mean_frames, mean(&burst_rates)) {
            let implied_s = frames / burst_pps;
            implied_buffer_s = Some(implied_s);
            drain_corrected_buffer_s =
                mean(&drain_rates).map(|drained_pps| implied_s * (1.0 - drained_pps / burst_pps));
        }
        Some(Self {
            mean_frames,
            least_frames: lengths.iter().min().copied(),
            most_frames: lengths.iter().max().copied(),
            deviation_frames: deviation(&frames),
            implied_buffer_s,
            drain_corrected_buffer_s,
            searches,
        })
    }
}

/// `None` without values.
fn mean(values: &[f64]) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    Some(values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation; `None` with fewer than two values.
fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values)?;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::{Burst, InvalidTrial};

    #[test]
    fn a_search_of_an_earlier_version_has_the_text_of_its_invalid_trial() {
        let saved = r#"{"end": "invalid", "because": "trial 4: a reason", "frames": null, "burst_pps": 1.0, "drained_pps": 1.0,
            "trials": [4]}"#;
        let mut search: Burst = serde_json::from_str(saved).unwrap();
        let earlier = InvalidTrial { trial: None, because: "trial 4: a reason".into() };
        assert_eq!(search.invalid_trial(), Some(earlier));
        let fact = InvalidTrial { trial: Some(4), because: "a reason".into() };
        search.because_fact = Some(fact.clone());
        assert_eq!(search.invalid_trial(), Some(fact));
    }
}
