//! What is saved of a test, beside its trials.

use serde::{Deserialize, Serialize};

use super::{BackToBackOutcome, Finished, FrameLossOutcome, LatencyOutcome, RecoveryOutcome};
use crate::laboratory::Setup;
use crate::search::Status;
use crate::trial::SizeLabel;

/// A test with its set-up. Its trials stand with the others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tested {
    /// The method.
    pub method: String,
    /// The placement.
    pub placement: String,
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The work per packet.
    pub work: String,
    /// What the throughput that it is told in terms of is worth; absent where that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_status: Option<Status>,
    /// Numbers of its trials, in the order in which they ran.
    pub trials: Vec<u32>,
    /// Which test it was, and what it found.
    #[serde(flatten)]
    pub found: Found,
}

/// What a test found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "test", rename_all = "kebab-case")]
pub enum Found {
    /// RFC 2544 26.2.
    Latency(LatencyOutcome),
    /// RFC 2544 26.3.
    FrameLoss(FrameLossOutcome),
    /// RFC 2544 26.4, RFC 9004.
    BackToBack(BackToBackOutcome),
    /// RFC 2544 26.5.
    Recovery(RecoveryOutcome),
}

impl<T: Into<Found>> Finished<T> {
    /// What is saved of it, where it ran with this set-up.
    pub fn tested(self, setup: &Setup, throughput_status: Option<Status>) -> Tested {
        Tested {
            method: setup.method.to_string(),
            placement: setup.placement.to_string(),
            frame_size: setup.label.clone(),
            work: setup.work.to_string(),
            throughput_status,
            trials: self.trials.iter().map(|trial| trial.number).collect(),
            found: self.outcome.into(),
        }
    }
}

impl From<LatencyOutcome> for Found {
    fn from(outcome: LatencyOutcome) -> Self {
        Self::Latency(outcome)
    }
}

impl From<FrameLossOutcome> for Found {
    fn from(outcome: FrameLossOutcome) -> Self {
        Self::FrameLoss(outcome)
    }
}

impl From<BackToBackOutcome> for Found {
    fn from(outcome: BackToBackOutcome) -> Self {
        Self::BackToBack(outcome)
    }
}

impl From<RecoveryOutcome> for Found {
    fn from(outcome: RecoveryOutcome) -> Self {
        Self::Recovery(outcome)
    }
}
