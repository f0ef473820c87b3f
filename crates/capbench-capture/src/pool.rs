//! Memory for copies of frames: a bounded pool of reusable buffers.
//!
//! `Buffer` holds frames as captured. Other kinds of copies have their own buffers.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use capbench_sys::packet::{Frame, PacketType, VlanTag};

/// Octets of frames that a buffer holds.
pub const BUFFER_OCTETS: usize = 1 << 20;
/// Frames that a buffer holds: as many as fit at 128 octets each.
pub(crate) const BUFFER_FRAMES: usize = BUFFER_OCTETS / 128;

/// A frame's metadata, and where its octets are in the buffer.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time_ns: u64,
    at: u32,
    captured: u32,
    wire_length: u32,
    status: u32,
    hash: Option<u32>,
    vlan: Option<VlanTag>,
    packet_type: PacketType,
}

/// Copies of frames.
#[derive(Debug, Default)]
pub(crate) struct Buffer {
    octets: Vec<u8>,
    entries: Vec<Entry>,
}

impl Buffer {
    /// Whether a frame of `octets` octets fits.
    #[inline]
    pub(crate) fn has_room(&self, octets: usize) -> bool {
        self.octets.len() + octets <= BUFFER_OCTETS && self.entries.len() < BUFFER_FRAMES
    }

    /// Copies a frame that fits.
    #[inline]
    pub(crate) fn push(&mut self, frame: &Frame<'_>) {
        let Frame { data, wire_length, time_ns, vlan, packet_type, hash, status } = *frame;
        let (at, captured) = (self.octets.len() as u32, data.len() as u32);
        self.octets.extend_from_slice(data);
        self.entries.push(Entry { time_ns, at, captured, wire_length, status, hash, vlan, packet_type });
    }

    /// The frames, in the order of arrival.
    #[inline]
    pub(crate) fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.entries.iter().map(|entry| self.frame_of(entry))
    }

    /// The frame with this number, in the order of arrival.
    #[inline]
    pub(crate) fn frame(&self, number: usize) -> Option<Frame<'_>> {
        self.entries.get(number).map(|entry| self.frame_of(entry))
    }

    #[inline]
    fn frame_of(&self, entry: &Entry) -> Frame<'_> {
        Frame {
            data: &self.octets[entry.at as usize..][..entry.captured as usize],
            wire_length: entry.wire_length,
            time_ns: entry.time_ns,
            vlan: entry.vlan,
            packet_type: entry.packet_type,
            hash: entry.hash,
            status: entry.status,
        }
    }

    /// Number of frames.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// An element of a pool.
pub trait Pooled {
    /// A new element with all the memory that it is known to need.
    fn new() -> Self;

    /// Empties it and keeps its memory.
    fn clear(&mut self);
}

impl Pooled for Buffer {
    fn new() -> Self {
        Self { octets: Vec::with_capacity(BUFFER_OCTETS), entries: Vec::with_capacity(BUFFER_FRAMES) }
    }

    fn clear(&mut self) {
        self.octets.clear();
        self.entries.clear();
    }
}

/// A pool of buffers, some free and some in use.
#[derive(Debug)]
pub struct Pool<T> {
    stock: Mutex<Stock<T>>,
    returned: Condvar,
}

#[derive(Debug)]
struct Stock<T> {
    /// Free buffers that were used before, the last used one first: its memory may still be in a cache.
    free: VecDeque<T>,
    /// How many more buffers can be created. Each is created when first needed.
    unmade: usize,
}

impl<T: Pooled> Pool<T> {
    /// A pool of up to `bound` buffers.
    pub fn new(bound: usize) -> Self {
        let stock = Stock { free: VecDeque::with_capacity(bound), unmade: bound };
        Self { stock: Mutex::new(stock), returned: Condvar::new() }
    }

    /// Waits up to `timeout` until `buffers` buffers are available. Returns how many are available. A thread that alone takes
    /// buffers can rely on the number: other threads only return buffers.
    pub fn wait_for(&self, buffers: usize, timeout: Duration) -> usize {
        let mut stock = self.lock();
        let mut start = None;
        loop {
            let available = stock.free.len() + stock.unmade;
            if available >= buffers {
                return available;
            }
            let left = timeout.saturating_sub(start.get_or_insert_with(Instant::now).elapsed());
            if left.is_zero() {
                return available;
            }
            stock = self.returned.wait_timeout(stock, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// An empty buffer, if one is available.
    pub fn take(&self) -> Option<T> {
        Self::out_of(self.lock()).ok()
    }

    /// Waits for an empty buffer.
    pub fn wait_and_take(&self) -> T {
        let mut stock = self.lock();
        loop {
            match Self::out_of(stock) {
                Ok(buffer) => return buffer,
                Err(none) => stock = self.returned.wait(none).unwrap_or_else(PoisonError::into_inner),
            }
        }
    }

    fn out_of(mut stock: MutexGuard<'_, Stock<T>>) -> std::result::Result<T, MutexGuard<'_, Stock<T>>> {
        if let Some(buffer) = stock.free.pop_front() {
            return Ok(buffer);
        }
        match stock.unmade.checked_sub(1) {
            Some(left) => stock.unmade = left,
            None => return Err(stock),
        }
        drop(stock);
        Ok(T::new())
    }

    /// Returns a buffer to the pool.
    pub fn put(&self, mut buffer: T) {
        buffer.clear();
        self.lock().free.push_front(buffer);
        self.returned.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Stock<T>> {
        // No code in here can panic half-way.
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
