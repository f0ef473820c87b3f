//! File systems: free space and type (statfs(2)), and writing the page cache to the disk.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use crate::Result;
use crate::error::{check, named};

/// The flag of open(2) to bypass the page cache (`O_DIRECT`). Addresses, lengths and offsets of writes must then be multiples
/// of [`crate::memory::ALIGNMENT`], or of the smaller alignment that the file system requires.
pub const DIRECT: i32 = libc::O_DIRECT;

/// Free space on a path's file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// Bytes that an ordinary user can still write.
    pub free_bytes: u64,
    /// Whether files are in memory (tmpfs, ramfs): writing them uses the host's memory.
    pub is_memory: bool,
}

/// The free space on the file system of `path`.
pub fn room(path: &Path) -> Result<Room> {
    /// `RAMFS_MAGIC` of linux/magic.h; the libc crate does not have it.
    const RAMFS_MAGIC: u64 = 0x8584_58f6;
    let found = named(rustix::fs::statfs(path), || format!("statfs({})", path.display()))?;
    // The widths of the fields differ between architectures.
    let kind = found.f_type as u64;
    Ok(Room {
        free_bytes: (found.f_bavail as u64).saturating_mul(found.f_bsize as u64),
        is_memory: kind == libc::TMPFS_MAGIC as u64 || kind == RAMFS_MAGIC,
    })
}

/// Opens a pipe or device for writing. Returns `None` for a pipe without a reader: open(2) would wait for one.
pub fn open_pipe(path: &Path) -> io::Result<Option<File>> {
    match OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(path) {
        Err(error) if error.raw_os_error() == Some(libc::ENXIO) => Ok(None),
        opened => opened.map(Some),
    }
}

/// Starts writing all dirty pages of a file to the disk (sync_file_range(2) with `SYNC_FILE_RANGE_WRITE`). Does not wait for
/// the disk, only for room in its request queue. It does not guarantee that data has reached the disk; fdatasync(2) does.
///
/// # Errors
/// The kernel's reason; `ESPIPE` if it is no file.
pub fn begin_write_back(file: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: sync_file_range(2) takes numbers and touches no memory of ours; the descriptor is open while borrowed.
    let code = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, libc::SYNC_FILE_RANGE_WRITE) };
    check(code, || "sync_file_range".into()).map(drop)
}

/// Closes a descriptor and returns the result of close(2). Network file systems report failed writes there.
///
/// # Errors
/// The kernel's reason. The descriptor is closed nevertheless.
pub fn close(file: OwnedFd) -> Result<()> {
    // SAFETY: the descriptor was ours alone and moves in here: nothing uses its number after this call.
    check(unsafe { libc::close(file.into_raw_fd()) }, || "close".into()).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_written_back_and_a_pipe_has_no_disk() {
        use std::os::fd::AsFd;
        let file = std::fs::File::open(std::env::current_exe().unwrap()).unwrap();
        begin_write_back(file.as_fd()).unwrap();
        close(file.into()).unwrap();
        let (pipe, _writer) = std::io::pipe().unwrap();
        assert_eq!(begin_write_back(pipe.as_fd()).unwrap_err().errno(), Some(libc::ESPIPE));
    }

    #[test]
    fn a_path_that_is_not_there_is_named() {
        let error = room(Path::new("/no/such/path")).unwrap_err().to_string();
        assert!(error.contains("/no/such/path"), "{error}");
    }

    #[test]
    fn values_in_memory_are_known() {
        assert!(room(&std::env::temp_dir()).unwrap().free_bytes > 0);
        assert!(!room(Path::new("/proc")).unwrap().is_memory);
    }
}
