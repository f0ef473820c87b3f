//! Trials that are evidence: one whose account contradicts itself is repeated, and never taken for an answer.

use std::time::Duration;

use super::Ended;
use crate::error::Result;
use crate::laboratory::Setup;
use crate::session::Session;
use crate::trial::{Load, Phase, TrialResult, Verdict};

/// How often a load is tried before its accounts are believed to be beyond repair.
const TRIES: usize = 3;

/// A trial with a sound account; how the test ends where there is none.
///
/// # Errors
/// When a trial cannot be saved.
pub(super) fn trial(
    session: &mut Session<'_>,
    setup: &Setup,
    load: Load,
    duration: Duration,
    phase: Phase,
) -> Result<std::result::Result<TrialResult, Ended>> {
    let mut trials = Vec::new();
    while trials.len() < TRIES {
        let Some(result) = session.trial(setup, load, duration, phase)? else {
            return Ok(Err(if session.stopped { Ended::Stopped } else { Ended::NotRun }));
        };
        if result.verdict != Verdict::Invalid {
            return Ok(Ok(result));
        }
        trials.push(result.number);
    }
    Ok(Err(Ended::Invalid { trials }))
}
