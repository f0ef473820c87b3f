//! The encoder of pcap (draft-ietf-opsawg-pcap): little-endian, timestamps in nanoseconds. The format stores only timestamps,
//! lengths and octets.

use capbench_sys::packet::Frame;

use super::facts::PacketFacts;
use super::statistics::InterfaceStatistics;
use super::tagging::Laid;
use super::{ETHERNET, Encoder, Extent, SnapLength};

/// Magic number of files with timestamps in nanoseconds.
pub(super) const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Magic number of files with timestamps in microseconds.
pub(super) const MICROSECONDS: u32 = 0xa1b2_c3d4;
/// Octets of a record's header.
pub(super) const HEAD: usize = 16;

/// Encodes frames of one link type as records of a pcap file.
#[derive(Clone, Copy, Debug)]
pub struct PcapEncoder {
    snap: SnapLength,
    link_type: u16,
}

impl PcapEncoder {
    /// For Ethernet frames with this snap length.
    pub fn new(snap: SnapLength) -> Self {
        Self::of_link(ETHERNET, snap)
    }

    /// For frames of this link type with this snap length.
    pub(crate) fn of_link(link_type: u16, snap: SnapLength) -> Self {
        Self { snap, link_type }
    }

    /// Extent of the record at the beginning of `octets`, which such an encoder wrote; `None` if they are shorter than its
    /// header. A file header is not a record.
    pub fn extent(octets: &[u8]) -> Option<Extent> {
        let [.., a, b, c, d, _, _, _, _] = *octets.first_chunk::<HEAD>()?;
        let captured = u32::from_le_bytes([a, b, c, d]) as usize;
        Some(Extent { length: HEAD + captured, packet_of: Some(0), frames: 1 })
    }

    /// Octets of the largest record at a snap length.
    pub const fn largest_record_of(snap: SnapLength) -> usize {
        HEAD + snap.octets() as usize
    }
}

impl Encoder for PcapEncoder {
    fn header(&self) -> Vec<u8> {
        // Version 2.4; two fields that are always 0.
        let words = [NANOSECONDS, 4 << 16 | 2, 0, 0, self.snap.octets(), self.link_type.into()];
        words.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The format has no fields for the facts. Timestamps have 32-bit seconds, which end in 2106; later ones become the maximum.
    #[inline]
    fn encode(&self, frame: &Frame<'_>, _: &PacketFacts, room: &mut [u8]) -> Option<usize> {
        let laid = Laid::new(frame, self.snap.octets() as usize);
        let total = HEAD + laid.captured;
        let (head, octets) = room.get_mut(..total)?.split_at_mut(HEAD);
        let seconds = (frame.time_ns / 1_000_000_000).min(u32::MAX.into()) as u32;
        let words = [seconds, (frame.time_ns % 1_000_000_000) as u32, laid.captured as u32, laid.original];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        laid.copy(octets);
        Some(total)
    }

    fn with_drop_count(&self, record: &[u8], _: u64, room: &mut [u8]) -> Option<usize> {
        room.get_mut(..record.len())?.copy_from_slice(record);
        Some(record.len())
    }

    fn statistics(&self, _: &InterfaceStatistics) -> Option<Vec<u8>> {
        None
    }

    fn largest_record(&self) -> usize {
        Self::largest_record_of(self.snap)
    }
}
