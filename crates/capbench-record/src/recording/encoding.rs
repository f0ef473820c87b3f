//! The format of a recording.

use capbench_sys::packet::Frame;

use super::plan::Plan;
use crate::error::Result;
use crate::file::{
    Encoder, Extent, FileFormat, InterfaceDescription, InterfaceStatistics, PacketFacts, PcapEncoder,
    PcapngEncoder, VerbatimEncoder,
};
use crate::writing::{Record, RecordReader};

/// An encoder of one of the formats. The branch goes the same way for every frame.
#[derive(Clone, Debug)]
pub(super) enum Encoding {
    Pcapng(PcapngEncoder),
    Pcap(PcapEncoder),
    Verbatim(VerbatimEncoder),
}

impl Encoding {
    /// For the interfaces of a plan, with these descriptions.
    pub(super) fn new(plan: &Plan, descriptions: &[InterfaceDescription]) -> Result<Self> {
        let pcapng = || PcapngEncoder::new(&plan.section, descriptions, plan.snap_length, plan.hash);
        Ok(match plan.format {
            FileFormat::Pcapng => Self::Pcapng(pcapng()?),
            FileFormat::Verbatim => Self::Verbatim(VerbatimEncoder::new(pcapng()?)),
            FileFormat::Pcap => Self::Pcap(PcapEncoder::new(plan.snap_length)),
        })
    }

    /// The function that finds the end of its records.
    pub(super) fn reader(&self) -> RecordReader {
        match self {
            Self::Pcapng(_) | Self::Verbatim(_) => pcapng_record,
            Self::Pcap(_) => pcap_record,
        }
    }
}

impl Encoder for Encoding {
    fn header(&self) -> Vec<u8> {
        match self {
            Self::Pcapng(encoder) => encoder.header(),
            Self::Pcap(encoder) => encoder.header(),
            Self::Verbatim(encoder) => encoder.header(),
        }
    }

    #[inline]
    fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize> {
        match self {
            Self::Pcapng(encoder) => encoder.encode(frame, facts, room),
            Self::Pcap(encoder) => encoder.encode(frame, facts, room),
            Self::Verbatim(encoder) => encoder.encode(frame, facts, room),
        }
    }

    #[inline]
    fn with_drop_count(&self, record: &[u8], dropped: u64, room: &mut [u8]) -> Option<usize> {
        match self {
            Self::Pcapng(encoder) => encoder.with_drop_count(record, dropped, room),
            Self::Pcap(encoder) => encoder.with_drop_count(record, dropped, room),
            Self::Verbatim(encoder) => encoder.with_drop_count(record, dropped, room),
        }
    }

    fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>> {
        match self {
            Self::Pcapng(encoder) => encoder.statistics(statistics),
            Self::Pcap(encoder) => encoder.statistics(statistics),
            Self::Verbatim(encoder) => encoder.statistics(statistics),
        }
    }

    fn largest_record(&self) -> usize {
        match self {
            Self::Pcapng(encoder) => encoder.largest_record(),
            Self::Pcap(encoder) => encoder.largest_record(),
            Self::Verbatim(encoder) => encoder.largest_record(),
        }
    }
}

fn pcapng_record(octets: &[u8]) -> Option<Record> {
    PcapngEncoder::extent(octets).map(record)
}

fn pcap_record(octets: &[u8]) -> Option<Record> {
    PcapEncoder::extent(octets).map(record)
}

fn record(extent: Extent) -> Record {
    Record { length: extent.length, packet_of: extent.packet_of, packets: extent.frames }
}
