//! Enhanced packet blocks of pcapng (draft-ietf-opsawg-pcapng): little-endian, timestamps in nanoseconds.

use capbench_sys::packet::Frame;

use super::blocks::{END, ENHANCED_PACKET, FRAMING, packet};
use super::facts::PacketFacts;
use super::reading::Packet;
use super::tagging::FrameCopy;
use super::verbatim::{self, RING_BLOCK};
use super::{Extent, SnapLength};

/// Octets of an enhanced packet block before the frame.
const HEAD: usize = 28;
/// Offset of the block's total length.
const LENGTH: usize = 4;
/// Offset of the captured length; the original length follows.
pub(super) const CAPTURED: usize = 20;
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

#[inline(always)]
pub(super) fn encode(
    frame: &Frame<'_>,
    copy: &FrameCopy<'_>,
    facts: &PacketFacts,
    flags: u32,
    hash_code: u8,
    room: &mut [u8],
) -> Option<usize> {
    let padded = copy.captured.next_multiple_of(4);
    let options = Options { flags, hash: frame.hash, dropped: facts.dropped, queue: facts.queue };
    let total = HEAD + padded + options.octets() + TAIL;
    let (head, rest) = room.get_mut(..total)?.split_first_chunk_mut::<HEAD>()?;
    let (octets, rest) = rest.split_at_mut_checked(padded)?;
    let (times, original) = head.split_first_chunk_mut::<{ HEAD - 4 }>()?;
    let words = [
        pair(ENHANCED_PACKET, total as u32),
        pair(facts.interface, (frame.time_ns >> 32) as u32),
        pair(frame.time_ns as u32, copy.captured as u32),
    ];
    times.as_chunks_mut().0.copy_from_slice(&words);
    original.copy_from_slice(&copy.original.to_le_bytes());
    if let Some(last) = octets.last_chunk_mut::<4>() {
        *last = [0; 4];
    }
    copy.copy(octets.get_mut(..copy.captured)?);
    options.put(hash_code, total as u32, rest)?;
    Some(total)
}

/// Encodes a packet with options that are encoded already, without their end. Times are in the units of the packet's interface.
pub(crate) fn encode_with_options(
    packet: &Packet<'_>,
    time: u64,
    options: &[u8],
    room: &mut [u8],
) -> Option<usize> {
    let data = packet.data;
    let end = if options.is_empty() { 0 } else { END_OF_OPTIONS };
    let padding = data.len().next_multiple_of(4) - data.len();
    let total = HEAD + data.len() + padding + options.len() + end + TAIL;
    let mut place = Place(room.get_mut(..total)?);
    let length = (total as u32).to_le_bytes();
    place.put(ENHANCED_PACKET.to_le_bytes())?;
    place.put(length)?;
    for word in [packet.interface, (time >> 32) as u32, time as u32, data.len() as u32] {
        place.put(word.to_le_bytes())?;
    }
    place.put(packet.original_length.to_le_bytes())?;
    place.put_all(data)?;
    place.put_all(&[0; 4][..padding])?;
    place.put_all(options)?;
    place.put_all(&[0; 4][..end])?;
    place.put(length)?;
    Some(total)
}

/// The options of a packet, in the order of the record.
struct Options {
    /// 0 if nothing is known.
    flags: u32,
    hash: Option<u32>,
    dropped: Option<u64>,
    queue: Option<u32>,
}

impl Options {
    /// Whether there is no option, except perhaps the flags: the common case.
    #[inline(always)]
    fn are_flags_only(&self) -> bool {
        self.hash.is_none() & self.dropped.is_none() & self.queue.is_none()
    }

    #[inline(always)]
    fn octets(&self) -> usize {
        let flags = if self.flags != 0 { FLAGS } else { 0 };
        if self.are_flags_only() {
            return if flags != 0 { FLAGS + END_OF_OPTIONS } else { 0 };
        }
        let of = |is_there: bool, octets: usize| if is_there { octets } else { 0 };
        flags
            + of(self.hash.is_some(), HASH)
            + of(self.dropped.is_some(), DROP_COUNT)
            + of(self.queue.is_some(), QUEUE)
            + END_OF_OPTIONS
    }

    /// Writes the options and the trailing length.
    #[inline(always)]
    fn put(&self, hash_code: u8, total: u32, room: &mut [u8]) -> Option<()> {
        if !self.are_flags_only() {
            return self.put_each(hash_code, total, room);
        }
        if self.flags != 0 {
            let words = [pair(option(packet::FLAGS, 4), self.flags), pair(option(END, 0), total)];
            room.as_chunks_mut().0.copy_from_slice(&words);
        } else {
            *room.first_chunk_mut()? = total.to_le_bytes();
        }
        Some(())
    }

    #[inline(never)]
    fn put_each(&self, hash_code: u8, total: u32, room: &mut [u8]) -> Option<()> {
        let mut place = Place(room);
        if self.flags != 0 {
            place.put(pair(option(packet::FLAGS, 4), self.flags))?;
        }
        if let Some(hash) = self.hash {
            let [a, b, c, d] = hash.to_be_bytes();
            place.put(option(packet::HASH, 5).to_le_bytes())?;
            place.put([hash_code, a, b, c, d, 0, 0, 0])?;
        }
        if let Some(dropped) = self.dropped {
            place.put(option(packet::DROP_COUNT, 8).to_le_bytes())?;
            place.put(dropped.to_le_bytes())?;
        }
        if let Some(queue) = self.queue {
            place.put(pair(option(packet::QUEUE, 4), queue))?;
        }
        place.put(pair(option(END, 0), total))
    }
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
#[inline(always)]
const fn option(code: u16, length: u16) -> u32 {
    code as u32 | (length as u32) << 16
}

/// Two consecutive words.
#[inline(always)]
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
