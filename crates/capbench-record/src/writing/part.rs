//! A file that is `NAME.part` until it is complete, so that nobody takes half a file for a whole one.
//!
//! It is made and renamed in a [`Folder`]: what becomes of the folder's own name meanwhile does not matter. No symbolic link is followed, and a lock (flock(2)) keeps a second recorder away.

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
use super::holder;
use super::names::COMPRESSED;

/// What an unfinished file has behind its name.
pub(super) const PART: &str = ".part";

/// Tries to get a name that others remove at the same moment.
const TRIES: usize = 16;

/// Tries to lock a file that a starting recorder looks at, and the time between two.
const LOCK_TRIES: u32 = 1000;
const LOCK_PAUSE: Duration = Duration::from_millis(1);

/// What new files are made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Making {
    /// Permissions.
    pub(super) mode: u32,
    /// The group, where it is not the process's own.
    pub(super) group: Option<u32>,
}

impl Making {
    /// Gives a new file its group and permissions.
    ///
    /// # Errors
    /// A group of which the user is no member; the file then has the permissions that it was made with.
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
        // The process's mask has no say in it.
        Ok(fchmod(file, Mode::from_raw_mode(self.mode))?)
    }
}

/// The names of a file that this recording made.
#[derive(Debug)]
pub(super) struct PartFile {
    folder: Folder,
    part: OsString,
    name: OsString,
    /// The number in the name, where others had the name before; `None` where the file replaces what has its name.
    number: Option<u64>,
}

impl PartFile {
    /// Makes `PATH.part`. `number` is the first that is tried where others have the name; `None` replaces them.
    ///
    /// # Errors
    /// A file that another recorder writes, a symbolic link, a file of somebody else where others can write.
    pub(super) fn create(path: &Path, number: Option<u64>, making: &Making) -> io::Result<(File, Self)> {
        if path.file_name().is_none() {
            return Err(Errno::ISDIR.into());
        }
        // Others may control the folder: nothing in it is followed or trusted.
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

    /// Whether the final name is free, or may be replaced.
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
    /// What is not to be removed for a new file.
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
        // Others can put a file there only in such a directory.
        if !is_ours && fstat(&self.folder)?.st_mode & 0o022 != 0 {
            let reason = format!("it belongs to user {}, in a directory that others can write", found.st_uid);
            return Err(Refused { reason, next: "remove it, or choose another name with -w" }.into());
        }
        Ok(())
    }

    /// Makes the temporary file; `None` where its name is taken and the next number is to be tried.
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
                // Another recorder took it for a file that was left behind.
                Ok(_) => {}
                Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(error),
                Err(_) if self.number.is_some() => return Ok(None),
                Err(_) => self.remove_left_behind()?,
            }
        }
        Err(Errno::BUSY.into())
    }

    /// Locks a file, and says whether it still has the temporary name.
    fn is_ours(&self, file: &File) -> io::Result<bool> {
        match lock(file) {
            Err(Errno::WOULDBLOCK) => return Err(holder::refusal(file).into()),
            Err(error) if !has_no_locks(error) => return Err(error.into()),
            Ok(()) | Err(_) => {}
        }
        self.folder.is_named(&self.part, file)
    }

    /// Removes what a recorder that was killed has left, as a file of the final name would be replaced.
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

    /// Gives the file its final name, and returns that: where others have the name by now, it has another number.
    ///
    /// # Errors
    /// The kernel's reason; the file then has its temporary name.
    pub(super) fn publish(&mut self) -> io::Result<OsString> {
        while let Some(number) = self.number {
            match self.folder.rename_new(&self.part, &self.wanted()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => self.number = Some(number + 1),
                done => return done.map(|()| self.wanted()),
            }
        }
        self.folder.rename(&self.part, &self.wanted()).map(|()| self.wanted())
    }

    /// Waits until the disk has the names of the folder. Whether it has: a user who may not read a folder cannot sync it.
    ///
    /// # Errors
    /// The kernel's reason.
    pub(super) fn sync_folder(&self) -> io::Result<bool> {
        match self.folder.sync() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied => Ok(false),
            done => done.map(|()| true),
        }
    }

    /// Removes the file, to which no packet was written.
    ///
    /// # Errors
    /// The kernel's reason.
    pub(super) fn discard(&self) -> io::Result<()> {
        self.folder.remove(&self.part)
    }
}

/// Locks a file that this recorder writes. Where only shared locks are in the way, nobody writes it: a starting recorder looks
/// whether it was left behind, and is done in a moment.
///
/// # Errors
/// `EWOULDBLOCK` where another recorder writes it; otherwise the kernel's reason.
fn lock(file: &File) -> Result<(), Errno> {
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

/// Whether flock(2) failed because the file system has no locks, as some network file systems.
pub(super) fn has_no_locks(error: Errno) -> bool {
    matches!(error, Errno::NOLCK | Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL)
}

/// A name with `-N` in front of its ending, and of `.zst` behind that; as it is for 0.
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
