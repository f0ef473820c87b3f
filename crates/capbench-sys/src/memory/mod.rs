//! Memory by whole pages: shared with the kernel, up against a guard page, or in pieces that files are written from.

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
