//! One file per capture method.

pub mod absent;
pub mod af_xdp;
pub mod dpdk;
mod frame_slots;
pub mod libpcap;
pub mod nfb;
pub mod packet_v1;
pub mod packet_v2;
pub mod packet_v3;
pub mod pf_ring;
mod presence;
pub mod recv;
pub mod recvmmsg;
mod socket_setup;
pub mod szedata2;
mod vendor;
pub mod xdp_count;
