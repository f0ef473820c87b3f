//! The error of a trial's path. Every message is one line.

use std::error::Error;

use capbench_frames::FrameError;

/// Why a path cannot run a trial.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// This kernel, host or path cannot do what the set-up requests. Plans continue with other set-ups.
    #[error("{what} cannot run here: {reason}")]
    Unsupported {
        /// The request.
        what: String,
        /// Why it is impossible, and what it requires.
        reason: String,
    },
    /// Frames could not be planned.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An error of the laboratory.
    #[error(transparent)]
    Laboratory(Box<dyn Error + Send + Sync>),
}

/// The result of a path's calls.
pub type Result<T> = std::result::Result<T, TrialError>;
