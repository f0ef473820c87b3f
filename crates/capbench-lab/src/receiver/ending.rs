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

    /// The number of sent frames, or [`Self::UNKNOWN`], once it is known.
    #[inline]
    pub fn sent(&self) -> Option<u64> {
        self.finished.load(Ordering::Acquire).then(|| self.sent.load(Ordering::Relaxed))
    }
}

/// Decides when a trial is over: at once when every frame is accounted for, else when no frame arrived for a while.
pub(super) struct End {
    quiet: Duration,
    finished: Option<Instant>,
    last: Instant,
    /// Whether the longest drain ended it.
    pub(super) is_cut_short: bool,
}

impl End {
    pub(super) fn new(quiet: Duration) -> Self {
        Self { quiet, finished: None, last: Instant::now(), is_cut_short: false }
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
