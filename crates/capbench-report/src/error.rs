//! The error of this crate. Every message is one line: which file, what is wrong with it, and what to do next.

use std::io;
use std::path::PathBuf;

/// Why runs cannot be compared, or a report cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// Runs that cannot be compared.
    #[error("compare: {reason}")]
    Comparison {
        /// Why they cannot be compared, and which runs to name.
        reason: String,
    },
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
