//! What can fail.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use thiserror::Error;

/// Why nothing can be served or asked. Each message begins with the flag or the URL that it is about.
#[derive(Debug, Error)]
pub enum HttpError {
    /// The address cannot be listened on.
    #[error("{flag} {address}: cannot listen there: {source}")]
    Bind {
        /// The flag with the address.
        flag: &'static str,
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the configuration cannot be read.
    #[error("{flag}: cannot read {}: {source}", path.display())]
    File {
        /// The flag that names the file, or the file that names it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the configuration is wrong.
    #[error("{flag}: {}: {reason}", path.display())]
    Config {
        /// The flag that names the file, or the file that names it.
        flag: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// The server cannot be started.
    #[error("{flag}: cannot start the server: {source}")]
    Server {
        /// The flag with the address.
        flag: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// A server gives no answer, or is not the one that it should be.
    #[error("{url}: {source}")]
    Request {
        /// What was asked.
        url: String,
        /// Why.
        source: Box<ureq::Error>,
    },
}

/// A result with this crate's error.
pub type Result<T> = std::result::Result<T, HttpError>;
