//! Recognises an intact, uncut frame in one pass: the common case, on which every received frame spends this time.
//!
//! Octets of the head that are equal in all frames of a layout are compared in machine words under a mask. Lengths, checksums
//! and flow are checked by arithmetic. It accepts only frames that are correct in every octet. [`crate::classify`] classifies
//! all other frames octet by octet.

use crate::checksum::{fold, sum_native};
use crate::head::{HEAD_ROOM, Head};
use crate::head_mask::HeadMask;
use crate::layout::{ETHERNET_OCTETS, FIRST_SOURCE_PORT, NETWORK_V4_OCTETS, NETWORK_V6_OCTETS, STREAM_AT};
use crate::stamp::STAMP_OCTETS;
use crate::{FrameLayout, Network, Stamp, Transport};

const WORDS: usize = HEAD_ROOM / 8;

/// The expected head of a frame without inline VLAN tag.
#[derive(Debug, Clone)]
pub struct HeadMatch {
    words: [(u64, u64); WORDS],
    /// Words that are completely inside the shortest frame.
    count: usize,
    network: Network,
    transport: Transport,
    transport_at: usize,
    least: usize,
    flows: u32,
    /// Low 16 bits of the source address of flow 0.
    first_source: u16,
    protocol: u8,
    /// The octet of the source Ethernet address that a stream's number is added to, as stream 0 has it.
    of_stream: u8,
}

impl HeadMatch {
    /// The matcher for the frames of a layout. `head` is that of flow 0.
    pub fn new(layout: &FrameLayout, head: &Head) -> Self {
        let transport_at = ETHERNET_OCTETS + layout.network_octets();
        let least = ETHERNET_OCTETS + layout.stamp_end();
        let known = HeadMask::new(layout, head).without_tag(layout);
        let HeadMask { expected, mask, .. } = known;
        let (source_low, protocol_at): (usize, usize) = match layout.network {
            Network::V4 => (ETHERNET_OCTETS + 14, ETHERNET_OCTETS + 9),
            Network::V6 => (ETHERNET_OCTETS + 22, ETHERNET_OCTETS + 6),
        };
        let word = |octets: &[u8; HEAD_ROOM], at: usize| {
            u64::from_ne_bytes(std::array::from_fn(|offset| octets[at * 8 + offset]))
        };
        Self {
            words: std::array::from_fn(|at| (word(&expected, at), word(&mask, at))),
            count: known.head_end.div_ceil(8).min(least / 8),
            network: layout.network,
            transport: layout.transport,
            transport_at,
            least,
            flows: layout.flows.get(),
            first_source: u16::from_be_bytes([expected[source_low], expected[source_low + 1]]),
            protocol: expected[protocol_at],
            of_stream: expected[STREAM_AT],
        }
    }

    /// The stamp of a frame that is correct in every octet. `None` means that the frame must be classified otherwise.
    #[inline]
    pub fn stamp(&self, captured: &[u8]) -> Option<Stamp> {
        if captured.len() < self.least || !self.is_head(captured) {
            return None;
        }
        let packet = &captured[ETHERNET_OCTETS..];
        let segment = &captured[self.transport_at..];
        let (length, source, addresses) = match self.network {
            Network::V4 => {
                let header = packet.first_chunk::<NETWORK_V4_OCTETS>()?;
                if fold(sum_native(header)) != u16::MAX {
                    return None;
                }
                let source = u16::from_be_bytes([header[14], header[15]]);
                (usize::from(u16::from_be_bytes([header[2], header[3]])), source, sum_native(&header[12..20]))
            }
            Network::V6 => {
                let header = packet.first_chunk::<NETWORK_V6_OCTETS>()?;
                let length = usize::from(u16::from_be_bytes([header[4], header[5]])) + NETWORK_V6_OCTETS;
                (length, u16::from_be_bytes([header[22], header[23]]), sum_native(&header[8..40]))
            }
        };
        let head = segment.first_chunk::<22>()?;
        let flow = u16::from_be_bytes([head[0], head[1]]).wrapping_sub(FIRST_SOURCE_PORT);
        let segment_length = segment.len() as u16;
        let lengths_fit = length == packet.len()
            && (self.transport == Transport::Tcp || u16::from_be_bytes([head[4], head[5]]) == segment_length);
        if !lengths_fit || source != self.first_source.wrapping_add(flow) || u32::from(flow) >= self.flows {
            return None;
        }
        let sum = addresses
            + sum_native(segment)
            + u64::from(u16::from_ne_bytes([0, self.protocol]))
            + u64::from(segment_length.to_be());
        if fold(sum) != u16::MAX {
            return None;
        }
        let mut stamp = [0; STAMP_OCTETS];
        match self.transport {
            Transport::Udp => stamp.copy_from_slice(&head[8..22]),
            Transport::Tcp => {
                stamp[..8].copy_from_slice(&head[4..12]);
                stamp[8..].copy_from_slice(segment.get(18..24)?);
            }
        }
        let stamp = Stamp::from_bytes(stamp);
        (captured[STREAM_AT] == self.of_stream.wrapping_add(stamp.stream.0)).then_some(stamp)
    }

    /// Whether the constant octets match the layout.
    #[inline]
    fn is_head(&self, captured: &[u8]) -> bool {
        let (words, _) = captured.as_chunks::<8>();
        let differing = words[..self.count]
            .iter()
            .zip(&self.words[..self.count])
            .fold(0, |differing, (word, (expected, mask))| {
                differing | ((u64::from_ne_bytes(*word) ^ expected) & mask)
            });
        differing == 0
    }
}
