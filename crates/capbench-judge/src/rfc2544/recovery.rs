//! The outcome of a test of system recovery (RFC 2544 26.5): the time from the change of the rate to the last lost frame.
//!
//! Both times come from the plan: the moment of the change, and the planned send time of the lost frame with the highest number.
//! So no clock of the receiver is involved. The generator's lateness adds to the uncertainty and is stored separately.

use capbench_frames::rates::Pps;
use capbench_frames::schedule::Step;
use serde::{Deserialize, Serialize};

use super::{Ended, MaximumRate};
use crate::thresholds::RECOVERED_QUIET_SHARE;
use capbench_model::trial::TrialResult;

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecoveryOutcome {
    /// The highest rate without loss, frames per second.
    pub throughput_pps: Pps,
    /// The maximum rate.
    pub maximum: MaximumRate,
    /// The overload, frames per second.
    pub overload_pps: Pps,
    /// Duration of the overload, in seconds.
    pub overloaded_s: f64,
    /// The rate after it, frames per second.
    pub after_pps: Pps,
    /// Duration of that rate, in seconds.
    pub observed_s: f64,
    /// Each repetition.
    pub repetitions: Vec<Repetition>,
    /// Mean of the recovery times; absent unless every repetition has one.
    pub average_s: Option<f64>,
    /// How it ended.
    pub ended: Ended,
}

/// One overload and the time after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repetition {
    /// Its result.
    pub recovery: Recovery,
    /// Maximum lateness of the generator, in nanoseconds: the uncertainty of the recovery time.
    pub generator_late_ns: Option<u64>,
    /// Number of the trial.
    pub trial: u32,
}

/// The result of an overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Recovery {
    /// Frames were lost, and then none.
    Recovered {
        /// From the change of the rate to the last lost frame, in seconds; 0 if none was lost after the change.
        after_s: f64,
    },
    /// No frame was lost: there was no overload.
    NothingLost,
    /// Frames were lost until the end, or nearly.
    NotRecovered {
        /// From the change of the rate to the last lost frame, in seconds.
        at_least_s: f64,
    },
    /// The trial does not show it.
    Unknown {
        /// Why.
        because: String,
    },
}

/// Why a trial does not show when its path had recovered.
#[derive(Debug, thiserror::Error)]
enum NoRecovery {
    #[error("the generator sent no frame after the overload")]
    NothingSent,
    #[error("the generator was late by up to {late_s:.3} s, so the overload did not end when it was to")]
    Late { late_s: f64 },
    #[error("the method does not show which frames were lost")]
    UnknownLosses,
}

impl From<NoRecovery> for Recovery {
    fn from(reason: NoRecovery) -> Self {
        Self::Unknown { because: reason.to_string() }
    }
}

/// The result of a trial whose load is this step down from an overload.
pub fn recovery(trial: &TrialResult, step: &Step) -> Recovery {
    let change_s = step.at.as_secs_f64();
    // Unsent frames are the last of the plan, so sending ended at the planned time of the first unsent frame.
    let observed_s = step.planned_ns(trial.sent) as f64 / 1e9 - change_s;
    let late_s = trial.lateness.map_or(0.0, |lateness| lateness.max_ns as f64 / 1e9);
    if observed_s <= 0.0 {
        return NoRecovery::NothingSent.into();
    }
    if late_s > observed_s * RECOVERED_QUIET_SHARE {
        return NoRecovery::Late { late_s }.into();
    }
    if trial.lost() == 0 {
        return Recovery::NothingLost;
    }
    let Some(last_lost) = trial.loss_pattern.as_ref().and_then(|pattern| pattern.last_lost) else {
        return NoRecovery::UnknownLosses.into();
    };
    let after_s = (step.planned_ns(last_lost) as f64 / 1e9 - change_s).max(0.0);
    if after_s > observed_s * (1.0 - RECOVERED_QUIET_SHARE) {
        Recovery::NotRecovered { at_least_s: after_s }
    } else {
        Recovery::Recovered { after_s }
    }
}

/// The mean of the recovery times; `None` unless every repetition has one.
pub fn average(repetitions: &[Repetition]) -> Option<f64> {
    let mut sum_s = 0.0;
    for repetition in repetitions {
        let Recovery::Recovered { after_s } = repetition.recovery else { return None };
        sum_s += after_s;
    }
    if repetitions.is_empty() { None } else { Some(sum_s / repetitions.len() as f64) }
}
