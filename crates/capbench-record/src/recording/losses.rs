//! Before which frame a drop count is recorded.

use capbench_model::counters::LossMark;
use capbench_sys::packet::Frame;

/// Whether a loss mark on a frame stamped `time_ns` may refer to drops newer than the last counter read. `time_ns` 0 means no
/// timestamp.
#[inline]
pub(super) fn is_news(time_ns: u64, read_ns: u64) -> bool {
    time_ns == 0 || time_ns >= read_ns
}

/// Drops that the kernel has counted and no record has reported.
///
/// Reading the counters removes the loss mark from later frames. So drops that a mark announces are recorded at the mark. Drops
/// that a reading found at another time are recorded before the first frame after that reading, unless an earlier frame has a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unplaced {
    /// Lost frames counted so far.
    known: u64,
    count: u64,
    /// Frames stamped at this time or later follow them, ns since the epoch. 0: all frames to come do.
    read_ns: u64,
    /// The last reading before the pending drops began.
    since_ns: u64,
}

impl Unplaced {
    /// Notes a reading of the counters: `lost` frames since the start, all before any frame stamped `now_ns` or later. 0 if the
    /// ring was empty: all frames to come follow the losses.
    pub(super) fn read(&mut self, lost: u64, now_ns: u64) {
        let more = lost.saturating_sub(self.known);
        if self.count == 0 {
            self.since_ns = self.read_ns;
        }
        // Pending drops are recorded before the first frame after the reading that found them, not a later one.
        if more > 0 || self.count == 0 || now_ns < self.read_ns {
            self.read_ns = now_ns;
        }
        // The clock was set back. Otherwise no frame would be newer than the reading until the clock catches up.
        self.since_ns = self.since_ns.min(now_ns);
        self.count += more;
        self.known += more;
    }

    /// Whether no drops are pending.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether a mark on a frame with this timestamp may refer to uncounted drops.
    #[inline]
    pub(super) fn is_news(&self, time_ns: u64) -> bool {
        is_news(time_ns, self.read_ns)
    }

    /// Drops that no later frame reports.
    pub(super) fn rest(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    /// What to record before a frame of a batch with this mark. `begins_batch` is true for the first frame.
    #[inline]
    pub(super) fn before(&mut self, frame: &Frame<'_>, mark: LossMark, begins_batch: bool) -> u64 {
        if self.is_empty() {
            0
        } else {
            self.at(frame.time_ns, mark.is_on(frame, begins_batch), mark, begins_batch)
        }
    }

    #[cold]
    fn at(&mut self, time_ns: u64, is_marked: bool, mark: LossMark, begins_batch: bool) -> u64 {
        let is_place = match mark {
            LossMark::Unknown => true,
            LossMark::Batch(_) if !begins_batch => false,
            // Marks older than the reading that removed them announce drops that were already reported.
            _ if is_marked => is_news(time_ns, self.since_ns),
            _ => self.is_news(time_ns),
        };
        if is_place { self.rest() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Unplaced;
    use capbench_model::counters::LossMark;

    #[test]
    fn losses_read_between_marks_wait_for_a_later_frame() {
        let mut losses = Unplaced::default();
        losses.read(5, 1000);
        assert_eq!(losses.at(999, false, LossMark::Frames, true), 0);
        assert_eq!(losses.at(1000, false, LossMark::Frames, false), 5);
        losses.read(5, 2000);
        assert_eq!(losses.at(2000, true, LossMark::Frames, false), 0, "nothing more was lost");
        losses.read(7, 3000);
        assert_eq!(
            losses.at(4000, false, LossMark::Batch(false), false),
            0,
            "within a batch nothing is lost"
        );
        assert_eq!(losses.at(2999, false, LossMark::Batch(false), true), 0);
        assert_eq!(losses.at(4000, false, LossMark::Batch(false), true), 2);
        losses.read(8, 5000);
        assert_eq!(losses.at(4000, true, LossMark::Batch(true), false), 0, "within a batch nothing is lost");
        assert_eq!(
            losses.at(2999, true, LossMark::Batch(true), true),
            0,
            "it is about the two that were reported"
        );
        assert_eq!(losses.at(4000, true, LossMark::Batch(true), true), 1);
        losses.read(9, 6000);
        assert_eq!(losses.at(0, false, LossMark::Unknown, false), 1);
    }

    #[test]
    fn a_mark_from_before_the_reading_is_the_place_unless_its_losses_were_reported() {
        let mut losses = Unplaced::default();
        losses.read(0, 500);
        losses.read(5, 1000);
        assert!(!losses.is_news(700));
        let mut at_mark = |time_ns| losses.at(time_ns, true, LossMark::Frames, false);
        assert_eq!((at_mark(700), at_mark(701)), (5, 0));
        losses.read(8, 2000);
        losses.read(9, 3000);
        let mut at_mark = |time_ns| losses.at(time_ns, true, LossMark::Frames, false);
        assert_eq!((at_mark(999), at_mark(1001)), (0, 4), "the first says that the first five were lost");
    }

    #[test]
    fn later_readings_and_backward_clock_steps_delay_no_pending_mark() {
        let mut losses = Unplaced::default();
        losses.read(5, 1000);
        losses.read(5, 2000);
        assert_eq!(losses.at(1500, false, LossMark::Frames, false), 5);
        losses.read(8, 9000);
        losses.read(8, 100);
        assert_eq!(losses.at(150, false, LossMark::Batch(false), true), 3);
        losses.read(8, 9000);
        losses.read(9, 100);
        assert_eq!(losses.at(99, true, LossMark::Frames, false), 0);
        assert_eq!(losses.at(100, true, LossMark::Frames, false), 1);
    }

    #[test]
    fn what_was_lost_before_an_open_block_is_recorded_before_its_first_frame() {
        let mut losses = Unplaced::default();
        losses.read(0, 500);
        // The block was opened at 900. The reading, from an empty ring, removed its mark.
        losses.read(5, 0);
        assert_eq!(losses.at(900, false, LossMark::Batch(false), true), 5);
        losses.read(5, 0);
        assert!(losses.is_news(901), "a mark behind an empty ring is about newer losses");
        losses.read(7, 2000);
        assert_eq!(losses.at(901, true, LossMark::Batch(true), true), 2);
    }

    #[test]
    fn a_mark_takes_all_that_is_known() {
        let mut losses = Unplaced::default();
        losses.read(5, 1000);
        losses.read(9, 1001);
        let mut at_mark = || losses.at(1500, true, LossMark::Frames, false);
        assert_eq!((at_mark(), at_mark()), (9, 0));
        assert!(losses.is_news(1001) && !losses.is_news(1000) && losses.is_news(0));
    }
}
