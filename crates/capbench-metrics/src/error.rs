//! What can fail.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why metrics cannot be served or written.
#[derive(Debug, Error)]
pub enum MetricsError {
    /// The address cannot be listened on.
    #[error("--metrics {address}: cannot listen there: {source}")]
    Bind {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the web configuration cannot be read.
    #[error("--web-config: cannot read {}: {source}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the web configuration is wrong.
    #[error("--web-config: {}: {reason}", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The server cannot be started.
    #[error("--metrics: cannot start the server: {0}")]
    Server(io::Error),
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
