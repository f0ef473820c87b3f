//! Capture methods from outside. All in one binary: linking one takes less time than linking one for each file.

#[cfg(feature = "bpf")]
mod af_xdp;
mod backends;
#[cfg(feature = "dpdk")]
mod dpdk;
mod fanout;
mod filter;
mod libpcap;
mod libpcap_system;
mod owned;
#[path = "../libpcap/stand_in.rs"]
mod stand_in;
#[allow(dead_code, reason = "other crates need more of it")]
#[path = "../stand_ins/mod.rs"]
mod stand_ins;
mod vendors;
mod wire;
#[cfg(feature = "bpf")]
mod xdp_count;
