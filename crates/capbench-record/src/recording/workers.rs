//! Workers between captures and the merge: they filter and encode batches in place, and return them at once.

use std::sync::Arc;
use std::sync::mpsc::SyncSender;

use capbench_capture::capture::{Batch, OwnedBatch};
use capbench_capture::filter::SoftwareFilter;
use capbench_capture::pool::{Pool, Pooled};
use capbench_sys::host::CpuId;
use capbench_sys::host::affinity::pin_current_thread;
use capbench_sys::packet::{Frame, PacketType};

use super::board::CaptureBoard;
use super::merging::{BatchWithLosses, Frames, LossReport, MergeEvent};
use crate::error::Result;
use crate::file::{Encoder, PacketFacts};
use crate::worker_pool::{Job, Plan, WorkerPool};

pub(super) type Workers = WorkerPool<Unencoded>;

/// A batch for a worker to encode. If dropped before that, its frames are counted as a gap.
#[derive(Debug)]
pub(super) struct Unencoded {
    batch: OwnedBatch,
    losses: LossReport,
    board: Arc<CaptureBoard>,
    is_encoded: bool,
}

impl Unencoded {
    pub(super) fn new(batch: OwnedBatch, losses: LossReport, board: &Arc<CaptureBoard>) -> Self {
        Self { batch, losses, board: Arc::clone(board), is_encoded: false }
    }
}

impl Drop for Unencoded {
    fn drop(&mut self) {
        if !self.is_encoded {
            let LossReport { number, lost, .. } = self.losses;
            self.board.gaps.lost(number, self.batch.frame_count() as u64, lost);
        }
    }
}

/// A port as workers see it: its interface in the file, and its filter.
pub(super) type Lane = (u32, Option<SoftwareFilter>);

/// What workers need to start.
pub(super) struct Setup {
    pub(super) plan: Plan,
    pub(super) encoder: Encoder,
    /// By port.
    pub(super) lanes: Vec<Lane>,
    /// Batches that the merge holds. It drops batches beyond that, so the next batch in order always finds memory.
    pub(super) merge_holds: usize,
    /// By worker.
    pub(super) cpus: Vec<Option<CpuId>>,
}

impl Setup {
    /// Starts the workers. Their results go to the merging thread.
    pub(super) fn start(self, merge: SyncSender<MergeEvent>) -> Result<Workers> {
        self.start_as(merge, |_, _| {})
    }

    /// As `start`. `before` is called with the number of a worker, and with each job before it is done.
    fn start_as(
        self,
        merge: SyncSender<MergeEvent>,
        before: impl Fn(usize, &Job<Unencoded>) + Send + Sync + 'static,
    ) -> Result<Workers> {
        let Self { plan, encoder, lanes, merge_holds, cpus } = self;
        let pool = Arc::new(Pool::new(plan.most_held() + merge_holds));
        let shared = Arc::new((encoder, lanes, before));
        let make = move |worker| {
            if let Some(cpu) = cpus.get(worker).copied().flatten() {
                // The captures' threads were pinned before.
                let _ = pin_current_thread(cpu);
            }
            let (shared, pool) = (Arc::clone(&shared), Arc::clone(&pool));
            move |mut job: Job<Unencoded>| {
                let (encoder, lanes, before) = &*shared;
                before(worker, &job);
                let Unencoded { batch, losses, .. } = &job.batch;
                let encoded = Encoded::of(batch, &lanes[job.port], encoder, &pool);
                let encoded = BatchWithLosses { frames: Frames::Encoded(encoded), losses: *losses };
                job.batch.is_encoded = true;
                MergeEvent::Batch(job.port, encoded)
            }
        };
        // If the receiver is gone, the recording has ended.
        WorkerPool::start(plan, make, move |batch| drop(merge.send(batch)))
    }
}

/// Memory for the records of a batch. It grows with the largest batch, and is reused.
#[derive(Debug, Default)]
struct Chunk {
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
    fn of(
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

#[cfg(test)]
mod tests;
