//! A batch whose frames are encoded: what workers make, and the merge puts in order.

use std::sync::Arc;

use capbench_capture::capture::{Batch, OwnedBatch};
use capbench_capture::filter::SoftwareFilter;
use capbench_capture::pool::{Pool, Pooled};
use capbench_sys::packet::{Frame, PacketType};

use crate::file::{Encoder, PacketFacts};

/// A port as workers see it: its interface in the file, and its filter.
pub(super) type Lane = (u32, Option<SoftwareFilter>);

/// Memory for the records of a batch. It grows with the largest batch, and is reused.
#[derive(Debug, Default)]
pub(super) struct Chunk {
    octets: Vec<u8>,
    used: usize,
    entries: Vec<Entry>,
}

/// Properties of a frame that the merge needs, and the position of its record.
#[derive(Clone, Copy, Debug)]
struct Entry {
    time_ns: u64,
    at: usize,
    /// Octets of the record; 0 for a frame that the filter rejected.
    length: u32,
    wire_length: u32,
    status: u32,
}

impl Pooled for Chunk {
    fn new() -> Self {
        Self::default()
    }

    fn clear(&mut self) {
        self.used = 0;
        self.entries.clear();
    }
}

impl Chunk {
    #[inline]
    fn encode(&mut self, frame: &Frame<'_>, encoder: &Encoder, facts: &PacketFacts) -> usize {
        loop {
            if let Some(length) = encoder.encode(frame, facts, &mut self.octets[self.used..]) {
                return length;
            }
            self.grow(encoder.largest_record());
        }
    }

    #[cold]
    fn grow(&mut self, at_least: usize) {
        self.octets.resize(2 * self.octets.len() + at_least, 0);
    }
}

/// The frames of a batch, each with its record as octets. The records have no drop counts: losses are known only where the
/// batches of all captures meet. Rejected frames are included without octets, so that losses and times are the same as when
/// filtering after the merge.
#[derive(Debug)]
pub(super) struct Encoded {
    chunk: Chunk,
    pool: Arc<Pool<Chunk>>,
}

impl Encoded {
    /// Encodes a batch. Waits for memory of the pool.
    pub(super) fn of(
        batch: &OwnedBatch,
        (interface, filter): &Lane,
        encoder: &Encoder,
        pool: &Arc<Pool<Chunk>>,
    ) -> Self {
        let mut encoded = Self { chunk: pool.wait_and_take(), pool: Arc::clone(pool) };
        let chunk = &mut encoded.chunk;
        let facts = PacketFacts { interface: *interface, queue: batch.queue(), dropped: None };
        for frame in batch.frames() {
            let is_wanted = filter.as_ref().is_none_or(|filter| filter.matches(&frame).is_some());
            let length = if is_wanted { chunk.encode(&frame, encoder, &facts) } else { 0 };
            let Frame { time_ns, wire_length, status, .. } = frame;
            chunk.entries.push(Entry { time_ns, at: chunk.used, length: length as u32, wire_length, status });
            chunk.used += length;
        }
        encoded
    }

    pub(super) fn frames(&self) -> usize {
        self.chunk.entries.len()
    }

    /// The frame with this number: its octets are its record, which contains all properties that are absent here.
    #[inline]
    pub(super) fn frame(&self, number: usize) -> Option<Frame<'_>> {
        let Entry { time_ns, at, length, wire_length, status } = *self.chunk.entries.get(number)?;
        let data = &self.chunk.octets[at..][..length as usize];
        let (vlan, packet_type, hash) = (None, PacketType::Unknown, None);
        Some(Frame { data, wire_length, time_ns, vlan, packet_type, hash, status })
    }
}

impl Drop for Encoded {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.chunk));
    }
}
