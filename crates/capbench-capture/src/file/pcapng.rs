//! The encoder of pcapng (draft-ietf-opsawg-pcapng): little-endian, times in nanoseconds.

use capbench_sys::packet::Frame;

use super::blocks::{END, ENHANCED_PACKET, packet};
use super::description::{InterfaceDescription, SectionDescription};
use super::facts::{HashAlgorithm, PacketFacts, flags_of};
use super::statistics::InterfaceStatistics;
use super::tagging::Laid;
use super::{Encoder, SnapLength};
use crate::error::Result;

/// Octets of an enhanced packet block in front of the frame.
const HEAD: usize = 28;
/// Octets of the length behind everything.
const TAIL: usize = 4;
/// Octets of `epb_flags`, with its own head of 4.
const FLAGS: usize = 8;
/// Octets of `epb_hash`: algorithm, four octets, padding.
const HASH: usize = 12;
/// Octets of `epb_dropcount`.
const DROP_COUNT: usize = 12;
/// Octets of `epb_queue`.
const QUEUE: usize = 8;
/// Octets of the option that ends options.
const END_OF_OPTIONS: usize = 4;
const EVERY_OPTION: usize = FLAGS + HASH + DROP_COUNT + QUEUE + END_OF_OPTIONS;

/// Lays frames of Ethernet interfaces into memory as enhanced packet blocks.
#[derive(Clone, Debug)]
pub struct PcapngEncoder {
    header: Vec<u8>,
    snap: SnapLength,
    hash_code: u8,
}

impl PcapngEncoder {
    /// For one section with these interfaces, which [`PacketFacts::interface`] counts from 0.
    ///
    /// # Errors
    /// When a text is longer than the format can say.
    pub fn new(
        section: &SectionDescription,
        interfaces: &[InterfaceDescription],
        snap: SnapLength,
        hash: HashAlgorithm,
    ) -> Result<Self> {
        let mut header = section.block()?;
        for interface in interfaces {
            header.extend(interface.block(snap)?);
        }
        Ok(Self { header, snap, hash_code: hash.code() })
    }

    /// Octets of the largest record at a snap length.
    pub const fn largest_record_of(snap: SnapLength) -> usize {
        HEAD + (snap.octets() as usize).next_multiple_of(4) + EVERY_OPTION + TAIL
    }
}

impl Encoder for PcapngEncoder {
    fn header(&self) -> Vec<u8> {
        self.header.clone()
    }

    #[inline]
    fn encode(&self, frame: &Frame<'_>, facts: &PacketFacts, room: &mut [u8]) -> Option<usize> {
        let laid = Laid::new(frame, self.snap.octets() as usize);
        let padded = laid.captured.next_multiple_of(4);
        let flags = flags_of(frame);
        let options = if flags != 0 { FLAGS } else { 0 }
            + if frame.hash.is_some() { HASH } else { 0 }
            + if facts.dropped.is_some() { DROP_COUNT } else { 0 }
            + if facts.queue.is_some() { QUEUE } else { 0 };
        let end = if options != 0 { END_OF_OPTIONS } else { 0 };
        let total = HEAD + padded + options + end + TAIL;
        let record = room.get_mut(..total)?;

        let (head, rest) = record.split_at_mut(HEAD);
        let (octets, rest) = rest.split_at_mut(padded);
        let length = (total as u32).to_le_bytes();
        let words = [
            ENHANCED_PACKET,
            total as u32,
            facts.interface,
            (frame.time_ns >> 32) as u32,
            frame.time_ns as u32,
            laid.captured as u32,
            laid.original,
        ];
        for (place, word) in head.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        if let Some(last) = octets.last_chunk_mut::<4>() {
            *last = [0; 4];
        }
        laid.copy(&mut octets[..laid.captured]);

        let mut place = Place(rest);
        if flags != 0 {
            place.put(option(packet::FLAGS, 4));
            place.put(flags.to_le_bytes());
        }
        if let Some(hash) = frame.hash {
            let [a, b, c, d] = hash.to_be_bytes();
            place.put(option(packet::HASH, 5));
            place.put([self.hash_code, a, b, c, d, 0, 0, 0]);
        }
        if let Some(dropped) = facts.dropped {
            place.put(option(packet::DROP_COUNT, 8));
            place.put(dropped.to_le_bytes());
        }
        if let Some(queue) = facts.queue {
            place.put(option(packet::QUEUE, 4));
            place.put(queue.to_le_bytes());
        }
        if end != 0 {
            place.put(option(END, 0));
        }
        place.put(length);
        Some(total)
    }

    fn statistics(&self, statistics: &InterfaceStatistics) -> Option<Vec<u8>> {
        Some(statistics.block())
    }

    fn largest_record(&self) -> usize {
        Self::largest_record_of(self.snap)
    }
}

/// The head of an option.
#[inline]
const fn option(code: u16, length: u16) -> [u8; 4] {
    let ([a, b], [c, d]) = (code.to_le_bytes(), length.to_le_bytes());
    [a, b, c, d]
}

/// Where the next octets of a record go. There is room: the record was measured before.
struct Place<'a>(&'a mut [u8]);

impl Place<'_> {
    #[inline]
    fn put<const N: usize>(&mut self, octets: [u8; N]) {
        let (place, rest) = std::mem::take(&mut self.0).split_at_mut(N);
        place.copy_from_slice(&octets);
        self.0 = rest;
    }
}
