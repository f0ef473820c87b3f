//! As which user the process runs, and becoming another one: `credentials(7)`.

use std::ffi::CString;

use crate::error::check;
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
    // SAFETY: both calls take nothing, touch no memory of ours and always succeed.
    unsafe { Identity { uid: libc::geteuid(), gid: libc::getegid() } }
}

/// The user of this name with its own group (getpwnam_r(3)); `None` where there is none.
///
/// # Errors
/// When the user database cannot be read, or the name has a NUL in it.
pub fn of_user(name: &str) -> Result<Option<Identity>> {
    /// No entry is longer; it holds name, home and shell.
    const ENTRY: usize = 64 << 10;
    let what = || format!("getpwnam_r({name})");
    let text = CString::new(name).map_err(|_| SysError::argument(what(), "the name contains a NUL"))?;
    let mut memory = vec![0 as libc::c_char; ENTRY];
    // SAFETY: all zeroes is a value of the structure: numbers and null pointers.
    let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
    let mut found: *mut libc::passwd = std::ptr::null_mut();
    // SAFETY: getpwnam_r(3) reads a NUL-terminated string, writes `entry`, at most `memory.len()` octets of `memory` and
    // `found`; all of them are ours and alive.
    let code = unsafe {
        libc::getpwnam_r(text.as_ptr(), &raw mut entry, memory.as_mut_ptr(), memory.len(), &raw mut found)
    };
    // It returns its error instead of setting errno; not to be found is none, and some systems say so by these.
    match code {
        0 | libc::ENOENT | libc::ESRCH => {}
        code => return Err(SysError::Call { what: what(), source: std::io::Error::from_raw_os_error(code) }),
    }
    Ok((!found.is_null()).then_some(Identity { uid: entry.pw_uid, gid: entry.pw_gid }))
}

/// Makes the whole process run as another user from here on, in that user's groups alone, without a way back: saved ids are
/// set, too, and with them all capabilities go (setgroups(2), setgid(2), setuid(2), which the C library applies to every thread).
///
/// # Errors
/// `EPERM` without CAP_SETUID and CAP_SETGID; the process may then have given up some of its groups already.
pub fn become_user(name: &str, identity: Identity) -> Result<()> {
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
    use super::{Identity, of_user};

    #[test]
    fn users_are_found_by_name() {
        assert_eq!(of_user("root").unwrap(), Some(Identity { uid: 0, gid: 0 }));
        assert_eq!(of_user("no-such-user-here").unwrap(), None);
        assert!(of_user("a\0b").is_err());
    }
}
