//! Header and records of pcap files (draft-ietf-opsawg-pcap).

use super::super::clock::Clock;
use super::super::description::InterfaceDescription;
use super::super::fcs;
use super::super::pcap::{HEAD, MICROSECONDS, NANOSECONDS};
use super::octets::Order;
use super::record::{LeftOut, Packet, ReadInterface};

/// Octets of a file's header.
pub(super) const HEADER: usize = 24;

/// The format of a file, from its first four octets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Format {
    order: Order,
    /// Nanoseconds per subsecond unit.
    unit_ns: u64,
}

impl Format {
    pub(super) fn of(magic: [u8; 4]) -> Option<Self> {
        for (order, number) in
            [(Order::Little, u32::from_le_bytes(magic)), (Order::Big, u32::from_be_bytes(magic))]
        {
            match number {
                MICROSECONDS => return Some(Self { order, unit_ns: 1000 }),
                NANOSECONDS => return Some(Self { order, unit_ns: 1 }),
                _ => {}
            }
        }
        None
    }

    /// The interface described by a complete file header.
    pub(super) fn interface(self, header: &[u8], left_out: &mut LeftOut) -> Option<ReadInterface> {
        let ([_, _, _, _, snap, link], _) = self.order.words(header)?;
        let (fcs_octets, has_more) = fcs::of_link_word(link);
        left_out.options += u64::from(has_more);
        let description = InterfaceDescription { fcs_octets, ..InterfaceDescription::default() };
        Some(ReadInterface { link_type: link as u16, snap, description, clock: Clock::NANOSECONDS })
    }

    /// Captured length of the record with this complete header.
    pub(super) fn captured(self, head: &[u8]) -> u32 {
        self.order.words(head).map_or(0, |([_, _, captured], _)| captured)
    }

    /// Decodes a complete record.
    pub(super) fn packet(self, record: &[u8]) -> Option<Packet<'_>> {
        let ([seconds, fraction, _, original_length], _) = self.order.words(record)?;
        Some(Packet {
            data: record.get(HEAD..)?,
            original_length,
            time_ns: Some(u64::from(seconds) * 1_000_000_000 + u64::from(fraction) * self.unit_ns),
            ..Packet::default()
        })
    }
}
