//! Converts capture files from one format to another, packet by packet, including counters and losses.
//!
//! A verbatim file becomes the pcapng file that a pcapng recording would have written. A pcapng file that stays one keeps its
//! blocks and options, also unknown ones (`file::copying`), at the same place. Link types, clocks, timestamps and lengths
//! do not change. pcap has one link type, one FCS length, and timestamps from 1970 to 2106; a file that needs more is refused.

mod error;
mod snap_lengths;

use std::cell::Cell;
use std::fs;
use std::io::Read;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

use capbench_model::units::{ByteCount, SnapLength};
use capbench_sys::memory::ALIGNMENT;
use capbench_sys::packet::Frame;

pub use self::error::ConvertError;
use self::snap_lengths::SnapLengths;
use crate::file::copying::drop_count;
use crate::file::reading::RawBlock;
use crate::file::{
    CaptureReader, Clock, Decompressed, ETHERNET, Encoder, FileFormat, HashAlgorithm, LeftOut, MendedLengths,
    Packet, ReadInterface, Record, SectionDescription, encode_with_options,
};
use crate::writing::{Ending, FileEnds, NoRoom, Origin, Output, WhenFull, WriteOptions};

/// Seconds that a pcap timestamp can express: from 1970 until 2106.
const PCAP_SECONDS: Range<i128> = 0..1 << 32;
/// Offset of the snap length in a pcap header.
const PCAP_SNAP: u64 = 16;
/// Offset of the snap length in an interface description block.
const INTERFACE_SNAP: usize = 12;
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
    /// Packets with more captured octets than their original length.
    pub mended_lengths: MendedLengths,
    /// Content of the file that is not in the output. Content that pcap can never store is not counted.
    pub left_out: LeftOut,
    /// Whether the file ended within a record. Everything before that is converted.
    pub ends_early: bool,
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

/// What all packets of a pcap file have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct PcapLink {
    link_type: u16,
    fcs_octets: Option<u8>,
}

struct Conversion<'o> {
    options: WriteOptions,
    format: FileFormat,
    /// Whether blocks and options of pcapng are copied.
    copies: bool,
    /// Link types and clocks of all of the section's interfaces.
    links: Vec<(u16, Clock)>,
    /// Of the packets of a pcap output.
    pcap_link: Option<PcapLink>,
    /// The largest snap length that an interface states, for a pcap output.
    largest_stated: Option<SnapLength>,
    limit: OutputLimit,
    snap_lengths: SnapLengths,
    /// Options of a packet, copied.
    packet_options: Vec<u8>,
    left_out: LeftOut,
    output: Option<(Encoder, Output)>,
    converted: &'o mut Converted,
}

/// Converts a file to this format with these options, without rotation.
///
/// # Errors
/// Why either file failed. Everything before that is written, and `converted` counts it. After a refusal
/// ([`ConvertError::LinkTypes`], [`ConvertError::FcsLengths`], [`ConvertError::Time`], [`ConvertError::TooLarge`]) the output is
/// removed.
pub fn convert(
    source: impl Read,
    format: FileFormat,
    options: &WriteOptions,
    limit: OutputLimit,
    converted: &mut Converted,
) -> Result<(), ConvertError> {
    let mut reader = CaptureReader::new(source)?.in_units();
    let copies = reader.format() == FileFormat::Pcapng && format != FileFormat::Pcap;
    let file = output_file(options);
    let keeps_stated = reader.format() == FileFormat::Verbatim || file.is_some();
    let mut options = WriteOptions { when_full: WhenFull::Wait, interfaces: 1, ..options.clone() };
    if copies {
        reader = reader.with_other_blocks();
        // Blocks may be as large as the reader accepts.
        let quarter = options.pool.0 / 4 / ALIGNMENT as u64 * ALIGNMENT as u64;
        options.buffer = ByteCount(options.buffer.0.max(quarter));
    }
    let syncs = options.syncs;
    let mut conversion = Conversion {
        options,
        format,
        copies,
        links: Vec::new(),
        pcap_link: None,
        largest_stated: None,
        limit,
        snap_lengths: SnapLengths::new(keeps_stated),
        packet_options: Vec::new(),
        left_out: LeftOut::default(),
        output: None,
        converted,
    };
    let read = conversion.run(&mut reader);
    conversion.converted.left_out = if copies { conversion.left_out } else { reader.left_out() };
    conversion.converted.mended_lengths = reader.mended_lengths();
    conversion.converted.ends_early = reader.ends_early();
    let (finished, snap_lengths) = conversion.finish();
    if read.as_ref().is_err_and(ConvertError::is_refusal) {
        if let Some(file) = file {
            // A file that cannot be removed is still reported as incomplete.
            drop(fs::remove_file(file));
        }
        return finished.and(read);
    }
    if let (Ok(()), Some(file)) = (&finished, file) {
        snap_lengths.correct(&file, syncs)?;
    }
    // If writing failed, that is why reading ended; so the write error comes first.
    finished.and(read)
}

/// The output, if it is a file that can be corrected when it is complete.
fn output_file(options: &WriteOptions) -> Option<PathBuf> {
    let file = options.first_file().ok().filter(|_| !options.is_standard_output())?;
    let is_file = fs::metadata(&file).map_or(true, |found| found.is_file());
    (is_file && options.compression.is_none()).then_some(file)
}

impl Conversion<'_> {
    fn run<R: Read>(&mut self, reader: &mut CaptureReader<R>) -> Result<(), ConvertError> {
        while let Some(record) = reader.next_record()? {
            let mut described = None;
            match record {
                Record::Packet(packet) => {
                    self.packet(&packet)?;
                    self.check_limit()?;
                    continue;
                }
                Record::Section(section) => {
                    self.links.clear();
                    if self.format != FileFormat::Pcap {
                        self.snap_lengths.begin_section();
                        described = if self.copies { None } else { Some(section.block()?) };
                    }
                }
                Record::Interface(_, interface) => described = self.interface(interface)?,
                Record::Statistics(statistics) => {
                    described = self.output.as_ref().and_then(|(encoder, _)| encoder.statistics(&statistics));
                }
                Record::Other => {}
            }
            if self.copies {
                described = reader.block().and_then(|block| self.copy(&block));
            }
            if let Some(block) = described {
                self.put(block)?;
            }
            self.check_limit()?;
        }
        Ok(())
    }

    fn check_limit(&self) -> Result<(), ConvertError> {
        let limit = self.limit.octets();
        match &self.output {
            Some((_, output)) if output.file_bytes() > limit => Err(ConvertError::TooLarge(limit)),
            _ => Ok(()),
        }
    }

    /// Notes an interface. Returns its description as a block of pcapng, unless blocks are copied.
    fn interface(&mut self, interface: &ReadInterface) -> Result<Option<Vec<u8>>, ConvertError> {
        let ReadInterface { link_type, snap, description, clock } = interface;
        self.links.push((*link_type, *clock));
        let stated = SnapLength::new(*snap);
        if self.format == FileFormat::Pcap {
            self.largest_stated = self.largest_stated.max(Some(stated));
            // For a header that is written already.
            self.snap_lengths.note(0, stated.octets());
            return Ok(None);
        }
        let stated = if self.copies { *snap } else { stated.octets() };
        let written = self.snap_lengths.to_write(stated);
        let begin = self.output.as_ref().map_or(0, |(_, output)| output.file_bytes());
        self.snap_lengths.add(begin + INTERFACE_SNAP as u64, written);
        if self.copies {
            return Ok(None);
        }
        Ok(Some(description.block(*link_type, SnapLength::new(written), *clock)?))
    }

    /// A block of the input, for the output; `None` if all of it is left out.
    fn copy(&mut self, block: &RawBlock<'_>) -> Option<Vec<u8>> {
        let mut copy = block.copy(&mut self.left_out)?;
        if let Some(written) = block.is_interface().then(|| self.snap_lengths.last_written()).flatten() {
            copy[INTERFACE_SNAP..][..4].copy_from_slice(&written.to_le_bytes());
        }
        Some(copy)
    }

    fn packet(&mut self, packet: &Packet<'_>) -> Result<(), ConvertError> {
        let too_long =
            ConvertError::TooLong { number: self.converted.packets + 1, octets: packet.data.len() };
        if packet.data.len() > SnapLength::EVERYTHING.octets() as usize {
            return Err(too_long);
        }
        let time = self.time_of(packet)?;
        if self.output.is_none() {
            self.open(Vec::new())?;
        }
        let Some((encoder, output)) = &mut self.output else { return Err(ConvertError::ReaderGone) };
        // The output is one file: timestamps never start another.
        let (origin, mut ends) = (Origin { interface: 0, time_ns: 0 }, Ends(Vec::new()));
        let done = if self.copies {
            let options = &mut self.packet_options;
            options.clear();
            packet.options.copy(options, &mut self.left_out);
            drop_count(packet, options);
            output
                .packet(origin, &mut ends, |room: &mut [u8]| encode_with_options(packet, time, options, room))
        } else {
            if let Some(hash) = packet.hash {
                encoder.set_hash_algorithm(hash.algorithm);
            }
            let (frame, facts) = (Frame { time_ns: time, ..packet.frame() }, packet.facts());
            output.packet(origin, &mut ends, |room: &mut [u8]| encoder.encode(&frame, &facts, room))
        };
        match done {
            Ok(()) => {}
            Err(NoRoom::Ended) => return Err(ConvertError::ReaderGone),
            Err(NoRoom::Full | NoRoom::TooLong) => return Err(too_long),
        }
        let interface = if self.format == FileFormat::Pcap { 0 } else { packet.interface };
        self.snap_lengths.note(interface, packet.data.len() as u32);
        self.converted.packets += 1;
        self.converted.dropped += packet.dropped.unwrap_or(0);
        self.converted.without_time += u64::from(packet.time_ns.is_none());
        Ok(())
    }

    /// The timestamp to write. In pcapng the number from the file, because the interface keeps its clock; in pcap nanoseconds.
    fn time_of(&mut self, packet: &Packet<'_>) -> Result<u64, ConvertError> {
        let units = packet.time_ns.unwrap_or(0);
        let link = self.links.get(packet.interface as usize).filter(|_| self.format == FileFormat::Pcap);
        let Some(&(link_type, clock)) = link else { return Ok(units) };
        let number = self.converted.packets + 1;
        let fcs_octets = packet.fcs_octets;
        let PcapLink { link_type: first, fcs_octets: first_fcs } =
            *self.pcap_link.get_or_insert(PcapLink { link_type, fcs_octets });
        if link_type != first {
            return Err(ConvertError::LinkTypes { number, link_type, first });
        }
        if fcs_octets != first_fcs {
            return Err(ConvertError::FcsLengths { number, fcs_octets, first: first_fcs });
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

    /// Writes a block that is not a packet. The first one opens the output.
    fn put(&mut self, block: Vec<u8>) -> Result<(), ConvertError> {
        match &mut self.output {
            Some((_, output)) => put(output, &block),
            None => self.open(block),
        }
    }

    /// Opens the output. A pcapng file begins with this block.
    fn open(&mut self, block: Vec<u8>) -> Result<(), ConvertError> {
        let (encoder, header) = match self.format {
            FileFormat::Pcap => {
                let stated = self.largest_stated.unwrap_or(SnapLength::EVERYTHING).octets();
                let written = self.snap_lengths.to_write(stated);
                let first = self.links.first().map(|(link_type, _)| *link_type);
                let link = PcapLink { link_type: first.unwrap_or(ETHERNET), fcs_octets: None };
                let PcapLink { link_type, fcs_octets } = self.pcap_link.unwrap_or(link);
                self.snap_lengths.add(PCAP_SNAP, written);
                let encoder = Encoder::pcap_of_packets(link_type, written, fcs_octets);
                let refusal = ConvertError::FcsLengths { number: 1, fcs_octets, first: fcs_octets };
                let encoder = encoder.ok_or(refusal)?;
                let header = encoder.header();
                (encoder, header)
            }
            FileFormat::Pcapng | FileFormat::Verbatim => {
                // Files of other programs can have packets longer than the snap length of their interface. These packets stay
                // whole.
                let (none, whole) = (SectionDescription::default(), SnapLength::EVERYTHING);
                (Encoder::pcapng(&none, &[], whole, HashAlgorithm::default())?, block)
            }
        };
        let output = Output::open(&self.options, encoder.extent(), 0, &mut Ends(header))?;
        self.output = Some((encoder, output));
        Ok(())
    }

    /// Opens the output of a file without packets or, of pcapng, without one whole block.
    fn open_empty(&mut self) -> Result<(), ConvertError> {
        let beginning = match self.format {
            FileFormat::Pcap => Vec::new(),
            FileFormat::Pcapng | FileFormat::Verbatim => SectionDescription::default().block()?,
        };
        self.open(beginning)
    }

    fn finish(mut self) -> (Result<(), ConvertError>, SnapLengths) {
        if self.output.is_none()
            && let Err(error) = self.open_empty()
        {
            return (Err(error), self.snap_lengths);
        }
        let done = match self.output.take().map(|(_, output)| output.finish(&mut Ends(Vec::new())).ending) {
            None | Some(Ending::Finished | Ending::FileLimit) => Ok(()),
            Some(Ending::ReaderGone) => Err(ConvertError::ReaderGone),
            Some(Ending::Failed(error)) => Err(error.into()),
        };
        (done, self.snap_lengths)
    }
}

/// Writes a block that is not a packet.
fn put(output: &mut Output, block: &[u8]) -> Result<(), ConvertError> {
    output.record(block).map_err(|refusal| match refusal {
        NoRoom::Ended => ConvertError::ReaderGone,
        NoRoom::Full | NoRoom::TooLong => ConvertError::Description(block.len()),
    })
}
