//! BPF programs on interfaces and tracepoints: bpf(2), `linux/bpf.h`, and rtnetlink(7) for what is attached.
//!
//! | file | what |
//! |---|---|
//! | [`xdp_link`] | attaches a program for as long as a descriptor is open |
//! | [`attached`] | which program an interface has, and how it is attached |
//! | [`live_frames`] | sends frames by a program |
//! | `object` | loads programs by libbpf (feature `bpf`) |
//! | `statistics` | how long programs run (feature `bpf`) |
//! | `kernel_types` | the running kernel's own types: BTF (feature `bpf`) |
//! | `call` | bpf(2) itself |
//!
//! What libbpf cannot do safely is done without it: it has no way to say how a link is to be attached.

pub mod attached;
mod call;
#[cfg(feature = "bpf")]
pub mod kernel_types;
pub mod live_frames;
#[cfg(feature = "bpf")]
pub mod object;
#[cfg(feature = "bpf")]
pub mod statistics;
pub mod xdp_link;

pub use attached::{Attached, AttachedMode, LinkState, attached_to, link_state};
pub use live_frames::LiveFrames;
pub use xdp_link::{XdpLink, XdpMode};
