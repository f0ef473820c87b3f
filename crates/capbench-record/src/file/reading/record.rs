//! The records that a reader returns, counts of what it skips, and why it stops.

use std::io;

use capbench_sys::packet::Frame;

use super::super::blocks::{INTERFACE, kind};
use super::super::clock::Clock;
use super::super::description::{InterfaceDescription, SectionDescription};
use super::super::facts::{PacketFacts, packet_type_of, status_of};
use super::super::statistics::InterfaceStatistics;
use super::octets::{Options, Order};

/// A record of a file. It borrows from its reader.
#[derive(Clone, Debug, PartialEq)]
pub enum Record<'a> {
    /// A section begins, and the numbering of interfaces restarts. A pcap file is one section.
    Section(&'a SectionDescription),
    /// An interface, numbered in its section from 0. A pcap file has one, without a description.
    Interface(u32, &'a ReadInterface),
    /// A frame.
    Packet(Packet<'a>),
    /// Counters of an interface.
    Statistics(InterfaceStatistics),
    /// A block that is none of these: only after `CaptureReader::with_other_blocks`.
    Other,
}

/// An interface of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadInterface {
    /// Link type (`LINKTYPE_…`); see [`super::super::ETHERNET`].
    pub link_type: u16,
    /// Snap length in octets; 0 for no limit.
    pub snap: u32,
    /// Its description in the file.
    pub description: InterfaceDescription,
    /// The unit of its timestamps.
    pub clock: Clock,
}

/// A frame of a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Packet<'a> {
    /// Index of its interface in its section.
    pub interface: u32,
    /// Its captured octets.
    pub data: &'a [u8],
    /// Octets on the wire, never fewer than [`Self::data`] has.
    pub original_length: u32,
    /// Octets of the frame check sequence at the end of the original packet, if the file states them: for the packet, else for
    /// its interface. See [`Self::without_fcs`].
    pub fcs_octets: Option<u8>,
    /// Nanoseconds since the epoch, or units after [`super::CaptureReader::in_units`]; absent if the record has no timestamp
    /// (simple packet blocks).
    pub time_ns: Option<u64>,
    /// Frames lost between the previous frame of its interface and this one, if recorded.
    pub dropped: Option<u64>,
    /// The flags word (draft-ietf-opsawg-pcapng, section 4.3.1), if recorded.
    pub flags: Option<u32>,
    /// The receive queue, if recorded.
    pub queue: Option<u32>,
    /// The first hash, if recorded.
    pub hash: Option<PacketHash<'a>>,
    /// All of its options in the file.
    pub(crate) options: RawOptions<'a>,
}

/// A block as it is in the file, without its framing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RawBlock<'a> {
    pub(in crate::file) kind: u32,
    pub(in crate::file) order: Order,
    pub(in crate::file) body: &'a [u8],
}

impl<'a> RawBlock<'a> {
    /// Of all octets of a block.
    pub(super) fn new(kind: u32, order: Order, block: &'a [u8]) -> Option<Self> {
        Some(Self { kind, order, body: block.get(8..block.len().checked_sub(4)?)? })
    }

    /// Whether it describes an interface.
    pub(crate) fn is_interface(&self) -> bool {
        self.kind == INTERFACE
    }
}

/// Options as they are in the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RawOptions<'a> {
    /// Type of their block.
    pub(in crate::file) kind: u32,
    pub(in crate::file) order: Order,
    pub(in crate::file) octets: &'a [u8],
}

impl<'a> RawOptions<'a> {
    /// Code and value of each.
    pub(in crate::file) fn options(&self) -> Options<'a> {
        Options::new(self.order, self.octets)
    }
}

/// A hash of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketHash<'a> {
    /// The algorithm's code in the format.
    pub algorithm: u8,
    /// The hash, as in the file.
    pub value: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The captured octets and the original length without the frame check sequence that the file states.
    pub fn without_fcs(&self) -> (&'a [u8], u32) {
        let original = self.original_length.saturating_sub(self.fcs_octets.unwrap_or(0).into());
        (&self.data[..self.data.len().min(original as usize)], original)
    }

    /// Converts it to a captured frame. A VLAN tag stays in the octets.
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

    /// The metadata that [`Self::frame`] lacks.
    pub fn facts(&self) -> PacketFacts {
        PacketFacts { interface: self.interface, queue: self.queue, dropped: self.dropped }
    }
}

/// Counts of content that is not in any [`Record`], by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Name resolution blocks.
    pub names: u64,
    /// Decryption secrets blocks.
    pub secrets: u64,
    /// Custom blocks.
    pub custom: u64,
    /// Blocks of other types.
    pub blocks: u64,
    /// Comments on packets.
    pub comments: u64,
    /// Other options of packets, statistics, interfaces and sections.
    pub options: u64,
}

impl LeftOut {
    /// Counts a block of this type.
    pub(in crate::file) fn block(&mut self, kind: u32) {
        let count = match kind {
            kind::NAMES => &mut self.names,
            kind::SECRETS => &mut self.secrets,
            kind::CUSTOM | kind::CUSTOM_NO_COPY => &mut self.custom,
            _ => &mut self.blocks,
        };
        *count += 1;
    }
}

/// The error of the reader. Each message continues a sentence about the file.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It has fewer than the 4 octets that identify a format.
    #[error("is empty")]
    Empty,
    /// Its format is unknown.
    #[error("is neither pcap nor pcapng: it begins with {}", hexadecimal(.0))]
    Unknown([u8; 4]),
    /// It is a verbatim file of an unsupported version.
    #[error(
        "is a verbatim file that ends early, or of another version of capbench; convert it with that one"
    )]
    OtherVerbatim,
    /// The operating system reported a read error.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
    /// Its content is invalid.
    #[error("is damaged after {frames} frames: {what}")]
    Damaged {
        /// Frames before the damage.
        frames: u64,
        /// What is invalid.
        what: String,
    },
}

fn hexadecimal(octets: &[u8; 4]) -> String {
    octets.map(|octet| format!("{octet:02x}")).join(" ")
}
