//! A folder by its descriptor: openat(2) and related calls. New files go into this folder even if its path is replaced by
//! another folder or a symbolic link.
//!
//! A path is walked one name at a time. Each folder on the way is checked by its descriptor; for a relative path also the
//! folders above the working directory. A symbolic link is followed only if [`Trust`] covers everybody who can replace it.
//! Links of `/proc` are never followed, because they lead to files and not to paths.

mod temporary;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags, Stat};
use rustix::fs::{
    flock, fstat, fstatfs, linkat, mkdirat, openat, readlinkat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::identity;
use super::trust::{Controller, MOST_LINKS, Trust, Untrusted};

pub use temporary::Temporary;

/// The mode of new folders and files before the umask.
const FOLDER_MODE: u32 = 0o777;
/// The mode of new world-readable files, before the umask.
pub const FILE_MODE: u32 = 0o666;
/// Follow no link, wait for no pipe, take no terminal.
const OPEN_FLAGS: OFlags =
    OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::NOCTTY).union(OFlags::CLOEXEC);
/// `PROC_SUPER_MAGIC` of linux/magic.h.
const PROC: i128 = 0x9fa0;

/// A folder that stays the same when its path changes.
#[derive(Debug)]
pub struct Folder {
    /// Opened with `O_PATH`.
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Folder {
    /// Opens a folder; an empty path is the working directory.
    ///
    /// # Errors
    /// The kernel's reason; or [`Untrusted`] if others control it or a folder above it.
    pub fn open(path: &Path, trust: &Trust) -> io::Result<Self> {
        Self::walk(path, trust, false)
    }

    /// Opens a folder; creates it and missing folders above it.
    pub fn create(path: &Path, trust: &Trust) -> io::Result<Self> {
        Self::walk(path, trust, true)
    }

    /// The folder of a file, and the file's name in it.
    pub fn of_file<'p>(path: &'p Path, trust: &Trust) -> io::Result<(Self, &'p OsStr)> {
        let no_name = || io::Error::new(io::ErrorKind::InvalidInput, "the path ends without a file's name");
        let name = path.file_name().ok_or_else(no_name)?;
        Ok((Self::open(path.parent().unwrap_or(Path::new("")), trust)?, name))
    }

    /// A subfolder; a symbolic link does not count.
    pub fn below(&self, name: &OsStr, trust: &Trust) -> io::Result<Self> {
        let found = step(&self.descriptor, name)?;
        check_entry(trust, &self.descriptor, &found)?;
        Self::of_descriptor(found, self.path.join(name), trust)
    }

    /// A subfolder, made if it is missing; a symbolic link does not count.
    ///
    /// # Errors
    /// The kernel's reason, `NotADirectory` for a symbolic link; or [`Untrusted`] if others control it or this folder.
    pub fn make_below(&self, name: &OsStr, trust: &Trust) -> io::Result<Self> {
        match self.below(name, trust) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make(&self.descriptor, name, trust)?;
                self.below(name, trust)
            }
            found => found,
        }
    }

    /// The path that was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The names in it, unsorted.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::new(self.readable()?)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name != b"." && name != b".." {
                names.push(OsString::from_vec(name));
            }
        }
        Ok(names)
    }

    /// The target of a symbolic link; `None` for another kind of file.
    ///
    /// # Errors
    /// The kernel's reason; [`Untrusted`] if others can replace the link.
    pub(super) fn link(&self, name: &OsStr, trust: &Trust) -> io::Result<Option<PathBuf>> {
        let found = step(&self.descriptor, name)?;
        check_entry(trust, &self.descriptor, &found)?;
        if FileType::from_raw_mode(fstat(&found)?.st_mode) != FileType::Symlink {
            return Ok(None);
        }
        target_of(&found).map(Some)
    }

    /// Checks that no other user can make a file in it, not even where only the owner of a file can replace it (`/tmp`).
    ///
    /// # Errors
    /// [`Untrusted`].
    pub fn check_not_shared(&self, trust: &Trust) -> io::Result<()> {
        trust.check_owner_and_mode(&fstat(&self.descriptor)?).map_err(untrusted(&self.descriptor))
    }

    /// Opens a file for reading. Does not follow a symbolic link or wait for a pipe.
    ///
    /// # Errors
    /// The kernel's reason; `InvalidInput` if it is no regular file; [`Untrusted`] if others control it.
    pub fn open_file(&self, name: &OsStr, trust: &Trust) -> io::Result<File> {
        let file = openat(&self.descriptor, name, OFlags::RDONLY | OPEN_FLAGS, Mode::empty())?;
        let found = regular(&file)?;
        check_entry(trust, &self.descriptor, &file)?;
        trust.check_owner_and_mode(&found).map_err(untrusted(&file))?;
        Ok(file.into())
    }

    /// Creates a new file and opens it for writing and reading. The umask applies to `mode`.
    ///
    /// # Errors
    /// `AlreadyExists`, also if the name is a symbolic link; otherwise the kernel's reason.
    pub fn create_file(&self, name: &OsStr, mode: u32) -> io::Result<File> {
        let how = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(openat(&self.descriptor, name, how, Mode::from_raw_mode(mode))?.into())
    }

    /// Makes a new subfolder. The umask applies to `mode`.
    ///
    /// # Errors
    /// `AlreadyExists`, also if the name is a symbolic link; otherwise the kernel's reason.
    pub fn create_folder(&self, name: &OsStr, mode: u32) -> io::Result<Self> {
        mkdirat(&self.descriptor, name, Mode::from_raw_mode(mode))?;
        Self::of_descriptor(step(&self.descriptor, name)?, self.path.join(name), &Trust::everybody())
    }

    /// Removes an empty subfolder.
    pub fn remove_folder(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::REMOVEDIR)?)
    }

    /// The user who owns it.
    pub fn owner(&self) -> io::Result<u32> {
        Ok(fstat(&self.descriptor)?.st_uid)
    }

    /// Locks this folder. The lock lasts until the last copy of the descriptor is closed, those of child processes included. `None`
    /// if another process has it.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn try_lock_self(&self) -> io::Result<Option<File>> {
        try_lock(self.readable()?.into())
    }

    /// Opens a file for flock(2); creates it with mode 0600 if it is missing. Does not follow a symbolic link or wait for a
    /// pipe. Some network file systems lock only files open for writing.
    ///
    /// # Errors
    /// The kernel's reason; `InvalidInput` if it is no regular file.
    pub fn open_lock_file(&self, name: &OsStr) -> io::Result<File> {
        const LOCK_MODE: u32 = 0o600;
        let how = OFlags::RDWR | OFlags::CREATE | OPEN_FLAGS;
        let file = openat(&self.descriptor, name, how, Mode::from_raw_mode(LOCK_MODE))?;
        regular(&file)?;
        Ok(file.into())
    }

    /// Locks a file of this folder, which is made if it is missing. The lock lasts until the last copy of the descriptor is
    /// closed, those of child processes included. `None` if another process has it.
    ///
    /// # Errors
    /// Those of [`Folder::open_lock_file`]; the file system has no locks.
    pub fn try_lock(&self, name: &OsStr) -> io::Result<Option<File>> {
        try_lock(self.open_lock_file(name)?)
    }

    /// Whether this name in the folder refers to the open file.
    pub fn is_named(&self, name: &OsStr, file: &File) -> io::Result<bool> {
        match statat(&self.descriptor, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => Ok(is_same(&named, &fstat(file)?)),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    /// Renames a file of this folder. Replaces an existing file of the new name.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// Moves a file to another folder of the same file system, replacing a file of that name.
    pub fn move_to(&self, from: &OsStr, folder: &Self, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from, &folder.descriptor, to)?)
    }

    /// Renames a file of this folder to an unused name.
    ///
    /// # Errors
    /// `AlreadyExists`, and nothing is changed; otherwise the kernel's reason.
    pub fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        let folder = &self.descriptor;
        match renameat_with(folder, from, folder, to, RenameFlags::NOREPLACE) {
            // NFS and some others do not have the flag; a second name is refused by them as well where it is in use.
            Err(Errno::INVAL | Errno::NOSYS) => {
                linkat(folder, from, folder, to, AtFlags::empty())?;
                Ok(unlinkat(folder, from, AtFlags::empty())?)
            }
            renamed => Ok(renamed?),
        }
    }

    /// Removes a file.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Waits until the names in this folder are on the disk.
    ///
    /// # Errors
    /// The kernel's reason. File systems without such a wait return no error.
    pub fn sync(&self) -> io::Result<()> {
        match rustix::fs::fsync(self.readable()?) {
            Err(Errno::INVAL) => Ok(()),
            synced => Ok(synced?),
        }
    }

    /// Waits until everything written to the folder's file system is on the disk (syncfs(2)): one wait for many files.
    pub fn sync_file_system(&self) -> io::Result<()> {
        Ok(rustix::fs::syncfs(self.readable()?)?)
    }

    /// Replaces a file atomically: readers see the old or the new content, also after a power loss.
    ///
    /// # Errors
    /// The kernel's reason; the old file is then unchanged.
    pub fn replace(&self, name: &OsStr, content: &[u8]) -> io::Result<()> {
        self.temporary(FILE_MODE)?.with(content)?.replace(name)
    }

    fn readable(&self) -> io::Result<OwnedFd> {
        Ok(openat(
            &self.descriptor,
            ".",
            OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )?)
    }

    fn walk(path: &Path, trust: &Trust, makes: bool) -> io::Result<Self> {
        let mut here = start(path, trust)?;
        let mut ahead = names(path);
        let mut links = 0;
        while let Some(name) = ahead.pop() {
            if name == ".." {
                here = step(&here, &name)?;
                continue;
            }
            let next = match step(&here, &name) {
                Err(Errno::NOENT) if makes => make(&here, &name, trust)?,
                next => next?,
            };
            let found = fstat(&next)?;
            check_entry(trust, &here, &next)?;
            if FileType::from_raw_mode(found.st_mode) != FileType::Symlink {
                here = next;
                continue;
            }
            links += 1;
            if links > MOST_LINKS {
                return Err(Errno::LOOP.into());
            }
            let target = target_of(&next)?;
            if target.is_absolute() {
                here = start(&target, trust)?;
            }
            ahead.extend(names(&target));
        }
        Self::of_descriptor(here, path.into(), trust)
    }

    fn of_descriptor(descriptor: OwnedFd, path: PathBuf, trust: &Trust) -> io::Result<Self> {
        let found = fstat(&descriptor)?;
        if FileType::from_raw_mode(found.st_mode) != FileType::Directory {
            return Err(Errno::NOTDIR.into());
        }
        trust.check_entry(&found, identity::effective().uid).map_err(untrusted(&descriptor))?;
        Ok(Self { descriptor, path })
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn try_lock(file: File) -> io::Result<Option<File>> {
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn names(path: &Path) -> Vec<OsString> {
    let names = path.components().filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir));
    names.rev().map(|part| part.as_os_str().to_owned()).collect()
}

/// Where a path begins. The folders above the working directory are checked as those of an absolute path are.
fn start(path: &Path, trust: &Trust) -> io::Result<OwnedFd> {
    if path.is_absolute() {
        return Ok(step(CWD, OsStr::new("/"))?);
    }
    let start = step(CWD, OsStr::new("."))?;
    if !trust.is_everybody() {
        let mut below = start.try_clone()?;
        let mut folder = step(&below, OsStr::new(".."))?;
        // Of the root folder, the one above is itself.
        while !is_same(&fstat(&folder)?, &fstat(&below)?) {
            check_entry(trust, &folder, &below)?;
            below = folder;
            folder = step(&below, OsStr::new(".."))?;
        }
    }
    Ok(start)
}

/// The file or folder of this name; of a symbolic link the link itself.
fn step(folder: impl AsFd, name: &OsStr) -> Result<OwnedFd, Errno> {
    openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

/// Where an open symbolic link leads to.
fn target_of(link: &OwnedFd) -> io::Result<PathBuf> {
    if i128::from(fstatfs(link)?.f_type) == PROC {
        return Err(Errno::LOOP.into());
    }
    Ok(OsString::from_vec(readlinkat(link, "", Vec::new())?.into_bytes()).into())
}

/// Makes a folder, or finds it made by somebody else meanwhile.
fn make(here: &OwnedFd, name: &OsStr, trust: &Trust) -> io::Result<OwnedFd> {
    trust.check_entry(&fstat(here)?, identity::effective().uid).map_err(untrusted(here))?;
    match mkdirat(here, name, Mode::from_raw_mode(FOLDER_MODE)) {
        Ok(()) | Err(Errno::EXIST) => Ok(step(here, name)?),
        Err(error) => Err(error.into()),
    }
}

fn regular(file: &OwnedFd) -> io::Result<Stat> {
    let found = fstat(file)?;
    match FileType::from_raw_mode(found.st_mode) {
        FileType::RegularFile => Ok(found),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is no regular file")),
    }
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    (one.st_dev, one.st_ino) == (other.st_dev, other.st_ino)
}

/// Checks that nobody but trusted users can put another file in the place of this entry of a folder.
fn check_entry(trust: &Trust, folder: &OwnedFd, entry: &OwnedFd) -> io::Result<()> {
    trust.check_entry(&fstat(folder)?, fstat(entry)?.st_uid).map_err(|who| match who {
        Controller::OwnerInShared(_) => untrusted(entry)(who),
        _ => untrusted(folder)(who),
    })
}

/// The error for somebody who controls an open file or folder, with the path that the kernel knows it by.
fn untrusted(descriptor: &OwnedFd) -> impl FnOnce(Controller) -> io::Error {
    let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    move |who| {
        let path = std::fs::read_link(link);
        let path = path.map_or_else(|_| "a folder of the path".into(), |path| path.display().to_string());
        Untrusted { path, who }.into()
    }
}

#[cfg(test)]
mod tests;
