//! Errors of capturing, with messages that a user can act on.

mod expression;

use capbench_sys::SysError;

use capbench_model::units::ByteCount;

pub use expression::ExpressionPlace;
use expression::MarkedExpression;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No method has this name.
    #[error("there is no capture method \"{name}\"; known are {known}")]
    UnknownMethod {
        /// The requested name.
        name: String,
        /// All names, for the message.
        known: String,
    },
    /// The process lacks a capability.
    #[error(
        "{method} on {interface} needs the capability {capability}: run as root, or give it to the program ({source})"
    )]
    Privilege {
        /// The method.
        method: &'static str,
        /// The interface.
        interface: String,
        /// The missing capability, as in capabilities(7).
        capability: &'static str,
        /// The call that was refused.
        source: SysError,
    },
    /// The requested ring does not fit into memory.
    #[error("--ring {asked}: larger than the memory that is available here, {available}; ask for less")]
    RingTooLarge {
        /// Requested bytes.
        asked: ByteCount,
        /// The memory that this process can get, and what limits it.
        available: capbench_sys::host::memory::Available,
    },
    /// An invalid argument or setting after a method's name.
    #[error("method {method}: {reason}")]
    Spec {
        /// The method as the user wrote it.
        method: String,
        /// What is wrong with it, and what is valid.
        reason: String,
    },
    /// This host or this interface cannot do what the user asked. Nothing else is tried instead.
    #[error("{method} on {interface}: {reason}")]
    Unsupported {
        /// The method as the user wrote it.
        method: String,
        /// The interface.
        interface: String,
        /// The reason, and what to ask for instead.
        reason: String,
    },
    /// A library that is opened at run time is missing or unsuitable.
    #[error("{method}: {source}")]
    Library {
        /// The method as the user wrote it.
        method: String,
        /// Which library, and what is wrong with it.
        source: SysError,
    },
    /// An invalid filter.
    #[error("{}", MarkedExpression { expression, reason, place: place.as_ref() })]
    Filter {
        /// The expression. Empty if the user passed a program.
        expression: String,
        /// What is wrong with it, mostly in libpcap's words.
        reason: String,
        /// The place in the expression, if known.
        place: Option<ExpressionPlace>,
    },
    /// An invalid option.
    #[error("{option}: {reason}")]
    Option {
        /// The flag on the command line.
        option: &'static str,
        /// What is wrong with it, and what is valid.
        reason: String,
    },
    /// The method cannot return owned batches.
    #[error("{method}: {reason}")]
    Batches {
        /// The method.
        method: &'static str,
        /// The reason.
        reason: String,
    },
    /// The interface of a capture is gone.
    #[error("{interface} was removed, or moved to another network namespace")]
    Removed {
        /// The interface.
        interface: String,
        /// The call that failed because of it.
        source: SysError,
    },
    /// A call failed.
    #[error("{method} on {interface}: {source}")]
    Call {
        /// The method.
        method: &'static str,
        /// The interface.
        interface: String,
        /// The call and the kernel's reason.
        source: SysError,
    },
}

impl CaptureError {
    /// [`CaptureError::Unsupported`].
    #[cold]
    pub(crate) fn unsupported(
        method: &dyn std::fmt::Display,
        interface: &str,
        reason: impl Into<String>,
    ) -> Self {
        let (method, interface, reason) = (method.to_string(), interface.into(), reason.into());
        Self::Unsupported { method, interface, reason }
    }
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, CaptureError>;
