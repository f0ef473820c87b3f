//! The facts of a saved run that judgement needs.

use capbench_model::environment::Environment;
use capbench_model::statement::Statement;
use capbench_model::trial::TrialResult;

use crate::search::SearchOutcome;
use crate::soak::record::SoakRecord;
use crate::sweep::SweepOutcome;

/// What a run saved, without what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'r> {
    /// The command, word by word.
    pub command: &'r [String],
    /// When the run started, seconds since the epoch.
    pub started_unix_s: u64,
    /// Whether the run completed.
    pub complete: bool,
    /// The host.
    pub environment: &'r Environment,
    /// Statements of the run about itself.
    pub statements: &'r [Statement],
    /// The trials, in the order in which they ran.
    pub trials: &'r [TrialResult],
    /// Outcomes of searches.
    pub searches: &'r [SearchOutcome],
    /// Outcomes of sweeps.
    pub sweeps: &'r [SweepOutcome],
    /// The record of a soak.
    pub soak: Option<&'r SoakRecord>,
}
