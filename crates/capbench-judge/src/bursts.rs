//! How a search for the longest burst without loss ended, and shares in percent.

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
