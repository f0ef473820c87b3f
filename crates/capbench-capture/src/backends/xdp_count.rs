//! `xdp-count`: an XDP program counts frames on arrival and passes none to user space: the modern form of the in-kernel
//! capture module of `deri-2004`.

use crate::{CapturePoint, Method, SettingInfo};

#[cfg(feature = "bpf")]
mod counting;
#[cfg(feature = "bpf")]
mod marking;

#[cfg(feature = "bpf")]
pub use counting::XdpCount;
/// The feature is off.
#[cfg(not(feature = "bpf"))]
pub type XdpCount = super::absent::Absent;

/// The row of the table.
pub static METHOD: Method = Method {
    name: "xdp-count",
    summary: "frames counted in the kernel by an XDP program, per CPU; no frame is returned",
    privilege: "CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW",
    options: &["--no-promiscuous", "--direction"],
    settings: &[
        SettingInfo::flag(
            "generic",
            "the stack runs the program instead of the driver; any interface will do",
        ),
        SettingInfo::flag("pass", "all frames go on to the stack; otherwise those of the trial end here"),
        SettingInfo::valued(
            "record",
            "SIZE",
            "memory to know repeated frames by, one bit per sequence number [16MiB]",
        ),
    ],
    variants: &["xdp-count+generic"],
    capture_point: CapturePoint::of_xdp,
    takes_frames: |spec| !spec.has("pass"),
    #[cfg(feature = "bpf")]
    check: counting::check,
    #[cfg(feature = "bpf")]
    supported: |_| counting::supported(),
    #[cfg(not(feature = "bpf"))]
    check: |_, _, _| Ok(()),
    #[cfg(not(feature = "bpf"))]
    supported: |_| Err("built without the feature bpf".into()),
    ..Method::BASE
};
