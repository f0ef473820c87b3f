//! Reads files compressed with Zstandard, as `record --zstd` writes them.

use std::cell::Cell;
use std::fmt;
use std::io::{self, Cursor, ErrorKind, Read};
use std::rc::Rc;

/// Magic number of a Zstandard frame (RFC 8878, section 3.1.1), little-endian.
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// A file, decompressed if it begins with a Zstandard frame. The file name does not matter. Memory is bounded: the decoder
/// refuses windows of more than 128 MiB.
pub struct Decompressed {
    octets: Box<dyn Read>,
    compressed: Option<Rc<Cell<u64>>>,
}

impl Decompressed {
    /// Reads the first octets of the file.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn new(mut source: impl Read + 'static) -> io::Result<Self> {
        let (mut head, mut there) = ([0; 4], 0);
        while there < head.len() {
            match source.read(&mut head[there..]) {
                Ok(0) => break,
                Ok(octets) => there += octets,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let whole = Cursor::new(head).take(there as u64).chain(source);
        if head != MAGIC {
            return Ok(Self { octets: Box::new(whole), compressed: None });
        }
        let read = Rc::new(Cell::new(0));
        let counted = Counted { source: whole, read: Rc::clone(&read) };
        Ok(Self { octets: Box::new(zstd::Decoder::new(counted)?), compressed: Some(read) })
    }

    /// Compressed octets read so far; `None` for a file that is not compressed.
    pub fn compressed(&self) -> Option<Rc<Cell<u64>>> {
        self.compressed.clone()
    }
}

impl Read for Decompressed {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        self.octets.read(to)
    }
}

impl fmt::Debug for Decompressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Decompressed").field("compressed", &self.compressed).finish_non_exhaustive()
    }
}

/// Counts the octets read.
struct Counted<R> {
    source: R,
    read: Rc<Cell<u64>>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let octets = self.source.read(to)?;
        self.read.set(self.read.get() + octets as u64);
        Ok(octets)
    }
}
