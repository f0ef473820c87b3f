//! One file per capture method.

pub mod absent;
#[cfg(any(feature = "bpf", feature = "dpdk"))]
mod addressee;
pub mod af_xdp;
pub mod dpdk;
mod fanout_program;
pub mod frame_slots;
pub mod libpcap;
pub mod nfb;
pub mod packet_v3;
pub mod pf_ring;
mod presence;
#[cfg(any(feature = "bpf", feature = "dpdk"))]
mod queue_shares;
pub mod recv;
mod socket_setup;
pub mod szedata2;
mod vendor;
pub mod xdp_count;
#[cfg(any(feature = "bpf", feature = "dpdk"))]
mod xdp_socket_losses;
