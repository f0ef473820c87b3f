//! Whether an interface still exists and is up, for methods that get no wake-up when it goes.

use std::io::Error;
use std::time::{Duration, Instant};

use capbench_sys::SysError;
use capbench_sys::host::interface::{InterfaceFlags, flags_of, name_of};

use crate::Interface;

/// Time between two checks.
const PAUSE: Duration = Duration::from_millis(20);

/// Checks an interface periodically while no frames come.
#[derive(Debug)]
pub(super) struct Presence {
    interface: Interface,
    looked: Option<Instant>,
}

impl Presence {
    pub(super) fn of(interface: &Interface) -> Self {
        Self { interface: interface.clone(), looked: None }
    }

    /// Returns an error if the interface is down or was removed. To be called when no frame came.
    #[inline]
    pub(super) fn check(&mut self) -> Result<(), SysError> {
        let now = Instant::now();
        if self.looked.is_some_and(|looked| now.duration_since(looked) < PAUSE) {
            return Ok(());
        }
        self.looked = Some(now);
        flags_if_up(&self.interface).map(drop)
    }
}

/// The interface's flags, or an error if it is down or was removed.
pub(super) fn flags_if_up(interface: &Interface) -> Result<InterfaceFlags, SysError> {
    const ENETDOWN: i32 = 100;
    let what = || format!("interface {}", interface.name);
    // By index: the interface may have been renamed, and another one may have its old name.
    let flags = match name_of(interface.index).and_then(|name| flags_of(&name)) {
        Ok(flags) => flags,
        Err(SysError::Call { source, .. }) => {
            return Err(SysError::Refused { what: what(), reason: "it was removed".into(), source });
        }
        Err(other) => return Err(other),
    };
    if flags.up() {
        return Ok(flags);
    }
    Err(SysError::Call { what: what(), source: Error::from_raw_os_error(ENETDOWN) })
}
