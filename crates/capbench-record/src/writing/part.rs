//! A file named `NAME.part` until it is complete, so that nobody mistakes an incomplete file for a complete one.
//!
//! It is created and renamed in a [`Folder`], so a renamed folder does not matter. No symbolic link is followed, and a lock
//! (flock(2)) excludes a second recorder.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;
use std::thread;
use std::time::Duration;

use capbench_sys::host::folder::Folder;
use capbench_sys::host::identity;
use capbench_sys::host::trust::Trust;
use rustix::fs::{
    AtFlags, FileType, FlockOperation, Gid, Mode, OFlags, Stat, fchmod, fchown, flock, fstat, openat, statat,
};
use rustix::io::Errno;

use super::failure::Refused;
use super::lock::{self, has_no_locks};
use super::names::COMPRESSED;

/// Suffix of an incomplete file's name.
pub(super) const PART: &str = ".part";

/// Attempts to create a name that others remove at the same moment.
const TRIES: usize = 16;

/// Attempts to lock a file that a starting recorder checks, and the time between two.
const LOCK_TRIES: u32 = 1000;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// Properties of new files.
#[derive(Clone, Copy, Debug)]
pub(super) struct Making {
    pub(super) mode: u32,
    /// The group, if it is not that of the process.
    pub(super) group: Option<u32>,
}

impl Making {
    /// Sets the group and permissions of a new file.
    /// Errors: The user is not a member of the group; the file then keeps the permissions of its creation.
    pub(super) fn equip(&self, file: &File) -> io::Result<()> {
        if let Some(group) = self.group {
            fchown(file, None, Some(Gid::from_raw(group))).map_err(|error| match error {
                Errno::PERM => Refused {
                    reason: "it cannot get the group of --group".into(),
                    next: "the user who records (-Z) has to be a member of it",
                }
                .into(),
                error => io::Error::from(error),
            })?;
        }
        // fchmod(2) ignores the umask of the process.
        Ok(fchmod(file, Mode::from_raw_mode(self.mode))?)
    }
}

/// The names of a file that this recording created.
#[derive(Debug)]
pub(super) struct PartFile {
    folder: Folder,
    part: OsString,
    name: OsString,
    /// The number in the name, if the name existed before; `None` if the file replaces an existing one.
    number: Option<u64>,
}

impl PartFile {
    /// Creates `PATH.part`. `number` is the first to try if the name exists; `None` replaces the existing file.
    /// Errors: A file that another recorder writes, a symbolic link, or a file of another user where others can write.
    pub(super) fn create(path: &Path, number: Option<u64>, making: &Making) -> io::Result<(File, Self)> {
        if path.file_name().is_none() {
            return Err(Errno::ISDIR.into());
        }
        // Other users may control the folder: follow and trust nothing in it.
        let (folder, name) = Folder::of_file(path, &Trust::everybody())?;
        let mut made = Self { folder, part: OsString::new(), name: name.into(), number };
        loop {
            made.part = made.wanted();
            made.part.push(PART);
            if made.is_free()?
                && let Some(file) = made.create_part(making)?
            {
                return Ok((file, made));
            }
            made.number = made.number.map(|number| number + 1);
        }
    }

    /// The number in its name, 0 for none.
    pub(super) fn number(&self) -> u64 {
        self.number.unwrap_or(0)
    }

    /// The final name.
    pub(super) fn wanted(&self) -> OsString {
        numbered(&self.name, self.number())
    }

    /// Whether the final name is free, or the file of that name may be replaced.
    fn is_free(&self) -> io::Result<bool> {
        let found = match statat(&self.folder, self.wanted(), AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(true),
            found => found?,
        };
        if self.number.is_some() {
            return Ok(false);
        }
        self.check_replaceable(&found)?;
        Ok(true)
    }

    /// # Errors
    /// If the existing file must not be replaced.
    fn check_replaceable(&self, found: &Stat) -> io::Result<()> {
        let refuse = |reason: &str, next| Err(Refused { reason: reason.into(), next }.into());
        match FileType::from_raw_mode(found.st_mode) {
            FileType::RegularFile => {}
            FileType::Symlink => {
                return refuse(
                    "it is a symbolic link, which is not followed",
                    "name the file itself, or - for standard output",
                );
            }
            FileType::Directory => return Err(Errno::ISDIR.into()),
            _ => return refuse("it is no file", "choose another name with -w"),
        }
        let is_ours = found.st_uid == identity::effective().uid;
        // Other users can create a file only in such a directory.
        if !is_ours && fstat(&self.folder)?.st_mode & 0o022 != 0 {
            let reason = format!("it belongs to user {}, in a directory that others can write", found.st_uid);
            return Err(Refused { reason, next: "remove it, or choose another name with -w" }.into());
        }
        Ok(())
    }

    /// Creates the temporary file; `None` if its name exists and the next number is to be tried.
    fn create_part(&self, making: &Making) -> io::Result<Option<File>> {
        for _ in 0..TRIES {
            match self.folder.create_file(&self.part, 0o600) {
                Ok(file) if self.is_ours(&file)? => {
                    if let Err(error) = making.equip(&file) {
                        let _ = self.folder.remove(&self.part);
                        return Err(error);
                    }
                    return Ok(Some(file));
                }
                // Another recorder removed it as the leftover of a killed recorder.
                Ok(_) => {}
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Err(_) if self.number.is_some() => return Ok(None),
                Err(_) => self.remove_left_behind()?,
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Locks a file. Returns whether it still has the temporary name.
    fn is_ours(&self, file: &File) -> io::Result<bool> {
        match exclusive_lock(file) {
            Err(Errno::WOULDBLOCK) => return Err(lock::refusal(file).into()),
            Err(error) if !has_no_locks(error) => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        self.folder.is_named(&self.part, file)
    }

    /// Removes the leftover of a killed recorder, just as a file of the final name would be replaced.
    fn remove_left_behind(&self) -> io::Result<()> {
        match statat(&self.folder, &self.part, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(()),
            found => self.check_replaceable(&found?)?,
        }
        let how = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.folder, &self.part, how, Mode::empty()).map(File::from) {
            Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error.into()),
            Ok(file) if self.is_ours(&file)? => self.folder.remove(&self.part),
            Ok(_) => Ok(()),
        }
    }

    /// Gives the file its final name, and returns that name. If the name exists by now, it gets another number.
    /// Errors: The kernel's error; the file then keeps its temporary name.
    pub(super) fn publish(&mut self) -> io::Result<OsString> {
        while let Some(number) = self.number {
            match self.folder.rename_new(&self.part, &self.wanted()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.number = Some(number + 1),
                done => return done.map(|()| self.wanted()),
            }
        }
        self.folder.rename(&self.part, &self.wanted()).map(|()| self.wanted())
    }

    /// Syncs the folder's names to the disk. Returns whether that was possible: a user without read permission cannot sync a
    /// folder.
    pub(super) fn sync_folder(&self) -> io::Result<bool> {
        match self.folder.sync() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Removes the file, which has no packets.
    pub(super) fn discard(&self) -> io::Result<()> {
        self.folder.remove(&self.part)
    }
}

/// Locks a file that this recorder writes. If only shared locks conflict, no process writes it: a starting recorder checks
/// whether it is a leftover, which takes a moment.
/// Errors: `EWOULDBLOCK` if another recorder writes it; otherwise the kernel's error.
fn exclusive_lock(file: &File) -> Result<(), Errno> {
    for _ in 0..LOCK_TRIES {
        match flock(file, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => {}
            done => return done,
        }
        flock(file, FlockOperation::NonBlockingLockShared).map_err(|_| Errno::WOULDBLOCK)?;
        flock(file, FlockOperation::Unlock)?;
        thread::sleep(LOCK_PAUSE);
    }
    Err(Errno::WOULDBLOCK)
}

/// A name with `-N` before its extension (and before `.zst`); unchanged for 0.
fn numbered(name: &OsStr, number: u64) -> OsString {
    if number == 0 {
        return name.into();
    }
    let bytes = name.as_bytes();
    let plain = bytes.strip_suffix(COMPRESSED).unwrap_or(bytes);
    let dot = plain.iter().rposition(|byte| *byte == b'.').filter(|at| *at > 0).unwrap_or(plain.len());
    let (stem, ending) = bytes.split_at(dot);
    OsString::from_vec([stem, format!("-{number}").as_bytes(), ending].concat())
}

#[cfg(test)]
mod tests;
