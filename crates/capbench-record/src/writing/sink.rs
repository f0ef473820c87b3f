//! Outputs for bytes: a file, a pipe, or a substitute in tests.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::Arc;

use super::buffer::Buffer;

/// An open file of a recording, to which bytes are appended. Offsets count bytes before compression.
pub(super) trait Sink: Debug + Send {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Appends the records of buffers, in order.
    fn put_buffers(&mut self, buffers: &mut [Buffer]) -> io::Result<()>;

    /// Flushes all appended bytes to readers of the file.
    fn flush(&mut self) -> io::Result<()>;

    /// The length that a reader can see, even after a failure or the end of this process.
    fn secured(&self) -> u64;

    /// Bytes written to the kernel.
    fn stored(&self) -> u64;

    /// After a failure: cuts the file at `length`, which is up to [`Sink::secured`]. Returns the new length; `None` if the medium
    /// cannot be cut.
    fn salvage(&mut self, length: u64) -> io::Result<Option<u64>>;

    /// Appends the missing end of the file.
    fn finish(&mut self) -> io::Result<()>;

    /// The medium below it.
    fn medium(&mut self) -> &mut dyn Medium;
}

/// Operations of the kernel's side of a file.
pub(super) trait Medium: Write + Debug + Send {
    /// After `EAGAIN`: waits until it accepts bytes.
    fn wait(&mut self) -> io::Result<()>;

    /// Cuts it at `length`. Returns whether it can be cut: a pipe cannot.
    fn cut(&mut self, length: u64) -> io::Result<bool>;

    /// Writes all these bytes at `offset` through the page cache. The position of the next write does not change.
    fn put_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Whether its bytes go to a disk: those of a pipe do not.
    fn has_disk(&self) -> bool;

    /// The file, for early writeback; `None` if it has no pages or is not synced.
    fn dirty(&self) -> Option<Arc<File>>;

    /// Syncs all bytes to the disk, if it has a disk and syncing is enabled.
    fn sync(&mut self) -> io::Result<()>;

    /// Gives it its final name. Returns the name without folder; `None` if this recording did not create or name the file.
    fn publish(&mut self) -> io::Result<Option<OsString>>;

    /// Syncs the name to the disk, if syncing is enabled. Returns false only if the folder cannot be synced.
    fn sync_name(&mut self) -> io::Result<bool>;

    /// Removes the file, which has no packets. Returns whether it did: a file that this recording did not create stays.
    fn discard(&mut self) -> io::Result<bool>;
}

/// Writes all bytes to a medium, or returns the error. It repeats writes that a signal or a full pipe interrupted.
#[derive(Debug)]
pub(super) struct RetryWriter<M> {
    pub(super) medium: M,
    /// Bytes that the medium accepted.
    pub(super) stored: u64,
}

impl<M: Medium> RetryWriter<M> {
    pub(super) fn new(medium: M) -> Self {
        Self { medium, stored: 0 }
    }

    /// Appends all parts.
    pub(super) fn put_all(&mut self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            let taken = self.write_vectored(parts)?;
            if taken == 0 {
                return Err(ErrorKind::WriteZero.into());
            }
            IoSlice::advance_slices(&mut parts, taken);
        }
        Ok(())
    }

    fn persist(&mut self, mut attempt: impl FnMut(&mut M) -> io::Result<usize>) -> io::Result<usize> {
        loop {
            match attempt(&mut self.medium) {
                Ok(taken) => {
                    self.stored += taken as u64;
                    return Ok(taken);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.medium.wait()?,
                Err(error) => return Err(error),
            }
        }
    }
}

impl<M: Medium> Write for RetryWriter<M> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.persist(|medium| medium.write(bytes))
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.persist(|medium| medium.write_vectored(parts))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Maximum number of parts of one write: `UIO_MAXIOV` of linux/uio.h.
pub(super) const MOST_PARTS: usize = 1024;

/// Bytes unchanged, through the page cache or into a pipe. Readers see bytes as soon as the kernel has accepted them.
#[derive(Debug)]
pub(super) struct Plain<M>(RetryWriter<M>);

impl<M: Medium> Plain<M> {
    pub(super) fn new(medium: M) -> Self {
        Self(RetryWriter::new(medium))
    }
}

impl<M: Medium> Sink for Plain<M> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.0.put_all(&mut [IoSlice::new(bytes)])
    }

    fn put_buffers(&mut self, buffers: &mut [Buffer]) -> io::Result<()> {
        for buffers in buffers.chunks(MOST_PARTS) {
            let mut parts: Vec<_> = buffers.iter().map(|buffer| IoSlice::new(buffer.records())).collect();
            self.0.put_all(&mut parts)?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn secured(&self) -> u64 {
        self.0.stored
    }

    fn stored(&self) -> u64 {
        self.0.stored
    }

    fn salvage(&mut self, length: u64) -> io::Result<Option<u64>> {
        Ok(self.0.medium.cut(length)?.then_some(length))
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn medium(&mut self) -> &mut dyn Medium {
        &mut self.0.medium
    }
}
