//! The error of this crate. Every message is one line: the attempt, its object, the reason and what to do next.

use std::path::PathBuf;

use capbench_host::HostError;

/// Errors of `capbench tune`.
#[derive(Debug, thiserror::Error)]
pub enum TuneError {
    /// The host refused a call.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The interface is in use, and the user has not said that it may be interrupted.
    #[error(
        "interface {interface}: {why}, so it is in use; a change of rings or queues interrupts its link; give --isolated to \
         change its settings all the same"
    )]
    InUse {
        /// The interface.
        interface: String,
        /// The sign of its use.
        why: String,
    },
    /// The folder or the file of saved settings cannot be used.
    #[error("{attempt} {}: {reason}", path.display())]
    State {
        /// What was attempted, for example `cannot read`.
        attempt: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The reason, and what to do next.
        reason: String,
    },
    /// A restore did not end.
    #[error(
        "interface {interface}: a restore of its settings did not end; `capbench tune restore -i {interface}` first, with \
         --force if something cannot be restored any more"
    )]
    Unfinished {
        /// The interface.
        interface: String,
    },
    /// Settings are saved of another interface under this name.
    #[error(
        "interface {interface}: settings of another interface that had this name are saved ({saved}, and this is {found}); \
         `capbench tune restore -i {interface}` restores what is the host's, and with --force forgets the rest; or give another \
         folder with --state"
    )]
    OtherInterface {
        /// The name that both have.
        interface: String,
        /// What identifies the one whose settings are saved.
        saved: String,
        /// What identifies the present one.
        found: String,
    },
    /// A setting of an interface that is gone.
    #[error("{setting}: the interface is gone")]
    Gone {
        /// The setting.
        setting: String,
    },
    /// No interface can have this name.
    #[error("interface {interface:?}: this is no name of an interface; `ip link` lists those that are there")]
    Name {
        /// The name.
        interface: String,
    },
}

impl TuneError {
    /// The error of an interface that the user has not declared isolated, for a change of its settings.
    pub fn in_use(error: HostError) -> Self {
        match error {
            HostError::InUse { interface, why } => Self::InUse { interface, why },
            other => Self::Host(other),
        }
    }
}

/// The result of this crate's calls.
pub type Result<T> = std::result::Result<T, TuneError>;

impl From<capbench_sys::SysError> for TuneError {
    fn from(error: capbench_sys::SysError) -> Self {
        Self::Host(error.into())
    }
}
