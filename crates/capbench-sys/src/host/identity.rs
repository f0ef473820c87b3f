//! The user of the process, and changing it: `credentials(7)`.

use std::env;
use std::ffi::{CString, OsString, c_char, c_int};

use rustix::process::{getegid, geteuid};

use super::every_thread::threads;
use super::proc_file;
use crate::error::{by_code, check};
use crate::{Result, SysError};

/// A user and a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// User id, as seen in the current user namespace.
    pub uid: u32,
    /// Group id, as seen in the current user namespace.
    pub gid: u32,
}

/// The effective user and group of the calling thread (geteuid(2), getegid(2)).
pub fn effective() -> Identity {
    Identity { uid: geteuid().as_raw(), gid: getegid().as_raw() }
}

/// Whether this process has privileges from its file that its caller lacks: set-user-id or file capabilities (`AT_SECURE` of
/// getauxval(3)). The loader then ignores the caller's environment.
pub fn is_elevated() -> bool {
    // SAFETY: getauxval(3) has no preconditions.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// Variables that change what text looks like, whose settings are meant, or which connection started this process. No library loads
/// code because of them.
const KEPT: [&str; 12] = [
    "COLUMNS",
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LC_MESSAGES",
    "LINES",
    "NO_COLOR",
    "SSH_CONNECTION",
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
    if !is_elevated() {
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

/// The user of this name with its primary group (getpwnam_r(3)); `None` if unknown.
pub fn of_user(name: &str) -> Result<Option<Identity>> {
    // SAFETY: all zeroes is a value of the structure: numbers and null pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    // SAFETY: getpwnam_r(3) reads the text, and writes the entry, the memory and the pointer, all of them alive.
    let found = look_up("getpwnam_r", name, 64 << 10, |text, memory, length, found| unsafe {
        libc::getpwnam_r(text, &raw mut entry, memory, length, found)
    });
    Ok(found?.then_some(Identity { uid: entry.pw_uid, gid: entry.pw_gid }))
}

/// The group of this name (getgrnam_r(3)); `None` if unknown.
pub fn group_of_name(name: &str) -> Result<Option<u32>> {
    // SAFETY: all zeroes is a value of the structure: numbers and null pointers.
    let mut entry: libc::group = unsafe { std::mem::zeroed() };
    // SAFETY: as for getpwnam_r.
    let found = look_up("getgrnam_r", name, 1 << 20, |text, memory, length, found| unsafe {
        libc::getgrnam_r(text, &raw mut entry, memory, length, found)
    });
    Ok(found?.then_some(entry.gr_gid))
}

/// Calls one of these functions with `room` octets of memory for the texts of an entry. Returns whether there is one.
fn look_up<T>(
    function: &str,
    name: &str,
    room: usize,
    call: impl FnOnce(*const c_char, *mut c_char, usize, *mut *mut T) -> c_int,
) -> Result<bool> {
    let what = format!("{function}({name})");
    let Ok(text) = CString::new(name) else {
        return Err(SysError::argument(what, "the name contains a NUL"));
    };
    let mut memory = vec![0 as c_char; room];
    let mut found: *mut T = std::ptr::null_mut();
    // Some systems report a missing entry by these codes. It is no error.
    match call(text.as_ptr(), memory.as_mut_ptr(), memory.len(), &raw mut found) {
        0 | libc::ENOENT | libc::ESRCH => Ok(!found.is_null()),
        code => Err(by_code(what, code)),
    }
}

/// Whether the process is in a group, with its effective or a supplementary group.
pub fn is_member(group: u32) -> Result<bool> {
    const FILE: &str = "/proc/thread-self/status";
    let text = proc_file::read(FILE)?;
    let groups =
        proc_file::field(&text, "Groups").ok_or_else(|| SysError::argument(FILE, "no line \"Groups\""))?;
    Ok(effective().gid == group || groups.split_whitespace().any(|one| one.parse() == Ok(group)))
}

/// Makes the whole process run as another user from here on, in that user's groups alone. It sets saved ids, too (setgroups(2),
/// setgid(2), setuid(2); the C library applies them to every thread). Capabilities go with that only where one of the ids was
/// root's: [`super::privileges::keep_only`] takes the others.
///
/// # Errors
/// `EPERM` without CAP_SETUID and CAP_SETGID; the process may then have lost some of its groups already.
pub(super) fn become_user(name: &str, identity: Identity) -> Result<()> {
    let Identity { uid, gid } = identity;
    let text = CString::new(name).map_err(|_| SysError::argument("initgroups", "the name contains a NUL"))?;
    // SAFETY: initgroups(3) reads a NUL-terminated string, which is ours and alive.
    check(unsafe { libc::initgroups(text.as_ptr(), gid) }, || format!("initgroups({name})"))?;
    // SAFETY: it takes a number and touches no memory of ours.
    check(unsafe { libc::setgid(gid) }, || format!("setgid({gid})"))?;
    // SAFETY: it takes a number and touches no memory of ours.
    check(unsafe { libc::setuid(uid) }, || format!("setuid({uid})"))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{Identity, group_of_name, of_user};

    #[test]
    fn the_own_group_is_one_of_the_processs() {
        assert!(super::is_member(super::effective().gid).unwrap());
        assert!(!super::is_member(u32::MAX - 1).unwrap());
    }

    #[test]
    fn users_are_found_by_name() {
        assert_eq!(of_user("root").unwrap(), Some(Identity { uid: 0, gid: 0 }));
        assert_eq!(of_user("no-such-user-here").unwrap(), None);
        assert!(of_user("a\0b").is_err());
    }

    #[test]
    fn groups_are_found_by_name() {
        assert_eq!(group_of_name("root").unwrap(), Some(0));
        assert_eq!(group_of_name("no-such-group-here").unwrap(), None);
        assert!(group_of_name("a\0b").is_err());
    }
}
