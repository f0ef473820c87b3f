//! Page-aligned memory: shared with the kernel (or a heap stand-in for tests), before a guard page, or in pieces for writing files.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ops::{Deref, DerefMut};
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use rustix::mm::{
    Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mmap, mmap_anonymous, mprotect, munmap,
};

use crate::error::{Result, SysError, named};

/// Bytes in a page of this machine (sysconf(3)).
pub fn page_size() -> u32 {
    // SAFETY: sysconf reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u32::try_from(size).unwrap_or(4096)
}

/// A page-aligned region that two sides read and write. It returns raw pointers only. References may exist only to parts
/// that user space owns; the ring types built on it ensure that.
#[derive(Debug)]
pub(crate) struct Mapping {
    base: NonNull<u8>,
    length: usize,
    backing: Backing,
}

#[derive(Debug)]
enum Backing {
    Kernel,
    Heap(Layout),
    /// The same region as another mapping, which it keeps alive.
    View(#[allow(dead_code, reason = "held for its drop")] Arc<Mapping>),
}

// SAFETY: a `Mapping` is an address range without thread affinity. It returns raw pointers; code that makes references
// from them must have the ownership that the ring protocol grants.
unsafe impl Send for Mapping {}
// SAFETY: as for Send; `Mapping` has no method that reads or writes the region.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// Maps `length` bytes of a file, a socket's rings for example (mmap(2), shared, readable and writable). `offset` can name one
    /// ring of several (AF_XDP: `XDP_PGOFF_*` of `linux/if_xdp.h`); `what` says in errors which.
    ///
    /// # Errors
    /// The kernel's reason: `EINVAL` when `length` is not the sum of a packet socket's rings.
    pub(crate) fn of_file(file: BorrowedFd<'_>, length: usize, offset: u64, what: &str) -> Result<Self> {
        Self::map(length, MapFlags::SHARED, Some((file, offset)), what)
    }

    /// Zeroed memory of whole pages, none of which needs to be present yet.
    fn of_zeroes(length: usize, what: &str) -> Result<Self> {
        Self::map(length, MapFlags::PRIVATE, None, what)
    }

    /// Zeroed memory of whole pages, all of them present, to be registered with the kernel (an AF_XDP UMEM).
    pub(crate) fn of_pages(length: usize, what: &str) -> Result<Self> {
        let map = Self::map(length, MapFlags::PRIVATE | MapFlags::POPULATE, None, what)?;
        // Without this a fork would make the pages copy-on-write. Before Linux 5.12 this process could then have pages
        // other than the kernel's.
        // SAFETY: madvise(2) on a mapping of our own; MADV_DONTFORK changes nothing in this process.
        let advised = unsafe { madvise(map.base.as_ptr().cast(), length, Advice::LinuxDontFork) };
        named(advised, || format!("madvise(MADV_DONTFORK) of {what}"))?;
        Ok(map)
    }

    /// Zeroed memory, of huge pages if the kernel has any (`MADV_HUGEPAGE` of madvise(2)): filling it needs fewer faults and
    /// translations, and direct I/O from it pins fewer pages. Not for memory that the kernel keeps for longer than a call: a fork
    /// makes it copy-on-write.
    pub(crate) fn of_huge_pages(length: usize, what: &str) -> Result<Self> {
        let map = Self::of_zeroes(length, what)?;
        // SAFETY: madvise(2) on a mapping of our own; the advice changes nothing that is in it.
        let advised = unsafe { madvise(map.base.as_ptr().cast(), length, Advice::LinuxHugepage) };
        match named(advised, || format!("madvise(MADV_HUGEPAGE) of {what}")) {
            Ok(()) => Ok(map),
            // A kernel without them.
            Err(error) if error.errno() == Some(libc::EINVAL) => Ok(map),
            Err(error) => Err(error),
        }
    }

    fn map(length: usize, flags: MapFlags, file: Option<(BorrowedFd<'_>, u64)>, what: &str) -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a fresh mapping at an address of the kernel's choice aliases nothing of ours.
        let base = unsafe {
            match file {
                Some((file, offset)) => mmap(null_mut(), length, access, flags, file, offset),
                None => mmap_anonymous(null_mut(), length, access, flags),
            }
        };
        let base = named(base, || format!("mmap of {what} of {length} bytes"))?;
        let base = NonNull::new(base.cast()).ok_or_else(|| SysError::argument("mmap", "address 0"))?;
        Ok(Self { base, length, backing: Backing::Kernel })
    }

    /// Zeroed heap memory of the same alignment, so that rings can be tested without a kernel.
    pub(crate) fn on_heap(length: usize) -> Result<Self> {
        let layout = Layout::from_size_align(length, 4096)
            .ok()
            .filter(|layout| layout.size() > 0)
            .ok_or_else(|| SysError::argument("heap mapping", format!("{length} bytes")))?;
        // SAFETY: the layout has a size above zero.
        let base = unsafe { alloc_zeroed(layout) };
        let base = NonNull::new(base).unwrap_or_else(|| handle_alloc_error(layout));
        Ok(Self { base, length, backing: Backing::Heap(layout) })
    }

    /// A second handle to a region, as process and kernel have one each.
    pub(crate) fn view_of(other: Arc<Self>) -> Self {
        Self { base: other.base, length: other.length, backing: Backing::View(other) }
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The address of `bytes` bytes at `offset`, or `None` if they are not inside the region.
    #[inline]
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        if offset.checked_add(bytes)? > self.length {
            return None;
        }
        // SAFETY: the offset is inside the region (or one past its end when `bytes` is 0).
        Some(unsafe { self.base.as_ptr().add(offset) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        match self.backing {
            // SAFETY: base and length are those that mmap returned, and nothing unmaps them before.
            Backing::Kernel => drop(unsafe { munmap(self.base.as_ptr().cast(), self.length) }),
            // SAFETY: base came from `alloc_zeroed` with this layout.
            Backing::Heap(layout) => unsafe { dealloc(self.base.as_ptr(), layout) },
            Backing::View(_) => {}
        }
    }
}

/// Zeroed octets for a kernel answer whose length the kernel decides. They end at a protected page: an answer longer than
/// expected fails with `EFAULT` instead of overwriting other memory.
pub(crate) struct GuardedMemory {
    map: Mapping,
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

    /// The octets, for the kernel's answer and its reader.
    pub(crate) fn bytes(&mut self) -> &mut [u8] {
        let first = self.map.at(self.start, self.length).expect("they are in the mapping");
        // SAFETY: these octets of the mapping are readable, writable, initialised (anonymous memory is zero) and live as long
        // as `self`, which is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(first, self.length) }
    }
}

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

/// `count` pieces of `length` bytes each, from one mapping. The kernel provides a page when it is first used: to zero all of them at
/// once takes longer than to record for a second. Dropping the last piece unmaps it.
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
        let start = self.map.at(self.offset, self.length).expect("a piece is inside its mapping");
        // SAFETY: the bytes are in a live private mapping that `map` keeps, and are initialised, as anonymous memory is
        // zero. `carve` made one `Pages` of each range, so that a writer has borrowed this one mutably.
        unsafe { std::slice::from_raw_parts(start, self.length) }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        let start = self.map.at(self.offset, self.length).expect("a piece is inside its mapping");
        // SAFETY: as for `deref`; `self` is borrowed mutably, and no other `Pages` has a byte of this range.
        unsafe { std::slice::from_raw_parts_mut(start, self.length) }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::fd::AsRawFd;

    use super::*;

    #[test]
    fn addresses_outside_are_refused() {
        let map = Mapping::on_heap(8192).unwrap();
        assert!(map.at(0, 8192).is_some());
        assert!(map.at(8192, 0).is_some());
        assert!(map.at(8191, 2).is_none());
        assert!(map.at(usize::MAX, 2).is_none());
        assert!(Mapping::on_heap(0).is_err());
    }

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
