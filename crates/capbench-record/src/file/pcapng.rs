//! Enhanced packet blocks of pcapng (draft-ietf-opsawg-pcapng): little-endian, timestamps in nanoseconds.

use capbench_sys::packet::Frame;

use super::blocks::{END, ENHANCED_PACKET, FRAMING, packet};
use super::facts::{PacketFacts, flags_of};
use super::tagging::FrameCopy;
use super::verbatim::{self, RING_BLOCK};
use super::{Extent, SnapLength};

/// Octets of an enhanced packet block before the frame.
const HEAD: usize = 28;
/// Offset of the block's total length.
const LENGTH: usize = 4;
/// Offset of the captured length.
const CAPTURED: usize = 20;
/// Octets of the trailing length.
const TAIL: usize = 4;
/// Octets of `epb_flags`, including its header of 4.
const FLAGS: usize = 8;
/// Octets of `epb_hash`: algorithm, four octets, padding.
const HASH: usize = 12;
/// Octets of `epb_dropcount`.
const DROP_COUNT: usize = 12;
/// Octets of `epb_queue`.
const QUEUE: usize = 8;
/// Octets of `opt_endofopt`.
const END_OF_OPTIONS: usize = 4;
const EVERY_OPTION: usize = FLAGS + HASH + DROP_COUNT + QUEUE + END_OF_OPTIONS;

/// Octets of the largest record at a snap length.
pub(super) const fn largest_record(snap: SnapLength) -> usize {
    HEAD + (snap.octets() as usize).next_multiple_of(4) + EVERY_OPTION + TAIL
}

pub(super) fn extent(octets: &[u8]) -> Option<Extent> {
    let head: &[u8; 16] = octets.first_chunk()?;
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (kind, length) = (word(0), word(4) as usize);
    let (packet_of, frames) = match kind {
        ENHANCED_PACKET => (Some(word(8)), 1),
        RING_BLOCK => (Some(0), word(verbatim::place::FRAMES).into()),
        _ => (None, 0),
    };
    (length >= FRAMING && length.is_multiple_of(4)).then_some(Extent { length, packet_of, frames })
}

#[inline]
pub(super) fn encode(
    frame: &Frame<'_>,
    copy: &FrameCopy<'_>,
    facts: &PacketFacts,
    hash_code: u8,
    room: &mut [u8],
) -> Option<usize> {
    let padded = copy.captured.next_multiple_of(4);
    let flags = flags_of(frame);
    let options = if flags != 0 { FLAGS } else { 0 }
        + if frame.hash.is_some() { HASH } else { 0 }
        + if facts.dropped.is_some() { DROP_COUNT } else { 0 }
        + if facts.queue.is_some() { QUEUE } else { 0 };
    let end = if options != 0 { END_OF_OPTIONS } else { 0 };
    let total = HEAD + padded + options + end + TAIL;
    let record = room.get_mut(..total)?;

    let (head, rest) = record.split_at_mut_checked(HEAD)?;
    let (octets, rest) = rest.split_at_mut_checked(padded)?;
    let mut place = Place(head);
    place.put(pair(ENHANCED_PACKET, total as u32))?;
    place.put(pair(facts.interface, (frame.time_ns >> 32) as u32))?;
    place.put(pair(frame.time_ns as u32, copy.captured as u32))?;
    place.put(copy.original.to_le_bytes())?;
    if let Some(last) = octets.last_chunk_mut::<4>() {
        *last = [0; 4];
    }
    copy.copy(&mut octets[..copy.captured]);

    let mut place = Place(rest);
    if flags != 0 {
        place.put(pair(option(packet::FLAGS, 4), flags))?;
    }
    if let Some(hash) = frame.hash {
        let [a, b, c, d] = hash.to_be_bytes();
        place.put(option(packet::HASH, 5).to_le_bytes())?;
        place.put([hash_code, a, b, c, d, 0, 0, 0])?;
    }
    if let Some(dropped) = facts.dropped {
        place.put(option(packet::DROP_COUNT, 8).to_le_bytes())?;
        place.put(dropped.to_le_bytes())?;
    }
    if let Some(queue) = facts.queue {
        place.put(pair(option(packet::QUEUE, 4), queue))?;
    }
    if end != 0 {
        place.put(option(END, 0).to_le_bytes())?;
    }
    place.put((total as u32).to_le_bytes())?;
    Some(total)
}

pub(super) fn with_drop_count(record: &[u8], dropped: u64, room: &mut [u8]) -> Option<usize> {
    let captured = u32::from_le_bytes(*record.get(CAPTURED..)?.first_chunk()?) as usize;
    let behind_options = record.len().checked_sub(TAIL)?;
    let mut at = HEAD + captured.next_multiple_of(4);
    let is_first = at == behind_options;
    // The options before `epb_dropcount`.
    for (code, octets) in [(packet::FLAGS, FLAGS), (packet::HASH, HASH)] {
        if record.get(at..at + 2)? == code.to_le_bytes() {
            at += octets;
        }
    }
    let total = record.len() + DROP_COUNT + if is_first { END_OF_OPTIONS } else { 0 };
    let (front, rest) = room.get_mut(..total)?.split_at_mut_checked(at)?;
    front.copy_from_slice(record.get(..at)?);
    front.get_mut(LENGTH..)?.first_chunk_mut().map(|place| *place = (total as u32).to_le_bytes())?;
    let mut place = Place(rest);
    place.put(option(packet::DROP_COUNT, 8).to_le_bytes())?;
    place.put(dropped.to_le_bytes())?;
    if is_first {
        place.put(option(END, 0).to_le_bytes())?;
    }
    place.put_all(record.get(at..behind_options)?)?;
    place.put((total as u32).to_le_bytes())?;
    Some(total)
}

/// An option's header, as the first of its words.
#[inline]
const fn option(code: u16, length: u16) -> u32 {
    code as u32 | (length as u32) << 16
}

/// Two consecutive words.
#[inline]
const fn pair(first: u32, second: u32) -> [u8; 8] {
    (first as u64 | (second as u64) << 32).to_le_bytes()
}

/// A write position in a record. There is room: the caller computed the record's length before.
struct Place<'a>(&'a mut [u8]);

impl Place<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, octets: [u8; N]) -> Option<()> {
        let (place, rest) = std::mem::take(&mut self.0).split_first_chunk_mut()?;
        *place = octets;
        self.0 = rest;
        Some(())
    }

    fn put_all(&mut self, octets: &[u8]) -> Option<()> {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut_checked(octets.len())?;
        place.copy_from_slice(octets);
        self.0 = rest;
        Some(())
    }
}
