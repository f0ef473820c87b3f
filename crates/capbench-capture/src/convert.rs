//! Capture files of one format into files of another, packet by packet, with the counters and the losses that they tell of.
//!
//! What comes out of a verbatim file is what recording pcapng would have written. A pcapng file with several sections stays
//! one, and interfaces that are described behind packets are described there. Each description is written once, so that the
//! output is not larger than a few times the input, whatever that is.

use std::io::{self, Cursor, ErrorKind, Read};
use std::mem::take;

use capbench_sys::packet::Frame;

use crate::error::CaptureError;
use crate::file::{
    CaptureReader, ETHERNET, Encoder, Extent, FileError, FileFormat, HashAlgorithm, InterfaceDescription,
    InterfaceStatistics, LeftOut, Packet, PacketFacts, PcapEncoder, PcapngEncoder, Record,
    SectionDescription,
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
    /// Packets without a time in the file. They have time 0 in the output, the beginning of 1970.
    pub without_time: u64,
    /// What of the file is not in the output. What pcap has no place for at all is not counted.
    pub left_out: LeftOut,
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
    /// A description of a section or an interface, or statistics, larger than any that are written.
    #[error("a description, or statistics, of {octets} octets, more than are written")]
    Description {
        /// Octets of it.
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
    /// The section that was read and is not yet written.
    section: Option<SectionDescription>,
    /// Those of its interfaces that are not.
    interfaces: Vec<InterfaceDescription>,
    /// The largest snap length of the section's interfaces so far: libpcap reads only files in which all have the same.
    snap: Option<SnapLength>,
    output: Option<(Encoding, Output)>,
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
        section: None,
        interfaces: Vec::new(),
        snap: None,
        output: None,
        converted,
    };
    let read = conversion.run(&mut reader);
    let beyond_frames = conversion.converted.left_out.options;
    conversion.converted.left_out = reader.left_out();
    conversion.converted.left_out.options += beyond_frames;
    conversion.converted.ends_early = reader.ends_early();
    let finished = conversion.finish();
    // Where writing has failed, reading has only ended because of that.
    finished.and(read)
}

impl Conversion<'_> {
    fn run<R: Read>(&mut self, reader: &mut CaptureReader<R>) -> Result<(), ConvertError> {
        while let Some(record) = reader.next_record()? {
            let goes_on = match record {
                Record::Section(section) => {
                    let goes_on = self.is_described() || self.prepare()?;
                    self.section = Some(section.clone());
                    self.snap = None;
                    goes_on
                }
                Record::Interface(number, interface) => {
                    if interface.link_type != ETHERNET {
                        let link_type = interface.link_type;
                        return Err(ConvertError::LinkType { interface: number, link_type });
                    }
                    self.interfaces.push(interface.description.clone());
                    self.snap = self.snap.max(Some(SnapLength::new(interface.snap)));
                    true
                }
                Record::Packet(packet) => self.packet(&packet)?,
                Record::Statistics(statistics) => self.statistics(&statistics)?,
            };
            if !goes_on {
                break;
            }
        }
        Ok(())
    }

    /// Whether the output took it; where it has ended, finishing it tells why.
    fn packet(&mut self, packet: &Packet<'_>) -> Result<bool, ConvertError> {
        let too_long =
            ConvertError::TooLong { number: self.converted.packets + 1, octets: packet.data.len() };
        if packet.data.len() > SnapLength::EVERYTHING.octets() as usize {
            return Err(too_long);
        }
        if !self.prepare()? {
            return Ok(false);
        }
        let Some((encoding, output)) = &mut self.output else { return Ok(false) };
        if let (Encoding::Pcapng(encoder), Some(hash)) = (&mut *encoding, packet.hash) {
            encoder.set_hash_algorithm(hash.algorithm);
        }
        let origin = Origin { interface: 0, time_ns: packet.time_ns.unwrap_or(0) };
        let (frame, facts) = (packet.frame(), packet.facts());
        match output.packet(origin, &mut Ends(Vec::new()), |room| encoding.encode(&frame, &facts, room)) {
            Ok(()) => {
                self.converted.packets += 1;
                self.converted.dropped += packet.dropped.unwrap_or(0);
                self.converted.without_time += u64::from(packet.time_ns.is_none());
                if self.format != FileFormat::Pcap {
                    self.converted.left_out.options += packet.beyond_frame();
                }
                Ok(true)
            }
            Err(NoRoom::Ended) => Ok(false),
            Err(NoRoom::Full | NoRoom::TooLong) => Err(too_long),
        }
    }

    /// As [`Conversion::packet`].
    fn statistics(&mut self, statistics: &InterfaceStatistics) -> Result<bool, ConvertError> {
        if !self.prepare()? {
            return Ok(false);
        }
        let Some((encoding, output)) = &mut self.output else { return Ok(false) };
        encoding.statistics(statistics).map_or(Ok(true), |block| put(output, &block))
    }

    /// Whether all descriptions that were read are written.
    fn is_described(&self) -> bool {
        self.section.is_none() && self.interfaces.is_empty()
    }

    /// Opens the output, and writes the descriptions that were read and are not yet written. Whether the output took them.
    fn prepare(&mut self) -> Result<bool, ConvertError> {
        if self.output.is_some() && self.is_described() {
            return Ok(true);
        }
        let Some((_, output)) = &mut self.output else { return self.open().map(|()| true) };
        let (section, interfaces) = (self.section.take(), take(&mut self.interfaces));
        if self.format == FileFormat::Pcap {
            return Ok(true);
        }
        if let Some(section) = section
            && !put(output, &section.block()?)?
        {
            return Ok(false);
        }
        for interface in interfaces {
            if !put(output, &interface.block(self.snap.unwrap_or(SnapLength::EVERYTHING))?)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The output begins with what was described up to here.
    fn open(&mut self) -> Result<(), ConvertError> {
        let section = self.section.get_or_insert_default();
        let snap = self.snap.unwrap_or(SnapLength::EVERYTHING);
        let (encoding, header) = match self.format {
            FileFormat::Pcap => {
                // Its header stands before any packet is known.
                let encoder = PcapEncoder::new(if self.is_verbatim { snap } else { SnapLength::EVERYTHING });
                let header = encoder.header();
                (Encoding::Pcap(encoder), header)
            }
            FileFormat::Pcapng | FileFormat::Verbatim => {
                let mut header = section.block()?;
                for interface in &self.interfaces {
                    header.extend(interface.block(snap)?);
                }
                // Files of others may have packets beyond their interfaces' snap lengths: they stay whole.
                let (none, whole) = (SectionDescription::default(), SnapLength::EVERYTHING);
                let encoder = PcapngEncoder::new(&none, &[], whole, HashAlgorithm::default())?;
                (Encoding::Pcapng(encoder), header)
            }
        };
        let reader = match encoding {
            Encoding::Pcapng(_) => |octets: &[u8]| PcapngEncoder::extent(octets).map(record),
            Encoding::Pcap(_) => |octets: &[u8]| PcapEncoder::extent(octets).map(record),
        };
        let output = Output::open(&self.options, reader, 0, &mut Ends(header))?;
        self.output = Some((encoding, output));
        self.section = None;
        self.interfaces.clear();
        Ok(())
    }

    fn finish(mut self) -> Result<(), ConvertError> {
        self.prepare()?;
        let Some((_, output)) = self.output.take() else { return Ok(()) };
        match output.finish(&mut Ends(Vec::new())).ending {
            Ending::Finished | Ending::FileLimit => Ok(()),
            Ending::ReaderGone => Err(ConvertError::ReaderGone),
            Ending::Failed(error) => Err(error.into()),
        }
    }
}

/// Writes a block that is no packet. Whether the output took it.
fn put(output: &mut Output, block: &[u8]) -> Result<bool, ConvertError> {
    match output.record(block) {
        Ok(()) => Ok(true),
        Err(NoRoom::Ended) => Ok(false),
        Err(NoRoom::Full | NoRoom::TooLong) => Err(ConvertError::Description { octets: block.len() }),
    }
}

fn record(extent: Extent) -> writing::Record {
    writing::Record { length: extent.length, packet_of: extent.packet_of, packets: extent.frames }
}
