//! What can fail.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// Why metrics cannot be written. Serving has the errors of capbench-http.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// The file for node_exporter cannot be written.
    #[error("--textfile: cannot write {}: {source}", path.display())]
    Textfile {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, MetricsError>;
