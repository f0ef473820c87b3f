//! The only crate of capbench with `unsafe`: memory shared with the kernel and system calls, behind safe types.
//!
//! [`packet`] holds AF_PACKET sockets and their rings, [`host`] the calls about threads, CPUs, namespaces and
//! interfaces. Everything that this crate exports is safe to call.

mod error;
pub mod host;
pub mod packet;

pub use error::{Result, SysError};
