//! BPF programs on interfaces and tracepoints: bpf(2), `linux/bpf.h`, and rtnetlink(7) for attached programs.
//!
//! | file | what |
//! |---|---|
//! | [`xdp_link`] | attaches a program as long as a descriptor is open |
//! | [`attached`] | which program an interface has, and how it is attached |
//! | [`live_frames`] | sends frames with a program |
//! | `object` | loads programs with libbpf (feature `bpf`) |
//! | `statistics` | run times of programs (feature `bpf`) |
//! | `call` | bpf(2) itself |
//!
//! This module avoids libbpf where libbpf is not safe: it cannot select how a link is attached.

pub mod attached;
mod call;
pub mod live_frames;
#[cfg(feature = "bpf")]
pub mod object;
#[cfg(feature = "bpf")]
pub mod statistics;
pub mod xdp_link;

pub use attached::{Attached, LinkState, XdpAttachment, attached_to, link_state};
pub(crate) use call::pinned;
pub use live_frames::LiveFrames;
pub use xdp_link::{XdpLink, XdpMode};
