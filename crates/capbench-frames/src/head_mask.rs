//! The octets of the head that are equal in all frames of a layout.

use crate::head::{HEAD_ROOM, Head};
use crate::layout::{ETHERNET_OCTETS, STREAM_AT, TAG_OCTETS};
use crate::{Flow, FrameLayout, Network, Transport};

/// The octets of a head that do not vary with size, flow, stream and stamp.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeadMask {
    /// The head. Octets where `mask` is 0 are arbitrary.
    pub expected: [u8; HEAD_ROOM],
    /// 0xff where the octet is equal in all frames, else 0.
    pub mask: [u8; HEAD_ROOM],
    /// Offset of the end of the transport header.
    pub head_end: usize,
    /// Offset of the stamp's first eight octets: trial, stream and sequence number.
    pub stamp_at: usize,
}

impl HeadMask {
    /// The mask for the frames of a layout, with their tag in the frame. `head` is that of any flow.
    pub fn new(layout: &FrameLayout, head: &Head) -> Self {
        let network_at = layout.network_at();
        let transport_at = network_at + layout.network_octets();
        let (header_octets, stamp_at) = match layout.transport {
            Transport::Udp => (8, transport_at + 8),
            Transport::Tcp => (20, transport_at + 4),
        };
        let head_end = transport_at + header_octets;
        let mut mask = [0; HEAD_ROOM];
        mask[..head_end].fill(0xff);
        let mut varies = |at: usize, octets: usize| mask[at..at + octets].fill(0);
        varies(STREAM_AT, 1);
        // Length, checksum if there is one, and the part of the source address that distinguishes flows.
        match layout.network {
            Network::V4 => [2, 10, 14].iter().for_each(|at| varies(network_at + at, 2)),
            Network::V6 => [4, 22].iter().for_each(|at| varies(network_at + at, 2)),
        }
        // Source port, then length and checksum; or stamp, checksum and the next part of the stamp.
        varies(transport_at, 2);
        match layout.transport {
            Transport::Udp => varies(transport_at + 4, 4),
            Transport::Tcp => {
                varies(transport_at + 4, 8);
                varies(transport_at + 16, 4);
            }
        }
        Self { expected: head.octets, mask, head_end, stamp_at }
    }

    /// The same for frames whose tag was removed.
    pub fn without_tag(mut self, layout: &FrameLayout) -> Self {
        if layout.vlan.is_some() {
            let tag_at = ETHERNET_OCTETS - 2;
            for octets in [&mut self.expected, &mut self.mask] {
                octets.copy_within(tag_at + TAG_OCTETS.., tag_at);
                octets[HEAD_ROOM - TAG_OCTETS..].fill(0);
            }
            self.head_end -= TAG_OCTETS;
            self.stamp_at -= TAG_OCTETS;
        }
        self
    }
}

/// How a method that cannot verify frames recognises those of a layout: by the octets that are equal in all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownOctets {
    /// Offset from the destination address, with the tag in the frame, and value; in ascending order.
    pub octets: Vec<(u16, u8)>,
    /// Offset of the eight octets that number a frame, big-endian: trial (16 bits), stream (8), sequence number (40).
    pub stamp_at: u16,
}

impl FrameLayout {
    /// The octets that are equal in all its frames.
    pub fn known_octets(&self) -> KnownOctets {
        let HeadMask { expected, mask, stamp_at, .. } = HeadMask::new(self, &Head::new(self, Flow::FIRST));
        let known = (0_u16..).zip(expected.iter().zip(&mask)).filter(|(_, (_, mask))| **mask != 0);
        KnownOctets {
            octets: known.map(|(at, (value, _))| (at, *value)).collect(),
            stamp_at: stamp_at as u16,
        }
    }
}
