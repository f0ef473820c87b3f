//! Status and requests that the threads of a recording share. All loads and stores are Relaxed: no counter orders other memory.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use capbench_capture::occupancy::Occupancy;
use capbench_model::completeness::unexplained;
use capbench_model::counters::{Counters, Loss};
use capbench_model::places::Place;
use capbench_sys::host::clock::realtime_ns;

use super::link::LinkCounts;
use crate::file::LengthCounts;

/// Requests of the thread that watches the recording.
#[derive(Debug, Default)]
pub(super) struct Requests {
    stop: AtomicBool,
    flush: AtomicU64,
    statistics: AtomicU64,
    looks: AtomicU64,
}

/// How often a thread may postpone a request for counters.
const PATIENCE: u64 = 2;

/// The [`Requests`] that a thread has handled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct HandledRequests {
    flush: u64,
    statistics: u64,
    looks: u64,
}

impl Requests {
    pub(super) fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub(super) fn flush(&self) {
        self.flush.fetch_add(1, Relaxed);
    }

    pub(super) fn statistics(&self) {
        self.statistics.fetch_add(1, Relaxed);
    }

    pub(super) fn look(&self) {
        self.looks.fetch_add(1, Relaxed);
    }

    #[inline]
    pub(super) fn is_stop(&self) -> bool {
        self.stop.load(Relaxed)
    }
}

impl HandledRequests {
    #[inline]
    pub(super) fn is_flush_due(&mut self, requests: &Requests) -> bool {
        let asked = requests.flush.load(Relaxed);
        std::mem::replace(&mut self.flush, asked) != asked
    }

    #[inline]
    pub(super) fn is_look_due(&mut self, requests: &Requests) -> bool {
        let asked = requests.looks.load(Relaxed);
        std::mem::replace(&mut self.looks, asked) != asked
    }

    /// Whether a reading of the counters is due: it was requested and the ring is calm (`is_calm`), or it was requested more
    /// than [`PATIENCE`] times. Reading the counters while the ring is full removes the loss mark from frames behind the loss.
    #[inline]
    pub(super) fn are_statistics_due(&mut self, requests: &Requests, is_calm: impl FnOnce() -> bool) -> bool {
        let asked = requests.statistics.load(Relaxed);
        let is_due = asked > self.statistics && (asked > self.statistics + PATIENCE || is_calm());
        if is_due {
            self.statistics = asked;
        }
        is_due
    }
}

/// The highest occupancy of a capture; absent where nobody read it, or the method does not report it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fills {
    this_second: Option<Occupancy>,
    last_second: Option<Occupancy>,
    ever: Option<Occupancy>,
}

impl Fills {
    fn note(&mut self, fill: Occupancy) {
        self.this_second = Occupancy::fullest([self.this_second, Some(fill)]);
        self.ever = Occupancy::fullest([self.ever, Some(fill)]);
    }

    fn end_second(&mut self) {
        self.last_second = self.this_second.take();
    }

    /// Maximum in the last full second, and since.
    pub(super) fn lately(&self) -> Option<Occupancy> {
        Occupancy::fullest([self.last_second, self.this_second])
    }

    pub(super) fn ever(&self) -> Option<Occupancy> {
        self.ever
    }
}

/// A reading of the counters at one moment.
#[derive(Clone, Debug, Default)]
pub(super) struct Reading {
    /// Its number among the readings of its capture, from 1; 0 before the first reading.
    pub(super) number: u64,
    /// When they were read, ns since the epoch.
    pub(super) time_ns: u64,
    pub(super) counters: Counters,
    pub(super) link: LinkCounts,
    /// Frames that did not reach the socket, if the capture uses a packet socket.
    pub(super) unreached: Vec<Loss>,
    /// Whether XDP programs may have taken more frames than `unreached` has.
    pub(super) may_be_more_by_xdp: bool,
    /// Frames that the method had delivered by then. All of them were accepted.
    pub(super) delivered: u64,
}

impl Reading {
    /// Losses in front of capbench by the captures of an interface: at its link, in front of their sockets, and in the method.
    pub(super) fn losses(readings: &[Self]) -> Vec<Loss> {
        let mut losses = Counters::sum(readings.iter().map(|reading| &reading.counters)).losses;
        if !losses.iter().any(|loss| loss.place == Place::Link) {
            let missed = readings.first().and_then(|reading| reading.link.missed);
            losses.insert(0, Loss { place: Place::Link, count: missed, source: LinkCounts::MISSED.into() });
        }
        if let Some(reading) = readings.first() {
            losses.splice(1..1, reading.unreached.iter().cloned());
        }
        losses
    }

    /// Accepted frames that were neither lost nor delivered by then; negative if more were delivered. `None` if the method does
    /// not count accepted frames.
    pub(super) fn unread(&self) -> Option<i64> {
        unexplained(self.counters.accepted, self.counters.dropped(), Some(self.delivered))
    }
}

#[derive(Debug, Default)]
pub(super) struct CaptureBoard {
    /// Frames that it delivered.
    pub(super) delivered: AtomicU64,
    /// How often its interface went down.
    pub(super) went_down: AtomicU64,
    /// Its batches that were lost in a worker, or before one.
    pub(super) gaps: Gaps,
    is_down: AtomicBool,
    is_shut: AtomicBool,
    fills: Mutex<Fills>,
    reading: Mutex<Reading>,
}

impl CaptureBoard {
    pub(super) fn publish_reading(&self, reading: Reading) {
        let mut last = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if reading.counters.shows_full_ring_since(&last.counters) {
            self.note_fill(Some(Occupancy::FULL));
        }
        *last = Reading { number: last.number + 1, time_ns: realtime_ns(), ..reading };
    }

    pub(super) fn reading(&self) -> Reading {
        self.reading.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn note_fill(&self, fill: Option<Occupancy>) {
        let Some(fill) = fill else { return };
        self.fills.lock().unwrap_or_else(PoisonError::into_inner).note(fill);
    }

    pub(super) fn fills(&self) -> Fills {
        *self.fills.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends a second of the occupancy maxima.
    pub(super) fn end_second(&self) {
        self.fills.lock().unwrap_or_else(PoisonError::into_inner).end_second();
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

    /// Notes that no more frames are let in: the counters are final.
    pub(super) fn set_shut(&self) {
        self.is_shut.store(true, Relaxed);
    }

    pub(super) fn is_shut(&self) -> bool {
        self.is_shut.load(Relaxed)
    }
}

/// Frames of dropped batches that no record has reported yet. The next batch of that capture reports them.
#[derive(Debug, Default)]
pub(super) struct Gaps {
    frames: AtomicU64,
    /// Lost frames that no record has reported.
    pending_drops: AtomicU64,
    gaps: Mutex<Vec<Gap>>,
}

/// Consecutive lost batches.
#[derive(Clone, Copy, Debug)]
struct Gap {
    /// The number of the last batch.
    batch: u64,
    /// Their frames, and the drops that they should have reported.
    pending_drops: u64,
}

impl Gaps {
    /// Counts a lost batch: its frames, and the drops that it should have reported.
    pub(super) fn lost(&self, batch: u64, frames: u64, reported: u64) {
        let mut gaps = self.lock();
        match gaps.last_mut().filter(|last| last.batch + 1 == batch) {
            Some(last) => *last = Gap { batch, pending_drops: last.pending_drops + frames + reported },
            None => gaps.push(Gap { batch, pending_drops: frames + reported }),
        }
        self.frames.fetch_add(frames, Relaxed);
        self.pending_drops.fetch_add(frames + reported, Relaxed);
    }

    /// Drops to report before the first frame of this delivered batch.
    #[inline]
    pub(super) fn before(&self, batch: u64) -> u64 {
        // Losses before a batch were counted before the batch was passed on.
        if self.pending_drops.load(Relaxed) == 0 { 0 } else { self.take(|gap| gap.batch < batch) }
    }

    /// Drops that no later batch reports.
    pub(super) fn rest(&self) -> u64 {
        self.take(|_| true)
    }

    /// Frames of all lost batches.
    pub(super) fn frames(&self) -> u64 {
        self.frames.load(Relaxed)
    }

    #[cold]
    fn take(&self, is_due: impl Fn(&Gap) -> bool) -> u64 {
        let mut gaps = self.lock();
        let due = gaps.iter().filter(|gap| is_due(gap)).map(|gap| gap.pending_drops).sum();
        gaps.retain(|gap| !is_due(gap));
        self.pending_drops.fetch_sub(due, Relaxed);
        due
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Gap>> {
        // No panic can leave this data inconsistent.
        self.gaps.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Status of an interface, from the thread that encodes.
#[derive(Debug, Default)]
pub(super) struct InterfaceBoard {
    /// Frames that the filter rejected here; 0 if the method runs the filter.
    pub(super) filtered: AtomicU64,
    /// Frames that arrived after the end of the recording.
    pub(super) past: AtomicU64,
    /// Lengths of the frames passed to the output; of verbatim files, of those recorded one by one.
    original: AtomicU64,
    snapped: AtomicU64,
    cut: AtomicU64,
    cut_packets: AtomicU64,
    /// Lost frames recorded in the file as drop counts.
    pub(super) reported: AtomicU64,
    /// Lost frames that are not in the file, because no later frame of the interface came.
    pub(super) pending_drops: AtomicU64,
}

impl InterfaceBoard {
    pub(super) fn set_lengths(&self, lengths: &LengthCounts) {
        self.original.store(lengths.original, Relaxed);
        self.snapped.store(lengths.snapped, Relaxed);
        self.cut.store(lengths.cut, Relaxed);
        self.cut_packets.store(lengths.cut_packets, Relaxed);
    }

    pub(super) fn lengths(&self) -> LengthCounts {
        LengthCounts {
            original: self.original.load(Relaxed),
            snapped: self.snapped.load(Relaxed),
            cut: self.cut.load(Relaxed),
            cut_packets: self.cut_packets.load(Relaxed),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CaptureBoard, Gaps, HandledRequests, PATIENCE, Reading, Requests};
    use capbench_capture::occupancy::Occupancy;
    use capbench_model::counters::{Counters, Loss};
    use capbench_model::places::Place;

    fn counted(accepted: u64, lost: u64, freezes: Option<u64>) -> Counters {
        Counters {
            accepted: Some(accepted),
            losses: vec![Loss { place: Place::Ring, count: Some(lost), source: "test".into() }],
            raw: freezes.map(|freezes| ("tp_freeze_q_cnt".into(), freezes)).into_iter().collect(),
            ..Counters::default()
        }
    }

    #[test]
    fn the_fullest_of_a_second_stays_to_be_seen_for_the_next_one() {
        let (board, fill) = (CaptureBoard::default(), |used: u64| Occupancy::new(used, 100u64));
        let seen = || (board.fills().lately(), board.fills().ever());
        assert_eq!(seen(), (None, None));
        for used in [3, 70, 5] {
            board.note_fill(fill(used));
        }
        board.note_fill(None);
        assert_eq!(seen(), (fill(70), fill(70)));
        board.end_second();
        board.note_fill(fill(6));
        assert_eq!(seen(), (fill(70), fill(70)));
        board.end_second();
        assert_eq!(seen(), (fill(6), fill(70)));
        board.end_second();
        assert_eq!(seen(), (None, fill(70)), "it was not looked");
    }

    #[test]
    fn a_ring_that_lost_frames_was_full_though_nobody_looked_then() {
        let board = CaptureBoard::default();
        let read = |lost, freezes| {
            let counters = counted(10, lost, freezes);
            board.publish_reading(Reading { counters, ..Reading::default() });
        };
        board.note_fill(Occupancy::new(3u32, 4u32));
        read(0, None);
        assert_eq!(board.fills().ever(), Occupancy::new(3u32, 4u32));
        read(7, None);
        assert_eq!(board.fills().ever(), Some(Occupancy::FULL));
        board.end_second();
        board.end_second();
        read(7, Some(0));
        assert_eq!(board.fills().lately(), None);
        read(7, Some(1));
        assert_eq!(board.fills().lately(), Some(Occupancy::FULL));
    }

    #[test]
    fn accepted_frames_that_are_neither_lost_nor_delivered_are_unread() {
        let counters = counted(100, 10, None);
        let reading = Reading { counters, delivered: 60, ..Reading::default() };
        assert_eq!((reading.unread(), Reading::default().unread()), (Some(30), None));
    }

    #[test]
    fn counters_are_read_when_it_is_calm_or_late() {
        let (requests, mut handled) = (Requests::default(), HandledRequests::default());
        assert!(!handled.are_statistics_due(&requests, || panic!("nobody asked")));
        for _ in 0..PATIENCE {
            requests.statistics();
            assert!(!handled.are_statistics_due(&requests, || false));
        }
        requests.statistics();
        assert!(handled.are_statistics_due(&requests, || false), "it is late");
        requests.statistics();
        assert!(handled.are_statistics_due(&requests, || true));
        assert!(!handled.are_statistics_due(&requests, || true));
    }

    #[test]
    fn one_look_handles_several_requests() {
        let (requests, mut handled) = (Requests::default(), HandledRequests::default());
        assert!(!handled.is_look_due(&requests));
        requests.look();
        requests.look();
        assert!(handled.is_look_due(&requests) && !handled.is_look_due(&requests));
    }

    #[test]
    fn a_gap_is_reported_once_and_with_the_next_batch() {
        let gaps = Gaps::default();
        assert_eq!((gaps.before(9), gaps.rest()), (0, 0));
        for (batch, frames, reported) in [(3, 10, 0), (4, 20, 5), (7, 1, 0), (2, 100, 0)] {
            gaps.lost(batch, frames, reported);
        }
        assert_eq!([1, 3, 5, 6].map(|batch| gaps.before(batch)), [0, 100, 35, 0]);
        assert_eq!((gaps.rest(), gaps.rest(), gaps.frames()), (1, 0, 131));
    }
}
