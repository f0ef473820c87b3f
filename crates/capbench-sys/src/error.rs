//! The error of this crate: which call failed, on what, and the kernel's reason.

use std::io;

/// A system call that failed. `what` names the call and its object, for example
/// `setsockopt(PACKET_RX_RING)` or `open(/proc/stat)`.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// The kernel refused a call.
    #[error("{what}: {source}")]
    Call {
        /// The call and its object.
        what: String,
        /// The kernel's reason (errno).
        source: io::Error,
    },
    /// The kernel refused a call, and what its reason means there is known.
    #[error("{what}: {reason} ({source})")]
    Refused {
        /// The call and its object.
        what: String,
        /// What that means and what is possible.
        reason: String,
        /// The kernel's reason (errno).
        source: io::Error,
    },
    /// An argument cannot be expressed in the kernel's interface, found before any call was made.
    #[error("{what}: {reason}")]
    Argument {
        /// The call or structure that the argument was meant for.
        what: String,
        /// Why it cannot be expressed.
        reason: String,
    },
    /// A library that is opened at run time cannot be used.
    #[error("library {library}: {reason}")]
    Library {
        /// What it was to be opened by.
        library: String,
        /// What is wrong with it.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, SysError>;

impl SysError {
    /// The current `errno` as the reason why `what` failed; to be made directly after the failed call.
    pub fn last(what: impl FnOnce() -> String) -> Self {
        // Before `what` allocates: an allocation may overwrite errno.
        let source = io::Error::last_os_error();
        Self::Call { what: what(), source }
    }

    /// A refused argument of `what`.
    pub fn argument(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Argument { what: what.into(), reason: reason.into() }
    }

    /// The kernel's `errno`, where there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Call { source, .. } | Self::Refused { source, .. } => source.raw_os_error(),
            Self::Argument { .. } | Self::Library { .. } => None,
        }
    }
}

/// Names the call of `rustix` that failed.
pub(crate) fn named<T>(answered: rustix::io::Result<T>, what: impl FnOnce() -> String) -> Result<T> {
    answered.map_err(|errno| SysError::Call { what: what(), source: errno.into() })
}

/// The one place where return codes of system calls are tested: a negative `code` becomes an error.
pub(crate) fn check(code: libc::c_int, what: impl FnOnce() -> String) -> Result<libc::c_int> {
    if code >= 0 {
        return Ok(code);
    }
    Err(SysError::last(what))
}
