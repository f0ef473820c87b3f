//! Writes the frames of a stack: a copy of the prepared headers and payload, then what varies, the trailer and the checksums.

use std::ops::Range;

use super::StackPlan;
use crate::checksum::{fold, sum_native, sum_native_odd};
use crate::stack::protocols::Field;
use crate::stack::sequence::Sequence;
use crate::trailer::{self, TRAILER_OCTETS};
use crate::{FrameSize, Stamp};

/// The frames of a plan in order.
#[derive(Debug, Clone)]
pub struct StackFrames<'a> {
    plan: &'a StackPlan,
    /// Place in the order of the sizes.
    at: usize,
    /// The values of each varying field.
    sequences: Box<[Sequence]>,
}

impl<'a> StackFrames<'a> {
    pub(super) fn new(plan: &'a StackPlan) -> Self {
        let sequences = plan.varying.iter().filter_map(|varying| varying.sequence.clone()).collect();
        Self { plan, at: 0, sequences }
    }

    /// Writes the next frame into a slot and returns its size. A frame without a trailer has no stamp.
    ///
    /// # Panics
    /// On a slot shorter than the frame.
    #[inline]
    pub fn write_next(&mut self, slot: &mut [u8], stamp: Stamp) -> FrameSize {
        let plan = self.plan;
        let variant = &plan.variants[usize::from(plan.order[self.at])];
        self.at += 1;
        if self.at == plan.order.len() {
            self.at = 0;
        }
        let frame = &mut slot[..variant.size.captured()];
        let (head, rest) = frame.split_at_mut(variant.head.len());
        head.copy_from_slice(&variant.head);
        rest.copy_from_slice(&plan.payload[..rest.len()]);
        for (varying, sequence) in plan.varying.iter().zip(&mut self.sequences) {
            varying.put(frame, sequence.take());
        }
        if let (Some(stream), Some(place)) = (plan.stream(), frame.last_chunk_mut::<TRAILER_OCTETS>()) {
            *place = trailer::encode(Stamp { stream, ..stamp });
        }
        for (checksum, sum) in plan.checksums.iter().zip(&variant.sums) {
            checksum.finish(frame, *sum);
        }
        variant.size
    }
}

/// The place of a field in a frame, in a window of octets that is read and written at once.
#[derive(Debug, Clone)]
pub(super) struct Varying {
    window: usize,
    is_wide: bool,
    shift: u32,
    mask: u64,
    /// The octets with bits of the field.
    octets: Range<usize>,
    /// Its values; `None` for a field that is written once.
    sequence: Option<Sequence>,
}

impl Varying {
    /// A field of the header that is at `at` and ends before `end`.
    pub fn new(field: &Field, at: usize, end: usize, sequence: Option<Sequence>) -> Self {
        let bits = field.range();
        let octets = at + bits.start / 8..at + bits.end.div_ceil(8);
        let is_wide = field.bits > 64;
        // Headers have 14 octets or more in front of them, or are that long.
        let window = if is_wide { octets.start } else { octets.start.min(end.saturating_sub(8)) };
        let shift = if is_wide { 0 } else { (8 * (window + 8 - at) - bits.end) as u32 };
        let mask = if is_wide { 0 } else { (field.most() as u64) << shift };
        Self { window, is_wide, shift, mask, octets, sequence }
    }

    /// Its octets.
    pub fn octets(&self) -> Range<usize> {
        self.octets.clone()
    }

    /// Writes a value that fits into the field.
    #[inline]
    pub fn put(&self, frame: &mut [u8], value: u128) {
        let rest = &mut frame[self.window..];
        if self.is_wide {
            if let Some(place) = rest.first_chunk_mut::<16>() {
                *place = value.to_be_bytes();
            }
        } else if let Some(place) = rest.first_chunk_mut::<8>() {
            self.put_into(place, value as u64);
        } else {
            // The only header, and shorter than the window.
            let mut place = [0; 8];
            place[..rest.len()].copy_from_slice(rest);
            self.put_into(&mut place, value as u64);
            rest.copy_from_slice(&place[..rest.len()]);
        }
    }

    #[inline]
    fn put_into(&self, place: &mut [u8; 8], value: u64) {
        *place = (u64::from_be_bytes(*place) & !self.mask | value << self.shift).to_be_bytes();
    }
}

/// A checksum that differs from frame to frame.
#[derive(Debug, Clone)]
pub(super) struct Checksum {
    /// Its place.
    pub at: usize,
    /// The first octet that it covers: words begin there.
    pub start: usize,
    /// The octets under it that differ, without the trailer; and whether they begin in the middle of a word.
    pub ranges: Box<[(Range<usize>, bool)]>,
    pub has_trailer: bool,
    /// Octets at the end of the frame that are not under it.
    pub behind: usize,
    pub is_never_zero: bool,
    pub is_wrong: bool,
}

impl Checksum {
    /// Its octets.
    pub fn octets(&self) -> Range<usize> {
        self.at..self.at + 2
    }

    /// Computes and writes it. `sum` is that of all octets that do not differ.
    #[inline]
    fn finish(&self, frame: &mut [u8], mut sum: u64) {
        let mut add = |octets: &[u8], is_odd| {
            sum += if is_odd { sum_native_odd(octets) } else { sum_native(octets) };
        };
        self.ranges.iter().for_each(|(range, is_odd)| add(&frame[range.clone()], *is_odd));
        if self.has_trailer {
            let at = frame.len() - TRAILER_OCTETS;
            add(&frame[at..frame.len() - self.behind], (at - self.start) % 2 == 1);
        }
        self.put(frame, sum);
    }

    /// Writes it for a sum of all octets.
    #[inline]
    pub fn put(&self, frame: &mut [u8], sum: u64) {
        let mut checksum = !fold(sum);
        if self.is_wrong {
            // Neither 0 nor a number that is equal to the right one in ones-complement.
            checksum = if checksum == 0x5555 { 0xaaaa } else { checksum ^ 0x5555 };
        }
        if self.is_never_zero && checksum == 0 {
            checksum = u16::MAX;
        }
        frame[self.octets()].copy_from_slice(&checksum.to_ne_bytes());
    }
}
