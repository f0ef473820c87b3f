//! How many frames an interface lost, and before which frame that is said.

use crate::capture::LossMark;

/// Losses that the kernel counted and that stand nowhere yet.
///
/// Reading the counters takes the mark off what comes later. So what a mark says is placed where the mark is; what was found
/// by reading at another time belongs to the first frame that came after the reading, unless one from before has a mark.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Unplaced {
    /// Lost frames that were counted so far.
    known: u64,
    count: u64,
    /// When they were counted, ns since the epoch.
    read_ns: u64,
    /// The reading before the first that counted some of them.
    since_ns: u64,
}

impl Unplaced {
    /// The counters were read, and say that so many were lost since the beginning.
    pub(super) fn read(&mut self, lost: u64, now_ns: u64) {
        if self.count == 0 {
            self.since_ns = self.read_ns;
        }
        self.count += lost.saturating_sub(self.known);
        self.known = self.known.max(lost);
        self.read_ns = now_ns;
    }

    /// Whether a mark of a frame with this time can be about losses that nobody has counted.
    #[inline]
    pub(super) fn is_news(&self, time_ns: u64) -> bool {
        time_ns == 0 || time_ns >= self.read_ns
    }

    /// Whether there is nothing to place.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What is to be said before a frame that bears a mark.
    pub(super) fn at_mark(&mut self) -> u64 {
        std::mem::take(&mut self.count)
    }

    /// What is to be said before a frame that bears a mark from before the counters were read. Marks from before the reading
    /// that took them off are about losses that were told.
    #[cold]
    pub(super) fn at_late_mark(&mut self, time_ns: u64) -> u64 {
        if time_ns >= self.since_ns { self.at_mark() } else { 0 }
    }

    /// What is to be said before a frame that bears none: `begins_batch` for the first of its batch.
    #[cold]
    pub(super) fn at_frame(&mut self, mark: LossMark, begins_batch: bool, time_ns: u64) -> u64 {
        let is_place = match mark {
            LossMark::Unknown => true,
            LossMark::Batch(_) => begins_batch && self.is_news(time_ns),
            LossMark::Frames => self.is_news(time_ns),
        };
        if is_place { self.at_mark() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::Unplaced;
    use crate::capture::LossMark;

    #[test]
    fn what_was_read_between_marks_waits_for_a_frame_from_after_the_reading() {
        let mut losses = Unplaced::default();
        losses.read(5, 1000);
        assert_eq!(losses.at_frame(LossMark::Frames, true, 999), 0);
        assert_eq!(losses.at_frame(LossMark::Frames, false, 1000), 5);
        losses.read(5, 2000);
        assert!(losses.is_empty());
        losses.read(7, 3000);
        assert_eq!(losses.at_frame(LossMark::Batch(false), false, 4000), 0, "within a batch nothing is lost");
        assert_eq!(losses.at_frame(LossMark::Batch(false), true, 4000), 2);
        losses.read(8, 3000);
        assert_eq!(losses.at_frame(LossMark::Unknown, false, 0), 1);
    }

    #[test]
    fn a_mark_from_before_the_reading_is_the_place_unless_its_losses_were_told() {
        let mut losses = Unplaced::default();
        losses.read(0, 500);
        losses.read(5, 1000);
        assert!(!losses.is_news(700));
        assert_eq!((losses.at_late_mark(700), losses.at_late_mark(701)), (5, 0));
        losses.read(8, 2000);
        losses.read(9, 3000);
        assert_eq!(losses.at_late_mark(999), 0, "it says that the first five were lost");
        assert_eq!(losses.at_late_mark(1001), 4);
    }

    #[test]
    fn a_mark_takes_all_that_is_known() {
        let mut losses = Unplaced::default();
        losses.read(5, 1000);
        losses.read(9, 1001);
        assert_eq!((losses.at_mark(), losses.at_mark()), (9, 0));
        assert!(losses.is_news(1001) && !losses.is_news(1000) && losses.is_news(0));
    }
}
