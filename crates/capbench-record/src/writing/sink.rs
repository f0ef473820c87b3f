//! An open file of a recording: bytes unchanged, without the page cache, or compressed.

use std::ffi::OsString;
use std::fmt::{self, Debug};
use std::fs::File;
use std::io::{self, ErrorKind, IoSlice, Write};
use std::sync::Arc;

use capbench_sys::memory::{ALIGNMENT, Pages, carve};
use zstd::stream::write::Encoder;

use super::buffer::Buffer;

/// The kernel's side of a file: a file, a pipe, or a substitute in tests.
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

/// Maximum number of parts of one write: `UIO_MAXIOV` of linux/uio.h.
const MOST_PARTS: usize = 1024;

/// An empty last block (RFC 8878, section 3.1.1.2). After a whole block it completes a frame without checksum.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// An open file, to which bytes are appended. Offsets count bytes before compression.
#[derive(Debug)]
pub(super) struct Sink {
    out: Out,
    form: Form,
}

/// How bytes are written.
#[derive(Debug)]
enum Form {
    /// Unchanged. Readers see bytes as soon as the kernel has accepted them.
    Plain,
    Direct(Tail),
    Compressed(Compressor),
}

/// The end of a file written without the page cache (`O_DIRECT`): no copy, and no later writeback by a kernel thread. Memory,
/// lengths and offsets of such writes are multiples of a block. A buffer's records begin at the file's current offset in a block.
/// The bytes of an incomplete block move before the records of the next buffer.
#[derive(Debug)]
struct Tail {
    /// The last incomplete block.
    block: Pages,
    length: usize,
    /// The length of the file when its tail was last written.
    flushed: u64,
}

/// One Zstandard frame (RFC 8878) per file. It is flushed after every buffer, so that data before a crash can be decompressed. A
/// flush ends a block, which costs up to a few hundred bytes; blocks end after 128 KiB anyway.
struct Compressor {
    encoder: Encoder<'static, Vec<u8>>,
    put: u64,
    /// Bytes before and after compression at the last flush.
    flushed: (u64, u64),
    /// Whether the end of the frame is written.
    is_finished: bool,
}

impl Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressor").field("put", &self.put).finish_non_exhaustive()
    }
}

impl Sink {
    pub(super) fn plain(medium: impl Medium + 'static) -> Self {
        Self { out: Out { medium: Box::new(medium), stored: 0 }, form: Form::Plain }
    }

    /// # Errors
    /// If there is no memory.
    pub(super) fn direct(medium: impl Medium + 'static) -> io::Result<Self> {
        let block = carve(1, ALIGNMENT).map_err(io::Error::other)?.remove(0);
        Ok(Self { form: Form::Direct(Tail { block, length: 0, flushed: 0 }), ..Self::plain(medium) })
    }

    /// # Errors
    /// If the library cannot allocate memory.
    pub(super) fn compressed(medium: impl Medium + 'static, level: i32) -> io::Result<Self> {
        let encoder = Encoder::new(Vec::new(), level)?;
        let form = Form::Compressed(Compressor { encoder, put: 0, flushed: (0, 0), is_finished: false });
        Ok(Self { form, ..Self::plain(medium) })
    }

    pub(super) fn medium(&mut self) -> &mut dyn Medium {
        &mut *self.out.medium
    }

    pub(super) fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.form {
            Form::Plain => self.out.put_all(&mut [IoSlice::new(bytes)]),
            Form::Direct(tail) => tail.put(bytes, &mut self.out),
            Form::Compressed(compressor) => {
                compressor.encoder.write_all(bytes)?;
                compressor.put += bytes.len() as u64;
                compressor.drain(&mut self.out)
            }
        }
    }

    /// Appends the records of buffers, in order.
    pub(super) fn put_buffers(&mut self, buffers: &mut [Buffer]) -> io::Result<()> {
        if let Form::Compressed(_) = self.form {
            return buffers.iter().try_for_each(|buffer| {
                self.put(buffer.records())?;
                self.flush()
            });
        }
        for buffers in buffers.chunks_mut(MOST_PARTS) {
            match &mut self.form {
                Form::Direct(tail) if tail.fit(buffers) => tail.put_blocks(buffers, &mut self.out)?,
                Form::Direct(_) => buffers.iter().try_for_each(|buffer| self.put(buffer.records()))?,
                Form::Plain | Form::Compressed(_) => {
                    let mut parts: Vec<_> =
                        buffers.iter().map(|buffer| IoSlice::new(buffer.records())).collect();
                    self.out.put_all(&mut parts)?;
                }
            }
        }
        Ok(())
    }

    /// Flushes all appended bytes to readers of the file.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        let secured = self.secured();
        match &mut self.form {
            Form::Plain => {}
            Form::Direct(tail) => {
                let length = self.out.stored + tail.length as u64;
                if secured != length {
                    self.out.medium.put_at(&tail.block[..tail.length], self.out.stored)?;
                    tail.flushed = length;
                }
            }
            Form::Compressed(compressor) if secured < compressor.put => {
                compressor.encoder.flush()?;
                compressor.drain(&mut self.out)?;
                compressor.flushed = (compressor.put, self.out.stored);
            }
            Form::Compressed(_) => {}
        }
        Ok(())
    }

    /// The length that a reader can see, even after a failure or the end of this process.
    pub(super) fn secured(&self) -> u64 {
        match &self.form {
            Form::Plain => self.out.stored,
            Form::Direct(tail) => self.out.stored.max(tail.flushed),
            Form::Compressed(compressor) => compressor.flushed.0,
        }
    }

    /// Bytes written to the kernel.
    pub(super) fn stored(&self) -> u64 {
        if let Form::Direct(_) = self.form { self.secured() } else { self.out.stored }
    }

    /// After a failure: cuts the file at `length`, which is up to [`Sink::secured`]. Returns the new length; `None` if the medium
    /// cannot be cut. A compressed file is cut at the last flush: readers get all secured data there, and records end there.
    pub(super) fn salvage(&mut self, length: u64) -> io::Result<Option<u64>> {
        let Form::Compressed(compressor) = &self.form else {
            return Ok(self.out.medium.cut(length)?.then_some(length));
        };
        let (_, stored) = compressor.flushed;
        if !self.out.medium.cut(stored)? {
            return Ok(None);
        }
        if stored == 0 || compressor.is_finished {
            return Ok(Some(stored));
        }
        self.out.medium.put_at(&LAST_BLOCK, stored)?;
        Ok(Some(stored + LAST_BLOCK.len() as u64))
    }

    /// Appends the missing end of the file.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Form::Compressed(compressor) = &mut self.form {
            compressor.encoder.do_finish()?;
            compressor.drain(&mut self.out)?;
            (compressor.flushed, compressor.is_finished) = ((compressor.put, self.out.stored), true);
        }
        self.flush()
    }
}

impl Compressor {
    /// Writes what it has compressed.
    fn drain(&mut self, out: &mut Out) -> io::Result<()> {
        out.put_all(&mut [IoSlice::new(self.encoder.get_ref())])?;
        self.encoder.get_mut().clear();
        Ok(())
    }
}

impl Tail {
    fn put(&mut self, mut bytes: &[u8], out: &mut Out) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(ALIGNMENT - self.length));
            self.block[self.length..][..now.len()].copy_from_slice(now);
            self.length += now.len();
            if self.length == ALIGNMENT {
                out.put_all(&mut [IoSlice::new(&self.block)])?;
                self.length = 0;
            }
            bytes = later;
        }
        Ok(())
    }

    /// Whether each buffer begins at the offset in a block where the one before ends.
    fn fit(&self, buffers: &[Buffer]) -> bool {
        let mut at = self.length;
        buffers.iter().all(|buffer| {
            let fits = buffer.start() == at;
            at = buffer.up_to_end().len() % ALIGNMENT;
            fits
        })
    }

    /// Completes the block before each buffer's records, writes whole blocks, and keeps the incomplete rest.
    fn put_blocks(&mut self, buffers: &mut [Buffer], out: &mut Out) -> io::Result<()> {
        fn divided(buffer: &Buffer) -> (&[u8], &[u8]) {
            let bytes = buffer.up_to_end();
            bytes.split_at(bytes.len() / ALIGNMENT * ALIGNMENT)
        }
        for buffer in &mut *buffers {
            buffer.lead().copy_from_slice(&self.block[..self.length]);
            let (_, rest) = divided(buffer);
            self.block[..rest.len()].copy_from_slice(rest);
            self.length = rest.len();
        }
        let mut parts: Vec<_> = buffers.iter().map(|buffer| IoSlice::new(divided(buffer).0)).collect();
        out.put_all(&mut parts)
    }
}

/// A medium, and the bytes that it accepted.
#[derive(Debug)]
struct Out {
    medium: Box<dyn Medium>,
    stored: u64,
}

impl Out {
    /// Appends all parts. Repeats writes that a signal or a full pipe interrupted.
    fn put_all(&mut self, mut parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        IoSlice::advance_slices(&mut parts, 0);
        while !parts.is_empty() {
            match self.medium.write_vectored(parts) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => {
                    self.stored += written as u64;
                    IoSlice::advance_slices(&mut parts, written);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.medium.wait()?,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}
