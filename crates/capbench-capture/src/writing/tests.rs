//! Recordings as a whole: into memory that plays the kernel, and into files by processes that end badly.

mod memory;
mod processes;
mod rotating;
mod stage;
mod tcpdump;
