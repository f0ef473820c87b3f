//! What a reader gives.

use capbench_sys::packet::Frame;

use super::super::clock::Clock;
use super::super::description::{InterfaceDescription, SectionDescription};
use super::super::facts::{PacketFacts, flags_of, packet_type_of, status_of};
use super::super::statistics::InterfaceStatistics;

/// A record of a file, borrowed from its reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A section begins, and with it the numbers of interfaces. A pcap file is one section.
    Section(&'a SectionDescription),
    /// An interface, numbered in its section from 0 on. A pcap file has one, without a description.
    Interface(u32, &'a ReadInterface),
    /// A frame.
    Packet(Packet<'a>),
    /// Counters of an interface.
    Statistics(InterfaceStatistics),
}

/// An interface of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadInterface {
    /// `LINKTYPE_…` of its frames; see [`super::super::ETHERNET`].
    pub link_type: u16,
    /// Octets captured of each frame at most; 0 when there is no limit.
    pub snap: u32,
    /// What the file says of it.
    pub description: InterfaceDescription,
    /// How the file counts its times.
    pub clock: Clock,
}

/// A frame of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Number of its interface in its section.
    pub interface: u32,
    /// Its octets, as far as they were captured.
    pub data: &'a [u8],
    /// Octets that it had on the wire. A file may say less than were captured.
    pub original_length: u32,
    /// Nanoseconds since the epoch, or what [`super::CaptureReader::in_units`] says; absent where the record has no time
    /// (simple packet blocks).
    pub time_ns: Option<u64>,
    /// Frames lost between the previous one of its interface and this one, where that is told.
    pub dropped: Option<u64>,
    /// The flags word (draft-ietf-opsawg-pcapng, section 4.3.1), where there is one.
    pub flags: Option<u32>,
    /// The receive queue, where it is told.
    pub queue: Option<u32>,
    /// The first hash, where there is one.
    pub hash: Option<PacketHash<'a>>,
}

/// A hash of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHash<'a> {
    /// The algorithm's number in the format.
    pub algorithm: u8,
    /// The hash, as it stands in the file.
    pub value: &'a [u8],
}

impl<'a> Packet<'a> {
    /// It as a captured frame; the VLAN tag stands in its octets.
    pub fn frame(&self) -> Frame<'a> {
        let flags = self.flags.unwrap_or(0);
        let hash = self.hash.and_then(|hash| <[u8; 4]>::try_from(hash.value).ok());
        Frame {
            data: self.data,
            wire_length: self.original_length,
            time_ns: self.time_ns.unwrap_or(0),
            vlan: None,
            packet_type: packet_type_of(flags),
            hash: hash.map(u32::from_be_bytes),
            status: status_of(flags),
        }
    }

    /// How many of its flags word and its hash a captured frame has only a part of, or nothing.
    pub(crate) fn beyond_frame(&self) -> u64 {
        let frame = self.frame();
        let is_in_part = self.flags.unwrap_or(0) != flags_of(&frame);
        u64::from(is_in_part) + u64::from(self.hash.is_some() && frame.hash.is_none())
    }

    /// What is known of it beside that.
    pub fn facts(&self) -> PacketFacts {
        PacketFacts { interface: self.interface, queue: self.queue, dropped: self.dropped }
    }
}
