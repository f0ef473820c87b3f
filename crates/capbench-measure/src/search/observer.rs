//! What whoever runs trials is told while they run.

use crate::error::{MeasureError, Result};
use crate::laboratory::Setup;
use crate::trial::{Load, TrialResult};

use super::SearchOutcome;

/// Follows trials while they run, and can stop them.
pub trait Observer {
    /// A trial begins.
    fn starts(&mut self, what: &str);
    /// A trial ended; saving it is the observer's business.
    ///
    /// # Errors
    /// When it cannot be saved, which ends the run.
    fn ends(&mut self, result: &TrialResult) -> Result<()>;
    /// A set-up could not be measured; the others go on.
    fn skips(&mut self, setup: &Setup, load: Load, why: &MeasureError);
    /// Whether the user wants to stop.
    fn stopping(&self) -> bool;
    /// Whether it keeps what a search has shown so far. That is worked out after each trial only for one who does.
    fn keeps_searches(&self) -> bool {
        false
    }
    /// What the search that runs has shown so far: what it would show if it were stopped now.
    fn searching(&mut self, _so_far: SearchOutcome) {}
}
