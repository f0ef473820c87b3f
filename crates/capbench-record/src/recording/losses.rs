//! Before which frame a drop count is recorded.

use capbench_model::counters::LossMark;
use capbench_sys::packet::Frame;

/// Where the losses of one reading of the counters end: they precede every frame behind this.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Boundary {
    /// Frames stamped at this time or later are behind it, ns since the epoch.
    pub(super) time_ns: u64,
    /// The kernel was asked for its counters after `time_ns` and before this: the mark of a frame stamped in between may be of before
    /// the reading, or of after it.
    pub(super) until_ns: u64,
    /// Batches from this number on are behind it, also those whose first frames are older: the kernel was filling such a batch
    /// during the reading, and it loses no frame while it fills one. [`u64::MAX`] where nobody knows.
    pub(super) batch: u64,
}

impl Boundary {
    /// Of a reading of which only the times before and after it are known.
    pub(super) fn within(time_ns: u64, until_ns: u64) -> Self {
        Self { time_ns, until_ns, batch: u64::MAX }
    }

    /// Of a reading in no time.
    #[cfg(test)]
    pub(super) fn at(time_ns: u64) -> Self {
        Self::within(time_ns, time_ns)
    }

    /// Whether a frame of this batch is behind it. `time_ns` 0 means no timestamp. For a loss mark of a batch: whether it may refer to
    /// drops that the reading did not count.
    #[inline]
    pub(super) fn is_before(self, time_ns: u64, batch: u64) -> bool {
        time_ns == 0 || time_ns >= self.time_ns || batch >= self.batch
    }

    /// Whether a mark on a frame may refer to drops that the reading did not count. The kernel marks every frame behind a loss until it
    /// is asked for its counters. So of the frames that arrived while it was, one behind a marked frame goes on with its mark.
    fn is_before_mark(self, time_ns: u64, batch: u64, follows_mark: bool) -> bool {
        let goes_on = follows_mark && time_ns < self.until_ns && batch < self.batch;
        self.is_before(time_ns, batch) && (time_ns == 0 || !goes_on)
    }

    /// The clock was set back to this time. Otherwise no frame would be behind it until the clock catches up.
    fn set_back(&mut self, now_ns: u64) {
        self.time_ns = self.time_ns.min(now_ns);
        self.until_ns = self.until_ns.min(now_ns);
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
    /// Whether the last frame had a mark of its own.
    follows_mark: bool,
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

    /// Whether a mark on the next frame, of this batch and with this timestamp, may refer to uncounted drops.
    #[inline]
    pub(super) fn is_news(&self, time_ns: u64, batch: u64) -> bool {
        self.latest.is_before_mark(time_ns, batch, self.follows_mark)
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
        let is_marked = mark.is_on(frame, begins_batch);
        let before =
            if self.is_empty() { 0 } else { self.at(frame.time_ns, batch, is_marked, mark, begins_batch) };
        self.follows_mark = is_marked && mark == LossMark::Frames;
        before
    }

    #[cold]
    fn at(&mut self, time_ns: u64, batch: u64, is_marked: bool, mark: LossMark, begins_batch: bool) -> u64 {
        let is_place = match mark {
            LossMark::Unknown => true,
            LossMark::Batch(_) if !begins_batch => false,
            // Marks older than the reading that removed them announce drops that were already reported.
            _ if is_marked => self.since.is_before_mark(time_ns, batch, self.follows_mark),
            _ => self.found.is_before(time_ns, batch),
        };
        if is_place { self.rest() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::{Boundary, Unplaced};
    use capbench_model::counters::LossMark;
    use capbench_sys::packet::Frame;

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
        losses.read(5, Boundary { batch: 6, ..Boundary::at(1000) });
        assert_eq!(block(&mut losses, 4, false, 700), 0);
        assert_eq!(block(&mut losses, 5, false, 800), 0);
        // Another reading found more. They are recorded at the first place of both.
        losses.read(7, Boundary { batch: 7, ..Boundary::at(1100) });
        assert_eq!(block(&mut losses, 6, false, 900), 7);
        assert!(!losses.is_news(1000, 6), "its mark would be from before the reading");
        assert!(losses.is_news(1000, 7), "a mark on a block that was filled later is about newer losses");
        losses.read(9, Boundary { batch: 9, ..Boundary::at(2000) });
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

    #[test]
    fn of_the_frames_that_came_while_the_counters_were_read_the_first_marked_one_is_behind_a_loss() {
        // TP_STATUS_LOSING.
        let frame =
            |time_ns, is_losing| Frame { status: u32::from(is_losing) << 2, ..Frame::new(&[], 60, time_ns) };
        let before = |losses: &mut Unplaced, frame: Frame<'_>| {
            let is_news = frame.is_losing() && losses.is_news(frame.time_ns, 0);
            (is_news, losses.before(&frame, 0, LossMark::Frames, true))
        };
        let mut losses = Unplaced::default();
        losses.read(5, Boundary::within(1000, 2000));
        // Its loss was counted. So was that of the next one, which goes on with its mark.
        assert_eq!(before(&mut losses, frame(900, true)), (false, 5));
        assert_eq!(before(&mut losses, frame(1100, true)), (false, 0));
        // The kernel has been asked. A loss behind it is marked again.
        assert_eq!(before(&mut losses, frame(1200, false)), (false, 0));
        assert!(losses.is_news(1300, 0));
        losses.read(8, Boundary::within(3000, 3001));
        assert_eq!(before(&mut losses, frame(1300, true)), (false, 3));
        // Behind the whole reading every mark is news.
        assert_eq!(before(&mut losses, frame(3001, true)), (true, 0));
    }
}
