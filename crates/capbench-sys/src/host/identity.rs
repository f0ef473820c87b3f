//! As which user the process runs: `credentials(7)`.

/// The effective user and group of the calling thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Effective user id, as seen in the current user namespace.
    pub uid: u32,
    /// Effective group id, as seen in the current user namespace.
    pub gid: u32,
}

/// The effective user and group of the calling thread (geteuid(2), getegid(2)).
pub fn effective() -> Identity {
    // SAFETY: both calls take nothing, touch no memory of ours and always succeed.
    unsafe { Identity { uid: libc::geteuid(), gid: libc::getegid() } }
}
