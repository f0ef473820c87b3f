//! Precautions of a program with more privileges than its caller.

use std::env;
use std::ffi::OsString;

use super::every_thread::threads;
use super::identity;
use crate::{Result, SysError};

/// Variables that change what text looks like or whose settings are meant; no library takes code from them.
const KEPT: [&str; 11] = [
    "COLUMNS",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LINES",
    "NO_COLOR",
    "TERM",
    "TZ",
    "XDG_CONFIG_HOME",
];

/// Where programs are looked for instead of in the caller's PATH.
const PATH: &str = "/usr/sbin:/usr/bin:/sbin:/bin";

/// Clears the caller's environment if this program has file privileges: libraries read variables that name files to load (DPDK
/// through libpcap's DPDK_CFG, libxdp's LIBXDP_OBJECT_PATH). Otherwise does nothing.
///
/// # Errors
/// The process has more than one thread; any of them could be reading the environment.
pub fn forget_environment() -> Result<()> {
    if !identity::is_elevated() {
        return Ok(());
    }
    if threads()?.len() != 1 {
        return Err(SysError::argument("clearenv", "the process has more than one thread"));
    }
    let kept: Vec<(OsString, OsString)> =
        env::vars_os().filter(|(name, _)| KEPT.iter().any(|kept| name == kept)).collect();
    // SAFETY: this is the only thread, so nobody reads or writes the environment meanwhile, and nobody has pointers into it
    // that are used afterwards: `kept` has copies.
    unsafe {
        libc::clearenv();
        env::set_var("PATH", PATH);
        for (name, value) in kept {
            env::set_var(name, value);
        }
    }
    Ok(())
}
