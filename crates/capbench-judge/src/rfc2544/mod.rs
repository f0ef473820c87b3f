//! The saved outcomes of the tests of RFC 2544 other than throughput, and what their trials mean.
//!
//! | file | RFC 2544 | what it finds |
//! |---|---|---|
//! | [`latency`] | 26.2, with the figures of RFC 8219 7.2 and 7.3 | the latency of a frame at the throughput rate |
//! | [`frame_loss`] | 26.3 | loss against load, from the maximum rate down |
//! | [`back_to_back`] | 26.4 as updated by RFC 9004 | the longest burst without loss, and the time that buffers can store |
//! | [`recovery`] | 26.5 | how long frames are still lost after an overload |

pub mod back_to_back;
pub mod frame_loss;
pub mod latency;
pub mod recovery;

use capbench_frames::FrameError;
use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use crate::bursts::Percent;
use crate::search::{MaximumLoad, MaximumSource, Reason, Status};
use back_to_back::BackToBackOutcome;
use capbench_model::saved::{SavedMethod, SavedPlacement, SavedWork};
use capbench_model::trial::SizeLabel;
use frame_loss::FrameLossOutcome;
use latency::LatencyOutcome;
use recovery::RecoveryOutcome;

/// How a test ended. The outcome contains all measurements up to then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// It completed.
    Complete,
    /// The user stopped it.
    Stopped,
    /// A trial could not run; the observer got the reason.
    NotRun,
    /// A trial is invalid, and was invalid again when repeated.
    Invalid {
        /// Its number: one.
        trials: Vec<u32>,
        /// Why; empty in results of early versions.
        #[serde(default)]
        because: String,
    },
}

/// A test with its set-up. Its trials are in the list of all trials.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tested {
    /// The method.
    pub method: SavedMethod,
    /// The placement.
    pub placement: SavedPlacement,
    /// The frame size.
    pub frame_size: SizeLabel,
    /// The work per packet.
    pub work: SavedWork,
    /// The quality of the throughput on which it depends; absent if the user gave the throughput.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throughput_status: Option<Status>,
    /// Numbers of its trials, in the order in which they ran.
    pub trials: Vec<u32>,
    /// The test, and its outcome.
    #[serde(flatten)]
    pub found: Found,
}

/// The outcome of a test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "test", rename_all = "kebab-case")]
#[allow(clippy::large_enum_variant, reason = "a run has few of them")]
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

impl Found {
    /// How it ended.
    pub fn ended(&self) -> &Ended {
        match self {
            Self::Latency(outcome) => &outcome.ended,
            Self::FrameLoss(outcome) => &outcome.ended,
            Self::BackToBack(outcome) => &outcome.ended,
            Self::Recovery(outcome) => &outcome.ended,
        }
    }
}

/// A test that is meaningless in a set-up and was not run.
#[derive(Clone, Debug, PartialEq)]
pub struct Untested {
    /// The method.
    pub method: SavedMethod,
    /// The test, as results name it.
    pub test: &'static str,
    /// Why it is meaningless.
    pub because: NotTested,
}

/// Why a test is meaningless.
#[derive(Clone, Debug, PartialEq)]
pub enum NotTested {
    /// No throughput was found that it could refer to.
    NoThroughput,
    /// The throughput is unknown, so no load is known to be an overload.
    NoOverloadKnown {
        /// The load that is sustained, frames per second.
        sustained_pps: f64,
        /// Why the throughput is unknown.
        reason: Reason,
    },
    /// The throughput is the maximum rate, so no load is an overload.
    NoOverload {
        /// The throughput, frames per second.
        throughput_pps: f64,
        /// The maximum rate.
        maximum: MaximumRate,
    },
    /// The laboratory cannot run it.
    Unsupported {
        /// Why, in one line.
        reason: String,
    },
}

/// The highest rate of a test: the line rate (RFC 2544 appendix B), or the generator's maximum on a link without a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MaximumRate {
    /// Frames per second.
    pub pps: Pps,
    /// Its origin.
    pub source: MaximumSource,
}

impl From<&MaximumLoad> for MaximumRate {
    fn from(maximum: &MaximumLoad) -> Self {
        Self { pps: maximum.load_pps, source: maximum.source }
    }
}

impl MaximumRate {
    /// A share of the maximum rate.
    ///
    /// # Errors
    /// The share is not a legal rate.
    pub fn part(self, percent: Percent) -> Result<Pps, FrameError> {
        Pps::new(self.pps.get() * percent.ratio())
    }
}
