//! Reads capture files: pcapng and pcap in either byte order and any timestamp resolution, and verbatim files.
//!
//! Input is untrusted. The reader never panics. It uses up to [`LARGEST_RECORD`] octets of memory for a record, and as much again
//! for the descriptions of a section. If a file ends within a record, like that of a killed program, the reader returns every
//! record before.
//!
//! | file | what |
//! |---|---|
//! | `input` | a read-ahead buffer |
//! | `octets` | numbers and options in either byte order |
//! | `record` | the records that the reader returns, counts of what it skips, and why it stops |
//! | `pcapng`, `pcap`, `ring` | decode records |

mod input;
mod octets;
mod pcap;
mod pcapng;
mod record;
mod ring;

use std::io::Read;
use std::mem::take;

pub use record::{FileError, LeftOut, Packet, PacketHash, ReadInterface, Record};

use self::input::{Input, There};
pub(crate) use self::octets::Order;
use self::pcapng::Times;
pub(crate) use self::record::{RawBlock, RawOptions};
use self::ring::Ring;
use super::FileFormat;
use super::blocks::{BYTE_ORDER, FRAMING, INTERFACE, SECTION, STATISTICS};
use super::description::SectionDescription;
use super::lengths::MendedLengths;
use super::verbatim::{MAGIC, PADDING, RING_BLOCK};

/// Maximum octets of a record. No known program captures more of a frame: `MAXIMUM_SNAPLEN` of libpcap is 256 KiB, which some
/// captures of a loopback interface exceed.
pub const LARGEST_RECORD: usize = 16 << 20;

/// Maximum memory per octet of a description: an empty comment has 4 octets in the file and becomes a `String` of 24.
const EXPANSION: usize = 8;

/// Reads a file, one record at a time.
#[derive(Debug)]
pub struct CaptureReader<R> {
    input: Input<R>,
    format: Format,
    section: SectionDescription,
    interfaces: Vec<ReadInterface>,
    /// Memory used by the interfaces.
    described: usize,
    /// The ring block that contains the next frame.
    ring: Option<Ring>,
    /// Octets of the last returned record.
    used: usize,
    frames: u64,
    times: Times,
    has_other_blocks: bool,
    left_out: LeftOut,
    mended_lengths: MendedLengths,
    ends_early: bool,
    over: bool,
}

/// The format of the file, and the progress of reading.
#[derive(Debug)]
enum Format {
    Pcapng { order: Order, is_verbatim: bool },
    Pcap { format: pcap::Format, stage: Stage },
}

/// Next item of a pcap file.
#[derive(Clone, Copy, Debug)]
enum Stage {
    Section,
    Interface,
    Packets,
}

impl<R: Read> CaptureReader<R> {
    /// Detects the format from the first octets of a file.
    ///
    /// # Errors
    /// If the file is empty, has an unknown format, or cannot be read.
    pub fn new(source: R) -> Result<Self, FileError> {
        let mut input = Input::new(source);
        if input.want(4).map_err(FileError::Read)? != There::Whole {
            return Err(FileError::Empty);
        }
        let magic = <[u8; 4]>::try_from(&input.octets()[..4]).unwrap_or_default();
        let format = if magic == SECTION.to_le_bytes() {
            Format::Pcapng { order: Order::Little, is_verbatim: false }
        } else if MAGIC.starts_with(&magic) {
            let is_there = input.want(MAGIC.len()).map_err(FileError::Read)? == There::Whole;
            if !is_there || !input.octets().starts_with(MAGIC) {
                return Err(FileError::OtherVerbatim);
            }
            input.skip(MAGIC.len());
            let is_there = input.want(SECTION.to_le_bytes().len()).map_err(FileError::Read)? == There::Whole;
            if is_there && !input.octets().starts_with(&SECTION.to_le_bytes()) {
                let what = "no section header at its beginning".into();
                return Err(FileError::Damaged { frames: 0, what });
            }
            Format::Pcapng { order: Order::Little, is_verbatim: true }
        } else {
            let format = pcap::Format::of(magic).ok_or(FileError::Unknown(magic))?;
            Format::Pcap { format, stage: Stage::Section }
        };
        Ok(Self {
            input,
            format,
            section: SectionDescription::default(),
            interfaces: Vec::new(),
            described: 0,
            ring: None,
            used: 0,
            frames: 0,
            times: Times::Nanoseconds,
            has_other_blocks: false,
            left_out: LeftOut::default(),
            mended_lengths: MendedLengths::default(),
            ends_early: false,
            over: false,
        })
    }

    /// Makes the timestamps of packets and statistics the numbers in the file, whose unit is the [`super::Clock`] of their
    /// interface. No timestamp is then rounded or out of range.
    pub fn in_units(self) -> Self {
        Self { times: Times::Units, ..self }
    }

    /// Returns pcapng blocks that are not decoded as [`Record::Other`], instead of skipping and counting them.
    pub(crate) fn with_other_blocks(self) -> Self {
        Self { has_other_blocks: true, ..self }
    }

    /// The pcapng block of the last returned record; `None` if the file is not pcapng.
    pub(crate) fn block(&self) -> Option<RawBlock<'_>> {
        let Format::Pcapng { order, is_verbatim: false } = self.format else { return None };
        let octets = self.input.octets().get(..self.used)?;
        RawBlock::new(order.u32(octets)?, order, octets)
    }

    /// The next record; `None` at the end, or after an error. Blocks that are not a [`Record`] are skipped and counted.
    ///
    /// # Errors
    /// If the file is damaged or cannot be read.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, FileError> {
        self.input.skip(take(&mut self.used));
        if self.over {
            return Ok(None);
        }
        // Reset when a record is found.
        self.over = true;
        match self.format {
            Format::Pcapng { .. } => self.next_block(),
            Format::Pcap { format, stage } => self.next_of_pcap(format, stage),
        }
    }

    /// The file's format.
    pub fn format(&self) -> FileFormat {
        match self.format {
            Format::Pcapng { is_verbatim: true, .. } => FileFormat::Verbatim,
            Format::Pcapng { .. } => FileFormat::Pcapng,
            Format::Pcap { .. } => FileFormat::Pcap,
        }
    }

    /// Frames returned so far.
    pub fn frames(&self) -> u64 {
        self.frames
    }

    /// Counts of skipped content so far.
    pub fn left_out(&self) -> LeftOut {
        self.left_out
    }

    /// Packets so far with more captured octets than their original length.
    pub fn mended_lengths(&self) -> MendedLengths {
        self.mended_lengths
    }

    /// Whether the file ended within a record. Valid at the end.
    pub fn ends_early(&self) -> bool {
        self.ends_early
    }

    /// The interfaces of the current section so far.
    pub fn interfaces(&self) -> &[ReadInterface] {
        &self.interfaces
    }

    fn next_block(&mut self) -> Result<Option<Record<'_>>, FileError> {
        let (kind, order, length) = loop {
            if self.ring.is_some() {
                return self.next_of_ring();
            }
            let Some(block) = self.find_block()? else { return Ok(None) };
            let is_returned = self.has_other_blocks && self.format() == FileFormat::Pcapng;
            if pcapng::is_known(block.0) || is_returned {
                break block;
            }
            self.begin_ring(block)?;
        };
        self.used = length;
        let body = &self.input.octets()[8..length - 4];
        if matches!(kind, SECTION | INTERFACE | STATISTICS) {
            let memory = EXPANSION * length + size_of::<ReadInterface>();
            self.described = if kind == SECTION { 0 } else { self.described };
            if self.described + memory > LARGEST_RECORD {
                return Err(self.damaged("descriptions of more memory than a record may have"));
            }
            self.described += if kind == INTERFACE { memory } else { 0 };
        }
        let mut record = match kind {
            SECTION => {
                self.section = pcapng::section(order, body, &mut self.left_out);
                self.interfaces.clear();
                Some(Record::Section(&self.section))
            }
            INTERFACE => {
                let number = self.interfaces.len() as u32;
                let interface = pcapng::interface(order, body, &mut self.left_out);
                let known = interface.is_some();
                self.interfaces.extend(interface);
                self.interfaces.last().filter(|_| known).map(|last| Record::Interface(number, last))
            }
            STATISTICS => pcapng::statistics(order, body, &self.interfaces, self.times, &mut self.left_out)
                .map(Record::Statistics),
            _ if !pcapng::is_known(kind) => Some(Record::Other),
            _ => pcapng::packet(kind, order, body, &self.interfaces, self.times, &mut self.left_out)
                .map(Record::Packet),
        };
        if let Some(Record::Packet(packet)) = &mut record {
            self.mended_lengths.mend(&mut packet.data, &mut packet.original_length);
        }
        let Some(record) = record else {
            let what = "a block that is too short, or of an interface that does not exist";
            return Err(FileError::Damaged { frames: self.frames, what: what.into() });
        };
        self.frames += u64::from(matches!(record, Record::Packet(_)));
        self.over = false;
        Ok(Some(record))
    }

    /// Enters a ring block with frames, and skips any other block that is not a [`Record`].
    fn begin_ring(&mut self, (kind, _, length): (u32, Order, usize)) -> Result<(), FileError> {
        let is_verbatim = self.format() == FileFormat::Verbatim;
        if is_verbatim && kind == RING_BLOCK {
            let ring = Ring::of(&self.input.octets()[..length]).filter(|_| !self.interfaces.is_empty());
            let ring = ring.ok_or_else(|| self.damaged("a block of a ring without head or interface"))?;
            self.ring = Some(ring).filter(|ring| ring.left > 0);
        } else if !(is_verbatim && kind == PADDING) {
            self.left_out.block(kind);
        }
        if self.ring.is_none() {
            self.input.skip(length);
        }
        Ok(())
    }

    fn next_of_ring(&mut self) -> Result<Option<Record<'_>>, FileError> {
        let Some(mut ring) = self.ring.take() else { return Ok(None) };
        let snap = self.interfaces.first().map_or(0, |interface| interface.snap);
        let Some(mut packet) = ring.next(&mut self.input.octets_mut()[..ring.length], snap) else {
            let what = "a frame outside its block of a ring";
            return Err(FileError::Damaged { frames: self.frames, what: what.into() });
        };
        self.mended_lengths.mend(&mut packet.data, &mut packet.original_length);
        self.frames += 1;
        self.over = false;
        if ring.left > 0 {
            self.ring = Some(ring);
        } else {
            self.used = ring.length;
        }
        Ok(Some(Record::Packet(packet)))
    }

    /// Type, byte order and length of the next block, which is read completely; `None` at the end.
    fn find_block(&mut self) -> Result<Option<(u32, Order, usize)>, FileError> {
        let Format::Pcapng { mut order, is_verbatim } = self.format else { return Ok(None) };
        if !self.is_there(8)? {
            return Ok(None);
        }
        let mut least = FRAMING;
        if self.input.octets().starts_with(&SECTION.to_le_bytes()) {
            // The body begins with the byte order, which is needed to read the length.
            if !self.is_there(12)? {
                return Ok(None);
            }
            let magic = &self.input.octets()[8..12];
            order = if magic == BYTE_ORDER.to_le_bytes() {
                Order::Little
            } else if magic == BYTE_ORDER.to_be_bytes() {
                Order::Big
            } else {
                return Err(self.damaged(&format!("a section without {BYTE_ORDER:#x}")));
            };
            self.format = Format::Pcapng { order, is_verbatim };
            least += 4;
        }
        let Some(([kind, length], _)) = order.words(self.input.octets()) else { return Ok(None) };
        let octets = length as usize;
        if !octets.is_multiple_of(4) || !(least..=LARGEST_RECORD).contains(&octets) {
            return Err(self.damaged(&format!("a block of {length} octets")));
        }
        if !self.is_there(octets)? {
            return Ok(None);
        }
        if order.u32(&self.input.octets()[octets - 4..]) != Some(length) {
            return Err(self.damaged("the two lengths of a block differ"));
        }
        Ok(Some((kind, order, octets)))
    }

    fn next_of_pcap(&mut self, format: pcap::Format, stage: Stage) -> Result<Option<Record<'_>>, FileError> {
        let next = |stage| Format::Pcap { format, stage };
        match stage {
            Stage::Section => {
                (self.format, self.over) = (next(Stage::Interface), false);
                Ok(Some(Record::Section(&self.section)))
            }
            Stage::Interface => {
                if !self.is_there(pcap::HEADER)? {
                    return Ok(None);
                }
                let interface = format.interface(self.input.octets(), &mut self.left_out);
                (self.format, self.over) = (next(Stage::Packets), false);
                self.used = pcap::HEADER;
                self.interfaces.extend(interface);
                Ok(self.interfaces.first().map(|interface| Record::Interface(0, interface)))
            }
            Stage::Packets => {
                if !self.is_there(super::pcap::HEAD)? {
                    return Ok(None);
                }
                let captured = format.captured(self.input.octets());
                let fcs_octets = self.interfaces.first().and_then(|only| only.description.fcs_octets);
                let length = super::pcap::HEAD + captured as usize;
                if length > LARGEST_RECORD {
                    return Err(self.damaged(&format!("a record of {captured} octets")));
                }
                if !self.is_there(length)? {
                    return Ok(None);
                }
                self.used = length;
                self.frames += 1;
                self.over = false;
                let mut packet = format.packet(&self.input.octets()[..length]);
                if let Some(packet) = &mut packet {
                    packet.fcs_octets = fcs_octets;
                    self.mended_lengths.mend(&mut packet.data, &mut packet.original_length);
                }
                Ok(packet.map(Record::Packet))
            }
        }
    }

    /// Whether this many octets of the current record are available. Notes if the file ends before.
    fn is_there(&mut self, octets: usize) -> Result<bool, FileError> {
        let there = self.input.want(octets).map_err(FileError::Read)?;
        self.ends_early = there == There::Part;
        Ok(there == There::Whole)
    }

    fn damaged(&self, what: &str) -> FileError {
        FileError::Damaged { frames: self.frames, what: what.into() }
    }

    /// Memory used for records.
    #[cfg(any(test, fuzzing))]
    pub(super) fn memory(&self) -> usize {
        self.input.memory()
    }
}
