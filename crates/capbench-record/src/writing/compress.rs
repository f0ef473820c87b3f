//! Compressed files: one Zstandard frame (RFC 8878) per file.
//!
//! The compressor is flushed after every buffer, so that data before a crash can be decompressed. A flush ends a block, which
//! costs up to a few hundred bytes; blocks end after 128 KiB anyway.

use std::fmt;
use std::io::{self, Write};

use zstd::stream::write::Encoder;

use super::buffer::Buffer;
use super::sink::{Medium, RetryWriter, Sink};

/// An empty last block (RFC 8878, section 3.1.1.2). After a whole block it completes a frame without checksum.
const LAST_BLOCK: [u8; 3] = [1, 0, 0];

/// Compresses data on its way to a medium.
pub(super) struct Compressed<M: Medium> {
    encoder: Encoder<'static, RetryWriter<M>>,
    put: u64,
    /// Bytes before and after compression at the last flush.
    flushed: (u64, u64),
    /// Whether the end of the frame is written.
    is_finished: bool,
}

impl<M: Medium> Compressed<M> {
    /// # Errors
    /// If the library cannot allocate memory.
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

    /// Cuts at the last flush and ignores `length`: readers get all secured data there, and records end there.
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
