//! Recordings as a whole: into memory that plays the kernel, and into files by processes that end badly.

mod closing;
pub(super) mod fake;
mod memory;
mod processes;
mod rotating;
mod stage;
mod tcpdump;
