//! One ring of an AF_XDP socket, from the producer's or the consumer's side (Documentation/networking/af_xdp.rst,
//! net/xdp/xsk_queue.h).

use std::marker::PhantomData;
use std::mem::{align_of, size_of};
use std::sync::atomic::{AtomicU32, Ordering};

use super::index::{advance_release, read_acquire};
use crate::error::{Result, SysError};
use crate::memory::Mapping;

/// Offsets in a ring's mapping (`struct xdp_ring_offset`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Offsets {
    pub(crate) producer: usize,
    pub(crate) consumer: usize,
    pub(crate) entries: usize,
    /// Absent before Linux 5.4.
    pub(crate) flags: Option<usize>,
}

/// What a ring is made of: a chunk's address, or a frame's descriptor.
pub(crate) trait Entry: Copy {}

impl Entry for u64 {}
impl Entry for libc::xdp_desc {}

/// A mapped ring. Its addresses are checked once, when it is made.
#[derive(Debug)]
struct Ring<T> {
    map: Mapping,
    offsets: Offsets,
    size: u32,
    kind: PhantomData<T>,
}

impl<T: Entry> Ring<T> {
    fn new(map: Mapping, offsets: Offsets, size: u32) -> Result<Self> {
        let word = |offset: usize| offset.is_multiple_of(4) && map.at(offset, 4).is_some();
        let fits = (size as usize)
            .checked_mul(size_of::<T>())
            .is_some_and(|bytes| map.at(offsets.entries, bytes).is_some());
        let aligned = offsets.entries.is_multiple_of(align_of::<T>());
        let words = word(offsets.producer) && word(offsets.consumer) && offsets.flags.is_none_or(word);
        if !size.is_power_of_two() || !fits || !aligned || !words {
            let reason = format!("{size} entries at {offsets:?} in {} bytes", map.length());
            return Err(SysError::argument("AF_XDP ring", reason));
        }
        Ok(Self { map, offsets, size, kind: PhantomData })
    }

    #[inline]
    fn word(&self, offset: usize) -> *mut u32 {
        self.map.at(offset, 4).expect("checked when the ring was made").cast()
    }

    #[inline]
    fn entry(&self, index: u32) -> *mut T {
        let offset = self.offsets.entries + (index & (self.size - 1)) as usize * size_of::<T>();
        self.map.at(offset, size_of::<T>()).expect("checked when the ring was made").cast()
    }

    #[inline]
    fn producer(&self) -> u32 {
        // SAFETY: an aligned word of the live mapping.
        unsafe { read_acquire(self.word(self.offsets.producer)) }
    }

    #[inline]
    fn consumer(&self) -> u32 {
        // SAFETY: an aligned word of the live mapping.
        unsafe { read_acquire(self.word(self.offsets.consumer)) }
    }

    /// Whether the kernel wants a system call before it goes on (`XDP_RING_NEED_WAKEUP`). A hint, not an ownership word:
    /// it orders nothing.
    #[inline]
    fn needs_wakeup(&self) -> bool {
        let Some(offset) = self.offsets.flags else { return true };
        // SAFETY: an aligned word of the live mapping, which this side only ever reads, atomically.
        let flags = unsafe { AtomicU32::from_ptr(self.word(offset)) }.load(Ordering::Relaxed);
        flags & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

#[derive(Debug)]
pub(crate) struct Producer<T> {
    ring: Ring<T>,
    /// Our index, as published.
    next: u32,
    /// The other side's index when it was last read.
    consumed: u32,
}

impl<T: Entry> Producer<T> {
    pub(crate) fn new(map: Mapping, offsets: Offsets, size: u32) -> Result<Self> {
        let ring = Ring::new(map, offsets, size)?;
        let (next, consumed) = (ring.producer(), ring.consumer());
        Ok(Self { ring, next, consumed })
    }

    /// Entries that may be written, when at least `wanted` of them are known to be; else as many as there are now.
    #[inline]
    pub(crate) fn room(&mut self, wanted: u32) -> u32 {
        let known = self.known_room();
        if known >= wanted {
            return known;
        }
        self.ring.size.saturating_sub(self.pending())
    }

    #[inline]
    pub(crate) fn pending(&mut self) -> u32 {
        self.consumed = self.ring.consumer();
        self.next.wrapping_sub(self.consumed)
    }

    #[inline]
    fn known_room(&self) -> u32 {
        self.ring.size.saturating_sub(self.next.wrapping_sub(self.consumed))
    }

    /// Writes entry `offset` of those to be published next.
    ///
    /// # Panics
    /// Beyond the room that [`Self::room`] has found.
    #[inline]
    pub(crate) fn write(&mut self, offset: u32, value: T) {
        assert!(offset < self.known_room(), "an AF_XDP ring has no entry {offset} to write");
        // SAFETY: the entry is in the live mapping, aligned. The consumer's index, read with Acquire, says that it
        // is the producer's, and only this value, exclusively borrowed here, is the producer.
        unsafe { self.ring.entry(self.next.wrapping_add(offset)).write(value) };
    }

    /// Passes the first `count` entries to the other side.
    ///
    /// # Panics
    /// Beyond the room that [`Self::room`] has found.
    ///
    /// # Safety
    /// Each of them must have been written since the last call. The chunk that it names must be the caller's, without
    /// any reference to it. (A descriptor that the other side skips names none.)
    #[inline]
    pub(crate) unsafe fn publish(&mut self, count: u32) {
        assert!(count <= self.known_room(), "an AF_XDP ring has no {count} entries to publish");
        self.next = self.next.wrapping_add(count);
        // SAFETY: an aligned word of the live mapping; the entries are the producer's, as was just checked, and no
        // reference to one exists. The caller promises the same of their chunks.
        unsafe { advance_release(self.ring.word(self.ring.offsets.producer), self.next) };
    }

    /// The entry published `back` entries ago; 1 is the newest. The consumer never writes entries.
    pub(crate) fn read_newest(&self, back: u32) -> T {
        // SAFETY: the entry is in the live mapping, aligned; both sides only read it, or this side writes it, which
        // needs this value exclusively.
        unsafe { self.ring.entry(self.next.wrapping_sub(back)).read() }
    }

    /// Publishes one more entry, in front of the last `behind` published ones.
    ///
    /// # Panics
    /// Without room for it.
    ///
    /// # Safety
    /// As for [`Self::overwrite_newest`] and, for the chunk of `value`, as for [`Self::publish`]; and the other side must not
    /// have consumed any of those entries.
    pub(crate) unsafe fn insert(&mut self, behind: u32, value: T) {
        let mut carried = value;
        for back in (1..=behind).rev() {
            let place = self.ring.entry(self.next.wrapping_sub(back));
            // SAFETY: the entry is in the live mapping, aligned, and the caller keeps the other side away from it.
            carried = unsafe { place.replace(carried) };
        }
        self.write(0, carried);
        // SAFETY: the entry was written just now. Its chunk is the other side's already, or the caller promises for it.
        unsafe { self.publish(1) };
    }

    /// Overwrites the last `count` published entries, the newest first.
    ///
    /// # Safety
    /// The other side must not read the ring meanwhile. In copy mode the kernel reads the transmit ring only in system calls
    /// on the socket.
    pub(crate) unsafe fn overwrite_newest(&mut self, count: u32, value: T) {
        for back in 1..=count.min(self.pending()) {
            // SAFETY: the entry is in the live mapping, aligned, and the caller keeps the other side away from it.
            unsafe { self.ring.entry(self.next.wrapping_sub(back)).write(value) };
        }
    }

    /// As if `count` entries had been produced and consumed. The entries themselves must be where that puts them.
    #[cfg(test)]
    pub(super) fn start_at(&mut self, next: u32, consumed: u32) {
        (self.next, self.consumed) = (next, consumed);
        // SAFETY: aligned words of the live mapping; a test plays both sides and holds no entry.
        unsafe {
            advance_release(self.ring.word(self.ring.offsets.producer), next);
            advance_release(self.ring.word(self.ring.offsets.consumer), consumed);
        }
    }

    #[inline]
    pub(crate) fn needs_wakeup(&self) -> bool {
        self.ring.needs_wakeup()
    }
}

#[derive(Debug)]
pub(crate) struct Consumer<T> {
    ring: Ring<T>,
    /// Our index, as published.
    next: u32,
    /// The other side's index when it was last read.
    produced: u32,
}

impl<T: Entry> Consumer<T> {
    pub(crate) fn new(map: Mapping, offsets: Offsets, size: u32) -> Result<Self> {
        let ring = Ring::new(map, offsets, size)?;
        let (produced, next) = (ring.producer(), ring.consumer());
        Ok(Self { ring, next, produced })
    }

    /// Entries to read, as last known; looked up anew when there were none.
    #[inline]
    pub(crate) fn available(&mut self) -> u32 {
        if self.produced == self.next {
            self.produced = self.ring.producer();
        }
        self.known()
    }

    /// Entries that wait to be read now, and how many the ring has.
    pub(crate) fn waiting(&self) -> (u32, u32) {
        let waiting = self.ring.producer().wrapping_sub(self.next);
        (waiting.min(self.ring.size), self.ring.size)
    }

    #[inline]
    fn known(&self) -> u32 {
        // More than the ring's size is impossible: the producer would have overwritten our entries.
        self.produced.wrapping_sub(self.next).min(self.ring.size)
    }

    /// Entry `offset` of those to be read.
    ///
    /// # Panics
    /// Beyond what [`Self::available`] has found.
    #[inline]
    pub(crate) fn read(&self, offset: u32) -> T {
        assert!(offset < self.known(), "an AF_XDP ring has no entry {offset} to read");
        // SAFETY: the entry is in the live mapping, aligned. The producer's index, read with Acquire, says that it is
        // the consumer's until we return it, which needs this value exclusively. Any bits are a valid entry.
        unsafe { self.ring.entry(self.next.wrapping_add(offset)).read() }
    }

    /// As if `count` entries had been consumed.
    #[cfg(test)]
    pub(super) fn start_at(&mut self, next: u32) {
        (self.next, self.produced) = (next, next);
    }

    /// Returns the first `count` entries. The chunks that they named keep their owner.
    ///
    /// # Panics
    /// Beyond what [`Self::available`] has found.
    #[inline]
    pub(crate) fn release(&mut self, count: u32) {
        assert!(count <= self.known(), "an AF_XDP ring has no {count} entries to release");
        self.next = self.next.wrapping_add(count);
        // SAFETY: an aligned word of the live mapping; the entries are the consumer's, as was just checked, and are only
        // ever copied out, not borrowed.
        unsafe { advance_release(self.ring.word(self.ring.offsets.consumer), self.next) };
    }
}
