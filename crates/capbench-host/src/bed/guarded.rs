//! A setting of an interface that is restored however this process ends.

use std::io::Write as _;
use std::os::fd::AsFd as _;

use capbench_sys::host::ethtool::{Change, Offload, offload, offload_change, set_offload};
use capbench_sys::host::guardian::Guardian;

use super::{Side, port_lock};
use crate::{HostError, Result};

/// A setting that may be changed. A process restores it when this is dropped, and when this process ends, also by SIGKILL.
#[derive(Debug)]
pub struct Guarded {
    /// `None` once it was restored.
    guardian: Option<Guardian>,
    interface: String,
    what: &'static str,
}

impl Guarded {
    /// Call it before the setting is changed. `before` gives the change that restores the setting of the interface with this
    /// name; `what` names the setting in messages.
    ///
    /// # Errors
    /// The namespace cannot be entered, another guardian has yet to restore a setting of the interface, or the system can start no
    /// process.
    pub fn new(
        side: &Side,
        what: &'static str,
        before: impl FnOnce(&str) -> capbench_sys::Result<Change> + Send,
    ) -> Result<Self> {
        let guardian = side.run(|| {
            let lock = port_lock::guarded(side)?;
            // Only the guardian keeps the lock.
            before(side.name())
                .and_then(|change| Guardian::start(change, lock.as_fd()))
                .map_err(HostError::from)
        })??;
        Ok(Self { guardian: Some(guardian), interface: side.name().into(), what })
    }

    /// Turns an offload on or off; `None` if it is already so.
    ///
    /// # Errors
    /// What the driver or the kernel refuses.
    pub fn offload(side: &Side, which: Offload, on: bool) -> Result<Option<Self>> {
        if side.run(|| offload(side.name(), which))?? == on {
            return Ok(None);
        }
        let guarded = Self::new(side, "an offload", |name| offload_change(name, which, !on))?;
        side.run(|| set_offload(side.name(), which, on))??;
        Ok(Some(guarded))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let Some(Err(error)) = self.guardian.take().map(Guardian::end) else { return };
        // Standard error may be closed, and a write must not panic here.
        let Self { interface, what, .. } = self;
        let _ =
            writeln!(std::io::stderr(), "capbench: interface {interface}: {what} is not restored: {error}");
    }
}
