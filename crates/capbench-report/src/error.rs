//! The error of this crate. Every message is one line: which file, what is wrong with it, and what to do next.

use std::io;
use std::path::PathBuf;

/// Why a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// A file of a report cannot be written.
    #[error("cannot write {path}: {1}", path = .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
    /// The report cannot be converted to a format.
    #[error("cannot write {format}: {reason}")]
    Format {
        /// The format.
        format: &'static str,
        /// The reason.
        reason: String,
    },
}

/// Result of this crate.
pub type Result<T> = std::result::Result<T, ReportError>;
