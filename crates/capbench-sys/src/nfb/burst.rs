//! The packets of one burst, from get to put.

use super::Card;
use super::abi::NdpPacket;
use crate::packet::{Frame, PacketType};

/// Packets of one queue in the card's memory. Dropping it returns all of them at once.
#[derive(Debug)]
pub struct Burst<'c> {
    card: &'c mut Card,
}

impl<'c> Burst<'c> {
    pub(super) fn new(card: &'c mut Card) -> Self {
        Self { card }
    }

    /// The packets in order of arrival.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let card = &*self.card;
        let count = card.held.map_or(0, |held| held.count);
        card.packets[..count].iter().map(|packet| {
            let length = packet.data_length as usize;
            // SAFETY: the library gave this packet with its length, not null (`fetch`); it stays as it is until the burst
            // is put, which happens when `self` is dropped.
            let data = unsafe { std::slice::from_raw_parts(packet.data, length) };
            Frame {
                data,
                wire_length: packet.data_length,
                time_ns: card.header_time.map_or(0, |at| header_time(packet, at)),
                vlan: None,
                packet_type: PacketType::Host,
                hash: None,
                status: packet.flags.into(),
            }
        })
    }
}

impl Drop for Burst<'_> {
    #[inline]
    fn drop(&mut self) {
        self.card.put();
    }
}

/// The time in a firmware header: at octet `at`, nanoseconds and then seconds, 32 bits each, little-endian, as CESNET's
/// tools read it. 0 where the header is shorter.
#[inline]
fn header_time(packet: &NdpPacket, at: u16) -> u64 {
    let (at, length) = (usize::from(at), usize::from(packet.header_length));
    if packet.header.is_null() || length < at + 8 {
        return 0;
    }
    // SAFETY: the library gave this header with its length, not null; it lives as long as the packet.
    let header = unsafe { std::slice::from_raw_parts(packet.header, length) };
    let word = |at: usize| {
        u64::from(u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    word(at + 4) * 1_000_000_000 + word(at)
}

#[cfg(test)]
mod tests {
    use super::{NdpPacket, header_time};
    use std::mem::{offset_of, size_of};

    #[test]
    fn a_packet_is_laid_out_as_in_the_header() {
        assert_eq!((offset_of!(NdpPacket, data_length), offset_of!(NdpPacket, header_length)), (16, 20));
        assert_eq!((offset_of!(NdpPacket, flags), size_of::<NdpPacket>()), (22, 24));
    }

    #[test]
    fn times_are_read_only_from_headers_that_have_them() {
        let header = [9, 9, 9, 9, 5, 0, 0, 0, 2, 0, 0, 0];
        let packet = NdpPacket { header: header.as_ptr(), header_length: 12, ..NdpPacket::NONE };
        assert_eq!(header_time(&packet, 4), 2_000_000_005);
        assert_eq!(header_time(&NdpPacket { header_length: 11, ..packet }, 4), 0);
        assert_eq!(header_time(&NdpPacket::NONE, 0), 0);
    }
}
