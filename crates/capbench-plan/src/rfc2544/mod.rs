//! The tests of RFC 2544 other than throughput: each is a plan that runs trials, and an outcome that is stored.
//!
//! | file | RFC 2544 | what it finds |
//! |---|---|---|
//! | [`latency`] | 26.2, with the figures of RFC 8219 7.2 and 7.3 | the latency of a frame at the throughput rate |
//! | [`frame_loss`] | 26.3 | loss against load, from the maximum rate down |
//! | [`back_to_back`] | 26.4 as updated by RFC 9004 | the longest burst without loss, and the time that buffers can store |
//! | [`recovery`] | 26.5 | how long frames are still lost after an overload |
//! | [`suite`] | 26.1 | the search for the throughput, then the tests that depend on it |
//! | `rehearsal` | | the cost of a suite, by running it on simulated paths |
//!
//! For a capture, a frame is forwarded when it was delivered to the application, once and intact. The tests do not search for
//! the throughput that they depend on; the suite provides it.

pub mod back_to_back;
pub mod frame_loss;
pub mod latency;
pub mod recovery;
mod rehearsal;
pub mod suite;
#[cfg(test)]
mod tests;

use std::time::Duration;

pub use back_to_back::BackToBackTest;
pub use frame_loss::FrameLossTest;
pub use latency::LatencyTest;
pub use recovery::RecoveryTest;
pub use rehearsal::Estimate;
pub use suite::{Extent, Suite, Test, Throughput};

use crate::Result;
use crate::session::{Missing, Session};
use capbench_judge::rfc2544::{Ended, Found, Tested};
use capbench_judge::search::Status;
use capbench_model::laboratory::Setup;
use capbench_model::saved::Saved;
use capbench_model::trial::{Load, Phase, TrialResult};
use capbench_model::work::Work;

/// A finished test.
#[derive(Clone, Debug)]
pub struct Finished<T> {
    /// The saved outcome, without the trials.
    pub outcome: T,
    /// Its trials, in the order in which they ran.
    pub trials: Vec<TrialResult>,
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

impl<T> Finished<T> {
    /// The saved form of a test that ran with this set-up. `found` names the test.
    pub fn tested(self, found: fn(T) -> Found, setup: &Setup, throughput_status: Option<Status>) -> Tested {
        Tested {
            method: Saved::Known(setup.method.clone()),
            placement: Saved::Known(setup.placement.name()),
            frame_size: setup.label(),
            work: Saved::Known(Work::Plan(setup.work)),
            throughput_status,
            trials: self.trials.iter().map(|trial| trial.number).collect(),
            found: found(self.outcome),
        }
    }
}

/// Repeats a trial. Returns the valid trials, up to the first invalid one.
fn repeated(
    session: &mut Session<'_>,
    setup: &Setup,
    load: Load,
    duration: Duration,
    phase: Phase,
    times: u32,
) -> Result<(Vec<TrialResult>, Ended)> {
    let mut valid = Vec::new();
    for _ in 0..times {
        match session.valid_trial(setup, load, duration, phase)? {
            Ok(trial) => valid.push(trial),
            Err(missing) => return Ok((valid, missing.into())),
        }
    }
    Ok((valid, Ended::Complete))
}
