//! Capture files of one format into files of another, packet by packet, with the counters and the losses that they tell of.
//!
//! What comes out of a verbatim file is what recording pcapng would have written. A pcapng file with several sections stays
//! one; where interfaces are described behind packets, a section begins there.

use std::io::{self, Cursor, ErrorKind, Read};

use capbench_sys::packet::Frame;

use crate::error::CaptureError;
use crate::file::{
    CaptureReader, ETHERNET, Encoder, Extent, FileError, FileFormat, HashAlgorithm, InterfaceStatistics,
    Packet, PacketFacts, PcapEncoder, PcapngEncoder, ReadInterface, Record, SectionDescription,
};
use crate::options::SnapLength;
use crate::writing::{self, Ending, FileEnds, NoRoom, Origin, Output, WhenFull, WriteOptions};

/// The first octets of a Zstandard frame (RFC 8878, section 3.1.1).
const ZSTANDARD: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// What was converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Packets.
    pub packets: u64,
    /// Lost packets of which the file told, before one of its packets.
    pub dropped: u64,
    /// Whether the file ended within a record: everything before is converted.
    pub ends_early: bool,
}

/// Why a file was not converted, or not to its end.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The file that is read, from where on it cannot be.
    #[error("the file {0}")]
    Input(#[from] FileError),
    /// It has an interface that is no Ethernet interface.
    #[error("interface {interface} has link type {link_type}; only Ethernet ({ETHERNET}) is written")]
    LinkType {
        /// Its number.
        interface: u32,
        /// `LINKTYPE_…`.
        link_type: u16,
    },
    /// A section's header that is larger than any that is written.
    #[error("a section's descriptions have {octets} octets, more than are written")]
    Descriptions {
        /// Octets of them.
        octets: usize,
    },
    /// A packet that is larger than any that is written.
    #[error("packet {number} has {octets} octets, more than are written")]
    TooLong {
        /// Its number, from 1 on.
        number: u64,
        /// Its captured octets.
        octets: usize,
    },
    /// The file that is written.
    #[error(transparent)]
    Output(#[from] CaptureError),
    /// Nobody reads the pipe any more.
    #[error("nobody reads the output any more")]
    ReaderGone,
}

/// Reads what is compressed with Zstandard as what was compressed, and anything else as it is.
///
/// # Errors
/// When it cannot be read.
pub fn decompressed(mut source: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let (mut head, mut there) = ([0; 4], 0);
    while there < head.len() {
        match source.read(&mut head[there..]) {
            Ok(0) => break,
            Ok(octets) => there += octets,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let whole = Cursor::new(head).take(there as u64).chain(source);
    Ok(if head == ZSTANDARD { Box::new(zstd::Decoder::new(whole)?) } else { Box::new(whole) })
}

/// What is written.
enum Encoding {
    Pcapng(PcapngEncoder),
    Pcap(PcapEncoder),
}

impl Encoding {
    fn header(&self) -> Vec<u8> {
        match self {
            Self::Pcapng(encoder) => encoder.header(),
            Self::Pcap(encoder) => encoder.header(),
        }
    }

    fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize> {
        match self {
            Self::Pcapng(encoder) => encoder.encode(frame, facts, room),
            Self::Pcap(encoder) => encoder.encode(frame, facts, room),
        }
    }

    fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>> {
        match self {
            Self::Pcapng(encoder) => encoder.statistics(statistics),
            Self::Pcap(encoder) => encoder.statistics(statistics),
        }
    }
}

/// What the output begins with. It is one file.
struct Ends(Vec<u8>);

impl FileEnds for Ends {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn trailer(&mut self, _out: &mut Vec<u8>) {}
}

/// A conversion under way.
struct Conversion<'o> {
    options: WriteOptions,
    format: FileFormat,
    is_verbatim: bool,
    section: SectionDescription,
    interfaces: Vec<ReadInterface>,
    hash: HashAlgorithm,
    /// Octets of the largest packet beyond what the interfaces' snap lengths say: files of others may have such.
    beyond: usize,
    encoding: Option<Encoding>,
    output: Option<Output>,
    converted: &'o mut Converted,
}

/// Converts a file to one of this format, as these options say; without rotation.
///
/// # Errors
/// What is wrong with either file. Everything before that is written, and `converted` says how much it is.
pub fn convert(
    source: impl Read,
    format: FileFormat,
    options: &WriteOptions,
    converted: &mut Converted,
) -> Result<(), ConvertError> {
    let mut reader = CaptureReader::new(source)?;
    let mut conversion = Conversion {
        options: WriteOptions { when_full: WhenFull::Wait, interfaces: 1, ..options.clone() },
        format,
        is_verbatim: reader.format() == FileFormat::Verbatim,
        section: SectionDescription::default(),
        interfaces: Vec::new(),
        hash: HashAlgorithm::default(),
        beyond: 0,
        encoding: None,
        output: None,
        converted,
    };
    let read = conversion.run(&mut reader);
    conversion.converted.ends_early = reader.ends_early();
    let finished = conversion.finish();
    // Where writing has failed, reading has only ended because of that.
    finished.and(read)
}

impl Conversion<'_> {
    fn run<R: Read>(&mut self, reader: &mut CaptureReader<R>) -> Result<(), ConvertError> {
        while let Some(record) = reader.next_record()? {
            match record {
                Record::Section(section) => {
                    self.section = section.clone();
                    self.interfaces.clear();
                    self.encoding = None;
                }
                Record::Interface(number, interface) => {
                    if interface.link_type != ETHERNET {
                        let link_type = interface.link_type;
                        return Err(ConvertError::LinkType { interface: number, link_type });
                    }
                    self.interfaces.push(interface.clone());
                    self.encoding = None;
                }
                Record::Packet(packet) => {
                    if !self.packet(&packet)? {
                        return Ok(());
                    }
                }
                Record::Statistics(statistics) => {
                    self.prepare()?;
                    let octets = self.encoding.as_ref().and_then(|encoding| encoding.statistics(&statistics));
                    if let (Some(output), Some(octets)) = (&mut self.output, octets)
                        && output.record(&octets) == Err(NoRoom::Ended)
                    {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    /// Whether the output took it; where it has ended, finishing it tells why.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<bool, ConvertError> {
        if let Some(hash) = packet.hash
            && (hash.algorithm == HashAlgorithm::Toeplitz.code()) != (self.hash == HashAlgorithm::Toeplitz)
        {
            let is_toeplitz = self.hash != HashAlgorithm::Toeplitz;
            self.hash = if is_toeplitz { HashAlgorithm::Toeplitz } else { HashAlgorithm::Unassigned };
            self.encoding = None;
        }
        if !self.is_verbatim && packet.data.len() > self.snap().octets() as usize {
            self.beyond = packet.data.len();
            self.encoding = None;
        }
        let too_long =
            ConvertError::TooLong { number: self.converted.packets + 1, octets: packet.data.len() };
        if packet.data.len() > SnapLength::EVERYTHING.octets() as usize {
            return Err(too_long);
        }
        self.prepare()?;
        let (Some(encoding), Some(output)) = (&self.encoding, &mut self.output) else { return Ok(false) };
        let origin = Origin { interface: 0, time_ns: packet.time_ns.unwrap_or(0) };
        let (frame, facts) = (packet.frame(), packet.facts());
        match output.packet(origin, &mut Ends(Vec::new()), |room| encoding.encode(&frame, &facts, room)) {
            Ok(()) => {
                self.converted.packets += 1;
                self.converted.dropped += packet.dropped.unwrap_or(0);
                Ok(true)
            }
            Err(NoRoom::Ended) => Ok(false),
            Err(NoRoom::Full | NoRoom::TooLong) => Err(too_long),
        }
    }

    fn snap(&self) -> SnapLength {
        if self.format == FileFormat::Pcap && !self.is_verbatim {
            // Its header stands before any packet is known.
            return SnapLength::EVERYTHING;
        }
        let snaps = self.interfaces.iter().map(|interface| SnapLength::new(interface.snap));
        let snap = snaps.max().unwrap_or(SnapLength::EVERYTHING);
        if self.beyond > snap.octets() as usize { SnapLength::new(self.beyond as u32) } else { snap }
    }

    /// Makes what is written next stand behind the descriptions that it belongs to.
    fn prepare(&mut self) -> Result<(), ConvertError> {
        if self.encoding.is_some() {
            return Ok(());
        }
        let encoding = match self.format {
            FileFormat::Pcap => Encoding::Pcap(PcapEncoder::new(self.snap())),
            FileFormat::Pcapng | FileFormat::Verbatim => {
                let interfaces: Vec<_> =
                    self.interfaces.iter().map(|interface| interface.description.clone()).collect();
                Encoding::Pcapng(PcapngEncoder::new(&self.section, &interfaces, self.snap(), self.hash)?)
            }
        };
        let header = encoding.header();
        match &mut self.output {
            None => {
                let reader = match encoding {
                    Encoding::Pcapng(_) => |octets: &[u8]| PcapngEncoder::extent(octets).map(record),
                    Encoding::Pcap(_) => |octets: &[u8]| PcapEncoder::extent(octets).map(record),
                };
                self.output = Some(Output::open(&self.options, reader, 0, &mut Ends(header))?);
            }
            Some(output) if self.format != FileFormat::Pcap => {
                if output.record(&header) == Err(NoRoom::TooLong) {
                    return Err(ConvertError::Descriptions { octets: header.len() });
                }
            }
            Some(_) => {}
        }
        self.encoding = Some(encoding);
        Ok(())
    }

    fn finish(mut self) -> Result<(), ConvertError> {
        self.prepare()?;
        let Some(output) = self.output.take() else { return Ok(()) };
        match output.finish(&mut Ends(Vec::new())).ending {
            Ending::Finished | Ending::FileLimit => Ok(()),
            Ending::ReaderGone => Err(ConvertError::ReaderGone),
            Ending::Failed(error) => Err(error.into()),
        }
    }
}

fn record(extent: Extent) -> writing::Record {
    writing::Record { length: extent.length, packet_of: extent.packet_of, packets: extent.frames }
}
