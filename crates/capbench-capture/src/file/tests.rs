//! Encoders and reader against each other, and the reader against files as others write them.

mod converting;
mod foreign;
mod reading;
mod round_trip;
mod verbatim;

use std::io::{self, Read};

use super::description::SectionDescription;
use super::facts::PacketFacts;
use super::reading::{CaptureReader, FileError, LARGEST_RECORD, Packet, PacketHash, ReadInterface, Record};
use super::statistics::InterfaceStatistics;

pub(super) use foreign::{example, pcap_example};
pub(super) use verbatim::small_example;

/// A record that outlives its reader.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kept {
    Section(SectionDescription),
    Interface(u32, ReadInterface),
    Packet(KeptPacket),
    Statistics(InterfaceStatistics),
}

/// A frame that does, field by field as in [`Packet`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct KeptPacket {
    pub(super) interface: u32,
    pub(super) data: Vec<u8>,
    pub(super) original_length: u32,
    pub(super) time_ns: Option<u64>,
    pub(super) dropped: Option<u64>,
    pub(super) flags: Option<u32>,
    pub(super) queue: Option<u32>,
    pub(super) hash: Option<(u8, Vec<u8>)>,
}

impl From<Packet<'_>> for KeptPacket {
    fn from(packet: Packet<'_>) -> Self {
        Self {
            interface: packet.interface,
            data: packet.data.to_vec(),
            original_length: packet.original_length,
            time_ns: packet.time_ns,
            dropped: packet.dropped,
            flags: packet.flags,
            queue: packet.queue,
            hash: packet.hash.map(|hash| (hash.algorithm, hash.value.to_vec())),
        }
    }
}

impl KeptPacket {
    /// As the reader gave it.
    pub(super) fn as_read(&self) -> Packet<'_> {
        Packet {
            interface: self.interface,
            data: &self.data,
            original_length: self.original_length,
            time_ns: self.time_ns,
            dropped: self.dropped,
            flags: self.flags,
            queue: self.queue,
            hash: self.hash.as_ref().map(|(algorithm, value)| PacketHash { algorithm: *algorithm, value }),
        }
    }

    pub(super) fn facts(&self) -> PacketFacts {
        self.as_read().facts()
    }
}

/// Gives octets a few at a time.
pub(super) struct Trickle<'a>(pub(super) &'a [u8], pub(super) usize);

impl Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let octets = self.1.min(self.0.len()).min(to.len());
        let (now, later) = self.0.split_at(octets);
        to[..octets].copy_from_slice(now);
        self.0 = later;
        Ok(octets)
    }
}

/// What a file gave, and how it ended.
#[derive(Debug)]
pub(super) struct Whole {
    pub(super) records: Vec<Kept>,
    /// Whether within a record.
    pub(super) early: bool,
    pub(super) error: Option<FileError>,
}

impl Whole {
    /// Of a file that can be opened. Checks what holds of any.
    pub(super) fn read(source: impl Read) -> Result<Self, FileError> {
        let mut reader = CaptureReader::new(source)?;
        let (mut records, mut error) = (Vec::new(), None);
        loop {
            match reader.next_record() {
                Ok(Some(Record::Section(section))) => records.push(Kept::Section(section.clone())),
                Ok(Some(Record::Interface(number, interface))) => {
                    records.push(Kept::Interface(number, interface.clone()));
                }
                Ok(Some(Record::Packet(packet))) => records.push(Kept::Packet(packet.into())),
                Ok(Some(Record::Statistics(statistics))) => records.push(Kept::Statistics(statistics)),
                Ok(None) => break,
                Err(damage) => {
                    error = Some(damage);
                    break;
                }
            }
            assert!(reader.memory() <= LARGEST_RECORD);
        }
        assert!(matches!(reader.next_record(), Ok(None)), "nothing comes behind the end");
        let frames = records.iter().filter(|record| matches!(record, Kept::Packet(_))).count();
        assert_eq!(reader.frames(), frames as u64);
        Ok(Self { records, early: reader.ends_early(), error })
    }

    /// Of a file that is whole and sound.
    pub(super) fn of(octets: &[u8]) -> Vec<Kept> {
        let whole = Self::read(octets).unwrap();
        assert!(!whole.early && whole.error.is_none(), "{:?}", whole.error);
        whole.records
    }

    pub(super) fn packets(&self) -> impl Iterator<Item = &KeptPacket> {
        packets(&self.records)
    }
}

/// The frames among records.
pub(super) fn packets(records: &[Kept]) -> impl Iterator<Item = &KeptPacket> {
    records.iter().filter_map(|record| match record {
        Kept::Packet(packet) => Some(packet),
        _ => None,
    })
}
