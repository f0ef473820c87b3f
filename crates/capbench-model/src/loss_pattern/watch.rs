//! Compares a method's loss marks with gaps in the sequence numbers, while frames arrive.

use crate::counters::LossMark;
use capbench_frames::plan::FlowOrder;
use capbench_sys::packet::Frame;

use super::flows::QueueWatch;
use crate::arrivals::Arrivals;

/// Minimum number of frames between two counter reads because of marks: compared with reading that many frames, a counter read is
/// cheap.
const READ_AGAIN_AFTER: u64 = 256;

/// Follows marks and queues of the batches of a trial.
#[derive(Clone, Debug)]
pub struct Watch {
    mark: LossMark,
    queue: Option<u32>,
    /// Frames of the trial before the current batch, duplicates included.
    ours_before: u64,
    delivered_before: u64,
    next_before: u64,
    pub(super) queues: QueueWatch,
    pub(super) marks: Marks,
}

/// Evaluation of the marks so far.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Marks {
    /// Whether the method marks batches.
    pub(super) of_batches: bool,
    /// Whether it marks frames.
    pub(super) of_frames: bool,
    pub(super) batches: u64,
    pub(super) marked_batches: u64,
    pub(super) cleared: u64,
    pub(super) readings: u64,
    /// Whether a mark was seen since the last counter read.
    is_waiting: bool,
    /// Frames read at the last counter read.
    read_at: u64,
    /// Frames that the ring had lost at the last counter read.
    counted: u64,
    /// Frames missing before marks.
    missing: u64,
    /// Counter reads that may have cleared a due mark.
    may_lack: u64,
}

impl Watch {
    /// Marks and queues before the first batch.
    pub fn new(flows: FlowOrder) -> Self {
        Self {
            mark: LossMark::Unknown,
            queue: None,
            ours_before: 0,
            delivered_before: 0,
            next_before: 0,
            queues: QueueWatch::new(flows),
            marks: Marks::default(),
        }
    }

    /// Begins a batch, after these arrivals; `next` is the next number of an ordered stream.
    #[inline]
    pub fn begin(&mut self, mark: LossMark, queue: Option<u32>, arrivals: &Arrivals, next: u64) {
        self.end(arrivals, next);
        self.mark = mark;
        self.queue = queue;
        self.ours_before = ours(arrivals);
        self.delivered_before = arrivals.delivered;
        self.next_before = next;
        match mark {
            LossMark::Unknown => {}
            LossMark::Frames => self.marks.of_frames = true,
            LossMark::Batch(is_marked) => {
                self.marks.of_batches = true;
                self.marks.batches += 1;
                self.marks.marked_batches += u64::from(is_marked);
                self.marks.is_waiting |= is_marked;
            }
        }
    }

    /// Ends the last batch.
    #[inline]
    pub fn end(&mut self, arrivals: &Arrivals, next: u64) {
        if let Some(queue) = self.queue.take()
            && next > self.next_before
        {
            self.queues.note(queue, arrivals.delivered - self.delivered_before, next - 1);
        }
    }

    /// A frame of the trial arrived after `missing` missing ones, and after these arrivals. Returns whether a mark says that they
    /// were lost here.
    ///
    /// Reading the counters clears the mark of data that the kernel has not delivered yet, although frames were lost right
    /// before. The data is the block that it fills, or the frame that it writes. That happens up to once per read that reported new losses,
    /// and these losses were among them.
    #[cold]
    pub fn gap(&mut self, frame: &Frame<'_>, missing: u64, arrivals: &Arrivals) -> bool {
        let is_first = ours(arrivals) == self.ours_before;
        let marks = &mut self.marks;
        let (is_place, is_marked) = match self.mark {
            LossMark::Unknown => return false,
            LossMark::Batch(is_marked) => (is_first, is_marked && is_first),
            LossMark::Frames => (true, frame.is_losing()),
        };
        if is_marked {
            marks.is_waiting = true;
        } else if is_place && marks.may_lack > 0 && marks.missing + missing <= marks.counted {
            marks.may_lack -= 1;
            marks.cleared += 1;
        } else {
            return false;
        }
        marks.missing += missing;
        true
    }

    /// Whether the method's counters must be read, which clears the marks.
    #[inline]
    pub fn wants_counters(&self, read: u64) -> bool {
        self.marks.is_waiting && read - self.marks.read_at >= READ_AGAIN_AFTER
    }

    /// The counters were read: `lost_in_ring` frames were lost in the ring so far.
    pub fn counted(&mut self, lost_in_ring: Option<u64>, read: u64) {
        let marks = &mut self.marks;
        let counted = lost_in_ring.unwrap_or(marks.counted);
        marks.may_lack += u64::from(counted > marks.counted);
        marks.counted = counted;
        marks.is_waiting = false;
        marks.read_at = read;
        marks.readings += 1;
    }
}

fn ours(arrivals: &Arrivals) -> u64 {
    arrivals.delivered + arrivals.duplicates
}
