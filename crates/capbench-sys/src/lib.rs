//! The only crate of capbench with `unsafe`: memory shared with the kernel and system calls, behind safe types.
//!
//! [`packet`] holds AF_PACKET sockets and their rings, [`xdp`] AF_XDP sockets and theirs, [`bpf`] XDP programs on
//! interfaces, [`host`] the calls about threads, CPUs, namespaces and interfaces, [`memory`] memory by whole pages,
//! [`library`] libraries that are opened at run time, [`pcap`] libpcap's, and `dpdk`, with the feature of that name, DPDK's.
//! A vendor's library has a module of its name. Everything that other crates call is safe to call.

pub mod bpf;
pub mod busy_poll;
#[cfg(feature = "dpdk")]
pub mod dpdk;
mod error;
mod fetch;
pub mod host;
pub mod library;
mod library_call;
pub mod memory;
pub mod nfb;
pub mod packet;
pub mod pcap;
pub mod pf_ring;
mod socket_option;
pub mod szedata2;
pub mod xdp;

pub use error::{Result, SysError};
pub use fetch::Fetch;
