//! Page-aligned memory: shared with the kernel, before a guard page, or in pieces for writing files.

mod guarded;
mod mapping;
pub mod pages;

pub(crate) use guarded::GuardedMemory;
pub(crate) use mapping::Mapping;

/// Bytes in a page of this machine (sysconf(3)).
pub fn page_size() -> u32 {
    // SAFETY: sysconf reads a constant of the system.
    let size = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
    u32::try_from(size).unwrap_or(4096)
}
