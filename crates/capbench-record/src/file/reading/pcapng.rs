//! Decodes bodies of pcapng blocks (draft-ietf-opsawg-pcapng, section 4 and appendix A). Returns `None` if a body is too short
//! for its type, or names an interface that the section does not have. Content without a place in the records is counted.

use capbench_sys::packet::FilterInstruction;

use super::super::blocks::{
    COMMENT, ENHANCED_PACKET, INTERFACE, OLD_PACKET, SECTION, SIMPLE_PACKET, STATISTICS,
    interface as of_interface, packet as of_packet, section as of_section, statistics as of_statistics,
};
use super::super::clock::Clock;
use super::super::description::{InterfaceDescription, InterfaceFilter, SectionDescription};
use super::super::fcs;
use super::super::statistics::InterfaceStatistics;
use super::octets::{Options, Order, text};
use super::record::{LeftOut, Packet, PacketHash, RawOptions, ReadInterface};

/// Octets of a section header's body before its options.
const SECTION_HEAD: usize = 16;
/// The value for an unknown drop count in a packet block.
const UNKNOWN_DROPS: u16 = u16::MAX;

/// The unit of the returned timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Times {
    /// Nanoseconds since the epoch, saturating at the limits of 64 bits.
    Nanoseconds,
    /// Units as in the file.
    Units,
}

impl Times {
    #[inline]
    fn number(self, clock: Clock, units: u64) -> u64 {
        if self == Self::Units { units } else { clock.ns_of_64_bits(units) }
    }
}

/// Whether a function below decodes this block type.
pub(super) fn is_known(kind: u32) -> bool {
    matches!(kind, SECTION | INTERFACE | OLD_PACKET | SIMPLE_PACKET | STATISTICS | ENHANCED_PACKET)
}

/// Decodes a section header. If it is too short for its version, it has no options either.
pub(super) fn section(order: Order, body: &[u8], left_out: &mut LeftOut) -> SectionDescription {
    let mut section = SectionDescription::default();
    for (code, value) in Options::new(order, body.get(SECTION_HEAD..).unwrap_or_default()) {
        match code {
            COMMENT => section.comments.push(text(value)),
            of_section::HARDWARE => section.hardware = Some(text(value)),
            of_section::SYSTEM => section.system = Some(text(value)),
            of_section::APPLICATION => section.application = Some(text(value)),
            _ => left_out.options += 1,
        }
    }
    section
}

/// Decodes an interface description.
pub(super) fn interface(order: Order, body: &[u8], left_out: &mut LeftOut) -> Option<ReadInterface> {
    let ([_, snap], options) = order.words(body)?;
    let (mut description, mut clock) = (InterfaceDescription::default(), Clock::MICROSECONDS);
    for (code, value) in Options::new(order, options) {
        match code {
            COMMENT => description.comments.push(text(value)),
            of_interface::NAME => description.name = Some(text(value)),
            of_interface::DESCRIPTION => description.description = Some(text(value)),
            of_interface::MAC => description.mac = value.first_chunk().copied(),
            of_interface::SPEED => description.speed = order.u64(value),
            of_interface::RESOLUTION => {
                if let Some(&resolution) = value.first() {
                    clock = clock.with_resolution(resolution);
                }
            }
            of_interface::FILTER => {
                description.filter = filter(order, value);
                left_out.options += u64::from(description.filter.is_none());
            }
            of_interface::FCS => {
                description.fcs_octets = value.first().and_then(|&bits| fcs::of_option(bits));
                left_out.options += u64::from(description.fcs_octets.is_none());
            }
            of_interface::SYSTEM => description.system = Some(text(value)),
            of_interface::TIME_OFFSET => {
                if let Some(offset) = order.u64(value) {
                    clock = clock.with_offset(offset.cast_signed());
                }
            }
            of_interface::HARDWARE => description.hardware = Some(text(value)),
            _ => left_out.options += 1,
        }
    }
    Some(ReadInterface { link_type: order.u16(body)?, snap, description, clock })
}

fn filter(order: Order, value: &[u8]) -> Option<InterfaceFilter> {
    let (kind, value) = value.split_first()?;
    match kind {
        0 => Some(InterfaceFilter::Expression(text(value))),
        1 if value.len().is_multiple_of(8) => {
            let instruction = |at: &[u8]| {
                let (code, k) = (order.u16(at)?, order.u32(&at[4..])?);
                Some(FilterInstruction { code, jt: at[2], jf: at[3], k })
            };
            value.chunks_exact(8).map(instruction).collect::<Option<_>>().map(InterfaceFilter::Program)
        }
        _ => None,
    }
}

/// Decodes a frame, from any of the three packet block types.
#[inline]
pub(super) fn packet<'a>(
    kind: u32,
    order: Order,
    body: &'a [u8],
    interfaces: &[ReadInterface],
    times: Times,
    left_out: &mut LeftOut,
) -> Option<Packet<'a>> {
    let (interface, dropped, (words, rest)) = match kind {
        ENHANCED_PACKET => {
            let ([interface], rest) = order.words(body)?;
            (interface, None, order.words(rest)?)
        }
        OLD_PACKET => {
            let drops = order.u16(body.get(2..)?)?;
            let dropped = (drops != UNKNOWN_DROPS).then_some(u64::from(drops));
            (u32::from(order.u16(body)?), dropped, order.words(&body[4..])?)
        }
        _ => return simple(order, body, interfaces),
    };
    let [high, low, captured, original_length] = words;
    let (data, _) = rest.split_at_checked(captured as usize)?;
    let ReadInterface { clock, description, .. } = interfaces.get(interface as usize)?;
    let clock = *clock;
    let mut packet = Packet {
        interface,
        data,
        original_length,
        fcs_octets: description.fcs_octets,
        time_ns: Some(times.number(clock, joined(high, low))),
        dropped,
        ..Packet::default()
    };
    let octets = rest.get(data.len().next_multiple_of(4)..).unwrap_or_default();
    packet.options = RawOptions { kind, order, octets };
    for (code, value) in packet.options.options() {
        match code {
            COMMENT => left_out.comments += 1,
            of_packet::FLAGS => {
                packet.flags = order.u32(value);
                packet.fcs_octets = packet.flags.and_then(fcs::of_flags).or(packet.fcs_octets);
            }
            of_packet::HASH if packet.hash.is_none() => {
                packet.hash = value.split_first().map(|(&algorithm, value)| PacketHash { algorithm, value });
            }
            of_packet::DROP_COUNT if kind == ENHANCED_PACKET => packet.dropped = order.u64(value),
            of_packet::QUEUE if kind == ENHANCED_PACKET => packet.queue = order.u32(value),
            _ => left_out.options += 1,
        }
    }
    Some(packet)
}

/// Decodes a simple packet block. It has no timestamp, and belongs to the section's first interface.
fn simple<'a>(order: Order, body: &'a [u8], interfaces: &[ReadInterface]) -> Option<Packet<'a>> {
    let ([original_length], rest) = order.words(body)?;
    let ReadInterface { snap, description, .. } = interfaces.first()?;
    let snap = if *snap == 0 { u32::MAX } else { *snap };
    let data = rest.get(..original_length.min(snap) as usize)?;
    Some(Packet { data, original_length, fcs_octets: description.fcs_octets, ..Packet::default() })
}

/// Decodes interface statistics.
pub(super) fn statistics(
    order: Order,
    body: &[u8],
    interfaces: &[ReadInterface],
    times: Times,
    left_out: &mut LeftOut,
) -> Option<InterfaceStatistics> {
    let ([interface, high, low], options) = order.words(body)?;
    let clock = interfaces.get(interface as usize)?.clock;
    let time = |value: &[u8]| {
        let ([high, low], _) = order.words(value)?;
        Some(times.number(clock, joined(high, low)))
    };
    let mut statistics = InterfaceStatistics {
        interface,
        time_ns: times.number(clock, joined(high, low)),
        ..InterfaceStatistics::default()
    };
    for (code, value) in Options::new(order, options) {
        match code {
            COMMENT => statistics.comments.push(text(value)),
            of_statistics::START => statistics.start_ns = time(value),
            of_statistics::END => statistics.end_ns = time(value),
            of_statistics::RECEIVED => statistics.received = order.u64(value),
            of_statistics::INTERFACE_DROPPED => statistics.interface_dropped = order.u64(value),
            of_statistics::ACCEPTED => statistics.accepted = order.u64(value),
            of_statistics::SYSTEM_DROPPED => statistics.system_dropped = order.u64(value),
            of_statistics::DELIVERED => statistics.delivered = order.u64(value),
            _ => left_out.options += 1,
        }
    }
    Some(statistics)
}

/// A timestamp from two halves.
#[inline]
fn joined(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
