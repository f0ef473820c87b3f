//! Invariants of reading any capture file. `fuzz/` and the unit tests share these checks.

use std::io::{self, Read};

use capbench_model::units::SnapLength;

use super::description::SectionDescription;
use super::facts::PacketFacts;
use super::reading::{CaptureReader, FileError, LARGEST_RECORD, Packet, PacketHash, ReadInterface, Record};
use super::statistics::InterfaceStatistics;
use super::{ETHERNET, Encoder, HashAlgorithm, InterfaceDescription};

/// Packets with more octets are not written again.
const LARGEST: u32 = 8192;

/// Checks invariants of any file. The chunking of the input makes no difference. Records before a cut stay the same. Records
/// that were read can be written and are read back equal.
pub fn check(octets: &[u8]) {
    let Ok(whole) = Whole::read(octets) else { return };
    let choice = octets.iter().fold(0_usize, |sum, octet| sum.wrapping_mul(31).wrapping_add((*octet).into()));
    let trickled = Whole::read(Trickle(octets, choice % 7 + 1)).expect("it was read before");
    assert_eq!(trickled.records, whole.records, "the octets per read make no difference");
    assert_eq!(trickled.error.map(|error| error.to_string()), whole.error.as_ref().map(ToString::to_string));
    if let Ok(cut) = Whole::read(&octets[..choice % (octets.len() + 1)]) {
        assert_eq!(cut.records, whole.records[..cut.records.len()], "later octets make no difference");
    }
    written_again(&whole);
}

/// Records can be written, and are read back equal.
fn written_again(whole: &Whole) {
    let interfaces = vec![InterfaceDescription::default(); 4];
    let snap = SnapLength::new(LARGEST);
    let encoder = Encoder::pcapng(&SectionDescription::default(), &interfaces, snap, HashAlgorithm::Toeplitz);
    let encoder = encoder.expect("nothing in it is long");
    let mut file = encoder.header();
    let mut room = vec![0; encoder.largest_record()];
    let mut expected = Vec::new();
    let is_written = |packet: &&KeptPacket| packet.interface < 4 && packet.data.len() <= LARGEST as usize;
    for packet in packets(&whole.records).filter(is_written) {
        let read = packet.as_read();
        let length =
            encoder.encode(&read.frame(), &read.facts(), &mut room).expect("the largest record fits");
        file.extend(&room[..length]);
        assert!(Encoder::pcap(ETHERNET, snap).encode(&read.frame(), &read.facts(), &mut room).is_some());
        expected.push((
            packet.data.clone(),
            packet.original_length,
            packet.time_ns.or(Some(0)),
            packet.facts(),
        ));
    }
    let again = Whole::of(&file);
    let seen: Vec<_> = packets(&again)
        .map(|packet| (packet.data.clone(), packet.original_length, packet.time_ns, packet.facts()))
        .collect();
    assert_eq!(seen, expected);
}

/// A record that outlives its reader.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kept {
    Section(SectionDescription),
    Interface(u32, ReadInterface),
    Packet(KeptPacket),
    Statistics(InterfaceStatistics),
}

/// A frame that outlives its reader, with the fields of [`Packet`].
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct KeptPacket {
    pub(crate) interface: u32,
    pub(crate) data: Vec<u8>,
    pub(crate) original_length: u32,
    pub(crate) fcs_octets: Option<u8>,
    pub(crate) time_ns: Option<u64>,
    pub(crate) dropped: Option<u64>,
    pub(crate) flags: Option<u32>,
    pub(crate) queue: Option<u32>,
    pub(crate) hash: Option<(u8, Vec<u8>)>,
}

impl From<Packet<'_>> for KeptPacket {
    fn from(packet: Packet<'_>) -> Self {
        Self {
            interface: packet.interface,
            data: packet.data.to_vec(),
            original_length: packet.original_length,
            fcs_octets: packet.fcs_octets,
            time_ns: packet.time_ns,
            dropped: packet.dropped,
            flags: packet.flags,
            queue: packet.queue,
            hash: packet.hash.map(|hash| (hash.algorithm, hash.value.to_vec())),
        }
    }
}

impl KeptPacket {
    /// The frame as the reader returned it.
    pub(crate) fn as_read(&self) -> Packet<'_> {
        Packet {
            interface: self.interface,
            data: &self.data,
            original_length: self.original_length,
            fcs_octets: self.fcs_octets,
            time_ns: self.time_ns,
            dropped: self.dropped,
            flags: self.flags,
            queue: self.queue,
            hash: self.hash.as_ref().map(|(algorithm, value)| PacketHash { algorithm: *algorithm, value }),
            ..Packet::default()
        }
    }

    pub(crate) fn facts(&self) -> PacketFacts {
        self.as_read().facts()
    }
}

/// A source that returns a few octets at a time.
struct Trickle<'a>(&'a [u8], usize);

impl Read for Trickle<'_> {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let octets = self.1.min(self.0.len()).min(to.len());
        let (now, later) = self.0.split_at(octets);
        to[..octets].copy_from_slice(now);
        self.0 = later;
        Ok(octets)
    }
}

/// The records of a file, and how the file ended.
#[derive(Debug)]
pub(crate) struct Whole {
    pub(crate) records: Vec<Kept>,
    /// Whether it ended within a record.
    pub(crate) early: bool,
    pub(crate) error: Option<FileError>,
}

impl Whole {
    /// For a file that can be opened. Checks invariants of any file.
    pub(crate) fn read(source: impl Read) -> Result<Self, FileError> {
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
                Ok(Some(Record::Other)) => panic!("it was not asked for"),
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

    /// For a complete and valid file.
    pub(crate) fn of(octets: &[u8]) -> Vec<Kept> {
        let whole = Self::read(octets).unwrap();
        assert!(!whole.early && whole.error.is_none(), "{:?}", whole.error);
        whole.records
    }
}

/// The frames among records.
pub(crate) fn packets(records: &[Kept]) -> impl Iterator<Item = &KeptPacket> {
    records.iter().filter_map(|record| match record {
        Kept::Packet(packet) => Some(packet),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{example, pcap_example, small_example};
    use super::check;

    #[test]
    fn every_file_of_the_corpus_is_read_as_any_file() {
        capbench_testing::replay("capture_file", check);
        [false, true].map(example).iter().for_each(|octets| check(octets));
        check(&small_example());
        for magic in [0xa1b2_c3d4, 0xa1b2_3c4d] {
            [false, true].map(|big| pcap_example(big, magic)).iter().for_each(|octets| check(octets));
        }
    }
}
