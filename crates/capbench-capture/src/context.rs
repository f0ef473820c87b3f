//! Adds method and interface to errors of system calls.

use capbench_sys::SysError;

use crate::{CaptureError, Interface};

/// Adds method and interface to errors of system calls.
#[derive(Clone, Debug)]
pub(crate) struct Context {
    pub(crate) method: &'static str,
    pub(crate) interface: String,
}

impl Context {
    pub(crate) fn new(method: &'static str, interface: &Interface) -> Self {
        Self { method, interface: interface.name.clone() }
    }

    /// Turns a failed call into this crate's error.
    #[cold]
    pub(crate) fn fail(&self, source: SysError) -> CaptureError {
        self.fail_for_want_of("CAP_NET_RAW", source)
    }

    /// The same for a call that needs another capability.
    #[cold]
    pub(crate) fn fail_for_want_of(&self, capability: &'static str, source: SysError) -> CaptureError {
        const EPERM: i32 = 1;
        let (method, interface) = (self.method, self.interface.clone());
        if source.errno() == Some(EPERM) {
            return CaptureError::Privilege { method, interface, capability, source };
        }
        CaptureError::Call { method, interface, source }
    }
}
