//! The directory of one trial: in memory if the capture file fits, so that no disk is measured.

use std::fs::DirBuilder;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use capbench_model::units::ByteCount;
use capbench_sys::host::{filesystem, memory};

/// A memory file system of every Linux with a C library (shm_overview(7)).
const SHARED_MEMORY: &str = "/dev/shm";
/// Octets of disk or memory that always stay free.
const RESERVE: u64 = 256 << 20;

/// A directory that is removed with its content when this value is dropped.
#[derive(Debug)]
pub(super) struct Scratch {
    path: PathBuf,
    /// Whether it is on a disk, as far as known.
    pub(super) is_on_disk: bool,
}

impl Scratch {
    /// A directory with room for `bytes` bytes. Only its user may access it.
    ///
    /// # Errors
    /// Why there is none, and the remedy.
    pub(super) fn with_room(bytes: u64) -> Result<Self, String> {
        Self::in_first_of(&[PathBuf::from(SHARED_MEMORY), std::env::temp_dir()], bytes)
    }

    fn in_first_of(folders: &[PathBuf], bytes: u64) -> Result<Self, String> {
        let mut reasons = Vec::new();
        for folder in folders {
            match make(folder, bytes) {
                Ok(scratch) => return Ok(scratch),
                Err(reason) => reasons.push(format!("{}: {reason}", folder.display())),
            }
        }
        Err(format!(
            "its files may take {}, for which there is no room ({}); give shorter trials or a --rate",
            ByteCount(bytes),
            reasons.join("; ")
        ))
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // On failure somebody else has removed it.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

fn make(folder: &Path, bytes: u64) -> Result<Scratch, String> {
    let room = filesystem::room(folder).map_err(|error| error.to_string())?;
    let mut free = room.free_bytes;
    if room.is_memory {
        // Such a file system reports more space than there is memory.
        free = free.min(memory::available().map_or(free, |available| available.bytes));
    }
    if free < bytes.saturating_add(RESERVE) {
        return Err(format!(
            "{} free, of which {} are left alone",
            ByteCount(free.max(1)),
            ByteCount(RESERVE)
        ));
    }
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    loop {
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!("capbench-{}-{number}", std::process::id()));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(Scratch { path, is_on_disk: !room.is_memory }),
            // Left by a process of the same number that could not clean up.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::path::PathBuf;

    use super::Scratch;

    #[test]
    fn a_directory_is_private_and_ends_with_its_owner() {
        let scratch = Scratch::with_room(1).unwrap();
        let path = scratch.path().to_path_buf();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
        std::fs::write(path.join("f"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }

    #[test]
    fn where_there_is_no_room_each_place_is_named() {
        let error = Scratch::with_room(u64::MAX).unwrap_err();
        assert!(
            error.contains("/dev/shm: ") && error.contains("--rate") && error.lines().count() == 1,
            "{error}"
        );
        let error = Scratch::in_first_of(&[PathBuf::from("/no/such")], 1).unwrap_err();
        assert!(error.contains("statfs(/no/such)"), "{error}");
    }
}
