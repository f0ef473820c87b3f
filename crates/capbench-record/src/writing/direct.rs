//! Files written without the page cache (`O_DIRECT`): no copy, and no later writeback by a kernel thread.
//!
//! Memory, lengths and offsets of such writes are multiples of a block. A buffer's records begin at the file's current offset in
//! a block. The bytes of an incomplete block move before the records of the next buffer.

use std::io::{self, IoSlice};

use capbench_sys::memory::{ALIGNMENT, Pages, carve};

use super::buffer::Buffer;
use super::sink::{MOST_PARTS, Medium, RetryWriter, Sink};

/// Whole blocks, and the last incomplete block.
#[derive(Debug)]
pub(super) struct Direct<M> {
    /// Stores whole blocks only.
    out: RetryWriter<M>,
    tail: Pages,
    tail_length: usize,
    /// The length of the file when its tail was last written.
    flushed: u64,
}

impl<M: Medium> Direct<M> {
    /// # Errors
    /// If there is no memory.
    pub(super) fn new(medium: M) -> io::Result<Self> {
        let mut tail = carve(1, ALIGNMENT).map_err(io::Error::other)?;
        Ok(Self { out: RetryWriter::new(medium), tail: tail.remove(0), tail_length: 0, flushed: 0 })
    }

    /// Whether each buffer begins at the offset in a block where the one before ends.
    fn fit(&self, buffers: &[Buffer]) -> bool {
        let mut at = self.tail_length;
        buffers.iter().all(|buffer| {
            let fits = buffer.start() == at;
            at = buffer.up_to_end().len() % ALIGNMENT;
            fits
        })
    }

    /// Completes the block before each buffer's records, writes whole blocks, and keeps the incomplete rest.
    fn put_blocks(&mut self, buffers: &mut [Buffer]) -> io::Result<()> {
        for buffer in &mut *buffers {
            buffer.lead().copy_from_slice(&self.tail[..self.tail_length]);
            let rest = remainder(buffer);
            self.tail[..rest.len()].copy_from_slice(rest);
            self.tail_length = rest.len();
        }
        let mut parts: Vec<_> = buffers.iter().map(|buffer| IoSlice::new(blocks(buffer))).collect();
        self.out.put_all(&mut parts)
    }
}

/// The whole blocks of a buffer.
fn blocks(buffer: &Buffer) -> &[u8] {
    let bytes = buffer.up_to_end();
    &bytes[..bytes.len() / ALIGNMENT * ALIGNMENT]
}

/// The bytes after them.
fn remainder(buffer: &Buffer) -> &[u8] {
    let bytes = buffer.up_to_end();
    &bytes[bytes.len() / ALIGNMENT * ALIGNMENT..]
}

impl<M: Medium> Sink for Direct<M> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(ALIGNMENT - self.tail_length));
            self.tail[self.tail_length..][..now.len()].copy_from_slice(now);
            self.tail_length += now.len();
            if self.tail_length == ALIGNMENT {
                self.out.put_all(&mut [IoSlice::new(&self.tail)])?;
                self.tail_length = 0;
            }
            bytes = later;
        }
        Ok(())
    }

    fn put_buffers(&mut self, buffers: &mut [Buffer]) -> io::Result<()> {
        for buffers in buffers.chunks_mut(MOST_PARTS) {
            if self.fit(buffers) {
                self.put_blocks(buffers)?;
            } else {
                buffers.iter().try_for_each(|buffer| self.put(buffer.records()))?;
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let length = self.out.stored + self.tail_length as u64;
        if self.secured() == length {
            return Ok(());
        }
        self.out.medium.put_at(&self.tail[..self.tail_length], self.out.stored)?;
        self.flushed = length;
        Ok(())
    }

    fn secured(&self) -> u64 {
        self.out.stored.max(self.flushed)
    }

    fn stored(&self) -> u64 {
        self.secured()
    }

    fn salvage(&mut self, length: u64) -> io::Result<Option<u64>> {
        Ok(self.out.medium.cut(length)?.then_some(length))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.flush()
    }

    fn medium(&mut self) -> &mut dyn Medium {
        &mut self.out.medium
    }
}
