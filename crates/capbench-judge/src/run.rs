//! The kind of a run, and the facts of a saved run that judgement needs.

use capbench_model::environment::Environment;
use capbench_model::statement::Statement;
use capbench_model::trial::TrialResult;
use serde::{Deserialize, Serialize};

use crate::command_line::CommandLine;
use crate::search::SearchOutcome;
use crate::soak::record::SoakRecord;
use crate::sweep::SweepOutcome;

/// What a run measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Which method captures every packet, up to which rate.
    Bench,
    /// The highest load that a set-up sustains.
    Search,
    /// What a parameter changes.
    Sweep,
    /// The tests of RFC 2544.
    Rfc2544,
    /// One load for hours.
    Soak,
    /// An experiment of a publication.
    Reproduce,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Bench, Self::Search, Self::Sweep, Self::Rfc2544, Self::Soak, Self::Reproduce];

    /// Its command.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Bench => "bench",
            Self::Search => "search",
            Self::Sweep => "sweep",
            Self::Rfc2544 => "rfc2544",
            Self::Soak => "soak",
            Self::Reproduce => "reproduce",
        }
    }
}

/// What a run saved, without what was made of it.
#[derive(Clone, Copy, Debug)]
pub struct RunFacts<'r> {
    /// The command line.
    pub command: CommandLine<'r>,
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
    /// What the reader of its file warns of; empty for a run in memory.
    pub file_warnings: &'r [String],
    /// The record of a soak.
    pub soak: Option<&'r SoakRecord>,
}

#[cfg(test)]
impl<'r> RunFacts<'r> {
    /// A complete run of these trials and nothing else, on a host of which nothing is known.
    pub(crate) fn of_trials(trials: &'r [TrialResult]) -> Self {
        static UNKNOWN_HOST: std::sync::LazyLock<Environment> =
            std::sync::LazyLock::new(Environment::default);
        Self {
            command: CommandLine(&[]),
            started_unix_s: 1,
            complete: true,
            environment: &UNKNOWN_HOST,
            statements: &[],
            trials,
            searches: &[],
            sweeps: &[],
            file_warnings: &[],
            soak: None,
        }
    }
}
