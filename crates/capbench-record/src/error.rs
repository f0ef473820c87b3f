//! Errors of recording, and of reading and writing capture files.

use capbench_capture::error::CaptureError;
use capbench_model::units::ByteCount;

/// The error of recording, and of reading and writing capture files.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// A capture failed, or cannot be opened.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// The value of an option is invalid.
    #[error("{option}: {reason}")]
    Option {
        /// The flag that the user wrote.
        option: &'static str,
        /// What is wrong, and which values are valid.
        reason: String,
    },
    /// The buffers between encoder and file are too small for the largest frame.
    #[error(
        "write buffers of {asked} do not hold the largest record, which takes {least}; ask for larger ones"
    )]
    WriteBuffer {
        /// Requested octets.
        asked: ByteCount,
        /// Octets of the largest record.
        least: ByteCount,
    },
    /// A text about the origin of the capture is too long for the file format.
    #[error("the {what} has {octets} octets; pcapng has room for 65535, so make it shorter")]
    FileOption {
        /// Which text.
        what: &'static str,
        /// Its length in octets.
        octets: usize,
    },
    /// The plan of a worker pool is invalid.
    #[error("worker pool: {reason}")]
    WorkerPool {
        /// What is wrong, and which values are valid.
        reason: String,
    },
    /// A worker thread panicked. Its batches were returned; the other workers continue.
    #[error(
        "worker {worker} of the pool panicked: {message}; its batches count as lost, and the other workers go on"
    )]
    Worker {
        /// The worker's number, from 0.
        worker: usize,
        /// The panic message.
        message: String,
    },
    /// A file cannot be written.
    #[error("cannot {attempt} {}: {source}; {next}", path.display())]
    Output {
        /// The operation that failed.
        attempt: &'static str,
        /// The file.
        path: std::path::PathBuf,
        /// What to do next.
        next: &'static str,
        /// The kernel's error.
        source: std::io::Error,
    },
}

/// The result of this crate's functions.
pub type Result<T> = std::result::Result<T, RecordError>;
