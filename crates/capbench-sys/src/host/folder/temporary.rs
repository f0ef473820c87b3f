//! A file that gets its name when it is complete.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write};

use rustix::rand::{GetRandomFlags, getrandom};

use super::Folder;

const TRIES: usize = 8;
/// How names of such files begin and end: hidden, and with no ending that a reader of files knows.
const BEGIN: &str = ".capbench-";
const END: &str = ".part";

/// A new file with a random name. Dropping it removes the file, unless it has its final name.
#[derive(Debug)]
pub struct Temporary<'f> {
    folder: &'f Folder,
    file: File,
    /// Empty once the file has its final name.
    name: OsString,
}

impl Folder {
    /// Removes the files that processes left which were killed while they wrote, and returns how many. The caller makes sure that
    /// none of the files is being written.
    pub fn remove_temporaries(&self) -> io::Result<usize> {
        let mut removed = 0;
        for name in self.names()? {
            let text = name.to_string_lossy();
            if text.starts_with(BEGIN) && text.ends_with(END) {
                self.remove(&name)?;
                removed += 1;
            }
        }
        Ok(removed)
    }

    /// A new file in this folder with an unpredictable name. The umask applies to `mode`.
    pub fn temporary(&self, mode: u32) -> io::Result<Temporary<'_>> {
        let mut tries = 0;
        loop {
            let mut random = [0; 8];
            getrandom(&mut random, GetRandomFlags::empty())?;
            let name = OsString::from(format!("{BEGIN}{:016x}{END}", u64::from_ne_bytes(random)));
            tries += 1;
            match self.create_file(&name, mode) {
                Ok(file) => return Ok(Temporary { folder: self, file, name }),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && tries < TRIES => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Temporary<'_> {
    /// The file, for writing.
    pub fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// The same with this content appended.
    pub fn with(mut self, content: &[u8]) -> io::Result<Self> {
        self.file.write_all(content)?;
        Ok(self)
    }

    /// Syncs the content to the disk, then gives the file its final name. Replaces an existing file of that name.
    ///
    /// # Errors
    /// The kernel's reason; an existing file is then unchanged, unless only the sync of the folder failed.
    pub fn replace(self, name: &OsStr) -> io::Result<()> {
        self.publish(|folder, from| folder.rename(from, name))
    }

    /// Syncs the content to the disk, then gives the file an unused name.
    ///
    /// # Errors
    /// `AlreadyExists`; otherwise the kernel's reason.
    pub fn publish_new(self, name: &OsStr) -> io::Result<()> {
        self.publish(|folder, from| folder.rename_new(from, name))
    }

    /// Closes the file under its temporary name and returns that. The caller syncs it, for example with many others by
    /// [`Folder::sync_file_system`], and renames or removes it.
    pub fn keep(mut self) -> OsString {
        std::mem::take(&mut self.name)
    }

    fn publish(mut self, rename: impl FnOnce(&Folder, &OsStr) -> io::Result<()>) -> io::Result<()> {
        self.file.sync_data()?;
        rename(self.folder, &self.name)?;
        self.name.clear();
        self.folder.sync()
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.name.is_empty() {
            // A failure means that the folder is gone, and the file with it.
            let _ = self.folder.remove(&self.name);
        }
    }
}
