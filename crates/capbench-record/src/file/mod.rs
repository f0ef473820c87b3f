//! Capture files: encodes frames as pcapng or pcap, and reads them back.
//!
//! | file | what |
//! |---|---|
//! | [`description`] | options of a pcapng section and its interfaces |
//! | [`statistics`] | counters in a pcapng file, and which counter each loss belongs to |
//! | [`facts`] | metadata of a frame in pcapng: flags, queue, hash, drop count |
//! | [`clock`] | units of an interface's timestamps |
//! | `tagging` | puts back the VLAN tag that the kernel removed from a frame |
//! | `blocks` | constants of the pcapng format, and a builder for blocks that are not performance-critical |
//! | [`pcapng`], [`pcap`] | the encoders |
//! | [`compressed`] | reads files that `record --zstd` wrote |
//! | [`verbatim`] | blocks of a V3 ring as the kernel filled them, in a capbench format |
//! | [`reading`] | the reader of all these formats |
//!
//! An encoder does no I/O and starts no thread. It writes one record after the other into the caller's memory. When a record does
//! not fit, it returns `None`, and the caller continues in other memory. No record spans two buffers.

mod blocks;
pub mod clock;
pub mod compressed;
pub mod description;
pub mod facts;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzing;
pub mod pcap;
pub mod pcapng;
pub mod reading;
pub mod statistics;
mod tagging;
#[cfg(test)]
mod tests;
pub mod verbatim;

pub use clock::Clock;
pub use compressed::Decompressed;
pub use description::{InterfaceDescription, InterfaceFilter, SectionDescription};
pub use facts::{HashAlgorithm, PacketFacts};
pub use pcap::PcapEncoder;
pub use pcapng::PcapngEncoder;
pub use reading::{CaptureReader, FileError, LeftOut, Packet, PacketHash, ReadInterface, Record};
pub use statistics::{Booking, InterfaceStatistics, LostAt};
pub use verbatim::VerbatimEncoder;

use std::path::Path;

use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::packet::Frame;

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

/// Octets that hold any record of any encoder: the minimum size of a buffer.
pub const LEAST_BUFFER: usize = 512 << 10;

const _: () = assert!(PcapngEncoder::largest_record_of(SnapLength::EVERYTHING) <= LEAST_BUFFER);
const _: () = assert!(PcapEncoder::largest_record_of(SnapLength::EVERYTHING) <= LEAST_BUFFER);

/// Encodes frames into memory in a file format.
pub trait Encoder {
    /// The first octets of every file.
    fn header(&self) -> Vec<u8>;

    /// Encodes a frame as one record at the beginning of `room`, and returns its length in octets. Returns `None` and writes
    /// nothing if the record does not fit. [`Encoder::largest_record`] octets are always enough.
    ///
    /// If the frame has a VLAN tag in its metadata, the encoder puts it back into the octets. Both lengths then grow by 4, and
    /// the snap length cuts the frame again.
    fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize>;

    /// Copies a record that [`Encoder::encode`] made without a drop count, and adds the count. The result equals a record encoded
    /// with it. Returns `None` and writes nothing if the record does not fit. A format without drop counts copies the record
    /// unchanged.
    fn with_drop_count(&self, record: &[u8], dropped: u64, room: &mut [u8]) -> Option<usize>;

    /// Encodes a record of an interface's counters; `None` if the format has no such record.
    fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>>;

    /// Octets of the largest record that [`Encoder::encode`] makes.
    fn largest_record(&self) -> usize;
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

/// Checks that a buffer of this size holds any record of the encoder.
///
/// # Errors
/// [`RecordError::WriteBuffer`] if the buffer is too small.
pub fn check_buffer(buffer: ByteCount, encoder: &impl Encoder) -> Result<()> {
    let least = encoder.largest_record() as u64;
    if buffer.0 < least {
        return Err(RecordError::WriteBuffer { asked: buffer, least: ByteCount(least) });
    }
    Ok(())
}
