//! How much room a file system has: statfs(2).

use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::check;
use crate::{Result, SysError};

/// The flag of open(2) that passes the page cache by (`O_DIRECT`): addresses, lengths and offsets of what is written must
/// then be multiples of [`super::pages::ALIGNMENT`], or whatever less the file system asks for.
pub const DIRECT: i32 = libc::O_DIRECT;

/// The flag of open(2) by which a pipe without a reader is refused (`ENXIO`) instead of waited for (`O_NONBLOCK`).
pub const NONBLOCK: i32 = libc::O_NONBLOCK;

/// What is known about the file system that a path is on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that an ordinary user can still write.
    pub free_bytes: u64,
    /// Whether files lie in memory (tmpfs, ramfs): what is written there is taken from the host's memory.
    pub is_memory: bool,
}

/// The room on the file system of `path`.
///
/// # Errors
/// `ENOENT` where there is no such path.
pub fn room(path: &Path) -> Result<Room> {
    /// `RAMFS_MAGIC` of linux/magic.h; the libc crate does not have it.
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    let what = || format!("statfs({})", path.display());
    let text = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| SysError::argument(what(), "the path contains a NUL"))?;
    // SAFETY: `statfs` is a structure of integers, for which zeros are valid.
    let mut buffer: libc::statfs = unsafe { std::mem::zeroed() };
    // SAFETY: statfs(2) reads a NUL-terminated string, which `text` is, and writes one statfs behind the second pointer;
    // `buffer` is exclusively ours and alive.
    check(unsafe { libc::statfs(text.as_ptr(), &mut buffer) }, what)?;
    // The widths of the fields differ between architectures.
    let kind = buffer.f_type as u64;
    Ok(Room {
        free_bytes: (buffer.f_bavail as u64).saturating_mul(buffer.f_bsize as u64),
        is_memory: kind == libc::TMPFS_MAGIC as u64 || kind == RAMFS_MAGIC,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let error = room(Path::new("/no/such/path")).unwrap_err().to_string();
        assert!(error.contains("/no/such/path"), "{error}");
    }

    #[test]
    fn what_lies_in_memory_is_known() {
        assert!(room(&std::env::temp_dir()).unwrap().free_bytes > 0);
        assert!(!room(Path::new("/proc")).unwrap().is_memory);
    }
}
