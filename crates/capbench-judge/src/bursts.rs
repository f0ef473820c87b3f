//! Searches for the longest burst without loss: how one ended, what several of them show together (RFC 9004 6), and shares in percent.

use std::fmt;

use serde::{Deserialize, Serialize};

use capbench_model::TrialError;

/// How a search for a burst ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BurstEnd {
    /// The longest burst is known.
    #[default]
    Found,
    /// No burst was without loss: even the shortest one lost frames.
    NoneHeld,
    /// The method sustains the load for a whole trial: the buffer never fills, so no length exists (RFC 9004 section 5.1).
    NeverFills,
    /// The longest burst exceeds the limit of the search.
    AtLimit,
    /// The generator did not send at the requested rate, so there was no burst.
    GeneratorLimited,
    /// A trial of the search is invalid.
    Invalid,
    /// A burst could not be run.
    NotRun,
}

/// The longest bursts of several searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BurstLengths {
    /// Their mean in frames: the benchmark.
    pub mean_frames: f64,
    /// The shortest.
    pub least_frames: u64,
    /// The longest.
    pub most_frames: u64,
    /// Their standard deviation; absent with a single search.
    pub deviation_frames: Option<f64>,
}

impl BurstLengths {
    /// By the frames of each burst; `None` without one.
    pub fn from_frames(frames: &[u64]) -> Option<Self> {
        let count = frames.len() as f64;
        let mean_frames = frames.iter().map(|frames| *frames as f64).sum::<f64>() / count;
        let squares: f64 = frames.iter().map(|frames| (*frames as f64 - mean_frames).powi(2)).sum();
        Some(Self {
            mean_frames,
            least_frames: *frames.iter().min()?,
            most_frames: *frames.iter().max()?,
            deviation_frames: (frames.len() > 1).then(|| (squares / (count - 1.0)).sqrt()),
        })
    }

    /// Seconds that the mean burst lasts at its rate: the time that buffers seem to store.
    pub fn implied_buffer_s(&self, burst_pps: f64) -> f64 {
        self.mean_frames / burst_pps
    }

    /// The same without the frames that were read from the buffer meanwhile.
    pub fn corrected_buffer_s(&self, burst_pps: f64, read_pps: f64) -> f64 {
        self.implied_buffer_s(burst_pps) * (1.0 - read_pps / burst_pps)
    }
}

/// A share in percent: finite, above 0.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "f64", into = "f64")]
pub struct Percent(f64);

impl Percent {
    /// 100 %.
    pub const WHOLE: Self = Self(100.0);

    /// Creates a share from percent. Fails unless `percent` is finite and above zero.
    pub fn new(percent: f64) -> Result<Self, TrialError> {
        if percent.is_finite() && percent > 0.0 {
            Ok(Self(percent))
        } else {
            let what = format!("a test with {percent} %");
            Err(TrialError::Unsupported { what, reason: "a share is above 0 % and finite".into() })
        }
    }

    /// The share in percent.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The share as a factor.
    pub fn ratio(self) -> f64 {
        self.0 / 100.0
    }

    /// A share that is constant in the source code.
    pub const fn fixed(percent: f64) -> Self {
        assert!(percent > 0.0 && percent.is_finite());
        Self(percent)
    }
}

impl fmt::Display for Percent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} %", self.0)
    }
}

impl TryFrom<f64> for Percent {
    type Error = TrialError;

    fn try_from(percent: f64) -> Result<Self, TrialError> {
        Self::new(percent)
    }
}

impl From<Percent> for f64 {
    fn from(percent: Percent) -> Self {
        percent.0
    }
}
