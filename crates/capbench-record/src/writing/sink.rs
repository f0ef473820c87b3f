//! What bytes are written to: a file, a pipe, or what stands in for one.

use std::ffi::OsString;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::Arc;

use super::buffer::Buffer;

/// An open file of a recording, to which bytes are appended. Offsets count the bytes given to it, before compression.
pub(super) trait Sink: Debug + Send {
    /// Appends bytes.
    fn put(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Appends the records of buffers, in order.
    fn put_buffers(&mut self, buffers: &mut [Buffer]) -> io::Result<()>;

    /// Lets readers of the file see everything that was appended.
    fn flush(&mut self) -> io::Result<()>;

    /// How far a reader of the file gets, also after something failed, and whatever becomes of this process.
    fn secured(&self) -> u64;

    /// Bytes handed to the kernel.
    fn stored(&self) -> u64;

    /// After something failed: makes the file end at `length`, at most [`Sink::secured`]. The length that the file then has;
    /// `None` where the medium cannot be cut.
    fn salvage(&mut self, length: u64) -> io::Result<Option<u64>>;

    /// Appends what the file still lacks.
    fn finish(&mut self) -> io::Result<()>;

    /// What it writes to.
    fn medium(&mut self) -> &mut dyn Medium;
}

/// What the kernel's side of a file can do.
pub(super) trait Medium: Write + Debug + Send {
    /// Waits until it takes bytes, after it said that it would not at the moment.
    fn wait(&mut self) -> io::Result<()>;

    /// Makes it end at `length`. Whether it does: a pipe cannot be cut.
    fn cut(&mut self, length: u64) -> io::Result<bool>;

    /// Puts bytes there through the page cache, as many as there are; where it writes next does not change.
    fn put_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;

    /// Whether its bytes end on a disk: a pipe's do not.
    fn has_disk(&self) -> bool;

    /// The file, for the kernel to begin early with its pages; `None` where there are none or nobody waits for them.
    fn dirty(&self) -> Option<Arc<File>>;

    /// Waits until the disk has all of it, where it has a disk and that is wanted.
    fn sync(&mut self) -> io::Result<()>;

    /// Gives it its final name, without a folder; `None` where others made it, and named it.
    fn publish(&mut self) -> io::Result<Option<OsString>>;

    /// Waits until the disk has the name, where that is wanted. Whether it has, or nobody wants it.
    fn sync_name(&mut self) -> io::Result<bool>;

    /// Removes the file, to which no packet was written. Whether it did: what others made stays.
    fn discard(&mut self) -> io::Result<bool>;
}

/// Writes everything to a medium, or returns why it could not. It repeats writes that a signal or a full pipe interrupted.
#[derive(Debug)]
pub(super) struct RetryWriter<M> {
    pub(super) medium: M,
    /// Bytes that the medium has taken.
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

/// Most parts of one write: `UIO_MAXIOV` of linux/uio.h.
pub(super) const MOST_PARTS: usize = 1024;

/// Bytes as they are, through the page cache or into a pipe. What the kernel has taken, readers see.
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
