//! A method's metadata of frames: what a program that runs here can load.

use capbench_model::filter::operation::Ancillary;
use capbench_sys::host::ethtool::{Offload, offload};
use capbench_sys::host::interface::InterfaceIndex;

use capbench_model::running::Running;

/// Where the VLAN tags of a method's frames are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// The outermost tag is removed from the octets and reported by [`crate::Frame::vlan`].
    InMetadata,
    /// All tags are in the octets: nothing removes one before the method.
    InFrames,
    /// A tag may be removed without a report. Programs that ask for tags are refused.
    Unknown,
}

impl Tags {
    /// Where the tags are for an open capture on an interface of the calling thread's namespace. In metadata, if the capture
    /// reports so; otherwise in the octets, unless the NIC removes tags (`ethtool -k`: rx-vlan-offload). A device without
    /// kernel offloads, such as one that DPDK controls, removes none.
    pub fn found(running: &Running, interface: &str) -> Self {
        const ENODEV: i32 = 19;
        const EOPNOTSUPP: i32 = 95;
        if running.vlan_metadata {
            return Self::InMetadata;
        }
        match offload(interface, Offload::ReceiveVlan) {
            Ok(false) => Self::InFrames,
            Err(error) if matches!(error.errno(), Some(ENODEV | EOPNOTSUPP)) => Self::InFrames,
            Ok(true) | Err(_) => Self::Unknown,
        }
    }
}

/// The known metadata of a capture's frames. Programs cannot use unknown metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameMetadata {
    /// Where the VLAN tags are.
    pub tags: Tags,
    /// Whether the method reports the addressee of a frame: [`crate::Frame::packet_type`].
    pub packet_type: bool,
    /// Whether it reports the flow hash: [`crate::Frame::hash`]. A frame without one has 0, as in the kernel.
    pub hash: bool,
    /// The interface's number.
    pub interface: Option<InterfaceIndex>,
    /// The interface's type (`ARPHRD_*` of `linux/if_arp.h`).
    pub hardware_type: Option<u16>,
    /// The only receive queue of the frames, as the kernel numbers it for filters: from 1.
    pub queue: Option<u32>,
}

impl FrameMetadata {
    /// No metadata except the place of the tags.
    pub fn tags(tags: Tags) -> Self {
        Self { tags, packet_type: false, hash: false, interface: None, hardware_type: None, queue: None }
    }

    /// The source of a load of ancillary data. `None` if it is unknown.
    pub(super) fn answer(&self, asked: Ancillary) -> Option<Answer> {
        match asked {
            Ancillary::Protocol => Some(Answer::Protocol),
            Ancillary::PacketType => self.packet_type.then_some(Answer::PacketType),
            Ancillary::InterfaceIndex => self.interface.map(|index| Answer::Constant(index.number())),
            Ancillary::Queue => self.queue.map(Answer::Constant),
            Ancillary::HardwareType => self.hardware_type.map(|kind| Answer::Constant(kind.into())),
            Ancillary::Hash => self.hash.then_some(Answer::Hash),
            Ancillary::XorIndex => Some(Answer::XorIndex),
            Ancillary::VlanTag | Ancillary::VlanTagPresent | Ancillary::VlanProtocol => {
                match (self.tags, asked) {
                    (Tags::Unknown, _) => None,
                    (Tags::InFrames, _) => Some(Answer::Constant(0)),
                    (Tags::InMetadata, Ancillary::VlanTag) => Some(Answer::VlanTag),
                    (Tags::InMetadata, Ancillary::VlanTagPresent) => Some(Answer::VlanTagPresent),
                    (Tags::InMetadata, _) => Some(Answer::VlanProtocol),
                }
            }
            Ancillary::NetlinkAttribute
            | Ancillary::NestedNetlinkAttribute
            | Ancillary::Mark
            | Ancillary::Cpu
            | Ancillary::PayloadOffset
            | Ancillary::Random => None,
        }
    }
}

/// The value for the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Constant(u32),
    Protocol,
    PacketType,
    Hash,
    XorIndex,
    VlanTag,
    VlanTagPresent,
    VlanProtocol,
}
