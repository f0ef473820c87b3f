//! The error of this crate: the failed call, its object, and the kernel's reason.

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
    /// The kernel refused a call, and the meaning of its reason is known.
    #[error("{what}: {reason} ({source})")]
    Refused {
        /// The call and its object.
        what: String,
        /// Its meaning, and what is possible.
        reason: String,
        /// The kernel's reason (errno).
        source: io::Error,
    },
    /// An argument does not fit the kernel's interface. Found before any call.
    #[error("{what}: {reason}")]
    Argument {
        /// The call or structure for the argument.
        what: String,
        /// Why it does not fit.
        reason: String,
    },
    /// A library opened at run time cannot be used.
    #[error("library {library}: {reason}")]
    Library {
        /// The name or path of the library.
        library: String,
        /// The problem.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, SysError>;

impl SysError {
    /// The current `errno` as the reason why `what` failed; call it directly after the failed call.
    pub fn last(what: impl FnOnce() -> String) -> Self {
        // Before `what` allocates: an allocation may overwrite errno.
        let source = io::Error::last_os_error();
        Self::Call { what: what(), source }
    }

    /// A refused argument of `what`.
    pub fn argument(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Argument { what: what.into(), reason: reason.into() }
    }

    /// The same with what a refusal means here, where that is known.
    pub(crate) fn explained(self, meaning: impl FnOnce(i32) -> Option<String>) -> Self {
        match (self.errno().and_then(meaning), self) {
            (Some(reason), Self::Call { what, source }) => Self::Refused { what, reason, source },
            (_, other) => other,
        }
    }

    /// The kernel's `errno`, if there is one.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Call { source, .. } | Self::Refused { source, .. } => source.raw_os_error(),
            Self::Argument { .. } | Self::Library { .. } => None,
        }
    }
}

/// Names a call of `rustix` or of the standard library that failed.
pub(crate) fn named<T, E: Into<io::Error>>(
    answered: std::result::Result<T, E>,
    what: impl FnOnce() -> String,
) -> Result<T> {
    answered.map_err(|error| SysError::Call { what: what(), source: error.into() })
}

/// The error of a call that returns its `errno` instead of setting it, by whichever sign.
pub(crate) fn by_code(what: String, code: libc::c_int) -> SysError {
    SysError::Call { what, source: io::Error::from_raw_os_error(code.wrapping_abs()) }
}

/// The one place where return codes of system calls are tested: a negative `code` becomes an error.
pub(crate) fn check(code: libc::c_int, what: impl FnOnce() -> String) -> Result<libc::c_int> {
    if code >= 0 {
        return Ok(code);
    }
    Err(SysError::last(what))
}
