//! The reports of a run while it continues.

use crate::Result;
use capbench_model::TrialError;
use capbench_model::laboratory::Setup;
use capbench_model::trial::{Load, TrialResult};

use super::SearchOutcome;

/// Follows trials while they run, and can stop them. Each kind of run with more reports has a trait that extends this one.
pub trait Observer {
    /// A trial begins.
    fn starts(&mut self, _what: &str) {}
    /// A trial ended. The observer is responsible for saving it.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the run.
    fn ends(&mut self, _result: &TrialResult) -> Result<()> {
        Ok(())
    }
    /// A set-up could not be measured; the others continue.
    fn skips(&mut self, _setup: &Setup, _load: Load, _why: &TrialError) {}
    /// Whether the user wants to stop.
    fn stopping(&self) -> bool {
        false
    }
    /// Whether the observer keeps intermediate outcomes of a search. They are computed after each trial only if it does.
    fn keeps_searches(&self) -> bool {
        false
    }
    /// The intermediate outcome of the running search: its outcome if it were stopped now.
    fn searching(&mut self, _so_far: SearchOutcome) {}
    /// A search that is part of a larger plan has ended, for any reason.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the run.
    fn searched(&mut self, _outcome: SearchOutcome) -> Result<()> {
        Ok(())
    }
}

/// An observer that ignores everything.
impl Observer for () {}
