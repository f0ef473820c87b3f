//! What guards did around a trial, and what they found.

use serde::{Deserialize, Serialize};

use super::TrialResult;

/// What guards did before a trial stood.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Guarding {
    /// Which attempt stands, from 1.
    pub attempt: u32,
    /// Attempts before it, with what disturbed them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set_aside: Vec<Retried>,
    /// What came between an overload and this trial; absent where there was no overload before it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
}

/// An attempt that does not stand.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Retried {
    /// What disturbed it.
    pub because: Vec<String>,
    /// The attempt.
    pub trial: TrialResult,
}

/// What was found at low load after an overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Recovery {
    /// Number of the trial that overloaded the path.
    pub after: u32,
    /// Whether the last probe was clean.
    pub recovered: bool,
    /// The probes in order.
    pub probes: Vec<TrialResult>,
}

/// The trial of the same set-up that delivered most, seen from one that was offered more and delivered less.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Livelock {
    /// Its number.
    pub against: u32,
    /// What it was offered, in packets per second.
    pub offered_pps: f64,
    /// What it delivered of that.
    pub delivered_pps: f64,
}
