//! The only crate of capbench with `unsafe`: kernel-shared memory and system calls behind safe types.
//!
//! [`packet`] has AF_PACKET sockets and their rings, [`xdp`] AF_XDP sockets and theirs. [`bpf`] has XDP programs on interfaces,
//! [`host`] calls for threads, CPUs, namespaces and interfaces, [`memory`] page-aligned memory. With the feature
//! `libraries`, `library` opens libraries at run time: libpcap in `pcap`, a vendor's in the module of its name. With the
//! feature `dpdk`, the module `dpdk` calls DPDK. Every function for other crates is safe to call.

pub mod bpf;
pub mod busy_poll;
pub mod dpdk;
mod error;
#[cfg(all(feature = "libraries", any(test, fuzzing)))]
pub mod fuzzing;
pub mod host;
#[cfg(feature = "libraries")]
mod library;
#[cfg(feature = "libraries")]
mod library_call;
pub mod memory;
mod netlink;
#[cfg(feature = "libraries")]
pub mod nfb;
pub mod packet;
#[cfg(feature = "libraries")]
pub mod pcap;
pub mod pf_ring;
mod socket_option;
#[cfg(feature = "libraries")]
pub mod szedata2;
pub mod tcp;
pub mod xdp;

pub use error::{Result, SysError};
#[cfg(feature = "libraries")]
pub use library_call::Fetch;
