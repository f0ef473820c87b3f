//! The error of this crate. Every message is one line: what was attempted, on what, why it failed and what to do next.

use std::io;
use std::path::PathBuf;

use capbench_host::HostError;

/// What can go wrong while a measurement is prepared, run or saved.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The host refused, or cannot be used as it is.
    #[error(transparent)]
    Host(HostError),
    /// A system call failed; the message names the call.
    #[error(transparent)]
    Sys(#[from] capbench_sys::SysError),
    /// A capture method could not be opened or failed.
    #[error(transparent)]
    Capture(#[from] capbench_capture::CaptureError),
    /// Frames could not be planned.
    #[error(transparent)]
    Frame(#[from] capbench_frames::FrameError),
    /// Traffic could not be sent.
    #[error(transparent)]
    Traffic(#[from] capbench_traffic::TrafficError),
    /// A file of the kernel or of the user could not be read or written.
    #[error("{attempt} {}: {source}", path.display())]
    File {
        /// What was attempted, for example `cannot read`.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the kernel does not look like what is documented.
    #[error("{file}: cannot understand {line:?}: {reason}")]
    Parse {
        /// The file.
        file: &'static str,
        /// The line, as it was read.
        line: String,
        /// What was expected.
        reason: &'static str,
    },
    /// An interface cannot be used as it is; `reason` ends with what to do.
    #[error("interface {interface}: {reason}")]
    Interface {
        /// The interface.
        interface: String,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// A capture program under test did not do what a trial needs of it.
    #[error("cmd:{program}: {reason}")]
    Program {
        /// Its name.
        program: String,
        /// What it did, and what it said.
        reason: String,
    },
    /// There is no such program.
    #[error(
        "there is no program \"{name}\" for cmd:; known are {known}; a file given with --programs can define others"
    )]
    UnknownProgram {
        /// The name that was asked for.
        name: String,
        /// All names, for the message.
        known: String,
    },
    /// A user's file does not define programs.
    #[error("{}: {reason}", path.display())]
    Definition {
        /// The file.
        path: PathBuf,
        /// What is wrong with it and where.
        reason: String,
    },
    /// A search goal cannot be understood, or contradicts itself.
    #[error("goal {goal}: {reason}")]
    Goal {
        /// Its name, as the user wrote it.
        goal: String,
        /// What is wrong with it, and what to give.
        reason: String,
    },
    /// Goals and limits of a search do not go together.
    #[error("search: {reason}")]
    Search {
        /// What contradicts what, and what to change.
        reason: String,
    },
    /// A sweep that contradicts itself.
    #[error("sweep: {reason}")]
    Sweep {
        /// What is wrong with it, and what to give.
        reason: String,
    },
    /// Runs that cannot be compared.
    #[error("compare: {reason}")]
    Comparison {
        /// Why not, and what to name.
        reason: String,
    },
    /// This kernel or host cannot do what was asked.
    #[error("{what} cannot run here: {reason}")]
    Unsupported {
        /// What was asked.
        what: String,
        /// Why it cannot be done, and what would be needed.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, MeasureError>;

impl MeasureError {
    /// A file that could not be read.
    pub(crate) fn reading(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { attempt: "cannot read", path: path.into(), source }
    }

    /// A file that could not be written.
    pub(crate) fn writing(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { attempt: "cannot write", path: path.into(), source }
    }
}

impl From<HostError> for MeasureError {
    /// What the host cannot do is what the laboratory cannot do: plans go on without it.
    fn from(error: HostError) -> Self {
        match error {
            HostError::Unsupported { what, reason } => Self::Unsupported { what, reason },
            error => Self::Host(error),
        }
    }
}
