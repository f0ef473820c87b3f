//! When a trial ends for its application: how far sending is, and how long nothing came.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::members::Accounted;

/// Longest drain after the planned end, even if it still makes progress; the remaining frames count as unread.
pub(super) const LONGEST_DRAIN: Duration = Duration::from_secs(60);

/// When the schedule of a trial begins: set once, before its first frame is sent. Both sides know it because they share a clock.
pub type SharedStart = Arc<OnceLock<Instant>>;

/// How far the sending of a trial is, for the application's thread.
#[derive(Debug)]
pub struct Progress {
    /// When the schedule begins; `None`: the sender does not share this process's clock.
    pub start: Option<SharedStart>,
    finished: AtomicBool,
    /// Frames passed to the kernel; valid once `finished` is set.
    sent: AtomicU64,
    /// How long frames are still sent by the plan, in nanoseconds; valid once `finished` is set.
    due_ns: AtomicU64,
    /// How many of the sent frames the sending interfaces dropped; valid once `finished` is set.
    dropped: AtomicU64,
    pub(super) accounted: Accounted,
}

impl Default for Progress {
    fn default() -> Self {
        Self::new(None, 1)
    }
}

impl Progress {
    /// The number of sent frames where a generator did not report its own. Then a trial ends when no more frames come.
    pub const UNKNOWN: u64 = u64::MAX;

    /// Nothing was sent yet to this many members.
    pub fn new(start: Option<SharedStart>, members: usize) -> Self {
        Self {
            start,
            finished: AtomicBool::default(),
            sent: AtomicU64::default(),
            due_ns: AtomicU64::default(),
            dropped: AtomicU64::default(),
            accounted: Accounted::of(members),
        }
    }

    /// No further frame follows the `sent` ones. Some of these are sent for `due_ns` from now on, if nobody knows that sending is
    /// over.
    pub fn finish(&self, sent: u64, due_ns: u64) {
        self.sent.store(sent, Ordering::Relaxed);
        self.due_ns.store(due_ns, Ordering::Relaxed);
        // Release: pairs with the Acquire of `sent`; the numbers above are visible with the flag.
        self.finished.store(true, Ordering::Release);
    }

    /// The same, and the sending interfaces dropped this many of the sent frames.
    pub fn finish_with_drops(&self, sent: u64, due_ns: u64, dropped: u64) {
        // Relaxed: visible with the flag, too.
        self.dropped.store(dropped, Ordering::Relaxed);
        self.finish(sent, due_ns);
    }

    /// How many of the sent frames the sending interfaces dropped; 0 if unknown, and until sending is over.
    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// The number of sent frames, or [`Self::UNKNOWN`], once it is known.
    #[inline]
    pub fn sent(&self) -> Option<u64> {
        self.finished.load(Ordering::Acquire).then(|| self.sent.load(Ordering::Relaxed))
    }
}

/// Frames that are known to be lost, by the counters of the places where they were.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CountedLosses {
    /// Behind the method's capture point.
    pub(super) by_method: u64,
    /// In the kernel's backlog, of the whole host.
    pub(super) in_backlog: u64,
    /// At the sending interfaces. That of a veth counts those of the backlog at its other end, too, unless it has a queue of its own.
    pub(super) when_sent: u64,
}

impl CountedLosses {
    /// Whether they are all of the frames that are missing, no more and no less. The two counts before the method can be of the same
    /// frames, and the host's backlog drops foreign ones, too.
    pub(super) fn are_all_of(&self, missing: u64) -> bool {
        let Some(before_method) = missing.checked_sub(self.by_method) else { return false };
        let counts = [self.when_sent, self.in_backlog, self.when_sent.saturating_add(self.in_backlog)];
        counts.contains(&before_method)
    }
}

/// Decides when a trial is over: at once when every frame is accounted for, else when no frame arrived for a while.
pub(super) struct End {
    quiet: Duration,
    finished: Option<Instant>,
    last: Instant,
    /// Whether the longest drain ended it.
    pub(super) is_cut_short: bool,
    /// Waits in which no frame came although some are missing.
    silent_waits: u32,
}

impl End {
    pub(super) fn new(quiet: Duration) -> Self {
        Self { quiet, finished: None, last: Instant::now(), is_cut_short: false, silent_waits: 0 }
    }

    /// Reads the clock only after the sender has finished: once per batch, never once per frame.
    pub(super) fn is_reached(&mut self, progress: &Progress, accounted: u64, came: bool) -> bool {
        let Some(sent) = progress.sent() else { return false };
        let now = Instant::now();
        let finished = *self.finished.get_or_insert(now);
        if came || self.last < finished {
            self.last = now;
        }
        let is_complete = accounted >= sent;
        if is_complete {
            // Behind a queue the last frames are finished when none has arrived for a while.
            self.last = now;
        }
        let is_over = is_complete || now - self.last >= self.quiet;
        let due = Duration::from_nanos(progress.due_ns.load(Ordering::Relaxed));
        self.is_cut_short = !is_over && now - finished >= due.saturating_add(LONGEST_DRAIN);
        is_over || self.is_cut_short
    }

    /// The frames that are missing after a wait in which none came, so that [`CountedLosses`] can end the trial. `None` if there is no
    /// reason to read the counters, which takes CPU time that is the method's: after the first of such waits, the second, the fourth,
    /// and so on there is.
    pub(super) fn missing(&mut self, progress: &Progress, accounted: u64, came: bool) -> Option<u64> {
        let missing = progress.sent()?.checked_sub(accounted)?;
        if came || missing == 0 {
            return None;
        }
        self.silent_waits = self.silent_waits.saturating_add(1);
        self.silent_waits.is_power_of_two().then_some(missing)
    }

    pub(super) fn drained(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| finished.elapsed())
    }

    /// Time until the last frame arrived.
    pub(super) fn emptied(&self) -> Duration {
        self.finished.map_or(Duration::ZERO, |finished| self.last.saturating_duration_since(finished))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counted_losses_end_a_trial_only_if_they_are_all_that_is_missing() {
        let losses = CountedLosses { by_method: 5, in_backlog: 30, when_sent: 0 };
        assert!(losses.are_all_of(35));
        assert!(!losses.are_all_of(34) && !losses.are_all_of(36) && !losses.are_all_of(4));
        assert!(losses.are_all_of(5), "foreign frames in the backlog");
        // A veth counts what the backlog at its other end refused, and a veth with a queue does not.
        assert!(CountedLosses { when_sent: 30, ..losses }.are_all_of(35));
        assert!(CountedLosses { when_sent: 7, ..losses }.are_all_of(42));
    }

    #[test]
    fn a_trial_misses_frames_once_all_are_sent_and_none_came_in_the_last_wait() {
        let (progress, mut end) = (Progress::default(), End::new(Duration::from_secs(1)));
        assert_eq!(end.missing(&progress, 90, false), None, "it still sends");
        progress.finish_with_drops(100, 0, 4);
        assert_eq!((end.missing(&progress, 90, false), progress.dropped()), (Some(10), 4));
        assert_eq!(end.missing(&progress, 90, true), None);
        assert_eq!(end.missing(&progress, 100, false), None);
        let looks: Vec<u32> = (2..=20).filter(|_| end.missing(&progress, 90, false).is_some()).collect();
        assert_eq!(looks, [2, 4, 8, 16], "which waits");
    }

    #[test]
    fn the_longest_drain_begins_when_no_frame_is_due_any_more() {
        let begun = Instant::now().checked_sub(LONGEST_DRAIN).expect("the host runs for longer");
        for (due, expected) in [(Duration::ZERO, true), (Duration::from_secs(600), false)] {
            let (progress, mut end) = (Progress::default(), End::new(Duration::from_secs(1)));
            end.finished = Some(begun);
            progress.finish(100, due.as_nanos() as u64);
            assert_eq!(end.is_reached(&progress, 50, true), expected, "{due:?}");
            assert!(end.is_cut_short == expected);
            // It ends all the same when no frame comes.
            end.last = begun;
            assert!(end.is_reached(&progress, 50, false));
        }
    }
}
