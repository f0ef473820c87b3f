//! What bytes are written to: a file, a pipe, or what stands in for one.

use std::fmt::Debug;
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::os::fd::AsFd;

use capbench_sys::host::writable;

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

    /// After something failed: makes the file end at `length`, at most [`Sink::secured`], where the medium can.
    fn salvage(&mut self, length: u64) -> io::Result<()>;

    /// Appends what the file still lacks.
    fn finish(&mut self) -> io::Result<()>;
}

/// What the kernel's side of a file can do.
pub(super) trait Medium: Write + Debug + Send {
    /// Waits until it takes bytes, after it said that it would not at the moment.
    fn wait(&mut self) -> io::Result<()>;

    /// Makes it end at `length`, where it can.
    fn cut(&mut self, length: u64) -> io::Result<()>;

    /// Puts bytes there through the page cache, as many as there are; where it writes next does not change.
    fn put_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()>;
}

/// A descriptor of this process.
#[derive(Debug)]
pub(super) struct Descriptor {
    pub(super) file: File,
    /// A file that this recording created or emptied: its end is ours.
    pub(super) is_ours: bool,
    /// The same file through the page cache, where `file` writes past it.
    pub(super) cached: Option<File>,
}

impl Write for Descriptor {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn write_vectored(&mut self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.file.write_vectored(parts)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Medium for Descriptor {
    fn wait(&mut self) -> io::Result<()> {
        writable::wait(self.file.as_fd()).map_err(io::Error::other)
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        if self.is_ours { self.file.set_len(length) } else { Ok(()) }
    }

    fn put_at(&mut self, bytes: &[u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::write_all_at(self.cached.as_ref().unwrap_or(&self.file), bytes, offset)
    }
}

/// Writes to a medium until it has taken everything, or says why not: signals and full pipes are no reason.
#[derive(Debug)]
pub(super) struct Patient<M> {
    pub(super) medium: M,
    /// Bytes that the medium has taken.
    pub(super) stored: u64,
}

impl<M: Medium> Patient<M> {
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

impl<M: Medium> Write for Patient<M> {
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
pub(super) struct Plain<M>(Patient<M>);

impl<M: Medium> Plain<M> {
    pub(super) fn new(medium: M) -> Self {
        Self(Patient::new(medium))
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

    fn salvage(&mut self, length: u64) -> io::Result<()> {
        self.0.medium.cut(length)
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }
}
