//! Plays the kernel's side of a receive ring on heap memory: for tests and microbenchmarks, not for capture.
//!
//! It follows `tpacket_rcv` and the `prb_*` functions of net/packet/af_packet.c as far as a reader can see them.

use std::sync::Arc;

use super::block_ring::BlockRing;
use super::frame_ring::FrameRing;
use super::geometry::{BlockGeometry, FrameGeometry, FrameVersion, align};
use super::status::{StatusWord, give_release, read_acquire};
use crate::error::Result;
use crate::memory::Mapping;

/// A heap region that both sides hold, as the socket and the process hold a real one.
struct Region(Arc<Mapping>);

impl Region {
    fn pair(bytes: u64) -> Result<(Self, Mapping)> {
        let map = Arc::new(Mapping::on_heap(bytes as usize)?);
        let view = Mapping::view_of(Arc::clone(&map));
        Ok((Self(map), view))
    }

    fn write<T: Copy>(&self, offset: usize, value: T) {
        let place = self.0.at(offset, size_of::<T>()).expect("inside the region").cast::<T>();
        // SAFETY: the place is inside the region; the caller owns that slot or block by its status word, as the
        // kernel would.
        unsafe { place.write_unaligned(value) };
    }

    /// Writes a structure whose first `status` bytes are its ownership word, and leaves that word alone: the reader may
    /// be looking at it.
    fn write_behind_status<T: Copy>(&self, offset: usize, status: usize, value: &T) {
        let place = self.0.at(offset, size_of::<T>()).expect("inside the region");
        let source = std::ptr::from_ref(value).cast::<u8>();
        // SAFETY: source and place have room for a T, do not overlap, and the caller owns what comes after the word.
        unsafe {
            place.add(status).copy_from_nonoverlapping(source.add(status), size_of::<T>() - status);
        }
    }

    fn copy(&self, offset: usize, bytes: &[u8]) {
        let place = self.0.at(offset, bytes.len()).expect("inside the region");
        // SAFETY: as for `write`; source and region do not overlap.
        unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    }

    fn word(&self, offset: usize, version: Option<FrameVersion>) -> StatusWord {
        let place = self.0.at(offset, size_of::<usize>()).expect("inside the region");
        if version == Some(FrameVersion::V1) {
            StatusWord::Long(place.cast())
        } else {
            StatusWord::Int(place.cast())
        }
    }

    fn is_free(&self, word: StatusWord) -> bool {
        // SAFETY: the word is in the live region, aligned.
        unsafe { read_acquire(word) & libc::TP_STATUS_USER == 0 }
    }

    fn publish(&self, word: StatusWord, status: u32) {
        // SAFETY: the word is in the live region; this side owned the memory and has finished writing it.
        unsafe { give_release(word, libc::TP_STATUS_USER | status) };
    }
}

/// The kernel's side of a TPACKET_V1 or V2 ring.
pub struct FrameKernel {
    region: Region,
    geometry: FrameGeometry,
    version: FrameVersion,
    next: u32,
    drops: u64,
}

impl FrameKernel {
    /// A ring on heap memory and its reader.
    pub fn with_ring(geometry: FrameGeometry, version: FrameVersion) -> Result<(Self, FrameRing)> {
        let (region, view) = Region::pair(geometry.bytes())?;
        let ring = FrameRing::new(view, geometry, version)?;
        Ok((Self { region, geometry, version, next: 0, drops: 0 }, ring))
    }

    /// Places a frame; `false` when the ring is full, and the frame counts as lost.
    pub fn deliver(&mut self, data: &[u8], wire_length: u32, vlan_tci: Option<u16>) -> bool {
        let mac = align(self.version.header_length()) + 14 + 2;
        let mac = mac as u16;
        let Some(slot) = self.place(mac, data.len() as u32, wire_length, vlan_tci) else {
            self.drops += 1;
            return false;
        };
        let room = self.geometry.frame_size() as usize - usize::from(mac);
        self.region.copy(slot + usize::from(mac), &data[..data.len().min(room)]);
        self.finish(slot, vlan_tci);
        true
    }

    /// Frames lost since the last call; frames placed from here on are not marked as losing.
    pub fn take_drops(&mut self) -> u64 {
        std::mem::take(&mut self.drops)
    }

    /// Places a header with arbitrary offset and length.
    pub fn deliver_header(&mut self, mac: u16, captured: u32) {
        if let Some(slot) = self.place(mac, captured, captured, None) {
            self.finish(slot, None);
        }
    }

    fn place(&mut self, mac: u16, captured: u32, length: u32, vlan_tci: Option<u16>) -> Option<usize> {
        let slot = self.geometry.offset(self.next);
        if !self.region.is_free(self.region.word(slot, Some(self.version))) {
            return None;
        }
        match self.version {
            FrameVersion::V1 => self.region.write_behind_status(
                slot,
                size_of::<usize>(),
                &libc::tpacket_hdr {
                    tp_status: 0,
                    tp_len: length,
                    tp_snaplen: captured,
                    tp_mac: mac,
                    tp_net: mac + 14,
                    tp_sec: 1,
                    tp_usec: 2,
                },
            ),
            FrameVersion::V2 => self.region.write_behind_status(
                slot,
                size_of::<u32>(),
                &libc::tpacket2_hdr {
                    tp_status: 0,
                    tp_len: length,
                    tp_snaplen: captured,
                    tp_mac: mac,
                    tp_net: mac.saturating_add(14),
                    tp_sec: 1,
                    tp_nsec: 2,
                    tp_vlan_tci: vlan_tci.unwrap_or(0),
                    tp_vlan_tpid: 0x8100,
                    tp_padding: [0; 4],
                },
            ),
        }
        Some(slot)
    }

    fn finish(&mut self, slot: usize, vlan_tci: Option<u16>) {
        let vlan = if vlan_tci.is_some() && self.version == FrameVersion::V2 {
            libc::TP_STATUS_VLAN_VALID | libc::TP_STATUS_VLAN_TPID_VALID
        } else {
            0
        };
        self.region.publish(self.region.word(slot, Some(self.version)), vlan | losing(self.drops));
        self.next = (self.next + 1) % self.geometry.frames();
    }
}

/// The kernel's side of a TPACKET_V3 ring.
pub struct BlockKernel {
    region: Region,
    geometry: BlockGeometry,
    next: u32,
    sequence: u64,
    drops: u64,
}

/// Where the first frame of a block starts: behind the block's descriptor (`BLK_PLUS_PRIV`).
const FIRST: usize = (size_of::<libc::tpacket_block_desc>() + 7) & !7;
/// Offset of the status word in a block.
const STATUS: usize = std::mem::offset_of!(libc::tpacket_block_desc, hdr);
/// From a frame's header to its bytes, in the kernel's layout of Ethernet frames.
const MAC: usize = align(libc::TPACKET3_HDRLEN) + 2;
/// The time of frames in blocks by default.
const TIME_NS: u64 = 1_000_000_002;

impl BlockKernel {
    /// A ring on heap memory and its reader.
    pub fn with_ring(geometry: BlockGeometry) -> Result<(Self, BlockRing)> {
        let (region, view) = Region::pair(geometry.bytes())?;
        let ring = BlockRing::new(view, geometry)?;
        Ok((Self { region, geometry, next: 0, sequence: 0, drops: 0 }, ring))
    }

    /// Fills the next block with as many of `frames` as fit and publishes it. Returns how many, or `None` if the block is not
    /// free: the kernel would freeze the ring, and all of them are lost.
    pub fn fill(&mut self, frames: &[&[u8]]) -> Option<usize> {
        self.fill_timed(frames.iter().map(|&data| (TIME_NS, data)))
    }

    /// As [`BlockKernel::fill`], with the time of each frame in ns.
    pub fn fill_timed<'a>(
        &mut self,
        frames: impl ExactSizeIterator<Item = (u64, &'a [u8])>,
    ) -> Option<usize> {
        let offered = frames.len();
        let Some(block) = self.free_block() else {
            self.drops += offered as u64;
            return None;
        };
        let mut offset = FIRST;
        let mut count = 0;
        for (time_ns, data) in frames {
            let bytes = (MAC + data.len() + 7) & !7;
            if offset + bytes > self.geometry.block_size() as usize {
                break;
            }
            let next = if count + 1 == offered { 0 } else { bytes as u32 };
            self.region.write(block + offset, Self::header(data.len() as u32, next, time_ns));
            self.region.copy(block + offset + MAC, data);
            offset += bytes;
            count += 1;
        }
        self.close(block, count as u32, FIRST as u32, offset as u32);
        Some(count)
    }

    /// Frames lost since the last call; blocks closed from here on are not marked as losing.
    pub fn take_drops(&mut self) -> u64 {
        std::mem::take(&mut self.drops)
    }

    /// Publishes the block filled by the last [`BlockKernel::fill`] once more, unchanged: microbenchmarks then exclude the cost
    /// of filling. `false` if the reader still has it.
    pub fn repeat(&mut self) -> bool {
        let index = (self.next + self.geometry.blocks() - 1) % self.geometry.blocks();
        let block = index as usize * self.geometry.block_size() as usize;
        let free = self.region.is_free(self.region.word(block + STATUS, None));
        if free {
            self.region.publish(self.region.word(block + STATUS, None), 0);
        }
        free
    }

    /// Publishes a block whose first frame has these header fields, valid or not.
    pub fn fill_raw(&mut self, frames: u32, first: u32, captured: u32, next: u32) {
        let Some(block) = self.free_block() else { return };
        if (first as usize) < self.geometry.block_size() as usize - size_of::<libc::tpacket3_hdr>() {
            self.region.write(block + first as usize, Self::header(captured, next, TIME_NS));
        }
        self.close(block, frames, first, self.geometry.block_size());
    }

    fn free_block(&self) -> Option<usize> {
        let block = self.next as usize * self.geometry.block_size() as usize;
        self.region.is_free(self.region.word(block + STATUS, None)).then_some(block)
    }

    fn header(length: u32, next: u32, time_ns: u64) -> libc::tpacket3_hdr {
        libc::tpacket3_hdr {
            tp_next_offset: next,
            tp_sec: (time_ns / 1_000_000_000) as u32,
            tp_nsec: (time_ns % 1_000_000_000) as u32,
            tp_snaplen: length,
            tp_len: length,
            tp_status: 0,
            tp_mac: MAC as u16,
            tp_net: MAC as u16 + 14,
            hv1: libc::tpacket_hdr_variant1 { tp_rxhash: 0, tp_vlan_tci: 0, tp_vlan_tpid: 0, tp_padding: 0 },
            tp_padding: [0; 8],
        }
    }

    fn close(&mut self, block: usize, frames: u32, first: u32, length: u32) {
        self.sequence += 1;
        let stamp = || libc::tpacket_bd_ts { ts_sec: 1, ts_usec: 2 };
        self.region.write_behind_status(
            block + STATUS,
            size_of::<u32>(),
            &libc::tpacket_hdr_v1 {
                block_status: libc::TP_STATUS_KERNEL,
                num_pkts: frames,
                offset_to_first_pkt: first,
                blk_len: length,
                seq_num: self.sequence,
                ts_first_pkt: stamp(),
                ts_last_pkt: stamp(),
            },
        );
        self.region.publish(self.region.word(block + STATUS, None), losing(self.drops));
        self.next = (self.next + 1) % self.geometry.blocks();
    }
}

/// The flag by which the kernel says, until its counters are read, that frames were lost.
fn losing(drops: u64) -> u32 {
    if drops > 0 { libc::TP_STATUS_LOSING } else { 0 }
}
