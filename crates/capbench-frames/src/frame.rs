//! Writes stamped frames: one copy of a prepared head, then lengths, checksums and stamp in place.

use crate::checksum::{fold, sum_words};
use crate::head::{HEAD_ROOM, Head};
use crate::layout::{NETWORK_V6_OCTETS, STREAM_AT};
use crate::stamp::STAMP_OCTETS;
use crate::{Flow, FrameLayout, FrameSize, Network, Stamp, Transport};

/// Writes the frames of one layout into slots.
///
/// # Slots
/// A slot is at least as long as the frame. It holds zeros, or a frame that any `FrameWriter` wrote. All octets after the
/// stamp are zero, so writing costs the same for every size. The writer clears the octets that a longer head may have left
/// and never touches the rest.
#[derive(Debug, Clone)]
pub struct FrameWriter {
    heads: Box<[Head]>,
    network: Network,
    transport: Transport,
    network_at: usize,
    transport_at: usize,
}

impl FrameWriter {
    /// Prepares the heads of all flows of the layout.
    pub fn new(layout: &FrameLayout) -> Self {
        let flows = 0..layout.flows.get();
        Self {
            heads: flows
                .filter_map(|number| layout.flows.flow(number))
                .map(|flow| Head::new(layout, flow))
                .collect(),
            network: layout.network,
            transport: layout.transport,
            network_at: layout.network_at(),
            transport_at: layout.network_at() + layout.network_octets(),
        }
    }

    /// Writes one frame and returns its length without the FCS, as transmit methods expect it.
    ///
    /// # Panics
    /// On a slot shorter than the frame, a flow that the layout does not have, or a size below the layout's
    /// minimum. A [`FramePlan`](crate::plan::FramePlan) yields none of these.
    #[inline]
    pub fn write(&self, slot: &mut [u8], size: FrameSize, flow: Flow, stamp: Stamp) -> usize {
        let length = size.captured();
        let head = &self.heads[usize::from(flow.0)];
        // Where the slot is long enough, the copy has a constant length: a few vector moves.
        match slot.first_chunk_mut::<HEAD_ROOM>() {
            Some(room) => *room = head.octets,
            None => {
                let room = slot.len();
                slot.copy_from_slice(&head.octets[..room]);
            }
        }
        let frame = &mut slot[..length];
        frame[STREAM_AT] = frame[STREAM_AT].wrapping_add(stamp.stream.0);
        self.finish_network(&mut frame[self.network_at..], head);
        self.finish_transport(&mut frame[self.transport_at..], head, stamp);
        length
    }

    fn finish_network(&self, packet: &mut [u8], head: &Head) {
        let length = packet.len();
        match self.network {
            Network::V4 => {
                put(packet, 2, length as u16);
                put(packet, 10, !fold(head.network_sum + length as u64));
            }
            // The payload length does not count the header (RFC 8200 3).
            Network::V6 => put(packet, 4, (length - NETWORK_V6_OCTETS) as u16),
        }
    }

    fn finish_transport(&self, segment: &mut [u8], head: &Head, stamp: Stamp) {
        let length = segment.len() as u64;
        let stamp = stamp.to_bytes();
        let sum = head.transport_sum + sum_words(&stamp) + length;
        match self.transport {
            Transport::Udp => {
                put(segment, 4, length as u16);
                segment[8..8 + STAMP_OCTETS].copy_from_slice(&stamp);
                // UDP counts its length twice: in the pseudo header and in its header. A checksum of 0 would mean "no
                // checksum" (RFC 768).
                let checksum = !fold(sum + length);
                put(segment, 6, if checksum == 0 { u16::MAX } else { checksum });
            }
            Transport::Tcp => {
                segment[4..12].copy_from_slice(&stamp[..8]);
                segment[18..24].copy_from_slice(&stamp[8..]);
                put(segment, 16, !fold(sum));
            }
        }
    }
}

#[inline]
fn put(octets: &mut [u8], at: usize, value: u16) {
    octets[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[cfg(test)]
mod tests {
    use etherparse::{NetSlice, SlicedPacket, TransportSlice};
    use proptest::prelude::*;

    use super::*;
    use crate::{Flows, StreamId, TrialId, VlanTag};

    pub fn layouts() -> impl Strategy<Value = FrameLayout> {
        let vlan = proptest::option::of(any::<u16>().prop_map(|tci| VlanTag { tci }));
        let network = prop_oneof![Just(Network::V4), Just(Network::V6)];
        let transport = prop_oneof![Just(Transport::Udp), Just(Transport::Tcp)];
        (vlan, network, transport, 1..300_u32).prop_map(|(vlan, network, transport, flows)| FrameLayout {
            vlan,
            network,
            transport,
            flows: Flows::new(flows).unwrap(),
            ..FrameLayout::default()
        })
    }

    pub fn stamps() -> impl Strategy<Value = Stamp> {
        any::<[u8; STAMP_OCTETS]>().prop_map(Stamp::from_bytes)
    }

    /// Decodes with etherparse, verifies every length and checksum with it, and returns the stamp.
    fn decode(frame: &[u8], layout: &FrameLayout, flow: Flow) -> Stamp {
        let packet = SlicedPacket::from_ethernet(frame).expect("a valid frame");
        let tci = packet.vlan().map(|vlan| match vlan {
            etherparse::VlanSlice::SingleVlan(tag) => {
                let (id, priority) = (tag.vlan_identifier().value(), tag.priority_code_point().value());
                u16::from(priority) << 13 | u16::from(tag.drop_eligible_indicator()) << 12 | id
            }
            etherparse::VlanSlice::DoubleVlan(_) => panic!("one tag at most"),
        });
        assert_eq!(tci, layout.vlan.map(|tag| tag.tci));
        let Some(net) = packet.net else { panic!("no network layer") };
        let number = flow.number();
        if let NetSlice::Ipv4(ip) = &net {
            let header = ip.header().to_header();
            assert_eq!(header.header_checksum, header.calc_header_checksum());
            assert_eq!(u32::from_be_bytes(header.source), u32::from(crate::layout::FIRST_SOURCE_V4) + number);
            assert_eq!(usize::from(header.total_len), frame.len() - layout.network_at());
        }
        let mut stamp = [0; STAMP_OCTETS];
        let rest = match packet.transport {
            Some(TransportSlice::Udp(udp)) => {
                let header = udp.to_header();
                assert_eq!(u32::from(header.source_port), 32_768 + number);
                let expected = match &net {
                    NetSlice::Ipv4(ip) => header.calc_checksum_ipv4(&ip.header().to_header(), udp.payload()),
                    NetSlice::Ipv6(ip) => header.calc_checksum_ipv6(&ip.header().to_header(), udp.payload()),
                    NetSlice::Arp(_) => panic!("ARP"),
                };
                assert_eq!(header.checksum, expected.unwrap());
                stamp.copy_from_slice(&udp.payload()[..STAMP_OCTETS]);
                udp.payload()[STAMP_OCTETS..].to_vec()
            }
            Some(TransportSlice::Tcp(tcp)) => {
                let header = tcp.to_header();
                let expected = match &net {
                    NetSlice::Ipv4(ip) => header.calc_checksum_ipv4(&ip.header().to_header(), tcp.payload()),
                    NetSlice::Ipv6(ip) => header.calc_checksum_ipv6(&ip.header().to_header(), tcp.payload()),
                    NetSlice::Arp(_) => panic!("ARP"),
                };
                assert_eq!(header.checksum, expected.unwrap());
                stamp[..4].copy_from_slice(&header.sequence_number.to_be_bytes());
                stamp[4..8].copy_from_slice(&header.acknowledgment_number.to_be_bytes());
                stamp[8..10].copy_from_slice(&header.urgent_pointer.to_be_bytes());
                stamp[10..].copy_from_slice(&tcp.payload()[..4]);
                tcp.payload()[4..].to_vec()
            }
            other => panic!("no transport layer: {other:?}"),
        };
        assert!(rest.iter().all(|&octet| octet == 0), "zeros behind the stamp");
        Stamp::from_bytes(stamp)
    }

    #[test]
    fn the_least_ethernet_frame_holds_a_tagged_udp_stamp() {
        let layout = FrameLayout { vlan: Some(VlanTag { tci: 0x2064 }), ..FrameLayout::default() };
        let stamp = Stamp { trial: TrialId(7), stream: StreamId(1), sequence: 42, planned_ns: 1_000 };
        let mut slot = [0; 60];
        let length = FrameWriter::new(&layout).write(&mut slot, FrameSize::LEAST, Flow::FIRST, stamp);
        assert_eq!(length, 60);
        assert_eq!(decode(&slot, &layout, Flow::FIRST), stamp);
    }

    #[test]
    fn the_packet_of_dain_holds_a_stamp() {
        let layout = FrameLayout::dain_2004();
        let stamp = Stamp { trial: TrialId(7), stream: StreamId(1), sequence: 42, planned_ns: 1_000 };
        let mut slot = [0; 58];
        let size = FrameSize::runt(62).unwrap();
        assert_eq!(FrameWriter::new(&layout).write(&mut slot, size, Flow::FIRST, stamp), 58);
        assert_eq!(decode(&slot, &layout, Flow::FIRST), stamp);
    }

    #[test]
    fn a_udp_checksum_is_never_absent() {
        let writer = FrameWriter::new(&FrameLayout::default());
        let mut slot = [0; 60];
        // One of 65,535 values of the lowest stamp word makes the sum all ones.
        for planned_ns in 0..=0xffff {
            let stamp = Stamp { trial: TrialId(0), stream: StreamId(0), sequence: 0, planned_ns };
            writer.write(&mut slot, FrameSize::LEAST, Flow::FIRST, stamp);
            assert_ne!(slot[40..42], [0, 0]);
        }
    }

    proptest! {
        #[test]
        fn frames_are_valid_to_an_independent_decoder(
            layout in layouts(), extra in 0..1600_u16, flow in 0..300_u32, stamp in stamps(),
        ) {
            let size = FrameSize::try_from(layout.minimum_size().octets() + extra).unwrap();
            let flow = layout.flows.flow(flow % layout.flows.get()).unwrap();
            let mut slot = vec![0; size.captured()];
            let length = FrameWriter::new(&layout).write(&mut slot, size, flow, stamp);
            prop_assert_eq!(length, size.captured());
            prop_assert_eq!(decode(&slot, &layout, flow), stamp);
        }

        /// Any sizes and layouts may follow each other in one slot.
        #[test]
        fn slots_may_be_used_again(
            frames in proptest::collection::vec((layouts(), 0..300_u16, stamps()), 1..12), room in 400..500_usize,
        ) {
            let mut slot = vec![0; room];
            for (layout, extra, stamp) in frames {
                let size = FrameSize::try_from(layout.minimum_size().octets() + extra).unwrap();
                let length = FrameWriter::new(&layout).write(&mut slot, size, Flow::FIRST, stamp);
                prop_assert_eq!(decode(&slot[..length], &layout, Flow::FIRST), stamp);
            }
        }
    }
}
