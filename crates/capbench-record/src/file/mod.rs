//! Capture files: encodes frames as pcapng or pcap, and reads them back.
//!
//! | file | what |
//! |---|---|
//! | [`description`] | options of a pcapng section and its interfaces |
//! | [`statistics`] | counters in a pcapng file, and which counter each loss belongs to |
//! | [`facts`] | metadata of a frame in pcapng: flags, queue, hash, drop count |
//! | `fcs` | the length of the frame check sequence that a file states |
//! | [`clock`] | units of an interface's timestamps |
//! | `recording_part` | which part of a recording a file is |
//! | [`lengths`] | lengths of packets in the file and on the wire, octets that the file does not have, lengths that contradict each other |
//! | `tagging` | puts back the VLAN tag that the kernel removed from a frame |
//! | `blocks` | constants of the pcapng format, and a builder for blocks that are not performance-critical |
//! | `copying` | copies pcapng blocks and options into another file |
//! | `pcapng`, `pcap` | their records, as [`Encoder`] writes them |
//! | [`compressed`] | reads files that `record --zstd` wrote |
//! | [`verbatim`] | blocks of a V3 ring as the kernel filled them, in a capbench format |
//! | [`reading`] | the reader of all these formats |
//!
//! An encoder does no I/O and starts no thread. It writes one record after the other into the caller's memory. When a record does
//! not fit, it returns `None`, and the caller continues in other memory. No record spans two buffers.

mod blocks;
pub mod clock;
pub mod compressed;
pub(crate) mod copying;
pub mod description;
pub mod facts;
mod fcs;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub mod lengths;
mod pcap;
mod pcapng;
pub mod reading;
mod recording_part;
pub mod statistics;
mod tagging;
#[cfg(test)]
mod tests;
pub mod verbatim;

pub use clock::Clock;
pub use compressed::Decompressed;
pub use description::{InterfaceDescription, InterfaceFilter, SectionDescription};
pub use facts::{HashAlgorithm, PacketFacts};
use facts::{REMARKABLE, flags_of};
pub use lengths::{LengthCounts, Lengths, MendedLengths};
pub use reading::{CaptureReader, FileError, LeftOut, Packet, PacketHash, ReadInterface, Record};
pub use recording_part::{EarlierFiles, RecordingPart};
pub use statistics::{Booking, InterfaceStatistics, LostAt};

use std::path::Path;

use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::host::interface::LinkLayer;
use capbench_sys::packet::Frame;

pub(crate) use self::pcapng::encode_with_options;
use self::tagging::FrameCopy;
use crate::error::{RecordError, Result};

/// A format of capture files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// draft-ietf-opsawg-pcapng.
    Pcapng,
    /// draft-ietf-opsawg-pcap.
    Pcap,
    /// Blocks of a V3 ring as the kernel filled them: see [`verbatim`].
    Verbatim,
}

impl FileFormat {
    /// The format that the extension of a file name selects, ignoring a final `.zst`; `None` for any other extension.
    pub fn of_name(file: &Path) -> Option<Self> {
        let plain = match file.extension() {
            Some(ending) if ending == "zst" => Path::new(file.file_stem()?),
            _ => file,
        };
        match plain.extension()?.to_str()? {
            "pcap" => Some(Self::Pcap),
            "pcapng" => Some(Self::Pcapng),
            _ => None,
        }
    }

    /// The format's name, which is also its file extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pcapng => "pcapng",
            Self::Pcap => "pcap",
            Self::Verbatim => "verbatim",
        }
    }
}

/// `LINKTYPE_ETHERNET` (draft-ietf-opsawg-pcaplinktype).
pub const ETHERNET: u16 = 1;

/// `LINKTYPE_RAW`: packets that begin with the header of IPv4 or IPv6.
pub const RAW_IP: u16 = 101;

/// The link type of packets that begin so.
pub const fn link_type_of(layer: LinkLayer) -> u16 {
    match layer {
        LinkLayer::Ethernet => ETHERNET,
        LinkLayer::Ip => RAW_IP,
    }
}

/// The link type of packets that begin so, as tcpdump prints it.
pub const fn link_type_name(layer: LinkLayer) -> &'static str {
    match layer {
        LinkLayer::Ethernet => "EN10MB (Ethernet)",
        LinkLayer::Ip => "RAW (Raw IP)",
    }
}

/// Octets that hold any record of any encoder: the minimum size of a buffer.
pub const LEAST_BUFFER: usize = 512 << 10;

const _: () = assert!(pcapng::largest_record(SnapLength::EVERYTHING) <= LEAST_BUFFER);
const _: () = assert!(pcap::largest_record(SnapLength::EVERYTHING) <= LEAST_BUFFER);

/// Encodes frames into memory in a file format. The branch on the format goes the same way for every frame.
#[derive(Clone, Debug)]
pub struct Encoder {
    records: Records,
    /// Without the padding of a verbatim file.
    header: Vec<u8>,
    is_verbatim: bool,
    snap: SnapLength,
}

/// The format of an encoder's records.
#[derive(Clone, Copy, Debug)]
enum Records {
    Pcapng {
        /// The first octet of `epb_hash`.
        hash_code: u8,
        /// A flags word is written if it has one of these bits.
        written_flags: u32,
    },
    Pcap,
}

impl Encoder {
    /// For a pcapng file of one section with these Ethernet interfaces; [`PacketFacts::interface`] is an index into them.
    ///
    /// # Errors
    /// If a text is longer than the format allows.
    pub fn pcapng(
        section: &SectionDescription,
        interfaces: &[InterfaceDescription],
        snap: SnapLength,
        hash: HashAlgorithm,
    ) -> Result<Self> {
        Self::pcapng_of_links(section, interfaces.iter().map(|interface| (ETHERNET, interface)), snap, hash)
    }

    /// The same, for interfaces with these link types.
    ///
    /// # Errors
    /// If a text is longer than the format allows.
    pub fn pcapng_of_links<'i>(
        section: &SectionDescription,
        interfaces: impl IntoIterator<Item = (u16, &'i InterfaceDescription)>,
        snap: SnapLength,
        hash: HashAlgorithm,
    ) -> Result<Self> {
        let mut header = section.block()?;
        for (link_type, interface) in interfaces {
            header.extend(interface.block(link_type, snap, Clock::NANOSECONDS)?);
        }
        Ok(Self {
            records: Records::Pcapng { hash_code: hash.code(), written_flags: u32::MAX },
            header,
            is_verbatim: false,
            snap,
        })
    }

    /// The same, but without the flags word of frames that were received, whole and with a complete checksum: with small frames it
    /// is an eighth of the file.
    #[must_use]
    pub fn without_flags_of_received(mut self) -> Self {
        if let Records::Pcapng { written_flags, .. } = &mut self.records {
            *written_flags = REMARKABLE;
        }
        self
    }

    /// For a pcap file of frames of this link type. The format stores only timestamps, lengths and octets. Its seconds have 32 bits
    /// and end in 2106; later timestamps become the maximum.
    pub fn pcap(link_type: u16, snap: SnapLength) -> Self {
        let header = pcap::header(link_type.into(), snap.octets());
        Self { records: Records::Pcap, header, is_verbatim: false, snap }
    }

    /// The same for packets of any length, whose header states this snap length and this length of the FCS at their end. `None` if
    /// the format cannot state it.
    pub(crate) fn pcap_of_packets(link_type: u16, snap: u32, fcs_octets: Option<u8>) -> Option<Self> {
        let fcs = fcs_octets.map_or(Some(0), fcs::link_word)?;
        let header = pcap::header(u32::from(link_type) | fcs, snap);
        Some(Self { records: Records::Pcap, header, is_verbatim: false, snap: SnapLength::EVERYTHING })
    }

    /// Turns an encoder for a pcapng file into one for a verbatim file: it encodes the blocks between ring blocks.
    #[must_use]
    pub fn verbatim(self) -> Self {
        Self { header: [&verbatim::MAGIC[..], &self.header].concat(), is_verbatim: true, ..self }
    }

    /// The first octets of every file.
    pub fn header(&self) -> Vec<u8> {
        self.padded(self.header.clone())
    }

    /// The same with a comment of the section; pcap has no comments.
    pub(crate) fn header_with_comment(&self, comment: &str) -> Vec<u8> {
        if matches!(self.records, Records::Pcap) {
            return self.header();
        }
        let begin = if self.is_verbatim { verbatim::MAGIC.len() } else { 0 };
        let mut header = self.header.clone();
        blocks::add_section_comment(&mut header, begin, comment);
        self.padded(header)
    }

    fn padded(&self, mut header: Vec<u8>) -> Vec<u8> {
        if self.is_verbatim {
            header.extend_from_slice(&verbatim::padding(header.len()));
        }
        header
    }

    /// Encodes a frame as one record at the beginning of `room`, and returns its length in octets. Returns `None` and writes
    /// nothing if the record does not fit. [`Encoder::largest_record`] octets are always enough.
    ///
    /// If the frame has a VLAN tag in its metadata, the encoder puts it back into the octets. Both lengths then grow by 4, and
    /// the snap length cuts the frame again.
    #[inline(always)]
    pub fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize> {
        let copy = FrameCopy::new(frame, self.snap.octets() as usize);
        match self.records {
            Records::Pcapng { hash_code, written_flags } => {
                let flags = flags_of(frame);
                let flags = if flags & written_flags != 0 { flags } else { 0 };
                pcapng::encode(frame, &copy, facts, flags, hash_code, room)
            }
            Records::Pcap => pcap::encode(frame, &copy, room),
        }
    }

    /// Copies a record that [`Encoder::encode`] made without a drop count, and adds the count. The result equals a record encoded
    /// with it. Returns `None` and writes nothing if the record does not fit. pcap has no drop counts: the record is copied
    /// unchanged.
    #[inline]
    pub fn with_drop_count(&self, record: &[u8], dropped: u64, room: &mut [u8]) -> Option<usize> {
        match self.records {
            Records::Pcapng { .. } => pcapng::with_drop_count(record, dropped, room),
            Records::Pcap => {
                room.get_mut(..record.len())?.copy_from_slice(record);
                Some(record.len())
            }
        }
    }

    /// The lengths in the record that [`Encoder::encode`] makes of this frame.
    #[inline(always)]
    pub fn lengths(&self, frame: &Frame<'_>) -> Lengths {
        let copy = FrameCopy::new(frame, self.snap.octets() as usize);
        Lengths { captured: copy.captured as u32, original: copy.original }
    }

    /// The lengths in a packet's record; `None` if it is shorter than a record.
    #[inline]
    pub fn lengths_in(&self, record: &[u8]) -> Option<Lengths> {
        let at = match self.records {
            Records::Pcapng { .. } => pcapng::CAPTURED,
            Records::Pcap => pcap::CAPTURED,
        };
        let [a, b, c, d, e, f, g, h] = *record.get(at..)?.first_chunk()?;
        let (captured, original) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        Some(Lengths { captured, original })
    }

    /// The snap length of its files.
    #[inline]
    pub fn snap_length(&self) -> SnapLength {
        self.snap
    }

    /// Encodes a record of an interface's counters; `None` if the format has no such record.
    pub fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>> {
        matches!(self.records, Records::Pcapng { .. }).then(|| statistics.block())
    }

    /// Octets of the largest record that [`Encoder::encode`] makes.
    pub fn largest_record(&self) -> usize {
        match self.records {
            Records::Pcapng { .. } => pcapng::largest_record(self.snap),
            Records::Pcap => pcap::largest_record(self.snap),
        }
    }

    /// The function that finds the end of its records.
    pub fn extent(&self) -> ReadExtent {
        match self.records {
            Records::Pcapng { .. } => pcapng::extent,
            Records::Pcap => pcap::extent,
        }
    }

    /// Sets the algorithm of the hashes of the next frames (the first octet of `epb_hash`).
    pub(crate) fn set_hash_algorithm(&mut self, code: u8) {
        if let Records::Pcapng { hash_code, .. } = &mut self.records {
            *hash_code = code;
        }
    }
}

/// Extent of the first record in a byte slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Length of the whole record in octets.
    pub length: usize,
    /// The interface, if the record is a packet; `None` for any other record.
    pub packet_of: Option<u32>,
    /// Number of frames: 1, except for a ring block.
    pub frames: u64,
}

/// Returns the extent of the first record in a byte slice; `None` if the slice is too short to contain its length. Both formats
/// have it in the first 16 octets of a record. A file header is not a record.
pub type ReadExtent = fn(&[u8]) -> Option<Extent>;

/// Checks that a buffer of this size holds any record of the encoder.
///
/// # Errors
/// [`RecordError::WriteBuffer`] if the buffer is too small.
pub fn check_buffer(buffer: ByteCount, encoder: &Encoder) -> Result<()> {
    let least = encoder.largest_record() as u64;
    if buffer.0 < least {
        return Err(RecordError::WriteBuffer { asked: buffer, least: ByteCount(least) });
    }
    Ok(())
}
