//! Plays the kernel's side of AF_XDP rings on heap memory: for tests and microbenchmarks, not for capture.
//!
//! It follows `__xsk_rcv` and `xsk_generic_xmit` of net/xdp/xsk.c (copy mode) as far as user space can see them.

use std::sync::Arc;

use super::frame_queue::{FrameQueue, Share};
use super::ring::{Consumer, Entry, Offsets, Producer};
use super::socket::XdpStatistics;
use super::transmit_queue::TransmitQueue;
use super::umem::{KERNEL_HEADROOM, Umem, UmemGeometry};
use crate::error::Result;
use crate::memory::Mapping;

/// As in `struct xdp_ring` of net/xdp/xsk_queue.h: indices and flags on separate cache lines.
const OFFSETS: Offsets = Offsets { producer: 0, consumer: 128, entries: 320, flags: Some(132) };

fn memory<T: Entry>(entries: u32) -> Result<(Mapping, Mapping)> {
    let length = OFFSETS.entries + entries as usize * size_of::<T>();
    let map = Arc::new(Mapping::on_heap(length)?);
    Ok((Mapping::view_of(Arc::clone(&map)), Mapping::view_of(map)))
}

fn chunks(geometry: UmemGeometry) -> Result<(Mapping, Arc<Umem>)> {
    let map = Arc::new(Mapping::on_heap(geometry.bytes() as usize)?);
    Ok((Mapping::view_of(Arc::clone(&map)), Umem::new(Mapping::view_of(map), geometry)?))
}

/// The sizes of a queue on heap memory.
#[derive(Clone, Copy, Debug)]
pub struct QueueSizes {
    /// Entries of the receive ring.
    pub received: u32,
    /// Entries of the fill ring.
    pub fill: u32,
    /// Chunks of the queue.
    pub chunks: u32,
    /// Frames in a batch at most.
    pub batch: u32,
}

/// The kernel's side of a queue's fill and receive rings.
pub struct ReceiveKernel {
    memory: Mapping,
    geometry: UmemGeometry,
    fill: Consumer<u64>,
    received: Producer<libc::xdp_desc>,
    /// A chunk that left the fill ring and was not used, because the receive ring was full.
    unused: Option<u64>,
    statistics: XdpStatistics,
}

impl ReceiveKernel {
    /// A queue on heap memory and its reader, with chunks of 2048 bytes.
    pub fn with_queue(sizes: QueueSizes) -> Result<(Self, FrameQueue)> {
        let geometry = UmemGeometry::new(2048, sizes.chunks)?;
        let (memory, umem) = chunks(geometry)?;
        let (ours, theirs) = self::memory::<u64>(sizes.fill)?;
        let (fill, lend) =
            (Consumer::new(ours, OFFSETS, sizes.fill)?, Producer::new(theirs, OFFSETS, sizes.fill)?);
        let (ours, theirs) = self::memory::<libc::xdp_desc>(sizes.received)?;
        let (received, read) =
            (Producer::new(ours, OFFSETS, sizes.received)?, Consumer::new(theirs, OFFSETS, sizes.received)?);
        let share = Share { first_chunk: 0, chunks: sizes.chunks, batch: sizes.batch };
        let queue = FrameQueue::new(umem, read, lend, share);
        let statistics = XdpStatistics {
            rx_ring_full: Some(0),
            rx_fill_ring_empty_descs: Some(0),
            tx_ring_empty_descs: Some(0),
            ..XdpStatistics::default()
        };
        Ok((Self { memory, geometry, fill, received, unused: None, statistics }, queue))
    }

    /// Delivers a frame as copy mode does; `false` when it was lost, which the statistics say where.
    pub fn deliver(&mut self, data: &[u8]) -> bool {
        if data.len() > UmemGeometry::frame_room(self.geometry.chunk_size()) as usize {
            self.statistics.rx_dropped += 1;
            return false;
        }
        let Some(chunk) = self.unused.take().or_else(|| self.next_chunk()) else {
            self.statistics.rx_dropped += 1;
            *self.statistics.rx_fill_ring_empty_descs.get_or_insert_default() += 1;
            return false;
        };
        if self.received.room(1) == 0 {
            *self.statistics.rx_ring_full.get_or_insert_default() += 1;
            self.unused = Some(chunk);
            return false;
        }
        let address = chunk + u64::from(KERNEL_HEADROOM);
        let place = self.memory.at(address as usize, data.len()).expect("a checked chunk is in the memory");
        // SAFETY: the chunk came from the fill ring, so it is the kernel's; the data fits into it, and source and chunk
        // do not overlap.
        unsafe { place.copy_from_nonoverlapping(data.as_ptr(), data.len()) };
        self.deliver_descriptor(address, data.len() as u32);
        true
    }

    /// Places a descriptor, valid or not.
    pub fn deliver_descriptor(&mut self, address: u64, length: u32) {
        if self.received.room(1) > 0 {
            self.received.write(0, libc::xdp_desc { addr: address, len: length, options: 0 });
            // SAFETY: the entry was written just now. Nothing here refers to a chunk; that a faulty kernel names one that it
            // was not lent is for the reader to find out.
            unsafe { self.received.publish(1) };
        }
    }

    fn next_chunk(&mut self) -> Option<u64> {
        while self.fill.available() > 0 {
            let address = self.fill.read(0);
            self.fill.release(1);
            let size = u64::from(self.geometry.chunk_size());
            if address < self.geometry.bytes() {
                return Some(address - address % size);
            }
            self.statistics.rx_invalid_descs += 1;
        }
        None
    }

    /// As if `frames` frames had gone through the rings before, for tests of what happens when indices overflow.
    #[cfg(test)]
    pub(super) fn start_at(&mut self, index: u32, queue: &mut FrameQueue) {
        let (fill, received) = queue.rings();
        let lent = fill.pending();
        fill.start_at(index.wrapping_add(lent), index);
        received.start_at(index);
        self.fill.start_at(index);
        self.received.start_at(index, index);
    }

    #[cfg(test)]
    pub(super) fn unused(&self) -> usize {
        usize::from(self.unused.is_some())
    }

    /// What `XDP_STATISTICS` would say.
    pub fn statistics(&self) -> XdpStatistics {
        self.statistics
    }
}

/// The kernel's side of a transmit and a completion ring.
pub struct TransmitKernel {
    memory: Mapping,
    geometry: UmemGeometry,
    requested: Consumer<libc::xdp_desc>,
    completed: Producer<u64>,
    on_their_way: Vec<u64>,
    invalid: u64,
}

impl TransmitKernel {
    /// Rings of `frames` entries on heap memory, with as many chunks of 2048 bytes, and their writer.
    ///
    /// # Errors
    /// A number of frames that is not a power of two.
    pub fn with_queue(frames: u32) -> Result<(Self, TransmitQueue)> {
        let geometry = UmemGeometry::new(2048, frames)?;
        let (memory, umem) = chunks(geometry)?;
        let (ours, theirs) = self::memory::<libc::xdp_desc>(frames)?;
        let (requested, requests) =
            (Consumer::new(ours, OFFSETS, frames)?, Producer::new(theirs, OFFSETS, frames)?);
        let (ours, theirs) = self::memory::<u64>(frames)?;
        let (completed, completions) =
            (Producer::new(ours, OFFSETS, frames)?, Consumer::new(theirs, OFFSETS, frames)?);
        let queue = TransmitQueue::new(umem, requests, completions);
        Ok((Self { memory, geometry, requested, completed, on_their_way: Vec::new(), invalid: 0 }, queue))
    }

    /// Takes up to `most` frames; skips and counts those with an invalid descriptor.
    pub fn take(&mut self, most: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        while frames.len() < most && self.requested.available() > 0 {
            let frame = self.requested.read(0);
            self.requested.release(1);
            if frame.options != 0 || self.geometry.chunk_of(frame.addr, frame.len).is_none() {
                self.invalid += 1;
                // As Linux 6.18.44 does.
                self.complete_address(frame.addr);
                continue;
            }
            let place = self.memory.at(frame.addr as usize, frame.len as usize).expect("a checked chunk");
            let mut data = vec![0; frame.len as usize];
            // SAFETY: the chunk was passed with its descriptor, so nobody writes it; it does not overlap `data`.
            unsafe { place.copy_to_nonoverlapping(data.as_mut_ptr(), data.len()) };
            self.on_their_way.push(frame.addr);
            frames.push(data);
        }
        frames
    }

    /// Takes the next frame and drops it, as a driver that has no room.
    pub fn drop_next(&mut self) {
        let before = self.on_their_way.len();
        self.take(1);
        if let Some(address) = self.on_their_way.get(before).copied() {
            self.on_their_way.truncate(before);
            self.complete_address(address);
        }
    }

    /// Lets go of the oldest `most` frames.
    pub fn complete(&mut self, most: usize) {
        let count = most.min(self.on_their_way.len()).min(self.completed.room(u32::MAX) as usize);
        for (offset, address) in self.on_their_way.drain(..count).enumerate() {
            self.completed.write(offset as u32, address);
        }
        // SAFETY: these entries were written just now, with chunks that were requested and that nothing here refers to.
        unsafe { self.completed.publish(count as u32) };
    }

    /// Says that a chunk was sent, true or not.
    pub fn complete_address(&mut self, address: u64) {
        self.completed.write(0, address);
        // SAFETY: the entry was written just now. Nothing here refers to a chunk; if a faulty kernel completes a chunk
        // that was never lent, the writer has to notice.
        unsafe { self.completed.publish(1) };
    }

    /// Invalid descriptors passed over.
    pub fn invalid(&self) -> u64 {
        self.invalid
    }
}
