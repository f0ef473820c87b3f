//! The frames of a stack: sizes, checked against an MTU, and what is prepared for each size.

mod writer;

use std::collections::HashMap;
use std::ops::Range;

use super::protocols::{Auto, Cover, Field, Kind};
use super::sequence::Sequence;
use super::{Header, HeaderStack, Pattern, Payload};
use crate::recorded::needed_mtu;
use crate::trailer::TRAILER_OCTETS;
use crate::units::FCS_OCTETS;
use crate::{FrameError, FrameSize, Mtu, Result, SizeSequence, Sizes, StreamId};

pub use writer::StackFrames;
use writer::{Checksum, Varying};

/// Octets of an Ethernet header.
const LEAST_HEAD: usize = 14;

/// What limits the frames of a plan.
#[derive(Debug, Clone, Copy)]
pub struct FrameLimits {
    /// The MTU of the interface.
    pub mtu: Mtu,
    /// Octets of memory that other plans leave.
    pub memory: usize,
}

impl FrameLimits {
    /// Octets of memory for all plans of a configuration: frames of 60,000 sizes with headers of 4 KiB, or 500 flows with random
    /// sizes up to 1518.
    pub const MOST_MEMORY: usize = 256 << 20;
}

/// Those of the only plan.
impl From<Mtu> for FrameLimits {
    fn from(mtu: Mtu) -> Self {
        Self { mtu, memory: Self::MOST_MEMORY }
    }
}

/// A stack, sizes and payload, with prepared frames.
///
/// Frame `i` has the size at `i mod` the number of sizes, and in each field the value at `i mod` its number of values.
#[derive(Debug, Clone)]
pub struct StackPlan {
    stack: HeaderStack,
    asked: Sizes,
    sequence: SizeSequence,
    stream: Option<StreamId>,
    /// For the largest frame.
    payload: Box<[u8]>,
    variants: Box<[Variant]>,
    /// The variant of each size of the sequence.
    order: Box<[u16]>,
    varying: Box<[Varying]>,
    /// The checksums that differ from frame to frame, inner ones first.
    checksums: Box<[Checksum]>,
    memory: usize,
}

/// What is prepared for the frames of one size.
#[derive(Debug, Clone)]
pub(super) struct Variant {
    pub size: FrameSize,
    /// The headers, with 0 in the checksums that differ from frame to frame.
    pub head: Box<[u8]>,
    /// For each of these checksums: the sum of all octets that do not differ.
    pub sums: Box<[u64]>,
}

/// A header at its place.
#[derive(Clone, Copy)]
struct Placed<'a> {
    header: &'a Header,
    at: usize,
    next: Option<&'a Header>,
    /// Octets at the end of the frame that do not belong to it.
    behind: usize,
}

impl StackPlan {
    /// A plan for an interface with this MTU. Frames with a stream end with a [trailer](crate::trailer).
    ///
    /// # Errors
    /// A size that cannot hold the headers and the trailer, or is above the MTU. A checksum that cannot be computed. More memory
    /// than there is for it, before it is used. [`FrameError::of_flow`] has the place of each.
    pub fn new(
        stack: HeaderStack,
        asked: Sizes,
        payload: &Payload,
        stream: Option<StreamId>,
        limits: impl Into<FrameLimits>,
    ) -> Result<Self> {
        let limits = limits.into();
        let head_octets = stack.octets();
        let trailer = if stream.is_some() { TRAILER_OCTETS } else { 0 };
        let behind = stack.octets_behind(stack.headers.len());
        let least = u16::try_from(head_octets + trailer.max(behind) + usize::from(FCS_OCTETS)).ok();
        let least = least.filter(|_| head_octets >= LEAST_HEAD);
        let Some(least) = least.and_then(|octets| FrameSize::try_from(octets).ok()) else {
            return Err(FrameError::StackLength { stack: stack.to_string(), octets: head_octets });
        };
        let least = if stream.is_some() { least.max(FrameSize::LEAST) } else { least };
        let named = if stream.is_some() { format!("{stack} with a trailer") } else { stack.to_string() };
        let sequence = asked.sequence_from(least, &named)?;

        let mut placed: Vec<Placed<'_>> = Vec::new();
        for (index, header) in stack.headers.iter().enumerate() {
            let at = placed.last().map_or(0, |before| before.at + before.header.octets());
            let (next, behind) = (stack.headers.get(index + 1), stack.octets_behind(index));
            placed.push(Placed { header, at, next, behind });
        }
        let mut head = vec![0; head_octets];
        let mut varying = Vec::new();
        placed.iter().for_each(|header| header.write_fixed(&mut head, &mut varying));
        check_mtu(&head, &sequence, limits.mtu)?;

        let (mut numbers, mut sizes) = (HashMap::new(), Vec::new());
        let number = |size: &FrameSize| {
            *numbers.entry(*size).or_insert_with(|| {
                sizes.push(*size);
                (sizes.len() - 1) as u16
            })
        };
        let order: Box<[u16]> = sequence.sizes().iter().map(number).collect();
        let memory = memory(&stack, &asked, &sequence, &varying, sizes.len());
        if memory > limits.memory {
            let most = FrameLimits::MOST_MEMORY;
            return Err(FrameError::FrameMemory { needed: memory, left: limits.memory, most });
        }

        let payload = payload.octets(sequence.largest().captured() - head_octets);
        let variant = |size| {
            let mut head: Box<[u8]> = head.as_slice().into();
            placed.iter().for_each(|header| header.write_lengths(&mut head, size));
            Variant { size, head, sums: Box::default() }
        };
        let mut variants: Box<[Variant]> = sizes.into_iter().map(variant).collect();
        let checksums = checksums(&placed, &varying, &payload, trailer, &mut variants)?;
        Ok(Self {
            stack,
            asked,
            sequence,
            stream,
            payload,
            variants,
            order,
            varying: varying.into(),
            checksums: checksums.into(),
            memory,
        })
    }

    /// Octets of memory that it needs, at most.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// The headers.
    pub fn stack(&self) -> &HeaderStack {
        &self.stack
    }

    /// The requested sizes.
    pub fn asked(&self) -> &Sizes {
        &self.asked
    }

    /// The sizes that are sent, and whether some were raised.
    pub fn sizes(&self) -> &SizeSequence {
        &self.sequence
    }

    /// The stream in the trailers; `None` without trailers.
    pub fn stream(&self) -> Option<StreamId> {
        self.stream
    }

    /// The frames from the first one on, endless.
    pub fn frames(&self) -> StackFrames<'_> {
        StackFrames::new(self)
    }
}

/// Octets that a plan needs at most, with `variants` different sizes.
fn memory(
    stack: &HeaderStack,
    asked: &Sizes,
    sequence: &SizeSequence,
    varying: &[Varying],
    variants: usize,
) -> usize {
    /// What the allocator adds to a piece of memory.
    const OVERHEAD: usize = 16;
    let has_checksum =
        |header: &&Header| header.fields().any(|field| matches!(field.auto, Some(Auto::Checksum(_))));
    let checksums = stack.headers.iter().filter(has_checksum).count();
    // What varies under a checksum: fields, and checksums further inside.
    let ranges = (varying.len() + checksums) * size_of::<(Range<usize>, bool)>();
    let head = stack.octets() + checksums * size_of::<u64>();
    // The sizes are in the sequence and the order, those of a list or a mix in the request, too.
    let lists = if matches!(asked, Sizes::List(_) | Sizes::Imix(_)) { 3 } else { 2 };
    size_of::<StackPlan>()
        + stack.memory()
        + sequence.sizes().len() * lists * size_of::<FrameSize>()
        + sequence.largest().captured()
        + variants * (size_of::<Variant>() + head + 2 * OVERHEAD)
        + size_of_val(varying)
        + checksums * (size_of::<Checksum>() + ranges + OVERHEAD)
}

fn check_mtu(head: &[u8], sequence: &SizeSequence, mtu: Mtu) -> Result<()> {
    let largest = sequence.largest();
    // What is needed beyond the MTU: the Ethernet header, and one tag.
    let beyond = head.len() as u32 - needed_mtu(head).min(head.len() as u32);
    let needed = (largest.captured() as u32).saturating_sub(beyond);
    if needed > mtu.0 {
        let most = mtu.0.saturating_add(beyond + u32::from(FCS_OCTETS));
        return Err(FrameError::LargerThanMtu { asked: largest.octets(), needed, mtu: mtu.0, most });
    }
    Ok(())
}

impl<'a> Placed<'a> {
    /// Writes the fields whose value no size and no checksum decides, and notes those that vary.
    fn write_fixed(self, head: &mut [u8], varying: &mut Vec<Varying>) {
        let Self { header, at, next, .. } = self;
        let end = at + header.octets();
        head[at..end][..header.custom().len()].copy_from_slice(header.custom());
        for field in header.fields() {
            let stated = header.pattern(field).and_then(|pattern| Sequence::of(field, pattern));
            let Some(mut sequence) = stated else {
                if let Some(value) = self.fixed(field, next) {
                    Varying::new(field, at, end, None).put(head, value);
                }
                continue;
            };
            if sequence.is_constant() {
                Varying::new(field, at, end, None).put(head, sequence.take());
            } else {
                varying.push(Varying::new(field, at, end, Some(sequence)));
            }
        }
    }

    /// The value of a field without a stated one, if it is known now.
    fn fixed(self, field: &Field, next: Option<&Header>) -> Option<u128> {
        let number = next.map(|next| &next.protocol().number);
        let of_next = match field.auto {
            Some(Auto::Length { .. } | Auto::Checksum(_)) => return None,
            Some(Auto::EtherType) => number.and_then(|number| number.ether_type).map(u128::from),
            Some(Auto::IpProtocol) => number.and_then(|number| number.ip_protocol).map(u128::from),
            Some(Auto::UdpPort) => number.and_then(|number| number.udp_port).map(u128::from),
            Some(Auto::Bottom) => {
                Some(u128::from(next.is_none_or(|next| next.protocol() != self.header.protocol())))
            }
            Some(Auto::Default) | None => None,
        };
        // A default of 0 is there already; and other fields with the same bits may be stated.
        of_next.or((field.default > 0).then_some(field.default))
    }

    fn write_lengths(self, head: &mut [u8], size: FrameSize) {
        for field in self.header.fields() {
            if let (Some(Auto::Length { without }), None | Some(Pattern::Auto)) =
                (field.auto, self.header.pattern(field))
            {
                // A frame has fewer than 2^16 octets.
                let octets = size.captured() - self.behind - self.at - without;
                Varying::new(field, self.at, self.at + self.header.octets(), None).put(head, octets as u128);
            }
        }
    }
}

/// Computes the checksums of all variants, inner ones first, and returns those that differ from frame to frame.
fn checksums(
    placed: &[Placed<'_>],
    varying: &[Varying],
    payload: &[u8],
    trailer: usize,
    variants: &mut [Variant],
) -> Result<Vec<Checksum>> {
    let mut found: Vec<Checksum> = Vec::new();
    let mut sums = vec![Vec::new(); variants.len()];
    for (index, this) in placed.iter().enumerate().rev() {
        let computed =
            this.header.fields().find_map(|field| match (field.auto, this.header.pattern(field)) {
                (Some(Auto::Checksum(cover)), None) => Some((field, cover, false)),
                (Some(Auto::Checksum(cover)), Some(Pattern::Auto)) => Some((field, cover, false)),
                (Some(Auto::Checksum(cover)), Some(Pattern::WrongChecksum)) => Some((field, cover, true)),
                _ => None,
            });
        let Some((field, cover, is_wrong)) = computed else { continue };
        let (addresses, protocol) = match cover {
            Cover::WithPseudoHeader { protocol } => (
                Some(pseudo_header(&placed[..index]).ok_or_else(|| no_addresses(index, this, field))?),
                protocol,
            ),
            _ => (None, 0),
        };
        let head_octets = variants.first().map_or(0, |variant| variant.head.len());
        let header_only = match cover {
            Cover::Ipv4Header => {
                let half_octet = variants.first().map_or(0, |variant| variant.head[this.at] & 0x0f);
                Some(this.at..(this.at + 4 * usize::from(half_octet)).min(head_octets))
            }
            _ => None,
        };
        let is_covered = |octet: &usize| {
            header_only.as_ref().map_or(*octet >= this.at, |header| header.contains(octet))
                || addresses.as_ref().is_some_and(|addresses| addresses.contains(octet))
        };
        let dirty = varying.iter().flat_map(Varying::octets).chain(found.iter().flat_map(Checksum::octets));
        let mut dirty: Vec<usize> = dirty.filter(is_covered).collect();
        dirty.sort_unstable();
        dirty.dedup();
        let has_trailer = trailer > this.behind && header_only.is_none();
        let checksum = Checksum {
            at: this.at + field.bit / 8,
            start: this.at,
            ranges: ranges(&dirty, |octet| match &addresses {
                // The pseudo header is in front of the first octet, wherever its addresses are in the frame.
                Some(addresses) if addresses.contains(&octet) => octet - addresses.start,
                _ => octet - this.at,
            }),
            has_trailer,
            behind: this.behind,
            // A checksum of 0 would mean "no checksum" (RFC 768).
            is_never_zero: this.header.protocol().name == "udp",
            is_wrong,
        };
        let differs = has_trailer || !dirty.is_empty();
        for (variant, sums) in variants.iter_mut().zip(&mut sums) {
            let end = variant.size.captured();
            let mut frame = [&variant.head, &payload[..end - head_octets]].concat();
            dirty.iter().for_each(|octet| frame[*octet] = 0);
            frame[end - trailer..].fill(0);
            let region = header_only.clone().unwrap_or(this.at..end - this.behind);
            let mut sum = crate::checksum::sum_native(&frame[region.clone()]);
            if let Some(addresses) = &addresses {
                sum += crate::checksum::sum_native(&frame[addresses.clone()]);
                sum += u64::from(u16::from(protocol).to_be()) + u64::from((region.len() as u16).to_be());
            }
            if differs {
                sums.push(sum);
            } else {
                checksum.put(&mut variant.head, sum);
            }
        }
        if differs {
            found.push(checksum);
        }
    }
    for (variant, sums) in variants.iter_mut().zip(sums) {
        variant.sums = sums.into();
    }
    Ok(found)
}

/// The octets of the addresses of the innermost IP header: the last ones of its fields.
fn pseudo_header(outer: &[Placed<'_>]) -> Option<Range<usize>> {
    outer.iter().rev().find_map(|placed| {
        let is_address = |field: &&Field| matches!(field.kind, Kind::Ipv4 | Kind::Ipv6);
        let name = placed.header.protocol().name;
        if !matches!(name, "ipv4" | "ipv6") {
            return None;
        }
        let first = placed.header.fields().find(is_address)?;
        Some(placed.at + first.bit / 8..placed.at + placed.header.octets())
    })
}

fn no_addresses(index: usize, this: &Placed<'_>, field: &Field) -> FrameError {
    let place = format!("[{index}].{}.{}", this.header.protocol().name, field.name);
    FrameError::at(
        &place,
        "needs the addresses of an ipv4 or ipv6 header in front; add one, or state a value",
    )
}

/// The ranges of ascending octets, and whether they begin in the middle of a word.
fn ranges(octets: &[usize], place: impl Fn(usize) -> usize) -> Box<[(Range<usize>, bool)]> {
    let chunks = octets.chunk_by(|one, next| one + 1 == *next && place(*one) + 1 == place(*next));
    chunks.map(|chunk| (chunk[0]..chunk[chunk.len() - 1] + 1, place(chunk[0]) % 2 == 1)).collect()
}

#[cfg(test)]
mod tests;
