//! What a method tells beside a frame's octets: what a program that runs here can ask for.

use capbench_sys::host::ethtool::{Offload, offload};
use capbench_sys::host::interface::InterfaceIndex;

use crate::running::Running;
use capbench_model::filter::operation::Ancillary;

/// Where VLAN tags are when a method gives a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// The outermost is taken out of the octets and told beside them, by [`crate::Frame::vlan`].
    Beside,
    /// All of them are among the octets: nothing takes any out in front of the method.
    InFrames,
    /// One may be taken out, and nobody tells. Programs that ask for it are refused.
    Unknown,
}

impl Tags {
    /// Where they are for an open capture on an interface of the calling thread's namespace: told beside frames, where the
    /// capture says so; otherwise among their octets, unless the NIC takes them out (`ethtool -k`: rx-vlan-offload). What the
    /// kernel has no offloads of, such as a device that DPDK has taken from it, takes none out.
    pub fn found(running: &Running, interface: &str) -> Self {
        const ENODEV: i32 = 19;
        const EOPNOTSUPP: i32 = 95;
        if running.vlan_metadata {
            return Self::Beside;
        }
        match offload(interface, Offload::ReceiveVlan) {
            Ok(false) => Self::InFrames,
            Err(error) if matches!(error.errno(), Some(ENODEV | EOPNOTSUPP)) => Self::InFrames,
            Ok(true) | Err(_) => Self::Unknown,
        }
    }
}

/// What is known of a capture's frames beside their octets. What is not, a program cannot ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Beside {
    /// Where their VLAN tags are.
    pub tags: Tags,
    /// Whether the method tells whom a frame is for: [`crate::Frame::packet_type`].
    pub packet_type: bool,
    /// Whether it tells the flow hash: [`crate::Frame::hash`]. A frame without one has 0, as in the kernel.
    pub hash: bool,
    /// The interface's number.
    pub interface: Option<InterfaceIndex>,
    /// The interface's type (`ARPHRD_*` of `linux/if_arp.h`).
    pub hardware_type: Option<u16>,
    /// The one receive queue through which all frames come, as the kernel numbers it for filters: from 1.
    pub queue: Option<u32>,
}

impl Beside {
    /// Nothing but where tags are.
    pub fn tags(tags: Tags) -> Self {
        Self { tags, packet_type: false, hash: false, interface: None, hardware_type: None, queue: None }
    }

    /// The answer to a load of ancillary data; `None` where there is none.
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
                    (Tags::Beside, Ancillary::VlanTag) => Some(Answer::VlanTag),
                    (Tags::Beside, Ancillary::VlanTagPresent) => Some(Answer::VlanTagPresent),
                    (Tags::Beside, _) => Some(Answer::VlanProtocol),
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

/// What goes into the accumulator.
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
