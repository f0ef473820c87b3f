//! Memory for copies of frames: buffers that go out and come back, never more than a bound.
//!
//! `Buffer` is for frames as they were captured; other kinds of copies have buffers of their own.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use capbench_sys::packet::{Frame, PacketType, VlanTag};

/// Octets of frames that a buffer holds.
pub const BUFFER_OCTETS: usize = 1 << 20;
/// Frames that a buffer holds: as many as fit at 128 octets each.
pub(crate) const BUFFER_FRAMES: usize = BUFFER_OCTETS / 128;

/// What is known of a frame, and where its octets lie in the buffer.
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
    /// Whether there is room for a frame of so many octets.
    #[inline]
    pub(crate) fn has_room(&self, octets: usize) -> bool {
        self.octets.len() + octets <= BUFFER_OCTETS && self.entries.len() < BUFFER_FRAMES
    }

    /// Copies a frame for which there is room.
    #[inline]
    pub(crate) fn push(&mut self, frame: &Frame<'_>) {
        let Frame { data, wire_length, time_ns, vlan, packet_type, hash, status } = *frame;
        let (at, captured) = (self.octets.len() as u32, data.len() as u32);
        self.octets.extend_from_slice(data);
        self.entries.push(Entry { time_ns, at, captured, wire_length, status, hash, vlan, packet_type });
    }

    /// The frames, in the order in which they came.
    #[inline]
    pub(crate) fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.entries.iter().map(|entry| self.frame_of(entry))
    }

    /// The frame that came as the one with this number.
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

/// What a pool holds.
pub trait Pooled {
    /// With all memory that it needs, as far as that is known.
    fn new() -> Self;

    /// Makes it empty; its memory stays.
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

/// Buffers, some here and some out.
#[derive(Debug)]
pub struct Pool<T> {
    stock: Mutex<Stock<T>>,
    returned: Condvar,
}

#[derive(Debug)]
struct Stock<T> {
    /// Used before and free now, the one that was used last in front: its memory may still be in a cache.
    free: VecDeque<T>,
    /// How many more can be made: none is made before it is needed.
    unmade: usize,
}

impl<T: Pooled> Pool<T> {
    /// For at most so many buffers.
    pub fn new(bound: usize) -> Self {
        let stock = Stock { free: VecDeque::with_capacity(bound), unmade: bound };
        Self { stock: Mutex::new(stock), returned: Condvar::new() }
    }

    /// Waits at most so long until there are as many buffers to be had, and says how many there are. Whoever alone takes
    /// buffers can rely on them: others only bring some back.
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

    /// An empty buffer, if there is one.
    pub fn take(&self) -> Option<T> {
        Self::out_of(self.lock()).ok()
    }

    /// An empty buffer, as soon as there is one.
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

    /// Takes a buffer back.
    pub fn put(&self, mut buffer: T) {
        buffer.clear();
        self.lock().free.push_front(buffer);
        self.returned.notify_one();
    }

    fn lock(&self) -> MutexGuard<'_, Stock<T>> {
        // Nothing in here can panic half-way.
        self.stock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
