//! Filters against programs that were not written here: the kernel's filter, and tcpdump.

mod expressions;
mod frames;
mod kernel;
mod on_interfaces;
mod programs;
mod refusals;
