//! What a run tells while it goes on.

use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::trial::{Load, TrialResult};

use super::SearchOutcome;

/// Follows trials while they run, and can stop them. Each kind of run that reports more has a trait that extends this one.
pub trait Observer {
    /// A trial begins.
    fn starts(&mut self, _what: &str) {}
    /// A trial ended; saving it is the observer's business.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the run.
    fn ends(&mut self, _result: &TrialResult) -> Result<()> {
        Ok(())
    }
    /// A set-up could not be measured; the others go on.
    fn skips(&mut self, _setup: &Setup, _load: Load, _why: &MeasureError) {}
    /// Whether the user wants to stop.
    fn stopping(&self) -> bool {
        false
    }
    /// Whether it keeps what a search has shown so far. That is worked out after each trial only for one who does.
    fn keeps_searches(&self) -> bool {
        false
    }
    /// What the search that runs has shown so far: what it would show if it were stopped now.
    fn searching(&mut self, _so_far: SearchOutcome) {}
    /// A search that is a part of a larger plan is over, whatever ended it.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the run.
    fn searched(&mut self, _outcome: SearchOutcome) -> Result<()> {
        Ok(())
    }
}

/// Nobody follows the run.
impl Observer for () {}
