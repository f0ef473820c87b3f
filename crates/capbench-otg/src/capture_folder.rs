//! Folders of captures: each has its own, which only this user can read. It is removed with its content.
//!
//! capbench works with the folder by its descriptor: what another user puts in the place of its path is not read. As root it makes
//! none where others could replace it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use capbench_sys::host::folder::Folder;
use capbench_sys::host::trust::Trust;

/// What names of the folders begin with.
const PREFIX: &str = "capbench-otg-";

/// Only this user.
const MODE: u32 = 0o700;

/// Name of a file that nobody else opens.
const SPOOL: &str = "spool";

/// A folder of a capture. It is locked as long as its process runs: one without a lock is abandoned.
#[derive(Debug)]
pub struct CaptureFolder {
    parent: Folder,
    name: OsString,
    folder: Folder,
    _lock: File,
}

/// Opens the folder for those of captures.
///
/// # Errors
/// The kernel's reason; or others control it, and this is root.
pub fn parent(path: &Path) -> io::Result<Folder> {
    Folder::open(path, &Trust::for_output())
}

impl CaptureFolder {
    /// A new one. Removes those that processes of this user could not remove, because they were killed.
    pub fn below(path: &Path) -> io::Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let parent = parent(path)?;
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name: OsString = format!("{PREFIX}{}-{number}", std::process::id()).into();
            let folder = match parent.create_folder(&name, MODE) {
                Ok(folder) => folder,
                // A process of another namespace has the same number, or had it.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => {
                    return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
                }
            };
            // Without a lock, another process has just removed it as an abandoned one.
            if let Some(lock) = lock(&parent, &name, &folder)? {
                remove_abandoned(&parent, folder.owner()?);
                return Ok(Self { parent, name, folder, _lock: lock });
            }
        }
    }

    /// Its path.
    pub fn path(&self) -> PathBuf {
        self.parent.path().join(&self.name)
    }

    /// The files, in the order in which they were written.
    pub fn files(&self) -> io::Result<Vec<File>> {
        let mut files = Vec::new();
        for name in self.folder.names()? {
            let file = self.open(&name)?;
            files.push((file.metadata()?.modified()?, name, file));
        }
        files.sort_by(|(a, a_name, _), (b, b_name, _)| (a, a_name).cmp(&(b, b_name)));
        Ok(files.into_iter().map(|(.., file)| file).collect())
    }

    /// Nobody else writes in it; a link is not followed.
    fn open(&self, name: &OsStr) -> io::Result<File> {
        self.folder.open_file(name, &Trust::everybody())
    }

    /// A new file to write and read. It is gone when it is closed.
    pub fn create(&self) -> io::Result<File> {
        let name = OsStr::new(SPOOL);
        let file = self.folder.create_file(name, MODE)?;
        self.folder.remove(name)?;
        Ok(file)
    }
}

impl Drop for CaptureFolder {
    fn drop(&mut self) {
        // On failure somebody else has removed it.
        let _ = remove(&self.parent, &self.name, &self.folder);
    }
}

fn remove(parent: &Folder, name: &OsStr, folder: &Folder) -> io::Result<()> {
    for file in folder.names()? {
        folder.remove(&file)?;
    }
    parent.remove_folder(name)
}

/// The lock of a folder; `None`: another process has it, or the folder is gone.
fn lock(parent: &Folder, name: &OsStr, folder: &Folder) -> io::Result<Option<File>> {
    let Some(lock) = folder.try_lock_self()? else { return Ok(None) };
    Ok(parent.is_named(name, &lock)?.then_some(lock))
}

/// Removes abandoned folders of a user. What cannot be read or removed remains: no capture depends on it.
fn remove_abandoned(parent: &Folder, user: u32) {
    for name in parent.names().unwrap_or_default() {
        if !name.to_str().is_some_and(|name| name.starts_with(PREFIX)) {
            continue;
        }
        if let Ok(folder) = parent.below(&name, &Trust::everybody())
            && folder.owner().is_ok_and(|owner| owner == user)
            && let Ok(Some(_lock)) = lock(parent, &name, &folder)
        {
            let _ = remove(parent, &name, &folder);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use capbench_testing::Scratch;

    use super::*;

    #[test]
    fn folders_of_processes_that_were_killed_are_removed() {
        let scratch = Scratch::new();
        let path = |name: &str| scratch.path().join(name);
        let running = CaptureFolder::below(scratch.path()).unwrap();
        for name in ["capbench-otg-1-0", "capbench-other-1-0"] {
            fs::create_dir(path(name)).unwrap();
        }
        let target = path("capbench-other-1-0");
        std::os::unix::fs::symlink(&target, path("capbench-otg-2-0")).unwrap();
        fs::write(path("capbench-otg-1-0").join("capture.pcapng"), "frames").unwrap();
        let next = CaptureFolder::below(scratch.path()).unwrap();
        assert!(!path("capbench-otg-1-0").exists(), "nobody has its lock");
        assert!(running.path().exists() && next.path().exists());
        assert!(target.exists() && path("capbench-otg-2-0").is_symlink(), "these are no folders of captures");
        drop(running);
        let left: Vec<_> = fs::read_dir(scratch.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(
            left.iter().filter(|path| path.to_str().unwrap().contains("-otg-")).count(),
            2,
            "{left:?}"
        );
        assert!(CaptureFolder::below(&path("absent")).is_err());
    }

    /// What another user puts in the place of a path is not read: the descriptor stays that of the folder.
    #[test]
    fn a_link_in_the_place_of_a_folder_is_not_read() {
        let scratch = Scratch::new();
        let own = CaptureFolder::below(scratch.path()).unwrap();
        fs::write(own.path().join("capture"), "frames").unwrap();
        let secrets = scratch.path().join("secrets");
        fs::create_dir(&secrets).unwrap();
        fs::write(secrets.join("key"), "secret").unwrap();
        std::os::unix::fs::symlink(secrets.join("key"), own.path().join("link")).unwrap();
        assert!(own.files().is_err(), "a link is not followed");
        fs::remove_file(own.path().join("link")).unwrap();
        fs::rename(own.path(), scratch.path().join("moved")).unwrap();
        std::os::unix::fs::symlink(&secrets, own.path()).unwrap();
        let files = own.files().unwrap();
        assert_eq!(files.len(), 1);
        assert_eq!(std::io::read_to_string(&files[0]).unwrap(), "frames");
        drop(own);
        assert!(secrets.join("key").exists());
    }
}
