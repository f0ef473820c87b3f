//! The errors of this crate: of a trial's path, and of texts that cannot be read. Every message is one line.

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

/// A text that is no value of its type.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A number of bytes.
    #[error("\"{0}\" is not a size; write for example 4096, 64K, 256KiB, 64MiB or 4MB")]
    Size(String),
    /// Work per packet.
    #[error("\"{0}\" is no work model; none, loop:N, ns:N, touch, parse and copy are (N: a whole number)")]
    WorkModel(String),
    /// A number of members.
    #[error("\"{text}\" members: a fanout group has 1 to {most}")]
    Members {
        /// The text.
        text: String,
        /// Most members of a group.
        most: usize,
    },
    /// A required rate of a method.
    #[error("\"{0}\" is not METHOD:RATE; write for example packet-v3:500k or packet-v3:500Mbit/s")]
    Requirement(String),
    /// A socket filter.
    #[error("it is no program as tcpdump -ddd prints it: {0}")]
    FilterProgram(String),
    /// A stored distribution of delays.
    #[error("no HdrHistogram of format V2: {0}")]
    Histogram(String),
}

/// The result of a path's calls.
pub type Result<T> = std::result::Result<T, TrialError>;
