//! Handlers of signals that nothing else in this program uses: sigaction(2).

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::ptr::null_mut;

use rustix::io::Errno;

use crate::error::{Result, check};

/// A handler with SA_SIGINFO.
pub(crate) type Handler = extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void);

/// Installs a handler; `EBUSY`, and the one before stays, where something else handles the signal.
///
/// # Safety
/// The handler may do nothing but what signal-safety(7) allows.
pub(crate) unsafe fn install(signal: c_int, flags: c_int, handler: Handler) -> Result<()> {
    let what = || format!("sigaction({signal})");
    // SAFETY: sigaction is plain data; all zeroes is a valid value.
    let (mut action, mut before): (libc::sigaction, libc::sigaction) = unsafe { (zeroed(), zeroed()) };
    action.sa_sigaction = handler as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | flags;
    // SAFETY: both structures are ours and alive; the caller answers for the handler.
    check(unsafe { libc::sigaction(signal, &raw const action, &raw mut before) }, what)?;
    if before.sa_sigaction == libc::SIG_DFL {
        return Ok(());
    }
    // SAFETY: `before` is what the kernel has just returned.
    unsafe { libc::sigaction(signal, &raw const before, null_mut()) };
    crate::error::named(Err(Errno::BUSY), what)
}
