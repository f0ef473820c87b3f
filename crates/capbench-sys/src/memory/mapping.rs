//! Memory shared with the kernel, and its heap stand-in for tests.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::os::fd::BorrowedFd;
use std::ptr::{NonNull, null_mut};
use std::sync::Arc;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, mmap_anonymous, munmap};

use crate::error::{Result, SysError, named};

/// A page-aligned region that two sides read and write. It hands out raw pointers only: no reference to it may exist
/// except to parts that user space owns, and that is the business of the ring types built on it.
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

// SAFETY: a `Mapping` is an address range without thread affinity. It gives out raw pointers; whoever makes references
// from them must hold the ownership that the ring protocol grants.
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
    pub(super) fn of_zeroes(length: usize, what: &str) -> Result<Self> {
        Self::map(length, MapFlags::PRIVATE, None, what)
    }

    /// Zeroed memory of whole pages, all of them present, to be registered with the kernel (an AF_XDP UMEM).
    pub(crate) fn of_pages(length: usize, what: &str) -> Result<Self> {
        let map = Self::map(length, MapFlags::PRIVATE | MapFlags::POPULATE, None, what)?;
        // Without this a fork would make the pages copy-on-write, and this process could end up with other pages than
        // those that the kernel holds (before Linux 5.12).
        // SAFETY: madvise(2) on a mapping of our own; MADV_DONTFORK changes nothing in this process.
        let advised = unsafe { madvise(map.base.as_ptr().cast(), length, Advice::LinuxDontFork) };
        named(advised, || format!("madvise(MADV_DONTFORK) of {what}"))?;
        Ok(map)
    }

    /// Zeroed memory that is present, too, of huge pages where the kernel has some to give (`MADV_HUGEPAGE` of madvise(2)): fewer
    /// translations for whoever fills it, and fewer pages to pin for direct I/O from it. Not for memory that the kernel
    /// holds for longer than a call: a fork makes it copy-on-write.
    pub(crate) fn of_huge_pages(length: usize, what: &str) -> Result<Self> {
        let map = Self::of_zeroes(length, what)?;
        let advise = |advice: Advice| {
            // SAFETY: madvise(2) on a mapping of our own; neither advice changes what is in it.
            let advised = unsafe { madvise(map.base.as_ptr().cast(), length, advice) };
            named(advised, || format!("madvise({}) of {what}", advice as u32))
        };
        if advise(Advice::LinuxHugepage).is_err() {
            // A kernel without them.
            return Self::of_pages(length, what);
        }
        match advise(Advice::LinuxPopulateWrite) {
            Ok(()) => Ok(map),
            // Before Linux 5.14 there is no such advice.
            Err(error) if error.errno() == Some(libc::EINVAL) => {
                for offset in (0..length).step_by(4096) {
                    // SAFETY: the byte lies in the mapping, which nobody else has a pointer into yet.
                    unsafe { map.base.as_ptr().add(offset).write_volatile(0) };
                }
                Ok(map)
            }
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

    /// Bytes in the region.
    pub(crate) fn length(&self) -> usize {
        self.length
    }

    /// The address of `bytes` bytes at `offset`, or `None` when they do not lie inside the region.
    #[inline]
    pub(crate) fn at(&self, offset: usize, bytes: usize) -> Option<*mut u8> {
        if offset.checked_add(bytes)? > self.length {
            return None;
        }
        // SAFETY: the offset lies inside the region (or one past its end when `bytes` is 0).
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

#[cfg(test)]
mod tests {
    use super::Mapping;

    #[test]
    fn addresses_outside_are_refused() {
        let map = Mapping::on_heap(8192).unwrap();
        assert!(map.at(0, 8192).is_some());
        assert!(map.at(8192, 0).is_some());
        assert!(map.at(8191, 2).is_none());
        assert!(map.at(usize::MAX, 2).is_none());
        assert!(Mapping::on_heap(0).is_err());
    }
}
