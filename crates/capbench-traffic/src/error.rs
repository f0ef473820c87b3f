//! The error of this crate: the requested value and the allowed ones.

use std::time::Duration;

use capbench_frames::FrameError;
use capbench_sys::SysError;

/// Why traffic cannot be sent. Every message is one line for a terminal.
#[derive(Debug, thiserror::Error)]
pub enum TrafficError {
    /// The frames cannot be planned.
    #[error(transparent)]
    Frame(#[from] FrameError),
    /// An unknown transmit method.
    #[error("there is no {kind} '{name}'; there are: {known}")]
    Unknown {
        /// The kind of name, for example `transmit method`.
        kind: &'static str,
        /// The name.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// An invalid transmit configuration.
    #[error("{what} {asked} is not allowed: {allowed}")]
    Transmit {
        /// The setting.
        what: &'static str,
        /// Its value.
        asked: u64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// This build, host or device cannot do what the user asked. Nothing else is tried instead.
    #[error("{method}: {reason}")]
    Unsupported {
        /// The transmit method, with its device and interface where they matter.
        method: String,
        /// The reason, and what to ask for instead.
        reason: String,
    },
    /// The process lacks a capability.
    #[error("sending needs the capability {capability}: run as root, or give it to the program ({source})")]
    Privilege {
        /// The missing capability, as in capabilities(7).
        capability: &'static str,
        /// The call that was refused.
        source: SysError,
    },
    /// The kernel accepts none of the frames.
    #[error(
        "the kernel refused every frame for {} s (ENOBUFS), so nothing is sent any more: the device's queue stays full, or the \
         other end of a veth takes no such frames",
        time.as_secs()
    )]
    Refused {
        /// For how long.
        time: Duration,
    },
    /// A frame is longer than the interface sends.
    #[error(
        "a frame is longer than the interface's MTU: it was lowered meanwhile; restore it, or send smaller frames ({source})"
    )]
    TooLong {
        /// The call that was refused.
        source: SysError,
    },
    /// A system call failed.
    #[error(transparent)]
    Sys(SysError),
}

impl TrafficError {
    /// [`TrafficError::Unsupported`].
    pub(crate) fn unsupported(method: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { method: method.into(), reason: reason.into() }
    }
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, TrafficError>;

impl From<SysError> for TrafficError {
    fn from(source: SysError) -> Self {
        const EPERM: i32 = 1;
        const EMSGSIZE: i32 = 90;
        if source.errno() == Some(EMSGSIZE) {
            return Self::TooLong { source };
        }
        if source.errno() == Some(EPERM) {
            return Self::Privilege { capability: "CAP_NET_RAW", source };
        }
        Self::Sys(source)
    }
}
