//! The lock of a whole recording, so that no second recorder replaces or removes its complete files.
//!
//! It is a flock(2) on a hidden file next to the captures, named after the `-w` option. The lock on each `.part` file covers only
//! the file being written; it shows which `.part` files belong to a killed recorder.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use capbench_sys::host::folder::Folder;
use capbench_sys::host::identity;
use capbench_sys::host::trust::Trust;
use rustix::fs::{AtFlags, FlockOperation, Stat, flock, fstat, major, minor, statat};
use rustix::io::Errno;

use super::failure::Refused;

/// Suffix of a lock file's name, which begins with a dot.
const ENDING: &[u8] = b".lock";

/// Maximum length of a file name in Linux (`NAME_MAX`).
const LONGEST_NAME: usize = 255;

/// Looks for the holder of a lock.
const LOOKS: usize = 5;

/// Attempts to lock a file that its holder removes at the same moment.
const TRIES: usize = 16;

/// The lock of a recording. Dropping it removes its file before the unlock.
#[derive(Debug)]
pub(super) struct RecordingLock {
    folder: Folder,
    name: OsString,
    /// Locked until closed.
    _file: File,
}

impl RecordingLock {
    /// Locks the recording whose first file is `first`, with files named after `pattern`. `None` if the output is not a file, or
    /// the file system has no locks.
    /// Errors: Another process has locked the recording, or no file can be created in the folder.
    pub(super) fn take(first: &Path, pattern: &OsStr) -> io::Result<Option<Self>> {
        let is_special = fs::metadata(first).is_ok_and(|found| !found.is_file());
        // Opening the file reports the error for a path without a name, or a directory.
        if is_special || first.file_name().is_none() {
            return Ok(None);
        }
        // Other users may control the folder: follow and trust nothing in it.
        let (folder, _) = Folder::of_file(first, &Trust::everybody())?;
        let name = name_of(pattern);
        for _ in 0..TRIES {
            let file = open(&folder, &name)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                // Its holder has just ended and removed it.
                Err(Errno::WOULDBLOCK) if !folder.is_named(&name, &file)? => continue,
                Err(Errno::WOULDBLOCK) => return Err(refusal(&file).into()),
                Err(error) if has_no_locks(error) => {
                    folder.remove(&name)?;
                    return Ok(None);
                }
                locked => locked?,
            }
            if folder.is_named(&name, &file)? {
                return Ok(Some(Self { folder, name, _file: file }));
            }
        }
        Err(Errno::BUSY.into())
    }
}

impl Drop for RecordingLock {
    fn drop(&mut self) {
        // A lock file that stays is unlocked, and blocks no recorder.
        let _ = self.folder.remove(&self.name);
    }
}

/// `.NAME.lock`; only the end of a name that is too long.
fn name_of(pattern: &OsStr) -> OsString {
    let name = Path::new(pattern).file_name().unwrap_or(pattern).as_bytes();
    let room = LONGEST_NAME - 1 - ENDING.len();
    let end = &name[name.len().saturating_sub(room)..];
    OsString::from_vec([b".", end, ENDING].concat())
}

/// Opens the lock file. If other users can write to the folder, the file must belong to this user.
fn open(folder: &Folder, name: &OsStr) -> io::Result<File> {
    let user = identity::effective().uid;
    let refuse = |owner: u32| {
        let reason = format!("its lock file {} belongs to user {owner}", name.display());
        Refused { reason, next: "remove it if that user records nothing, or choose another name with -w" }
    };
    let file = match folder.open_lock_file(name) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            return Err(match statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(found) if found.st_uid != user => refuse(found.st_uid).into(),
                _ => error,
            });
        }
        opened => opened?,
    };
    let owner = fstat(&file)?.st_uid;
    // Other users can create a file only in such a directory.
    if owner != user && fstat(folder)?.st_mode & 0o022 != 0 {
        return Err(refuse(owner).into());
    }
    Ok(file)
}

/// The error for a file that another process has locked.
pub(super) fn refusal(file: &File) -> Refused {
    let holder = fstat(file).ok().and_then(|found| holder_of(&found));
    let reason = format!("{} writes it", holder.as_deref().unwrap_or("another process"));
    Refused { reason, next: "end that recording first, or choose another name with -w" }
}

/// Number and name of the process that has locked a file by flock(2); `None` if this process cannot see it.
fn holder_of(file: &Stat) -> Option<String> {
    // The kernel lists locks piece by piece: one can be missing while others come and go.
    let process = (0..LOOKS).find_map(|_| process_in(&fs::read_to_string("/proc/locks").ok()?, file))?;
    let name = fs::read_to_string(format!("/proc/{process}/comm")).ok();
    // A process chooses its name, and this goes to a terminal: control characters are replaced.
    let name = name.map(|name| name.trim_end().replace(char::is_control, "?"));
    Some(match name {
        Some(name) => format!("process {process} ({name})"),
        None => format!("process {process}"),
    })
}

/// `1: FLOCK  ADVISORY  WRITE 1234 fd:01:131090 0 EOF`: device numbers are hexadecimal.
fn process_in(locks: &str, file: &Stat) -> Option<u32> {
    let wanted = format!("{:02x}:{:02x}:{}", major(file.st_dev), minor(file.st_dev), file.st_ino);
    locks.lines().find_map(|line| {
        let mut fields = line.split_ascii_whitespace().skip(1);
        let (kind, _, _) = (fields.next()?, fields.next()?, fields.next()?);
        let (process, place) = (fields.next()?, fields.next()?);
        // 0 is a process of another namespace.
        (kind == "FLOCK" && place == wanted)
            .then(|| process.parse().ok())
            .flatten()
            .filter(|process| *process > 0)
    })
}

/// Whether flock(2) failed because the file system has no locks, like some network file systems.
pub(super) fn has_no_locks(error: Errno) -> bool {
    matches!(error, Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

#[cfg(test)]
mod tests;
