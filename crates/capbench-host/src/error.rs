//! The error of this crate. Every message is one line: the attempt, its object, the reason and what to do next.

use std::io;
use std::path::PathBuf;

/// Errors of the host: its files, interfaces, CPUs and privileges.
#[derive(Debug, thiserror::Error)]
pub enum HostError {
    /// A system call failed; the message names the call.
    #[error(transparent)]
    Sys(#[from] capbench_sys::SysError),
    /// A file of the kernel or of the user could not be read or written.
    #[error("{attempt} {}: {source}", path.display())]
    File {
        /// What was attempted, for example `cannot read`.
        attempt: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// A file of the kernel does not have the documented format.
    #[error("{file}: cannot understand {line:?}: {reason}")]
    Parse {
        /// The file.
        file: &'static str,
        /// The line of the file.
        line: String,
        /// What was expected.
        reason: &'static str,
    },
    /// The kernel refused a request about an interface (rtnetlink).
    #[error("interface {interface}: cannot {attempt}: {source}")]
    Netlink {
        /// The interface.
        interface: String,
        /// What was attempted, for example `set the MTU to 9000`.
        attempt: String,
        /// The kernel's reason.
        source: io::Error,
    },
    /// An interface cannot be used in its present state; `reason` ends with what to do.
    #[error("interface {interface}: {reason}")]
    Interface {
        /// The interface.
        interface: String,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// The packets of an interface do not begin with what the request needs; `reason` says what to use instead.
    #[error("interface {interface}: {reason}")]
    LinkType {
        /// The interface.
        interface: String,
        /// What its packets begin with, and which interfaces or commands there are.
        reason: String,
    },
    /// There is no such interface.
    #[error("interface {interface}: does not exist; `ip link` lists those that do")]
    NoInterface {
        /// The requested name.
        interface: String,
    },
    /// Other traffic uses the interface, and the user has not declared the link isolated.
    #[error(
        "interface {interface}: {why}, so it is in use; RFC 6815 forbids benchmarks outside isolated networks; give \
         --isolated if the link reaches nothing but this test"
    )]
    InUse {
        /// The interface.
        interface: String,
        /// The sign of its use.
        why: String,
    },
    /// A requested CPU cannot be used; `reason` ends with what to do.
    #[error("CPU {cpu}: {reason}")]
    Cpu {
        /// The CPU in the user's numbering.
        cpu: u32,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// The process lacks a privilege; `next` says how to get it.
    #[error("{reason}; {next}")]
    Privilege {
        /// The missing privilege, or the host setting that withholds it.
        reason: String,
        /// What to do.
        next: String,
    },
    /// This kernel or host does not support the request.
    #[error("{what} cannot run here: {reason}")]
    Unsupported {
        /// The request.
        what: String,
        /// Why it is not possible, and what it would need.
        reason: String,
    },
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, HostError>;

impl HostError {
    /// A file that could not be read.
    pub fn reading(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { attempt: "cannot read", path: path.into(), source }
    }

    /// A request that this host does not support.
    pub(crate) fn unsupported(what: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::Unsupported { what: what.into(), reason: reason.into() }
    }

    /// A file that could not be written.
    pub fn writing(path: impl Into<PathBuf>, source: io::Error) -> Self {
        Self::File { attempt: "cannot write", path: path.into(), source }
    }
}
