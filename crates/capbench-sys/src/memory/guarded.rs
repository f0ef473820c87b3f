//! Memory for a kernel answer whose length the kernel decides. It ends at a protected page: an answer longer than expected
//! fails with `EFAULT` instead of overwriting other memory.

use rustix::mm::{MprotectFlags, mprotect};

use super::{Mapping, page_size};
use crate::error::{Result, named};

/// Zeroed octets that end at a guard page.
pub(crate) struct GuardedMemory {
    map: Mapping,
    /// Offset of the first usable octet.
    start: usize,
    length: usize,
}

impl GuardedMemory {
    /// At least `length` octets, aligned to 8.
    pub(crate) fn new(length: usize) -> Result<Self> {
        const WHAT: &str = "memory for an answer of the kernel";
        let page = page_size() as usize;
        let length = length.next_multiple_of(8);
        let usable = length.next_multiple_of(page);
        let map = Mapping::of_zeroes(usable + page, WHAT)?;
        let guard = map.at(usable, page).expect("the mapping has a page more");
        // SAFETY: the last page of the mapping made above, which begins at a multiple of the page size; nothing refers to
        // it.
        let protected = unsafe { mprotect(guard.cast(), page, MprotectFlags::empty()) };
        named(protected, || format!("mprotect of {WHAT}"))?;
        Ok(Self { map, start: usable - length, length })
    }

    /// The octets, for the kernel and for whoever reads its answer.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let first = self.map.at(self.start, self.length).expect("they lie in the mapping");
        // SAFETY: these octets of the mapping are readable, writable, initialised (anonymous memory is zero) and live as long
        // as `self`, which is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(first, self.length) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use super::GuardedMemory;

    #[test]
    fn all_of_it_can_be_used() {
        for length in [1, 8, 12, 4095, 4096, 4097, 1 << 20] {
            let mut memory = GuardedMemory::new(length).unwrap();
            assert!(memory.bytes().len() >= length && memory.bytes().iter().all(|octet| *octet == 0));
            memory.bytes().fill(7);
            assert_eq!(memory.bytes().as_ptr() as usize % 8, 0);
        }
    }

    #[test]
    fn an_answer_that_is_too_long_is_refused_by_the_kernel() {
        let mut memory = GuardedMemory::new(64).unwrap();
        let zero = std::fs::File::open("/proc/self/cmdline").unwrap();
        assert!((&zero).read(memory.bytes()).unwrap() > 0);
        let zero = std::fs::File::open("/dev/zero").unwrap();
        let length = memory.bytes().len();
        // SAFETY: read(2) into memory of ours whose end the length exceeds on purpose: the kernel stops at the guard page.
        let read = unsafe { libc::read(zero.as_raw_fd(), memory.bytes().as_mut_ptr().cast(), length + 8) };
        assert!(read <= length as isize, "{read}");
    }
}
