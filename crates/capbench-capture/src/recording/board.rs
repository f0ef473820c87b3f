//! What the threads of a recording tell while they run, and what they are told. None of the numbers orders anything else.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::gaps::Gaps;
use super::link::LinkCounts;
use crate::counters::Counters;

/// What whoever watches the recording wants.
#[derive(Debug, Default)]
pub(super) struct Wishes {
    stop: AtomicBool,
    flush: AtomicU64,
    statistics: AtomicU64,
}

/// How much of [`Wishes`] a thread has granted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Granted {
    flush: u64,
    statistics: u64,
}

impl Wishes {
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub(super) fn flush(&self) {
        self.flush.fetch_add(1, Relaxed);
    }

    pub(super) fn statistics(&self) {
        self.statistics.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(super) fn is_stop(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

impl Granted {
    /// Whether the file shall be brought up to date.
    #[inline]
    pub(super) fn is_flush_due(&mut self, wishes: &Wishes) -> bool {
        let asked = wishes.flush.load(Relaxed);
        std::mem::replace(&mut self.flush, asked) != asked
    }

    /// Whether counters shall be read: asked for, and the ring was empty just now (`was_empty`), or asked for several times
    /// meanwhile. Read while it is full, they take the mark off frames that are about to come.
    #[inline]
    pub(super) fn are_statistics_due(&mut self, wishes: &Wishes, was_empty: bool) -> bool {
        const PATIENCE: u64 = 5;
        let asked = wishes.statistics.load(Relaxed);
        let is_due = asked > self.statistics + if was_empty { 0 } else { PATIENCE };
        if is_due {
            self.statistics = asked;
        }
        is_due
    }
}

/// What a capture tells.
#[derive(Debug, Default)]
pub(super) struct CaptureBoard {
    /// Frames that it gave.
    pub(super) taken: AtomicU64,
    /// Times that its interface went down.
    pub(super) went_down: AtomicU64,
    /// Batches of it that were lost with a worker, or in front of one.
    pub(super) gaps: Gaps,
    is_down: AtomicBool,
    counters: Mutex<Counters>,
    link: Mutex<LinkCounts>,
}

impl CaptureBoard {
    pub(super) fn tell_counters(&self, counters: Counters, link: LinkCounts) {
        *self.counters.lock().unwrap_or_else(PoisonError::into_inner) = counters;
        *self.link.lock().unwrap_or_else(PoisonError::into_inner) = link;
    }

    pub(super) fn counters(&self) -> Counters {
        self.counters.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn link(&self) -> LinkCounts {
        *self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn set_down(&self, is_down: bool) {
        if is_down && !self.is_down.swap(true, Relaxed) {
            self.went_down.fetch_add(1, Relaxed);
        }
        self.is_down.store(is_down, Relaxed);
    }

    pub(super) fn is_down(&self) -> bool {
        self.is_down.load(Relaxed)
    }
}

/// What the thread that encodes tells of an interface.
#[derive(Debug, Default)]
pub(super) struct LaneBoard {
    /// Frames that the filter left out here, where it does not run in front of the method.
    pub(super) filtered: AtomicU64,
    /// Frames that came when the recording had ended.
    pub(super) past: AtomicU64,
    /// Octets of frames given to the output, as they were on the wire without FCS.
    pub(super) octets: AtomicU64,
    /// Lost frames that stand in the file as drop counts.
    pub(super) told: AtomicU64,
    /// Lost frames that stand nowhere in the file because no frame of the interface came after them.
    pub(super) untold: AtomicU64,
}
