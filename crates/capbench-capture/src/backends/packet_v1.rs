//! `packet-v1`: TPACKET_V1, the first mmap ring (Linux 2.4). Kept for comparison with published measurements.

use capbench_sys::packet::{FrameVersion, Version};

use super::frame_slots::{self, FrameSlots, Slotted};
use super::socket_setup::{SOCKET_SETTINGS, probe};
use crate::method::{CapturePoint, Method, VlanTags};

/// The row of the table.
pub static METHOD: Method = Method {
    name: "packet-v1",
    summary: "TPACKET_V1: ring of slots, microsecond stamps, no VLAN tag",
    privilege: "CAP_NET_RAW",
    options: &["--ring", "--block", "--frame", "--snaplen", "--no-promiscuous", "--spin", "--direction"],
    argument: None,
    settings: &SOCKET_SETTINGS,
    fanout: true,
    variants: &[],
    socket_filter: true,
    in_default: true,
    untested: None,
    capture_point: CapturePoint::stack,
    takes_frames: |_| false,
    has_queues: false,
    vlan_tags: VlanTags::Removed,
    check: frame_slots::check,
    supported: |_| probe(Some(Version::V1)),
};

/// A TPACKET_V1 receive ring.
pub type PacketV1 = FrameSlots<V1>;

/// The version of its headers.
#[derive(Debug)]
pub enum V1 {}

impl Slotted for V1 {
    const NAME: &'static str = METHOD.name;
    const VERSION: FrameVersion = FrameVersion::V1;
}
