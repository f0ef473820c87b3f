//! The tests of RFC 2544 beside throughput: each a plan that runs trials, and an outcome that is stored.
//!
//! | file | RFC 2544 | what it finds |
//! |---|---|---|
//! | [`latency`] | 26.2, with the figures of RFC 8219 7.2 and 7.3 | how long a frame takes at the throughput rate |
//! | [`frame_loss`] | 26.3 | loss against load, from the maximum rate down |
//! | [`back_to_back`] | 26.4 as updated by RFC 9004 | the longest burst without loss, and the time that buffers hold |
//! | [`recovery`] | 26.5 | how long after an overload frames are still lost |
//! | [`maximum`] | | the rate that loads are shares of |
//! | [`suite`] | 26.1 | the search for the throughput, and after it the tests that are told in terms of it |
//! | `rehearsal` | | what a suite will take, by running it on paths that are worked out |
//! | `stored` | | what is saved of a test, with its set-up |
//!
//! For a capture a frame is forwarded when it was delivered to the application, once and intact. None of the tests
//! searches for the throughput that they are told in terms of; the suite brings it.

pub mod back_to_back;
pub mod frame_loss;
pub mod latency;
pub mod maximum;
pub mod recovery;
mod rehearsal;
mod stored;
pub mod suite;
#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};

pub use crate::percent::Percent;
pub use back_to_back::{BackToBackOutcome, BackToBackTest};
pub use frame_loss::{FrameLossOutcome, FrameLossTest};
pub use latency::{LatencyOutcome, LatencyTest};
pub use maximum::MaximumRate;
pub use recovery::{RecoveryOutcome, RecoveryTest};
pub use rehearsal::Estimate;
pub use stored::{Found, Tested};
pub use suite::{Extent, Follower, Suite, Test, Throughput};

use crate::session::Missing;
use crate::trial::TrialResult;

/// A test that is over.
#[derive(Clone, Debug)]
pub struct Finished<T> {
    /// What is saved beside the trials.
    pub outcome: T,
    /// Its trials, in the order in which they ran.
    pub trials: Vec<TrialResult>,
}

/// How a test ended. Whatever it was, what had been measured by then is in the outcome.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Ended {
    /// It went through.
    Complete,
    /// The user stopped it.
    Stopped,
    /// A trial could not be run; the observer was told why.
    NotRun,
    /// A trial shows nothing, and did not when it was repeated.
    Invalid {
        /// Its number.
        trials: Vec<u32>,
        /// Why; empty in results of early versions.
        #[serde(default)]
        because: String,
    },
}

impl From<Missing> for Ended {
    fn from(missing: Missing) -> Self {
        match missing {
            Missing::Stopped => Self::Stopped,
            Missing::NotRun => Self::NotRun,
            Missing::Invalid { trial, because } => Self::Invalid { trials: vec![trial], because },
        }
    }
}
