//! Memory that the kernel writes an answer into whose length it decides itself, up against a page that nobody may touch:
//! an answer longer than expected is refused with `EFAULT` instead of overwriting what lies behind.

use std::ptr::NonNull;

use crate::error::{Result, SysError};

/// Zeroed octets that end at a guard page.
pub(super) struct GuardedMemory {
    map: NonNull<u8>,
    map_length: usize,
    /// Offset of the first usable octet.
    start: usize,
    length: usize,
}

impl GuardedMemory {
    /// At least `length` octets, aligned to 8.
    ///
    /// # Errors
    /// When the system has no memory.
    pub(super) fn new(length: usize) -> Result<Self> {
        let what = || format!("mmap of {length} bytes for an answer of the kernel");
        let page = crate::packet::geometry::page_size() as usize;
        let length = length.next_multiple_of(8);
        let usable = length.next_multiple_of(page);
        let map_length = usable + page;
        // SAFETY: a fresh anonymous mapping at an address of the kernel's choice aliases nothing of ours.
        let map = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                map_length,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if map == libc::MAP_FAILED {
            return Err(SysError::last(what));
        }
        let map = NonNull::new(map.cast::<u8>()).ok_or_else(|| SysError::argument("mmap", "address 0"))?;
        let memory = Self { map, map_length, start: usable - length, length };
        // SAFETY: the last page of the mapping made above, which begins at a multiple of the page size; nothing refers to
        // it.
        let code = unsafe { libc::mprotect(map.as_ptr().add(usable).cast(), page, libc::PROT_NONE) };
        crate::error::check(code, what)?;
        Ok(memory)
    }

    /// The octets, for the kernel and for whoever reads its answer.
    pub(super) fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: `start + length` octets of the mapping are readable, writable, initialised (anonymous memory is zero)
        // and live as long as `self`, which is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.map.as_ptr().add(self.start), self.length) }
    }
}

impl Drop for GuardedMemory {
    fn drop(&mut self) {
        // SAFETY: the whole mapping that `new` made; no reference into it outlives `self`.
        unsafe { libc::munmap(self.map.as_ptr().cast(), self.map_length) };
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
