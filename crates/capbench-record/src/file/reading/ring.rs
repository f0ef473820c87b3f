//! Frames of a V3 ring block (`struct tpacket3_hdr` and the data after it, linux/if_packet.h) in a verbatim file.

use capbench_sys::packet::{Frame, PacketType, VlanTag};

use super::super::blocks::FRAMING;
use super::super::facts::flags_of;
use super::super::verbatim::place;
use super::record::{Packet, PacketHash};

/// Octets of a frame's header and the address after it.
const HEAD: usize = 68;
/// Offset of the hash in them.
const HASH: usize = 28;
/// Offset of the packet type: `sll_pkttype` of the address.
const PACKET_TYPE: usize = 58;
/// Octets of the two MAC addresses.
const ADDRESSES: usize = 12;
/// Octets of a VLAN tag.
const TAG: usize = 4;
/// Octets of the length after the frames.
const TAIL: usize = 4;

/// A position in a block.
#[derive(Debug)]
pub(super) struct Ring {
    /// Octets of the block.
    pub(super) length: usize,
    /// Frames not yet returned.
    pub(super) left: u32,
    offset: usize,
    lost: u64,
    algorithm: u8,
}

impl Ring {
    /// The position before the first frame of a complete block; `None` if the block is too short for its own numbers.
    pub(super) fn of(block: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u32::from_le_bytes(*block.get(at..)?.first_chunk()?));
        if block.len() < place::HASH + FRAMING {
            return None;
        }
        Some(Self {
            length: block.len(),
            left: word(place::FRAMES)?,
            offset: word(place::FIRST)? as usize,
            lost: u64::from_le_bytes(*block.get(place::LOST..)?.first_chunk()?),
            algorithm: word(place::HASH)? as u8,
        })
    }

    /// The next frame of the block. Its VLAN tag is put back by moving the addresses into the room before them. The frame is then
    /// cut at the interface's snap length `snap`, because the tag can exceed it. `None` if the frame is outside of the block, or
    /// overlaps the data before it.
    pub(super) fn next<'a>(&mut self, block: &'a mut [u8], snap: u32) -> Option<Packet<'a>> {
        let end = block.len().checked_sub(TAIL)?;
        let block = block.get_mut(self.offset..end)?;
        let header: [u8; HEAD] = *block.first_chunk()?;
        let word =
            |at: usize| u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
        let (next, captured, mut wire_length, status) =
            (word(0) as usize, word(12) as usize, word(16), word(20));
        let mut begin = usize::from(half(24));
        let end = begin.checked_add(captured).filter(|&end| begin >= HEAD + TAG && end <= block.len())?;
        self.left = self.left.checked_sub(1)?;
        if self.left > 0 && next < end {
            return None;
        }
        self.offset = self.offset.checked_add(next)?;

        if let Some(tag) = VlanTag::from_status(status, word(32) as u16, half(36)) {
            wire_length = wire_length.saturating_add(TAG as u32);
            if captured >= ADDRESSES {
                block.copy_within(begin..begin + ADDRESSES, begin - TAG);
                begin -= TAG;
                let [a, b] = tag.tpid.to_be_bytes();
                let [c, d] = tag.tci.to_be_bytes();
                block[begin + ADDRESSES..][..TAG].copy_from_slice(&[a, b, c, d]);
            }
        }
        let hash = word(HASH);
        block[HASH..HASH + 4].copy_from_slice(&hash.to_be_bytes());
        let block = &*block;
        let data = &block[begin..end];
        let data = &data[..data.len().min(if snap == 0 { usize::MAX } else { snap as usize })];
        let frame = Frame {
            data,
            wire_length,
            time_ns: u64::from(word(4)) * 1_000_000_000 + u64::from(word(8)),
            vlan: None,
            packet_type: PacketType::from(header[PACKET_TYPE]),
            hash: None,
            status,
        };
        let flags = flags_of(&frame);
        let lost = std::mem::take(&mut self.lost);
        Some(Packet {
            data: frame.data,
            original_length: frame.wire_length,
            time_ns: Some(frame.time_ns),
            dropped: (lost > 0).then_some(lost),
            flags: (flags != 0).then_some(flags),
            hash: (hash != 0)
                .then(|| PacketHash { algorithm: self.algorithm, value: &block[HASH..HASH + 4] }),
            ..Packet::default()
        })
    }
}
