//! Pieces of page-aligned, prefaulted memory, for buffers from which files are written.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use super::Mapping;
use crate::{Result, SysError};

/// Alignment of pieces, and factor of their lengths, in bytes. It is the smallest page of any architecture, and at least the
/// block size of any disk that supports direct I/O.
pub const ALIGNMENT: usize = 4096;

/// A separate piece of memory. Its bytes are initially zero.
#[derive(Debug)]
pub struct Pages {
    map: Arc<Mapping>,
    offset: usize,
    length: usize,
}

/// `count` pieces of `length` bytes each, from one mapping whose pages are all present: using them allocates nothing and faults
/// no page in. Dropping the last piece unmaps it.
///
/// # Errors
/// A length that is 0 or no multiple of [`ALIGNMENT`]; not enough memory.
pub fn carve(count: usize, length: usize) -> Result<Vec<Pages>> {
    const WHAT: &str = "memory for buffers";
    if length == 0 || !length.is_multiple_of(ALIGNMENT) {
        return Err(SysError::argument(WHAT, format!("{length} bytes are no multiple of {ALIGNMENT}")));
    }
    let total = count
        .checked_mul(length)
        .ok_or_else(|| SysError::argument(WHAT, format!("{count} times {length} bytes")))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let map = Arc::new(Mapping::of_huge_pages(total, WHAT)?);
    Ok((0..count).map(|piece| Pages { map: Arc::clone(&map), offset: piece * length, length }).collect())
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        let start = self.map.at(self.offset, self.length).expect("a piece lies in its mapping");
        // SAFETY: the bytes lie in a live private mapping that `map` keeps, and are initialised, as anonymous memory is
        // zero. `carve` gave each range to one `Pages` only, so that whoever writes them has borrowed this one mutably.
        unsafe { std::slice::from_raw_parts(start, self.length) }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let start = self.map.at(self.offset, self.length).expect("a piece lies in its mapping");
        // SAFETY: as for `deref`; `self` is borrowed mutably, and no other `Pages` has a byte of this range.
        unsafe { std::slice::from_raw_parts_mut(start, self.length) }
    }
}

#[cfg(test)]
mod tests {
    use super::{ALIGNMENT, carve};

    #[test]
    fn pieces_are_aligned_zero_and_apart() {
        let mut pieces = carve(3, 2 * ALIGNMENT).unwrap();
        for (fill, piece) in (1..).zip(&mut pieces) {
            assert!(piece.len() == 2 * ALIGNMENT && piece.iter().all(|byte| *byte == 0));
            assert_eq!(piece.as_ptr() as usize % ALIGNMENT, 0);
            piece.fill(fill);
        }
        let last = pieces.pop().unwrap();
        drop(pieces);
        assert!(last.iter().all(|byte| *byte == 3), "it outlives the others");
    }

    #[test]
    fn sizes_that_cannot_be_are_refused() {
        assert!(carve(1, 0).is_err() && carve(1, ALIGNMENT + 1).is_err());
        assert!(carve(usize::MAX, ALIGNMENT).is_err());
        assert!(carve(0, ALIGNMENT).unwrap().is_empty());
    }
}
