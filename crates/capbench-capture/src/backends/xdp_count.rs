//! `xdp-count`: an XDP program counts frames on arrival and passes none to user space: the modern form of the in-kernel
//! capture module of `deri-2004`.

use crate::method::{CapturePoint, Method, SettingInfo, VlanTags};
use capbench_model::method_spec::MethodSpec;

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
    summary: "frames counted in the kernel by an XDP program, each CPU for itself; nothing is handed over",
    privilege: "CAP_BPF, CAP_NET_ADMIN, CAP_NET_RAW",
    options: &["--no-promiscuous", "--direction"],
    argument: None,
    settings: &[
        SettingInfo {
            name: "generic",
            value: None,
            optional: false,
            summary: "the stack runs the program instead of the driver; any interface will do",
        },
        SettingInfo {
            name: "pass",
            value: None,
            optional: false,
            summary: "all frames go on to the stack; otherwise those of the trial end here",
        },
        SettingInfo {
            name: "record",
            value: Some("SIZE"),
            optional: false,
            summary: "memory to know repeated frames by, one bit per sequence number [16MiB]",
        },
    ],
    fanout: false,
    variants: &["xdp-count+generic"],
    socket_filter: false,
    in_default: false,
    untested: None,
    capture_point,
    takes_frames: |spec| !spec.has("pass"),
    has_queues: false,
    vlan_tags: VlanTags::Unknown,
    #[cfg(feature = "bpf")]
    check: counting::check,
    #[cfg(feature = "bpf")]
    supported: |_| counting::supported(),
    #[cfg(not(feature = "bpf"))]
    check: |_, _, _| Ok(()),
    #[cfg(not(feature = "bpf"))]
    supported: |_| Err("built without the feature bpf".into()),
};

fn capture_point(spec: &MethodSpec) -> CapturePoint {
    if spec.has("generic") { CapturePoint::Stack } else { CapturePoint::Driver }
}
