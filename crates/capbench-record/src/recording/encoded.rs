//! Frames already encoded as records, on their way from a worker to the merge.

use std::sync::Arc;

use capbench_capture::capture::{Batch, Place, SeekableBatch};
use capbench_capture::filter::SoftwareFilter;
use capbench_capture::pool::{Pool, Pooled};
use capbench_model::counters::LossMark;
use capbench_sys::packet::{Frame, PacketType};

use super::file_recorder::FileRecorder;
use super::giving::{BatchWithLosses, LossReport};
use super::merging::{Encode, Port};
use crate::file::{Encoder, PacketFacts};

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
    fn lay(&mut self, frame: &Frame<'_>, encoder: &impl Encoder, facts: &PacketFacts) -> usize {
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

    #[inline]
    fn frame(&self, number: usize) -> Option<Frame<'_>> {
        let Entry { time_ns, at, length, wire_length, status } = *self.entries.get(number)?;
        let data = &self.octets[at..][..length as usize];
        // The record contains all other properties.
        let (vlan, packet_type, hash) = (None, PacketType::Unknown, None);
        Some(Frame { data, wire_length, time_ns, vlan, packet_type, hash, status })
    }
}

/// A batch whose frames carry their encoded records as octets. The records have no drop counts: losses are known only where the
/// batches of all captures meet. Rejected frames are included without octets, so that losses and times are the same as when
/// filtering after the merge.
#[derive(Debug)]
pub(super) struct Encoded {
    chunk: Chunk,
    told: LossReport,
    mark: LossMark,
    queue: Option<u32>,
    pool: Arc<Pool<Chunk>>,
}

impl Encoded {
    /// Encodes a batch of an interface. Waits for memory of the pool.
    pub(super) fn of(
        marked: &BatchWithLosses,
        interface: u32,
        filter: Option<&SoftwareFilter>,
        encoder: &impl Encoder,
        pool: &Arc<Pool<Chunk>>,
    ) -> Self {
        let mut encoded = Self {
            chunk: pool.wait_and_take(),
            told: marked.told,
            mark: marked.loss_mark(),
            queue: marked.queue(),
            pool: Arc::clone(pool),
        };
        let chunk = &mut encoded.chunk;
        let facts = PacketFacts { interface, queue: encoded.queue, dropped: None };
        for frame in marked.frames() {
            let is_wanted = filter.is_none_or(|filter| filter.matches(&frame).is_some());
            let length = if is_wanted { chunk.lay(&frame, encoder, &facts) } else { 0 };
            let Frame { time_ns, wire_length, status, .. } = frame;
            chunk.entries.push(Entry { time_ns, at: chunk.used, length: length as u32, wire_length, status });
            chunk.used += length;
        }
        encoded
    }
}

impl Drop for Encoded {
    fn drop(&mut self) {
        self.pool.put(std::mem::take(&mut self.chunk));
    }
}

impl Batch for Encoded {
    #[inline]
    fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        (0..self.chunk.entries.len()).filter_map(|number| self.chunk.frame(number))
    }

    #[inline]
    fn loss_mark(&self) -> LossMark {
        self.mark
    }

    #[inline]
    fn queue(&self) -> Option<u32> {
        self.queue
    }

    fn frame_count(&self) -> usize {
        self.chunk.entries.len()
    }
}

impl SeekableBatch for Encoded {
    #[inline]
    fn start(&self) -> Place {
        Place::first_of(self.chunk.entries.len())
    }

    #[inline]
    fn frame_at(&self, place: &mut Place) -> Option<Frame<'_>> {
        place.step(|number| self.chunk.frame(number))
    }
}

impl Encode for Encoded {
    #[inline]
    fn told(&self) -> LossReport {
        self.told
    }

    #[inline]
    fn lay(&self, frame: &Frame<'_>, port: &mut Port, recorder: &mut FileRecorder) {
        if frame.data.is_empty() {
            port.filtered += 1;
        } else {
            recorder.record(port.interface, frame);
        }
    }
}
