//! `af-xdp`: an XDP program redirects frames to AF_XDP sockets, one for each receive queue, before the stack sees them
//! (Documentation/networking/af_xdp.rst).
//!
//! Unlike the AF_PACKET methods it removes frames from the host's stack. With `+pass` each frame goes on to the stack after
//! the application has read it, by one system call per frame. Members of a group share the queues, and have one program.

use capbench_sys::packet::FanoutMode;

use super::socket_setup::SPIN;
use crate::method::Sharing;
use crate::{CapturePoint, Method, SettingInfo};

#[cfg(feature = "bpf")]
mod accounting;
#[cfg(feature = "bpf")]
mod passing;
#[cfg(feature = "bpf")]
mod plan;
#[cfg(feature = "bpf")]
mod polling;
#[cfg(feature = "bpf")]
mod receiving;
#[cfg(feature = "bpf")]
mod redirecting;
#[cfg(feature = "bpf")]
mod refusal;

#[cfg(feature = "bpf")]
pub use receiving::{AfXdp, Received};
/// The feature is off.
#[cfg(not(feature = "bpf"))]
pub type AfXdp = super::absent::Absent;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "af-xdp",
    summary: "AF_XDP: frames redirected by an XDP program into memory of the application; takes them from the host",
    privilege: "CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF",
    options: &["--ring", "--frame", "--snaplen", "--no-promiscuous", "--spin", "--direction"],
    settings: &[
        SettingInfo::flag("native", "the driver runs the XDP program; this is the default"),
        SettingInfo::flag("generic", "the stack runs the XDP program; any interface will do"),
        SettingInfo::flag("copy", "the kernel copies frames, though the driver may have zero-copy"),
        SettingInfo::flag(
            "zero-copy",
            "the NIC writes frames to the application's memory, or the method is refused",
        ),
        SettingInfo::flag("need-wakeup", "the driver may sleep until woken; this is the default"),
        SettingInfo::flag("no-need-wakeup", "the driver looks for buffers all the time"),
        SettingInfo::optional(
            "busy-poll",
            "TIME",
            "the driver's work is done in the application's thread, at most so long at once [50us]",
        ),
        SPIN,
        SettingInfo::valued("queue", "N", "this receive queue only, the first is 0; otherwise all of them"),
        SettingInfo::flag(
            "pass",
            "frames go on to the stack after they were seen, each by a system call; native mode only",
        ),
        SettingInfo::valued(
            "fill",
            "N",
            "entries of the fill ring, a power of two [as many as there are buffers]",
        ),
    ],
    variants: &["af-xdp+generic", "af-xdp+busy-poll"],
    in_default: true,
    untested: Some("partly, zero-copy untested on hardware: no such driver was available"),
    capture_point: CapturePoint::of_xdp,
    takes_frames: |spec| !spec.has("pass"),
    has_queues: true,
    fanout: Some(Sharing {
        modes: &[FanoutMode::Queue],
        because: Some("an AF_XDP socket gets the frames of one receive queue, so members share the queues"),
    }),
    #[cfg(feature = "bpf")]
    check: receiving::check,
    #[cfg(feature = "bpf")]
    supported: |_| receiving::supported(),
    #[cfg(not(feature = "bpf"))]
    check: |_, _, _| Ok(()),
    #[cfg(not(feature = "bpf"))]
    supported: |_| Err("built without the feature bpf".into()),
    ..Method::BASE
};
