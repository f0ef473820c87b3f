//! An open file, pipe or device of a recording.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, FileTypeExt};
use std::sync::Arc;

use capbench_sys::host::{filesystem, wait};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};

use super::part::PartFile;
use super::sink::Medium;

/// A descriptor of this process.
#[derive(Debug)]
pub(super) struct Descriptor {
    file: Arc<File>,
    /// Its names, if this recording created it: then this recording also ends it.
    part: Option<PartFile>,
    is_direct: bool,
    has_disk: bool,
    syncs: bool,
}

impl Descriptor {
    /// `part` has its names, if this recording created it.
    pub(super) fn new(file: File, part: Option<PartFile>, syncs: bool) -> io::Result<Self> {
        let kind = file.metadata()?.file_type();
        let has_disk = kind.is_file() || kind.is_block_device();
        Ok(Self { file: Arc::new(file), part, is_direct: false, has_disk, syncs })
    }

    /// From here on, writes bypass the page cache, except [`Medium::put_at`].
    /// Errors: `InvalidInput` where the file system has no direct I/O.
    pub(super) fn make_direct(&mut self) -> io::Result<()> {
        set_direct(&self.file, true)?;
        self.is_direct = true;
        Ok(())
    }
}

/// Changes the open descriptor: the name could refer to another file by now.
fn set_direct(file: &File, is_direct: bool) -> io::Result<()> {
    let mut flags = fcntl_getfl(file)?;
    flags.set(OFlags::DIRECT, is_direct);
    Ok(fcntl_setfl(file, flags)?)
}

impl Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self.file).write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        (&*self.file).write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Medium for Descriptor {
    fn wait(&mut self) -> io::Result<()> {
        wait::writable(self.file.as_fd()).map_err(io::Error::other)
    }

    fn cut(&mut self, length: u64) -> io::Result<bool> {
        if self.part.is_some() {
            self.file.set_len(length)?;
        }
        Ok(self.part.is_some())
    }

    fn put_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        if !self.is_direct {
            return self.file.write_all_at(bytes, offset);
        }
        // An incomplete block cannot be written directly.
        set_direct(&self.file, false)?;
        let put = self.file.write_all_at(bytes, offset);
        set_direct(&self.file, true)?;
        put
    }

    fn has_disk(&self) -> bool {
        self.has_disk
    }

    fn dirty(&self) -> Option<Arc<File>> {
        (self.has_disk && self.syncs && !self.is_direct).then(|| Arc::clone(&self.file))
    }

    fn sync(&mut self) -> io::Result<()> {
        if !self.has_disk {
            return Ok(());
        }
        if self.syncs {
            return self.file.sync_data();
        }
        // Network file systems report failed writes at each close(2) of a descriptor.
        filesystem::close(self.file.try_clone()?.into()).map_err(|error| match error {
            capbench_sys::SysError::Call { source, .. } => source,
            other => io::Error::other(other),
        })
    }

    fn publish(&mut self) -> io::Result<Option<OsString>> {
        self.part.as_mut().map(PartFile::publish).transpose()
    }

    fn sync_name(&mut self) -> io::Result<bool> {
        match &self.part {
            Some(part) if self.syncs => part.sync_folder(),
            _ => Ok(true),
        }
    }

    fn discard(&mut self) -> io::Result<bool> {
        self.part.take().map_or(Ok(false), |part| part.discard().map(|()| true))
    }
}
