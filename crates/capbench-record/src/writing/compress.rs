//! Compressed files: one frame of Zstandard (RFC 8878) a file.
//!
//! After every buffer the compressor is flushed, so that what was recorded before a crash can be decompressed. A flush ends
//! a block, which costs at most a few hundred bytes; blocks end after 128 KiB anyway.

use std::fmt;
use std::io::{self, Write};

use zstd::stream::write::Encoder;

use super::buffer::Buffer;
use super::sink::{Medium, RetryWriter, Sink};

/// A last block without contents (RFC 8878, section 3.1.1.2): with it behind a whole block, a frame without checksum is whole.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// Compresses on its way to a medium.
pub(super) struct Compressed<M: Medium> {
    encoder: Encoder<'static, RetryWriter<M>>,
    put: u64,
    /// Bytes before and after compression up to the last flush.
    flushed: (u64, u64),
    /// Whether the frame has its end.
    is_finished: bool,
}

impl<M: Medium> Compressed<M> {
    /// # Errors
    /// When the library has no memory.
    pub(super) fn new(medium: M, level: i32) -> io::Result<Self> {
        let encoder = Encoder::new(RetryWriter::new(medium), level)?;
        Ok(Self { encoder, put: 0, flushed: (0, 0), is_finished: false })
    }
}

impl<M: Medium> fmt::Debug for Compressed<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compressed").field("to", self.encoder.get_ref()).finish_non_exhaustive()
    }
}

impl<M: Medium> Sink for Compressed<M> {
    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.encoder.write_all(bytes)?;
        self.put += bytes.len() as u64;
        Ok(())
    }

    fn put_buffers(&mut self, buffers: &mut [Buffer]) -> io::Result<()> {
        for buffer in buffers {
            self.put(buffer.records())?;
            self.flush()?;
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.flushed.0 < self.put {
            self.encoder.flush()?;
            self.flushed = (self.put, self.stored());
        }
        Ok(())
    }

    fn secured(&self) -> u64 {
        self.flushed.0
    }

    fn stored(&self) -> u64 {
        self.encoder.get_ref().stored
    }

    /// Ends at the last flush whatever `length` says, where a reader gets all that is secured; records end there.
    fn salvage(&mut self, _length: u64) -> io::Result<Option<u64>> {
        let (_, stored) = self.flushed;
        let out = self.encoder.get_mut();
        if !out.medium.cut(stored)? {
            return Ok(None);
        }
        if stored == 0 || self.is_finished {
            return Ok(Some(stored));
        }
        out.medium.put_at(&LAST_BLOCK, stored)?;
        Ok(Some(stored + LAST_BLOCK.len() as u64))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.encoder.do_finish()?;
        (self.flushed, self.is_finished) = ((self.put, self.stored()), true);
        Ok(())
    }

    fn medium(&mut self) -> &mut dyn Medium {
        &mut self.encoder.get_mut().medium
    }
}
