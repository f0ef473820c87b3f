//! Header and records of pcap (draft-ietf-opsawg-pcap): little-endian, timestamps in nanoseconds.

use capbench_sys::packet::Frame;

use super::tagging::FrameCopy;
use super::{Extent, SnapLength};

/// Magic number of files with timestamps in nanoseconds.
pub(super) const NANOSECONDS: u32 = 0xa1b2_3c4d;
/// Magic number of files with timestamps in microseconds.
pub(super) const MICROSECONDS: u32 = 0xa1b2_c3d4;
/// Octets of a record's header.
pub(super) const HEAD: usize = 16;
/// Offset of the captured length; the original length follows.
pub(super) const CAPTURED: usize = 8;

/// Octets of the largest record at a snap length.
pub(super) const fn largest_record(snap: SnapLength) -> usize {
    HEAD + snap.octets() as usize
}

/// The header of a file. `link` has the link type, and optionally the length of the FCS.
pub(super) fn header(link: u32, snap: u32) -> Vec<u8> {
    // Version 2.4; two fields that are always 0.
    let words = [NANOSECONDS, 4 << 16 | 2, 0, 0, snap, link];
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

pub(super) fn extent(octets: &[u8]) -> Option<Extent> {
    let [.., a, b, c, d, _, _, _, _] = *octets.first_chunk::<HEAD>()?;
    let captured = u32::from_le_bytes([a, b, c, d]) as usize;
    Some(Extent { length: HEAD + captured, packet_of: Some(0), frames: 1 })
}

#[inline]
pub(super) fn encode(frame: &Frame<'_>, copy: &FrameCopy<'_>, room: &mut [u8]) -> Option<usize> {
    let total = HEAD + copy.captured;
    let (head, octets) = room.get_mut(..total)?.split_at_mut(HEAD);
    let seconds = (frame.time_ns / 1_000_000_000).min(u32::MAX.into()) as u32;
    let words = [seconds, (frame.time_ns % 1_000_000_000) as u32, copy.captured as u32, copy.original];
    for (place, word) in head.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
    copy.copy(octets);
    Some(total)
}
