//! The error of this crate: what was asked, and what is allowed.

use capbench_frames::FrameError;
use capbench_sys::SysError;

/// Why traffic cannot be sent. Every message is one line for a terminal.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// Its frames cannot be planned.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// Text that names a transmit method that does not exist.
    #[error("there is no {kind} '{name}'; there are: {known}")]
    Unknown {
        /// What was named, for example `transmit method`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// A transmit configuration that makes no sense.
    #[error("{what} {asked} is not allowed: {allowed}")]
    Transmit {
        /// The setting.
        what: &'static str,
        /// Its value.
        asked: u64,
        /// What is allowed.
        allowed: &'static str,
    },
    /// The kernel refused for want of a capability.
    #[error("sending needs the capability {capability}: run as root, or give it to the program ({source})")]
    Privilege {
        /// What is missing, as in capabilities(7).
        capability: &'static str,
        /// The call that was refused.
        source: SysError,
    },
    /// A system call failed.
    #[error(transparent)]
    Sys(SysError),
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, TrafficError>;

impl From<SysError> for TrafficError {
    fn from(source: SysError) -> Self {
        const EPERM: i32 = 1;
        if source.errno() == Some(EPERM) {
            return Self::Privilege { capability: "CAP_NET_RAW", source };
        }
        Self::Sys(source)
    }
}
