//! The error of this crate. Every message is one line: what was attempted, on which object, why it failed and what to do next.

use std::path::PathBuf;

use capbench_host::HostError;
use capbench_model::TrialError;

/// What a program did not do, or when it ended.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) enum ProgramFault {
    #[error("it has no packet socket on {0}")]
    NoSocket(String),
    #[error("it did not say \"{0}\"")]
    DidNotSay(String),
    #[error("before it could receive")]
    BeforeReady,
    #[error("while frames were sent")]
    WhileSending,
    #[error("before it was stopped")]
    BeforeStop,
}

/// Why there is no tracer.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("it was not asked for")]
pub(crate) struct TracerNotAsked;

/// An error while a trial is prepared or run.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The host refused the request, or cannot be used as it is.
    #[error(transparent)]
    Host(HostError),
    /// A capture method failed, or could not be opened.
    #[error(transparent)]
    Capture(#[from] capbench_capture::CaptureError),
    /// Frames could not be planned.
    #[error(transparent)]
    Frame(#[from] capbench_frames::FrameError),
    /// Traffic could not be sent.
    #[error(transparent)]
    Traffic(#[from] capbench_traffic::TrafficError),
    /// A side in another process, or on another host, failed.
    #[error(transparent)]
    Remote(Box<dyn std::error::Error + Send + Sync>),
    /// A capture program under test did not do what a trial requires.
    #[error("cmd:{program}: {reason}")]
    Program {
        /// Its name.
        program: String,
        /// What it did, and its output.
        reason: String,
    },
    /// The requested program does not exist.
    #[error(
        "there is no program \"{name}\" for cmd:; known are {known}; a file given with --programs can define others"
    )]
    UnknownProgram {
        /// The requested name.
        name: String,
        /// All names, for the message.
        known: String,
    },
    /// A user's file does not define programs correctly.
    #[error("{}: {reason}", path.display())]
    Definition {
        /// The file.
        path: PathBuf,
        /// What is wrong, and at which place in the file.
        reason: String,
    },
    /// This kernel or host cannot do what the user requested.
    #[error("{what} cannot run here: {reason}")]
    Unsupported {
        /// The request.
        what: String,
        /// Why it is impossible, and what it requires.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, LabError>;

impl LabError {
    /// The error of this crate inside a trial's error.
    pub fn inside(error: &TrialError) -> Option<&Self> {
        match error {
            TrialError::Laboratory(error) => error.downcast_ref(),
            TrialError::Unsupported { .. } | TrialError::Frame(_) => None,
        }
    }
}

impl From<capbench_sys::SysError> for LabError {
    fn from(error: capbench_sys::SysError) -> Self {
        Self::Host(error.into())
    }
}

impl From<HostError> for LabError {
    /// A request that the host does not support is unsupported by the laboratory too. Plans continue without it.
    fn from(error: HostError) -> Self {
        match error {
            HostError::Unsupported { what, reason } => Self::Unsupported { what, reason },
            error => Self::Host(error),
        }
    }
}

impl From<LabError> for TrialError {
    fn from(error: LabError) -> Self {
        match error {
            LabError::Unsupported { what, reason } => Self::Unsupported { what, reason },
            LabError::Frame(error) => Self::Frame(error),
            error => Self::Laboratory(Box::new(error)),
        }
    }
}
