//! Actions and findings of guards around a trial.

use serde::{Deserialize, Serialize};

use super::TrialResult;
use crate::noise::NoiseOfAttempt;
use crate::reasons::Invalid;

/// Actions of guards before a trial was accepted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Guarding {
    /// Number of the accepted attempt, from 1.
    pub attempt: u32,
    /// Discarded attempts before it, with their disturbances.
    #[serde(rename = "set_aside", default, skip_serializing_if = "Vec::is_empty")]
    pub discarded: Vec<Retried>,
    /// Recovery between an overload and this trial; absent if no overload came before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// A discarded attempt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Retried {
    /// Its disturbances.
    #[serde(flatten)]
    pub because: NoiseOfAttempt,
    /// The attempt.
    pub trial: TrialResult,
}

/// Findings at low load after an overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recovery {
    /// Number of the trial that overloaded the path.
    pub after: u32,
    /// Whether the last probe was clean.
    pub recovered: bool,
    /// The probes in order.
    pub probes: Vec<TrialResult>,
}

/// The trial of the same set-up that delivered most. The livelocked trial was offered more and delivered less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Livelock {
    /// Number of that trial.
    pub against: u32,
    /// Its offered load in packets per second.
    pub offered_pps: f64,
    /// Its delivered rate in packets per second.
    pub delivered_pps: f64,
}

impl Recovery {
    /// Why a trial is invalid because of the path; absent if the path was clean.
    pub fn failure(&self) -> Option<Invalid> {
        if self.recovered {
            return None;
        }
        Some(Invalid::NotRecovered { after: self.after, probes: self.probes.len() })
    }
}
