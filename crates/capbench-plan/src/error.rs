//! The error of this crate. Every message is one line: what is wrong, and what to write instead.

use std::error::Error;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use capbench_frames::FrameError;
use capbench_judge::JudgeError;
use capbench_judge::search::warning::{Allowance, SearchNeed};
use capbench_model::TrialError;

/// An error while a plan is made or run.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// A trial could not run.
    #[error(transparent)]
    Trial(#[from] TrialError),
    /// The observer of a run could not keep a result.
    #[error(transparent)]
    Observer(Box<dyn Error + Send + Sync>),
    /// A file of the user could not be read.
    #[error("cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A user's file does not define goals correctly.
    #[error("{}: {reason}", path.display())]
    Definition {
        /// The file.
        path: PathBuf,
        /// What is wrong, and at which place in the file.
        reason: String,
    },
    /// Search goals are not valid.
    #[error(transparent)]
    Goal(#[from] JudgeError),
    /// Goals and limits of a search contradict each other.
    #[error("search: {reason}")]
    Search {
        /// What contradicts what, and what to change.
        reason: String,
    },
    /// The goals of a search need more than the user allows.
    #[error(
        "search: {}{} is too short: the goals need at least {} trials, {:.0} s of traffic and about {:.0} s in all; allow more time, \
         or give goals with shorter trials, smaller sums or larger widths",
        humantime::format_duration(*allowed),
        match allowance {
            Allowance::Time => "",
            Allowance::Traffic => " of traffic",
        },
        need.trials,
        need.traffic_s,
        need.time_s
    )]
    TooShort {
        /// What the user allows.
        allowed: Duration,
        /// Of what.
        allowance: Allowance,
        /// What the goals need at least.
        need: SearchNeed,
    },
    /// A sweep that contradicts itself.
    #[error("{reason}")]
    Sweep {
        /// What is wrong, and what to write instead.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, PlanError>;

impl PlanError {
    /// An error of an observer, of its own type.
    pub fn observer(error: impl Error + Send + Sync + 'static) -> Self {
        Self::Observer(Box::new(error))
    }

    /// The path, or what it is asked to do, makes `what` impossible.
    pub(crate) fn unsupported(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Trial(TrialError::Unsupported { what: what.into(), reason: reason.into() })
    }
}

impl From<FrameError> for PlanError {
    fn from(error: FrameError) -> Self {
        Self::Trial(error.into())
    }
}
