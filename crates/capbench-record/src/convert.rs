//! Converts capture files from one format to another, packet by packet, including counters and losses.
//!
//! A verbatim file becomes the pcapng file that a pcapng recording would have written. A pcapng file with several sections keeps
//! them. An interface described after packets is described at the same place. Each description is written once, so the output is
//! up to a few times as large as the input. Link types, clocks, timestamps and lengths do not change. pcap has one link type
//! and timestamps from 1970 to 2106; a file that needs more is refused.

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::mem::take;
use std::ops::Range;
use std::rc::Rc;

use capbench_model::units::SnapLength;
use capbench_sys::packet::Frame;

use crate::error::RecordError;
use crate::file::{
    CaptureReader, Clock, Decompressed, ETHERNET, Encoder, FileError, FileFormat, HashAlgorithm, LeftOut,
    Packet, ReadInterface, Record, SectionDescription,
};
use crate::writing::{Ending, FileEnds, NoRoom, Origin, Output, WhenFull, WriteOptions};

/// Seconds that a pcap timestamp can express: from 1970 until 2106.
const PCAP_SECONDS: Range<i128> = 0..1 << 32;
/// Nanoseconds per second.
const SECOND: i128 = 1_000_000_000;

/// Result of a conversion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    /// Packets.
    pub packets: u64,
    /// Lost packets that the file reports before one of its packets.
    pub dropped: u64,
    /// Packets without a timestamp in the file. In the output they have the first timestamp of their interface's clock: 1970,
    /// unless the file has an offset.
    pub without_time: u64,
    /// Packets whose timestamps are cut to nanoseconds, the resolution of pcap.
    pub finer_times: u64,
    /// Content of the file that is not in the output. Content that pcap can never store is not counted.
    pub left_out: LeftOut,
    /// Whether the file ended within a record. Everything before that is converted.
    pub ends_early: bool,
}

/// Why a conversion failed or stopped early.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The input cannot be read from some position on.
    #[error("the file {0}")]
    Input(#[from] FileError),
    /// The input has several link types, but the output format has one.
    #[error(
        "packet {number} has link type {link_type}, the packets before it have {first}: pcap has one link type for all \
         packets; write pcapng (--format pcapng)"
    )]
    LinkTypes {
        /// Number of the packet, from 1.
        number: u64,
        /// Its `LINKTYPE_…`.
        link_type: u16,
        /// Link type of the packets before.
        first: u16,
    },
    /// A timestamp that pcap cannot express.
    #[error(
        "packet {number} has a time {seconds} s after 1970: pcap has times from 1970 to 2106; write pcapng (--format pcapng)"
    )]
    Time {
        /// Number of the packet, from 1.
        number: u64,
        /// Its time in seconds.
        seconds: i128,
    },
    /// The output exceeds its size limit in octets.
    #[error(
        "the output has more than {0} bytes, and is not kept; where that is the size of the capture, give a limit with \
         --max-output"
    )]
    TooLarge(u64),
    /// A description of a section or an interface, or statistics, of this many octets exceeds the largest block that can be written.
    #[error("a description, or statistics, of {0} octets, more than are written")]
    Description(usize),
    /// A packet exceeds the largest packet that can be written.
    #[error("packet {number} has {octets} octets, more than are written")]
    TooLong {
        /// Its number, from 1.
        number: u64,
        /// Its captured octets.
        octets: usize,
    },
    /// The output cannot be written.
    #[error(transparent)]
    Output(#[from] RecordError),
    /// The reader of the output pipe has closed it.
    #[error("nobody reads the output any more")]
    ReaderGone,
}

impl ConvertError {
    /// Whether the input was refused. The partial output is then removed, so that nobody takes it for the whole.
    fn is_refusal(&self) -> bool {
        matches!(self, Self::LinkTypes { .. } | Self::Time { .. } | Self::TooLarge(_))
    }
}

/// Limit for the output in octets, before compression.
#[derive(Clone, Debug)]
pub enum OutputLimit {
    /// Unlimited: the output of an uncompressed file is up to a few times as large as the file.
    None,
    /// This many octets.
    Octets(u64),
    /// 64 MiB, plus 1000 times the compressed octets read so far.
    OfCompressed(Rc<Cell<u64>>),
}

impl OutputLimit {
    /// The default limit for an input.
    pub fn of(source: &Decompressed) -> Self {
        source.compressed().map_or(Self::None, Self::OfCompressed)
    }

    fn octets(&self) -> u64 {
        match self {
            Self::None => u64::MAX,
            Self::Octets(octets) => *octets,
            Self::OfCompressed(read) => read.get().saturating_mul(1000).saturating_add(64 << 20),
        }
    }
}

/// The header of the output, which is one file.
struct Ends(Vec<u8>);

impl FileEnds for Ends {
    fn header(&mut self, out: &mut Vec<u8>) {
        out.extend(&self.0);
    }

    fn trailer(&mut self, _out: &mut Vec<u8>) {}
}

struct Conversion<'o> {
    options: WriteOptions,
    format: FileFormat,
    is_verbatim: bool,
    /// The section that was read and not yet written.
    section: Option<SectionDescription>,
    /// Its interfaces that are not yet written.
    interfaces: Vec<ReadInterface>,
    /// Link types and clocks of all of the section's interfaces.
    links: Vec<(u16, Clock)>,
    /// The link type of a pcap output.
    link_type: Option<u16>,
    limit: OutputLimit,
    /// The largest snap length of the section's interfaces so far: libpcap reads only files whose interfaces share one snap
    /// length.
    snap: Option<SnapLength>,
    output: Option<(Encoder, Output)>,
    converted: &'o mut Converted,
}

/// Converts a file to this format with these options, without rotation.
///
/// # Errors
/// Why either file failed. Everything before that is written, and `converted` counts it. After a refusal
/// ([`ConvertError::LinkTypes`], [`ConvertError::Time`], [`ConvertError::TooLarge`]) the output is removed.
pub fn convert(
    source: impl Read,
    format: FileFormat,
    options: &WriteOptions,
    limit: OutputLimit,
    converted: &mut Converted,
) -> Result<(), ConvertError> {
    let mut reader = CaptureReader::new(source)?.in_units();
    let mut conversion = Conversion {
        options: WriteOptions { when_full: WhenFull::Wait, interfaces: 1, ..options.clone() },
        format,
        is_verbatim: reader.format() == FileFormat::Verbatim,
        section: None,
        interfaces: Vec::new(),
        links: Vec::new(),
        link_type: None,
        limit,
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
    let file = options.first_file().ok().filter(|_| !options.is_standard_output());
    if read.as_ref().is_err_and(ConvertError::is_refusal)
        && let Some(file) = file.filter(|file| fs::symlink_metadata(file).is_ok_and(|kind| kind.is_file()))
    {
        // A file that cannot be removed is still reported as incomplete.
        drop(fs::remove_file(file));
    }
    // If writing failed, that is why reading ended; so the write error comes first.
    finished.and(read)
}

impl Conversion<'_> {
    fn run<R: Read>(&mut self, reader: &mut CaptureReader<R>) -> Result<(), ConvertError> {
        while let Some(record) = reader.next_record()? {
            match record {
                Record::Section(section) => {
                    // A pcap file begins with its first packet.
                    if self.format != FileFormat::Pcap && !self.is_described() {
                        self.prepare()?;
                    }
                    self.section = Some(section.clone());
                    self.interfaces.clear();
                    self.links.clear();
                    self.snap = None;
                }
                Record::Interface(_, interface) => {
                    self.interfaces.push(interface.clone());
                    self.links.push((interface.link_type, interface.clock));
                    self.snap = self.snap.max(Some(SnapLength::new(interface.snap)));
                }
                Record::Packet(packet) => self.packet(&packet)?,
                Record::Statistics(statistics) => {
                    let (encoder, output) = self.prepare()?;
                    if let Some(block) = encoder.statistics(&statistics) {
                        put(output, &block)?;
                    }
                }
            }
            let limit = self.limit.octets();
            if self.output.as_ref().is_some_and(|(_, output)| output.file_bytes() > limit) {
                return Err(ConvertError::TooLarge(limit));
            }
        }
        Ok(())
    }

    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConvertError> {
        let too_long =
            ConvertError::TooLong { number: self.converted.packets + 1, octets: packet.data.len() };
        if packet.data.len() > SnapLength::EVERYTHING.octets() as usize {
            return Err(too_long);
        }
        let time_ns = self.time_of(packet)?;
        let (encoder, output) = self.prepare()?;
        if let Some(hash) = packet.hash {
            encoder.set_hash_algorithm(hash.algorithm);
        }
        // The output is one file: timestamps never start another.
        let origin = Origin { interface: 0, time_ns: 0 };
        let (frame, facts) = (Frame { time_ns, ..packet.frame() }, packet.facts());
        match output
            .packet(origin, &mut Ends(Vec::new()), |room: &mut [u8]| encoder.encode(&frame, &facts, room))
        {
            Ok(()) => {}
            Err(NoRoom::Ended) => return Err(ConvertError::ReaderGone),
            Err(NoRoom::Full | NoRoom::TooLong) => return Err(too_long),
        }
        self.converted.packets += 1;
        self.converted.dropped += packet.dropped.unwrap_or(0);
        self.converted.without_time += u64::from(packet.time_ns.is_none());
        if self.format != FileFormat::Pcap {
            self.converted.left_out.options += packet.beyond_frame();
        }
        Ok(())
    }

    /// The timestamp to write. In pcapng the number from the file, because the interface keeps its clock; in pcap nanoseconds.
    fn time_of(&mut self, packet: &Packet<'_>) -> Result<u64, ConvertError> {
        let units = packet.time_ns.unwrap_or(0);
        let link = self.links.get(packet.interface as usize).filter(|_| self.format == FileFormat::Pcap);
        let Some(&(link_type, clock)) = link else { return Ok(units) };
        let number = self.converted.packets + 1;
        let first = *self.link_type.get_or_insert(link_type);
        if link_type != first {
            return Err(ConvertError::LinkTypes { number, link_type, first });
        }
        if packet.time_ns.is_none() {
            return Ok(0);
        }
        let ns = clock.ns(units);
        let seconds = ns.div_euclid(SECOND);
        if !PCAP_SECONDS.contains(&seconds) {
            return Err(ConvertError::Time { number, seconds });
        }
        self.converted.finer_times += u64::from(!clock.is_whole_ns(units));
        Ok(ns as u64)
    }

    /// Whether all descriptions read so far are written.
    fn is_described(&self) -> bool {
        self.section.is_none() && self.interfaces.is_empty()
    }

    /// Opens the output, or writes pending descriptions to it; a pcap file has none.
    /// Errors: [`ConvertError::ReaderGone`] if the output has ended. Finishing it returns the reason.
    fn prepare(&mut self) -> Result<&mut (Encoder, Output), ConvertError> {
        if self.output.is_none() {
            self.output = Some(self.open()?);
        }
        let Self { section, interfaces, snap, output: Some(open), .. } = self else {
            return Err(ConvertError::ReaderGone);
        };
        let (section, interfaces) = (section.take(), take(interfaces));
        if self.format != FileFormat::Pcap {
            if let Some(section) = section {
                put(&mut open.1, &section.block()?)?;
            }
            let snap = snap.unwrap_or(SnapLength::EVERYTHING);
            interfaces.iter().try_for_each(|interface| put(&mut open.1, &block(interface, snap)?))?;
        }
        Ok(open)
    }

    /// Opens the output with the descriptions read so far.
    fn open(&mut self) -> Result<(Encoder, Output), ConvertError> {
        let section = self.section.get_or_insert_default();
        let snap = self.snap.unwrap_or(SnapLength::EVERYTHING);
        let (encoder, header) = match self.format {
            FileFormat::Pcap => {
                // The file header is written before any packet is known.
                let most = if self.is_verbatim { snap } else { SnapLength::EVERYTHING };
                let first = self.interfaces.first().map(|interface| interface.link_type);
                let encoder = Encoder::pcap(self.link_type.or(first).unwrap_or(ETHERNET), most);
                let header = encoder.header();
                (encoder, header)
            }
            FileFormat::Pcapng | FileFormat::Verbatim => {
                let mut header = section.block()?;
                for interface in &self.interfaces {
                    header.extend(block(interface, snap)?);
                }
                // Files of other programs can have packets longer than the snap length of their interface. These packets stay
                // whole.
                let (none, whole) = (SectionDescription::default(), SnapLength::EVERYTHING);
                (Encoder::pcapng(&none, &[], whole, HashAlgorithm::default())?, header)
            }
        };
        let output = Output::open(&self.options, encoder.extent(), 0, &mut Ends(header))?;
        self.section = None;
        self.interfaces.clear();
        Ok((encoder, output))
    }

    fn finish(mut self) -> Result<(), ConvertError> {
        let prepared = self.prepare().map(drop);
        let Some((_, output)) = self.output.take() else { return prepared };
        match output.finish(&mut Ends(Vec::new())).ending {
            Ending::Finished | Ending::FileLimit => prepared,
            Ending::ReaderGone => Err(ConvertError::ReaderGone),
            Ending::Failed(error) => Err(error.into()),
        }
    }
}

/// Encodes the description of an interface, with its link type and clock.
fn block(interface: &ReadInterface, snap: SnapLength) -> Result<Vec<u8>, RecordError> {
    interface.description.block(interface.link_type, snap, interface.clock)
}

/// Writes a block that is not a packet.
fn put(output: &mut Output, block: &[u8]) -> Result<(), ConvertError> {
    output.record(block).map_err(|refusal| match refusal {
        NoRoom::Ended => ConvertError::ReaderGone,
        NoRoom::Full | NoRoom::TooLong => ConvertError::Description(block.len()),
    })
}
