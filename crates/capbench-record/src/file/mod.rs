//! Capture files: frames laid into memory as pcapng or pcap has them, and read back.
//!
//! | file | what |
//! |---|---|
//! | [`description`] | what a pcapng file says of its section and its interfaces |
//! | [`statistics`] | what it says of frames counted and lost, and where each loss is booked |
//! | [`facts`] | what it says of a frame: flags, queue, hash, frames lost before |
//! | [`clock`] | in which units an interface's times are |
//! | `tagging` | a frame's octets with the VLAN tag that the kernel removed |
//! | `blocks` | numbers of the pcapng format, and blocks that are no hot path |
//! | [`pcapng`], [`pcap`] | the encoders |
//! | [`compressed`] | files as `record --zstd` writes them |
//! | [`verbatim`] | blocks of a V3 ring as they are, in a format of our own |
//! | [`reading`] | the reader of all of them |
//!
//! An encoder knows neither files nor threads: it lays one record after the other into whatever memory it is given, and
//! says when the next one does not fit, so that the caller goes on in other memory. No record straddles two buffers.

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

use capbench_capture::units::{ByteCount, SnapLength};
use capbench_sys::packet::Frame;

use crate::error::{RecordError, Result};

/// A format of capture files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileFormat {
    /// draft-ietf-opsawg-pcapng.
    Pcapng,
    /// draft-ietf-opsawg-pcap.
    Pcap,
    /// Blocks of a V3 ring as they are: see [`verbatim`].
    Verbatim,
}

impl FileFormat {
    /// The format that a file's name asks for by its ending, in front of `.zst`; `None` for any other ending.
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

    /// Its name, as a file's name ends.
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

/// Octets that hold any record of any encoder: buffers are at least as large.
pub const LEAST_BUFFER: usize = 512 << 10;

const _: () = assert!(PcapngEncoder::largest_record_of(SnapLength::EVERYTHING) <= LEAST_BUFFER);
const _: () = assert!(PcapEncoder::largest_record_of(SnapLength::EVERYTHING) <= LEAST_BUFFER);

/// Lays frames into memory as a file has them.
pub trait Encoder {
    /// What every file begins with.
    fn header(&self) -> Vec<u8>;

    /// Lays a frame as one record at the beginning of `room`, and says how many octets it took. `None` when it does not
    /// fit, and nothing is written; it does into [`Encoder::largest_record`] octets.
    ///
    /// A VLAN tag beside the frame is put back into its octets, so that both of its lengths grow by 4; the snap length
    /// then cuts it again.
    fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize>;

    /// Lays a record that [`Encoder::encode`] made without a drop count, and adds one: the octets are those that it had made
    /// with it. `None` when it does not fit, and nothing is written. A format without a place for drop counts copies it.
    fn with_drop_count(&self, record: &[u8], dropped: u64, room: &mut [u8]) -> Option<usize>;

    /// A record of an interface's counters; `None` for a format that has no place for them.
    fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>>;

    /// Octets of the largest record that [`Encoder::encode`] makes.
    fn largest_record(&self) -> usize;
}

/// How far the first record of some octets goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Its octets, all of them.
    pub length: usize,
    /// The interface whose frame it is; `None` for any other record.
    pub packet_of: Option<u32>,
    /// Its frames: 1, unless it is a block of a ring.
    pub frames: u64,
}

/// Whether buffers of that size hold any frame of the encoder.
///
/// # Errors
/// [`RecordError::WriteBuffer`] when they do not.
pub fn check_buffer(buffer: ByteCount, encoder: &impl Encoder) -> Result<()> {
    let least = encoder.largest_record() as u64;
    if buffer.0 < least {
        return Err(RecordError::WriteBuffer { asked: buffer, least: ByteCount(least) });
    }
    Ok(())
}
