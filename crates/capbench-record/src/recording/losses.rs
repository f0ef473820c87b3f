//! Before which frame a drop count is recorded.

use capbench_model::counters::LossMark;
use capbench_sys::packet::Frame;

/// Where the losses of one reading of the counters end: they precede every frame behind this.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Boundary {
    /// Frames stamped at this time or later are behind it, ns since the epoch.
    pub(super) time_ns: u64,
    /// Batches from this number on are behind it, also those whose first frames are older: the kernel was filling such a batch
    /// during the reading, and it loses no frame while it fills one. [`u64::MAX`] where nobody knows.
    pub(super) batch: u64,
}

impl Boundary {
    /// Of a reading of which only the time is known.
    pub(super) fn at(time_ns: u64) -> Self {
        Self { time_ns, batch: u64::MAX }
    }

    /// Whether a frame of this batch is behind it. `time_ns` 0 means no timestamp. For a loss mark: whether it may refer to drops
    /// that the reading did not count.
    #[inline]
    pub(super) fn is_before(self, time_ns: u64, batch: u64) -> bool {
        time_ns == 0 || time_ns >= self.time_ns || batch >= self.batch
    }

    /// The clock was set back to this time. Otherwise no frame would be behind it until the clock catches up.
    fn set_back(&mut self, now_ns: u64) {
        self.time_ns = self.time_ns.min(now_ns);
    }
}

/// Drops that the kernel has counted and no record has reported.
///
/// Reading the counters removes the loss mark from later frames. So drops that a mark announces are recorded at the mark. Drops
/// that a reading found at another time are recorded at the end of that reading's losses, unless an earlier frame has a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unplaced {
    /// Lost frames counted so far.
    known: u64,
    count: u64,
    /// The last reading.
    latest: Boundary,
    /// The reading that found the first of the pending drops.
    found: Boundary,
    /// The last reading before the pending drops began.
    since: Boundary,
}

impl Unplaced {
    /// Notes a reading of the counters: `lost` frames since the start.
    pub(super) fn read(&mut self, lost: u64, reading: Boundary) {
        if self.count == 0 {
            (self.since, self.found) = (self.latest, reading);
        }
        self.since.set_back(reading.time_ns);
        self.found.set_back(reading.time_ns);
        self.latest = reading;
        let more = lost.saturating_sub(self.known);
        self.count += more;
        self.known += more;
    }

    /// Whether no drops are pending.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a mark on a frame of this batch with this timestamp may refer to uncounted drops.
    #[inline]
    pub(super) fn is_news(&self, time_ns: u64, batch: u64) -> bool {
        self.latest.is_before(time_ns, batch)
    }

    /// Drops that no later frame reports.
    pub(super) fn rest(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    /// What to record before a frame of the batch with this number and mark. `begins_batch` is true for the first frame.
    #[inline]
    pub(super) fn before(
        &mut self,
        frame: &Frame<'_>,
        batch: u64,
        mark: LossMark,
        begins_batch: bool,
    ) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.at(frame.time_ns, batch, mark.is_on(frame, begins_batch), mark, begins_batch)
        }
    }

    #[cold]
    fn at(&mut self, time_ns: u64, batch: u64, is_marked: bool, mark: LossMark, begins_batch: bool) -> u64 {
        let is_place = match mark {
            LossMark::Unknown => true,
            LossMark::Batch(_) if !begins_batch => false,
            // Marks older than the reading that removed them announce drops that were already reported.
            _ if is_marked => self.since.is_before(time_ns, batch),
            _ => self.found.is_before(time_ns, batch),
        };
        if is_place { self.rest() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Boundary, Unplaced};
    use capbench_model::counters::LossMark;

    #[test]
    fn losses_read_between_marks_wait_for_a_later_frame() {
        let mut losses = Unplaced::default();
        losses.read(5, Boundary::at(1000));
        assert_eq!(losses.at(999, 0, false, LossMark::Frames, true), 0);
        assert_eq!(losses.at(1000, 0, false, LossMark::Frames, false), 5);
        losses.read(5, Boundary::at(2000));
        assert_eq!(losses.at(2000, 0, true, LossMark::Frames, false), 0, "nothing more was lost");
        losses.read(7, Boundary::at(3000));
        assert_eq!(
            losses.at(4000, 0, false, LossMark::Batch(false), false),
            0,
            "within a batch nothing is lost"
        );
        assert_eq!(losses.at(2999, 0, false, LossMark::Batch(false), true), 0);
        assert_eq!(losses.at(4000, 0, false, LossMark::Batch(false), true), 2);
        losses.read(8, Boundary::at(5000));
        assert_eq!(
            losses.at(4000, 0, true, LossMark::Batch(true), false),
            0,
            "within a batch nothing is lost"
        );
        assert_eq!(
            losses.at(2999, 0, true, LossMark::Batch(true), true),
            0,
            "it is about the two that were reported"
        );
        assert_eq!(losses.at(4000, 0, true, LossMark::Batch(true), true), 1);
        losses.read(9, Boundary::at(6000));
        assert_eq!(losses.at(0, 0, false, LossMark::Unknown, false), 1);
    }

    #[test]
    fn a_mark_from_before_the_reading_is_the_place_unless_its_losses_were_reported() {
        let mut losses = Unplaced::default();
        losses.read(0, Boundary::at(500));
        losses.read(5, Boundary::at(1000));
        assert!(!losses.is_news(700, 0));
        let mut at_mark = |time_ns| losses.at(time_ns, 0, true, LossMark::Frames, false);
        assert_eq!((at_mark(700), at_mark(701)), (5, 0));
        losses.read(8, Boundary::at(2000));
        losses.read(9, Boundary::at(3000));
        let mut at_mark = |time_ns| losses.at(time_ns, 0, true, LossMark::Frames, false);
        assert_eq!((at_mark(999), at_mark(1001)), (0, 4), "the first says that the first five were lost");
    }

    #[test]
    fn later_readings_and_backward_clock_steps_delay_no_pending_mark() {
        let mut losses = Unplaced::default();
        losses.read(5, Boundary::at(1000));
        losses.read(5, Boundary::at(2000));
        assert_eq!(losses.at(1500, 0, false, LossMark::Frames, false), 5);
        losses.read(8, Boundary::at(9000));
        losses.read(8, Boundary::at(100));
        assert_eq!(losses.at(150, 0, false, LossMark::Batch(false), true), 3);
        losses.read(8, Boundary::at(9000));
        losses.read(9, Boundary::at(100));
        assert_eq!(losses.at(99, 0, true, LossMark::Frames, false), 0);
        assert_eq!(losses.at(100, 0, true, LossMark::Frames, false), 1);
    }

    #[test]
    fn what_was_lost_before_a_block_that_the_kernel_fills_is_recorded_before_its_first_frame() {
        let mut losses = Unplaced::default();
        let block = |losses: &mut Unplaced, number, is_marked, time_ns| {
            losses.at(time_ns, number, is_marked, LossMark::Batch(is_marked), true)
        };
        losses.read(0, Boundary::at(500));
        // Block 6 was opened at 900. The reading, with blocks 4 and 5 complete, removed its mark.
        losses.read(5, Boundary { time_ns: 1000, batch: 6 });
        assert_eq!(block(&mut losses, 4, false, 700), 0);
        assert_eq!(block(&mut losses, 5, false, 800), 0);
        // Another reading found more. They are recorded at the first place of both.
        losses.read(7, Boundary { time_ns: 1100, batch: 7 });
        assert_eq!(block(&mut losses, 6, false, 900), 7);
        assert!(!losses.is_news(1000, 6), "its mark would be from before the reading");
        assert!(losses.is_news(1000, 7), "a mark on a block that was filled later is about newer losses");
        losses.read(9, Boundary { time_ns: 2000, batch: 9 });
        assert_eq!(block(&mut losses, 8, true, 1050), 2, "the place is known better by a mark");
    }

    #[test]
    fn a_mark_takes_all_that_is_known() {
        let mut losses = Unplaced::default();
        losses.read(5, Boundary::at(1000));
        losses.read(9, Boundary::at(1001));
        let mut at_mark = || losses.at(1500, 0, true, LossMark::Frames, false);
        assert_eq!((at_mark(), at_mark()), (9, 0));
        assert!(losses.is_news(1001, 0) && !losses.is_news(1000, 0) && losses.is_news(0, 0));
    }
}
