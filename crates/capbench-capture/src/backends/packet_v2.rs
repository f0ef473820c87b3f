//! `packet-v2`: TPACKET_V2, a ring of equal slots, one frame each.

use capbench_sys::packet::{FrameVersion, Version};

use super::frame_slots::{self, FrameSlots, Slotted};
use super::socket_setup::{SOCKET_SETTINGS, probe};
use crate::method::{CapturePoint, Method, VlanTags};

/// The row of the table.
pub static METHOD: Method = Method {
    name: "packet-v2",
    summary: "TPACKET_V2: ring of slots, nanosecond stamps, VLAN tag as metadata",
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
    vlan_tags: VlanTags::Reported,
    check: frame_slots::check,
    supported: |_| probe(Some(Version::V2)),
};

/// A TPACKET_V2 receive ring.
pub type PacketV2 = FrameSlots<V2>;

/// The version of its headers.
#[derive(Debug)]
pub enum V2 {}

impl Slotted for V2 {
    const NAME: &'static str = METHOD.name;
    const VERSION: FrameVersion = FrameVersion::V2;
}
