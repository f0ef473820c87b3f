//! A buffer of encoded records on its way to a file.

use std::ops::{Deref, DerefMut};

use capbench_sys::memory::Pages;
use capbench_sys::packet::Block;

/// Origin of a packet in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The interface, numbered from 0.
    pub interface: u32,
    /// Its timestamp, in ns since 1970-01-01 UTC.
    pub time_ns: u64,
}

/// A change of files: the end of one and the beginning of the next.
#[derive(Debug)]
pub(super) struct Cut {
    /// The last bytes of the previous file.
    pub(super) trailer: Vec<u8>,
    /// The first bytes of the new file.
    pub(super) header: Vec<u8>,
    /// The second in which it begins, since 1970-01-01 UTC.
    pub(super) second: i64,
    /// Its number among the files of its name.
    pub(super) number: u64,
}

#[derive(Debug)]
enum Memory {
    Pool(Pages),
    /// A ring block as the kernel filled it: dropping it returns it to the ring.
    Ring(Block),
}

impl Deref for Memory {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Pool(pages) => pages,
            Self::Ring(block) => block.octets(),
        }
    }
}

impl DerefMut for Memory {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Pool(pages) => pages,
            Self::Ring(block) => block.octets_mut(),
        }
    }
}

/// A buffer of whole records. A file can end between any two buffers.
#[derive(Debug)]
pub(super) struct Buffer {
    memory: Memory,
    /// Offset of the records in the first block of the memory. The bytes before it are for the end of the previous buffer.
    start: usize,
    end: usize,
    packets_of: Box<[u64]>,
    /// The change of files before this buffer, if it is the first of a file.
    pub(super) cut: Option<Cut>,
    /// The last bytes of its file, if the file ends after it and no other file begins yet.
    pub(super) trailer: Option<Vec<u8>>,
    /// Whether to flush it to readers of the file at once.
    pub(super) flush: bool,
}

impl Buffer {
    pub(super) fn new(memory: Pages, interfaces: usize) -> Self {
        Self::of(Memory::Pool(memory), 0, interfaces)
    }

    /// A ring block. Its first `length` octets are one record with frames of interface 0 of `interfaces`.
    pub(super) fn of_block(block: Block, length: usize, interfaces: usize) -> Self {
        let packets = block.len() as u64;
        let mut buffer = Self::of(Memory::Ring(block), length, interfaces);
        buffer.packets_of[0] = packets;
        buffer
    }

    fn of(memory: Memory, end: usize, interfaces: usize) -> Self {
        let packets_of = vec![0; interfaces].into();
        Self { memory, start: 0, end, packets_of, cut: None, trailer: None, flush: false }
    }

    /// Bytes of memory that it occupies.
    pub(super) fn footprint(&self) -> usize {
        self.memory.len()
    }

    /// Whether its memory belongs to the pool.
    pub(super) fn is_of_pool(&self) -> bool {
        matches!(self.memory, Memory::Pool(_))
    }

    /// Empties it. Its records will begin at `start`, so that aligned writes can continue a file that ends at this offset of a
    /// block.
    pub(super) fn clear(&mut self, start: usize) {
        (self.start, self.end) = (start, start);
        (self.cut, self.trailer, self.flush) = (None, None, false);
        self.packets_of.fill(0);
    }

    #[inline]
    pub(super) fn spare(&mut self) -> &mut [u8] {
        &mut self.memory[self.end..]
    }

    #[inline]
    pub(super) fn spare_length(&self) -> usize {
        self.memory.len() - self.end
    }

    /// Counts a record in the first bytes of the free memory.
    #[inline(always)]
    pub(super) fn commit(&mut self, length: usize) {
        debug_assert!(length <= self.spare_length());
        self.end = self.memory.len().min(self.end + length);
    }

    /// As [`Self::commit`], for a packet.
    #[inline(always)]
    pub(super) fn commit_packet(&mut self, length: usize, origin: Origin) {
        self.commit(length);
        self.packets_of[origin.interface as usize] += 1;
    }

    pub(super) fn records(&self) -> &[u8] {
        &self.memory[self.start..self.end]
    }

    pub(super) fn length(&self) -> usize {
        self.end - self.start
    }

    /// Offset of its records in the first block.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// The memory from the start of the first block to the end of the records, including the bytes before the records.
    pub(super) fn up_to_end(&self) -> &[u8] {
        &self.memory[..self.end]
    }

    /// The bytes before the records.
    pub(super) fn lead(&mut self) -> &mut [u8] {
        &mut self.memory[..self.start]
    }

    pub(super) fn packets_of(&self) -> &[u64] {
        &self.packets_of
    }
}

#[cfg(test)]
mod tests {
    use super::{Buffer, Origin};
    use capbench_sys::memory::{ALIGNMENT, carve};

    #[test]
    fn its_occupancy_is_known() {
        let mut buffer = Buffer::new(carve(1, ALIGNMENT).unwrap().remove(0), 2);
        buffer.clear(100);
        assert_eq!((buffer.start(), buffer.spare_length()), (100, ALIGNMENT - 100));
        for interface in [1, 0, 1] {
            buffer.spare()[..4].copy_from_slice(&[7; 4]);
            buffer.commit_packet(4, Origin { interface, time_ns: 0 });
        }
        buffer.commit(2);
        assert_eq!(buffer.packets_of(), [1, 2]);
        assert_eq!((buffer.length(), buffer.up_to_end().len()), (14, 114));
        buffer.clear(0);
        assert_eq!((buffer.length(), buffer.packets_of()), (0, &[0, 0][..]));
    }
}
