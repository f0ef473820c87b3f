//! TPACKET_V3 receive ring: frames of any size packed into blocks; a block is an owned token.
//!
//! A [`Block`] can be sent to another thread and outlives the ring's handle; dropping it returns its memory to the kernel. The
//! kernel fills blocks in ring order, so a block that is not returned stops the ring but never makes it unsafe.

use std::ptr::addr_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::frame::{Frame, PacketType, VlanTag};
use super::geometry::{BlockGeometry, align};
use super::run::ready_in_a_row;
use super::status::{StatusWord, give_release, read_acquire};
use crate::error::{Result, SysError};
use crate::memory::Mapping;

/// Offset of the socket address from a frame's header.
const ADDRESS_OFFSET: usize = align(size_of::<libc::tpacket3_hdr>());
/// Bytes that a frame takes at least: header and address (`TPACKET3_HDRLEN`).
const LEAST: usize = ADDRESS_OFFSET + size_of::<libc::sockaddr_ll>();

/// A mapped ring of blocks and the reader's position in it.
#[derive(Debug)]
pub struct BlockRing {
    shared: Arc<Shared>,
    next: u32,
}

#[derive(Debug)]
struct Shared {
    map: Mapping,
    geometry: BlockGeometry,
    /// Blocks that exist as tokens. Their status word still says "user", so after a whole round only this distinguishes them
    /// from blocks that the kernel has filled again.
    held: Box<[AtomicBool]>,
}

impl Shared {
    #[inline]
    fn block(&self, index: u32) -> *mut u8 {
        let size = self.geometry.block_size() as usize;
        self.map.at(index as usize * size, size).expect("a block of a checked geometry is in its mapping")
    }

    #[inline]
    fn header(&self, index: u32) -> *mut libc::tpacket_hdr_v1 {
        let descriptor = self.block(index).cast::<libc::tpacket_block_desc>();
        // SAFETY: a block starts with its descriptor; this computes an address inside it and reads nothing.
        unsafe { (&raw mut (*descriptor).hdr).cast() }
    }

    #[inline]
    fn status(&self, index: u32) -> StatusWord {
        // SAFETY: computes an address inside the block's descriptor and reads nothing.
        StatusWord::Int(unsafe { &raw mut (*self.header(index)).block_status })
    }
}

impl BlockRing {
    pub(crate) fn new(map: Mapping, geometry: BlockGeometry) -> Result<Self> {
        if (map.length() as u64) < geometry.bytes() {
            return Err(SysError::argument("block ring", format!("{} bytes are mapped", map.length())));
        }
        let held = (0..geometry.blocks()).map(|_| AtomicBool::new(false)).collect();
        Ok(Self { shared: Arc::new(Shared { map, geometry, held }), next: 0 })
    }

    /// The ring's geometry.
    pub fn geometry(&self) -> BlockGeometry {
        self.shared.geometry
    }

    /// Whether the last block is still owned. Then poll(2) reports the ring as readable although there is no block to read. The
    /// kernel checks the status word of the block before the one that it fills.
    pub fn is_last_held(&self) -> bool {
        let last = if self.next == 0 { self.shared.geometry.blocks() - 1 } else { self.next - 1 };
        // Relaxed: nothing is read on the strength of it.
        self.shared.held[last as usize].load(Ordering::Relaxed)
    }

    /// Blocks that the kernel cannot fill: filled but unread ones, and owned ones.
    pub fn withheld(&self) -> u32 {
        let blocks = self.shared.geometry.blocks();
        // A block that is ready is not held, and none becomes held meanwhile: nothing counts twice.
        (self.ready() + (0..blocks).filter(|&index| self.is_held(index)).count() as u32).min(blocks)
    }

    /// Blocks that the kernel has filled and nobody has taken. Found by a few status words.
    pub fn ready(&self) -> u32 {
        let blocks = self.shared.geometry.blocks();
        ready_in_a_row(blocks, |offset| {
            let index = ((u64::from(self.next) + u64::from(offset)) % u64::from(blocks)) as u32;
            // SAFETY: `status` gives an aligned word inside the live mapping. No token of this block is out: only `take`, which
            // needs the ring mutably, makes one.
            !self.is_held(index)
                && unsafe { read_acquire(self.shared.status(index)) } & libc::TP_STATUS_USER != 0
        })
    }

    /// Acquire, as in `take`: another thread may have written the whole block, its status word included, by `octets_mut`. Once
    /// its token is seen to be back, so are those writes and the status that its drop stored.
    fn is_held(&self, index: u32) -> bool {
        self.shared.held[index as usize].load(Ordering::Acquire)
    }

    /// Returns the next block if the kernel has filled it.
    #[inline]
    pub fn take(&mut self) -> Option<Block> {
        let index = self.next;
        // Acquire: pairs with the Release in Block's drop. A thread that sees "not held" sees the status word that the drop
        // stored before it. Then a status of "user" can only mean that the kernel has filled the block again.
        if self.shared.held[index as usize].load(Ordering::Acquire) {
            return None;
        }
        // SAFETY: `status` gives an aligned word inside the live mapping.
        let status = unsafe { read_acquire(self.shared.status(index)) };
        if status & libc::TP_STATUS_USER == 0 {
            return None;
        }
        self.shared.held[index as usize].store(true, Ordering::Relaxed);
        self.next = if index + 1 == self.shared.geometry.blocks() { 0 } else { index + 1 };
        Some(Block { shared: Arc::clone(&self.shared), index, status })
    }
}

/// An owned block of frames. Dropping it returns the memory to the kernel.
#[derive(Debug)]
pub struct Block {
    shared: Arc<Shared>,
    index: u32,
    status: u32,
}

impl Block {
    /// Number of frames according to the kernel.
    #[inline]
    pub fn len(&self) -> usize {
        self.header().frames as usize
    }

    /// Whether it holds no frame (possible before Linux 3.19 only).
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The kernel's sequence number of the block. A gap would be a bug of this reader.
    pub fn sequence(&self) -> u64 {
        self.header().sequence
    }

    /// Whether the ring has lost frames since its counters were read, all before the first frame of this block
    /// (`TP_STATUS_LOSING`, set by `prb_close_block` of net/packet/af_packet.c). A full ring loses frames only while no block
    /// is open, so never within a block.
    pub fn is_losing(&self) -> bool {
        self.status & libc::TP_STATUS_LOSING != 0
    }

    /// The octets of the whole block in the kernel's layout, including its descriptor.
    pub fn octets(&self) -> &[u8] {
        let size = self.shared.geometry.block_size() as usize;
        // SAFETY: the block is in the live mapping, whose memory was zero at first. User space owns it since `take`, so
        // the kernel does not write it. This process writes it by `octets_mut`, which borrows the token mutably, and
        // returns the status word when the token is dropped. No borrow outlives the token.
        unsafe { std::slice::from_raw_parts(self.shared.block(self.index), size) }
    }

    /// The same, mutable outside the frames. The kernel rewrites its fields when it fills the block again; returning the block
    /// sets the status word.
    pub fn octets_mut(&mut self) -> &mut [u8] {
        let size = self.shared.geometry.block_size() as usize;
        // SAFETY: as for `octets`, and the token is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.shared.block(self.index), size) }
    }

    /// Used octets. A block that was full has at least 8 unused: the kernel adds only frames that end before the block's end,
    /// at a multiple of 8 (`__packet_lookup_frame_in_block`).
    pub fn used(&self) -> usize {
        let header = self.shared.header(self.index);
        // SAFETY: as for `header`.
        let used = unsafe { (&raw const (*header).blk_len).read() } as usize;
        used.min(self.shared.geometry.block_size() as usize)
    }

    /// Time when the kernel closed it, in ns since 1970-01-01 UTC: no frame in it is newer.
    pub fn closed_ns(&self) -> u64 {
        let header = self.shared.header(self.index);
        // SAFETY: as for `header`.
        let time = unsafe { (&raw const (*header).ts_last_pkt).read() };
        // With TPACKET_V3 the kernel puts nanoseconds there (`prb_close_block`).
        u64::from(time.ts_sec) * 1_000_000_000 + u64::from(time.ts_usec)
    }

    /// The frames in the kernel's order. A frame header that points outside the block ends the iteration: [`Block::len`] is
    /// then larger than the number of frames.
    #[inline]
    pub fn frames(&self) -> BlockFrames<'_> {
        let header = self.header();
        self.frames_from(header.first, header.frames)
    }

    /// Up to `left` frames, starting with the header `offset` bytes from the block's start: the values of
    /// [`BlockFrames::rest`], to continue where another iteration of this block stopped. With other numbers the frames are
    /// meaningless or none, but still inside the block.
    #[inline]
    pub fn frames_from(&self, offset: u32, left: u32) -> BlockFrames<'_> {
        BlockFrames { block: self, offset: offset as usize, left }
    }

    /// The block's header fields behind its status word, which is read by [`read_acquire`] only.
    #[inline]
    fn header(&self) -> Header {
        let header = self.shared.header(self.index);
        // SAFETY: user space owns the block since `take`, so the kernel does not write its header; it is aligned and
        // plain data.
        unsafe {
            Header {
                frames: (&raw const (*header).num_pkts).read(),
                first: (&raw const (*header).offset_to_first_pkt).read(),
                sequence: (&raw const (*header).seq_num).read(),
            }
        }
    }
}

struct Header {
    frames: u32,
    first: u32,
    sequence: u64,
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the block is ours since `take`, and frames borrowed from it are gone when it drops.
        unsafe { give_release(self.shared.status(self.index), libc::TP_STATUS_KERNEL) };
        // Release: pairs with the Acquire in `take`. A thread that sees "not held" sees the status word above, too.
        self.shared.held[self.index as usize].store(false, Ordering::Release);
    }
}

/// The frames of a [`Block`].
#[derive(Debug)]
pub struct BlockFrames<'b> {
    block: &'b Block,
    offset: usize,
    left: u32,
}

impl BlockFrames<'_> {
    /// Offset of the next frame's header from the block's start in bytes, and number of remaining frames according to the
    /// kernel: see [`Block::frames_from`].
    #[inline]
    pub fn rest(&self) -> (u32, u32) {
        // Blocks are smaller than that, so it is outside of each.
        (u32::try_from(self.offset).unwrap_or(u32::MAX), self.left)
    }
}

impl<'b> Iterator for BlockFrames<'b> {
    type Item = Frame<'b>;

    #[inline]
    fn next(&mut self) -> Option<Frame<'b>> {
        if self.left == 0 {
            return None;
        }
        let size = self.block.shared.geometry.block_size() as usize;
        let room = size.checked_sub(self.offset)?;
        if room < LEAST || !self.offset.is_multiple_of(align_of::<libc::tpacket3_hdr>()) {
            self.left = 0;
            return None;
        }
        // SAFETY: the offset is inside the block (checked above).
        let start = unsafe { self.block.shared.block(self.block.index).add(self.offset) };
        let header = start.cast::<libc::tpacket3_hdr>();
        // SAFETY: header and address are inside the block and aligned (checked above); user space owns the block
        // as long as `'b` borrows it, so the kernel does not write them.
        let (header, packet_type) = unsafe {
            let address = start.add(ADDRESS_OFFSET).cast::<libc::sockaddr_ll>();
            (addr_of!(*header).read(), (*address).sll_pkttype)
        };
        let mac = usize::from(header.tp_mac);
        let captured = header.tp_snaplen as usize;
        if mac + captured > room {
            self.left = 0;
            return None;
        }
        self.left -= 1;
        self.offset += header.tp_next_offset as usize;
        Some(Frame {
            // SAFETY: the bytes lie inside the block (checked above), which is ours for 'b.
            data: unsafe { std::slice::from_raw_parts(start.add(mac), captured) },
            wire_length: header.tp_len,
            time_ns: u64::from(header.tp_sec) * 1_000_000_000 + u64::from(header.tp_nsec),
            vlan: VlanTag::from_status(
                header.tp_status,
                header.hv1.tp_vlan_tci as u16,
                header.hv1.tp_vlan_tpid,
            ),
            packet_type: PacketType::from(packet_type),
            hash: (header.hv1.tp_rxhash != 0).then_some(header.hv1.tp_rxhash),
            status: header.tp_status,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left as usize))
    }
}

#[cfg(test)]
mod tests;
