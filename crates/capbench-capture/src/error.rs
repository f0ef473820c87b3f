//! What can go wrong while capturing, in words that a user can act on.

mod expression;

use capbench_sys::SysError;

use crate::units::ByteCount;

pub use expression::ExpressionPlace;
use expression::MarkedExpression;

/// The error of this crate.
#[derive(Debug, thiserror::Error)]
pub enum CaptureError {
    /// No method has this name.
    #[error("there is no capture method \"{name}\"; known are {known}")]
    UnknownMethod {
        /// The name that was asked for.
        name: String,
        /// All names, for the message.
        known: String,
    },
    /// The kernel refused for want of a capability.
    #[error(
        "{method} on {interface} needs the capability {capability}: run as root, or give it to the program ({source})"
    )]
    Privilege {
        /// The method.
        method: &'static str,
        /// The interface.
        interface: String,
        /// What is missing, as in capabilities(7).
        capability: &'static str,
        /// The call that was refused.
        source: SysError,
    },
    /// The ring that was asked for does not fit into memory.
    #[error("--ring {asked}: larger than the memory that is available here, {available}; ask for less")]
    RingTooLarge {
        /// Bytes asked for.
        asked: ByteCount,
        /// What this process can get, and what limits it.
        available: capbench_sys::host::memory::Available,
    },
    /// What stands behind a method's name cannot be.
    #[error("method {method}: {reason}")]
    Spec {
        /// The method as the user wrote it.
        method: String,
        /// What is wrong with it and what is possible.
        reason: String,
    },
    /// Neither this host nor this interface can do what was asked. Nothing is done instead.
    #[error("{method} on {interface}: {reason}")]
    Unsupported {
        /// The method as the user wrote it.
        method: String,
        /// The interface.
        interface: String,
        /// Why it cannot be, and what could be asked for instead.
        reason: String,
    },
    /// A library that is opened at run time is not there, or is not what it should be.
    #[error("{method}: {source}")]
    Library {
        /// The method as the user wrote it.
        method: String,
        /// Which library, and what is wrong with it.
        source: SysError,
    },
    /// A filter that cannot be.
    #[error("{}", MarkedExpression { expression, reason, place: place.as_ref() })]
    Filter {
        /// The expression; empty where a program was given.
        expression: String,
        /// What is wrong with it, mostly in libpcap's words.
        reason: String,
        /// Where in the expression, if that could be found out.
        place: Option<ExpressionPlace>,
    },
    /// An option that cannot be.
    #[error("{option}: {reason}")]
    Option {
        /// The flag as the user knows it.
        option: &'static str,
        /// What is wrong with it and what is possible.
        reason: String,
    },
    /// Batches of a method cannot be kept.
    #[error("{method}: {reason}")]
    Batches {
        /// The method.
        method: &'static str,
        /// Why.
        reason: String,
    },
    /// The interface of a capture is gone.
    #[error("{interface} was removed, or moved to another network namespace")]
    Removed {
        /// The interface.
        interface: String,
        /// The call that failed for that.
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

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, CaptureError>;
