//! What can go wrong between captured frames and files.

use crate::error::CaptureError;
use crate::units::ByteCount;

/// The error of recording, and of reading and writing capture files.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A capture failed, or cannot be.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// An option that cannot be.
    #[error("{option}: {reason}")]
    Option {
        /// The flag as the user knows it.
        option: &'static str,
        /// What is wrong with it and what is possible.
        reason: String,
    },
    /// Buffers between encoder and file do not hold every frame.
    #[error(
        "write buffers of {asked} do not hold the largest record, which takes {least}; ask for larger ones"
    )]
    WriteBuffer {
        /// Octets asked for.
        asked: ByteCount,
        /// Octets of the largest record.
        least: ByteCount,
    },
    /// What a capture file is to say of its origin is too long for the format.
    #[error("the {what} has {octets} octets; pcapng has room for 65535, so make it shorter")]
    FileOption {
        /// Which text.
        what: &'static str,
        /// Its length.
        octets: usize,
    },
    /// Batches cannot be handed to workers.
    #[error("hand-off to workers: {reason}")]
    HandOff {
        /// What is wrong and what is possible.
        reason: String,
    },
    /// A worker of a hand-off panicked. Its batches were given back; the others go on.
    #[error(
        "worker {worker} of the hand-off panicked: {message}; its batches were given back, and the other workers go on"
    )]
    Worker {
        /// Which one; the first is 0.
        worker: usize,
        /// What it said.
        message: String,
    },
    /// What was recorded cannot be written.
    #[error("cannot {attempt} {}: {source}; {next}", path.display())]
    Output {
        /// What was attempted.
        attempt: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// What to do next.
        next: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
}

/// The result of recording's calls.
pub type Result<T> = std::result::Result<T, RecordError>;
