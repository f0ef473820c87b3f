//! An open capture without its frames: counters, status of the interface, end of the capture.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::capture::Capture;
use capbench_capture::error::{CaptureError, Result};
use capbench_capture::interface::Interface;
use capbench_capture::occupancy::Occupancy;
use capbench_capture::stats_socket::StatsSocket;
use capbench_model::counters::Counters;
use capbench_sys::SysError;
use capbench_sys::host::clock::realtime_ns;
use capbench_sys::host::interface::Watched;

use super::board::{CaptureBoard, Reading};
use super::link::{Link, LinkCounts, LinkSample};
use super::losses::Boundary;
use super::plan::Source;
use super::unreached::Unreached;

/// Timeout of one wait for frames. The merge needs a report at least every 20 ms.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// How long a capture is read at the end if it cannot be closed, or still has frames.
const DRAIN: Duration = Duration::from_millis(500);

/// Maximum by which a full output may prolong that.
const PATIENCE: Duration = Duration::from_secs(10);

/// A reading of the counters that takes longer was interrupted. One call takes a few microseconds.
const SHORT_READING_NS: u64 = 1_000_000;

/// Maximum number of readings in a row.
const SHORT_READINGS: u32 = 4;

/// An open capture without its frames.
#[derive(Debug)]
pub(super) struct CaptureSide {
    pub(super) stats: Option<StatsSocket>,
    pub(super) board: Arc<CaptureBoard>,
    interface: Interface,
    watched: Watched,
    link: Link,
    /// Counters of the interface at the close of the capture.
    at_end: Cell<Option<LinkSample>>,
    /// Absent if the capture is not a packet socket.
    unreached: Option<Unreached>,
}

/// Frames that a capture has delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    pub(super) frames: u64,
    /// Frames that this host sent; 0 if the recorder does not look at single frames.
    pub(super) outgoing: u64,
}

/// Progress of emptying a capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    is_shut: bool,
    /// Until this time the method may keep frames back.
    holds_until: Instant,
    latest: Instant,
    /// Time by which the end may still be extended.
    patience: Duration,
}

/// A capture's state at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    fill: Option<Occupancy>,
    /// Batches that are complete, if the method knows.
    complete_batches: Option<u32>,
    /// Later than the others. If the capture was full, it has accepted no frame in between.
    time_ns: u64,
}

impl State {
    fn of(capture: &mut impl Capture) -> Self {
        // Both are of one moment: none became complete in between.
        let mut complete_batches = capture.complete_batches();
        let fill = loop {
            let fill = capture.fill();
            let complete_since = capture.complete_batches();
            if complete_since == complete_batches {
                break fill;
            }
            complete_batches = complete_since;
        };
        Self { fill, complete_batches, time_ns: realtime_ns() }
    }

    fn is_full(self) -> bool {
        self.fill.is_some_and(Occupancy::is_full)
    }

    /// Where the losses end that a reading between this state and `later` counted. Normally at this state: a frame that arrives during the
    /// reading may follow a loss that it missed. If the capture became full in between, as while this thread did not run, the frames that
    /// filled it precede the loss.
    fn end_of_losses(self, later: Self) -> Self {
        if !self.is_full() && self.may_have_filled_until(later) { later } else { self }
    }

    /// Another thread may have made room again since: a writer returns the blocks that it has written.
    fn may_have_filled_until(self, later: Self) -> bool {
        match (self.fill, self.complete_batches, later.complete_batches) {
            (Some(fill), Some(before), Some(since)) => fill.is_full_with(since.saturating_sub(before).into()),
            _ => later.is_full(),
        }
    }
}

/// Reads until a reading is short. A mark on a frame that arrives during a reading can announce a loss that this reading counts, or a
/// later one, and if this thread is interrupted, many frames arrive meanwhile.
fn until_short(mut reading: impl FnMut() -> Result<()>) -> Result<()> {
    for _ in 0..SHORT_READINGS {
        let start = realtime_ns();
        reading()?;
        if realtime_ns().saturating_sub(start) <= SHORT_READING_NS {
            break;
        }
    }
    Ok(())
}

impl CaptureSide {
    /// For a capture that was just opened and already receives frames.
    pub(super) fn of(capture: &mut impl Capture, source: &Source, board: Arc<CaptureBoard>) -> Result<Self> {
        let stats = capture.stats_socket()?;
        let accepted = if stats.is_some() { capture.counters()?.accepted } else { None };
        let link = Link::of(&source.interface.name, accepted.unwrap_or(0));
        let unreached = stats.is_some().then(|| Unreached::of(source));
        // A query before the first reading shows which counters exist.
        board.publish_reading(Reading { link: link.read(), ..Reading::default() });
        let (interface, at_end) = (source.interface.clone(), Cell::new(None));
        let failed =
            |error| CaptureError::Call { method: "record", interface: interface.name.clone(), source: error };
        let watched = Watched::new(interface.index).map_err(failed)?;
        Ok(Self { stats, board, interface, watched, link, at_end, unreached })
    }

    /// Frames came: if the interface was down, checks whether it is up again. The frames may have been in the ring before.
    #[inline]
    pub(super) fn gave(&self) {
        if self.board.is_down() {
            // An interface that is gone stays down.
            let _ = self.look_again();
        }
    }

    /// Checks whether the interface is up.
    /// Errors: The interface is gone.
    #[cold]
    fn look_again(&self) -> std::result::Result<(), SysError> {
        self.board.set_down(!self.watched.flags()?.up());
        Ok(())
    }

    /// How often the capture found no frames and had to wait. When this grows, the ring was empty.
    #[inline]
    pub(super) fn waited(capture: &impl Capture) -> u64 {
        let counts = capture.waits();
        counts.waits + counts.spun
    }

    /// Whether the capture just found its ring empty, and the ring has not filled since (for example while this process was
    /// stopped). Then no loss separates the frames before from the next ones. `before` is [`CaptureSide::waited`] before the last
    /// read.
    pub(super) fn is_calm(capture: &mut impl Capture, gave: bool, before: u64) -> bool {
        let was_empty = !gave || Self::waited(capture) > before;
        was_empty && capture.fill().is_none_or(|fill| fill.share() <= 0.5)
    }

    /// Reads and publishes the counters of a capture that has delivered these frames, the last of them before the batch with
    /// number `next_batch`. If the method knows its losses, notes those before its socket and after acceptance, and where they end.
    pub(super) fn read(
        &self,
        capture: &mut impl Capture,
        delivered: Delivered,
        next_batch: u64,
        mut note: impl FnMut(u64, Boundary),
    ) -> Result<()> {
        until_short(|| {
            let (lost, end, until_ns) = self.read_counters(capture, delivered)?;
            // A capture that gathers frames may hold some from before the loss.
            let mut is_empty =
                || capture.packing().is_none() && capture.fill().is_some_and(Occupancy::is_empty);
            let complete = end.complete_batches.map(u64::from).or_else(|| is_empty().then_some(0));
            let batch = complete.map_or(u64::MAX, |complete| next_batch + complete);
            if let Some(lost) = lost {
                note(lost, Boundary { time_ns: end.time_ns, until_ns, batch });
            }
            Ok(())
        })
    }

    /// The losses, where they end, and a time after they were read.
    fn read_counters(
        &self,
        capture: &mut impl Capture,
        delivered: Delivered,
    ) -> Result<(Option<u64>, State, u64)> {
        // Read this before the method's counters: a frame that the interface has counted is then accepted, or on its way.
        let sample = self.at_end.get().unwrap_or_else(|| self.link.sample());
        // Before the counters: a batch that is complete now keeps its mark, one that is not loses it by the reading.
        let before = State::of(capture);
        let counters = capture.counters()?;
        let later = State::of(capture);
        if let Some(unreached) = &self.unreached {
            unreached.compare(&sample, &counters, delivered.outgoing);
        }
        let lost = self.publish(counters, sample.counts, delivered);
        Ok((lost, before.end_of_losses(later), later.time_ns))
    }

    /// As `read`, while frames of the capture are in use, and without the interface's counters. `None` also if only the capture
    /// itself can read its counters.
    #[cold]
    pub(super) fn read_stats_now(&self, delivered: Delivered) -> Result<Option<(u64, Boundary)>> {
        let Some(stats) = &self.stats else { return Ok(None) };
        let (mut reading, mut counters) = (Boundary::default(), None);
        until_short(|| {
            let begun = realtime_ns();
            counters = stats.counters()?;
            reading = Boundary::within(begun, realtime_ns());
            Ok(())
        })?;
        let Some(counters) = counters else { return Ok(None) };
        let lost = self.publish(counters, self.board.reading().link, delivered);
        Ok(lost.map(|lost| (lost, reading)))
    }

    fn publish(&self, counters: Counters, link: LinkCounts, delivered: Delivered) -> Option<u64> {
        let unreached = self.unreached.as_ref();
        let lost = counters.dropped().map(|lost| lost + unreached.map_or(0, Unreached::least));
        let may_be_more_by_xdp = unreached.is_some_and(Unreached::may_be_more_by_xdp);
        let unreached = unreached.map_or_else(Vec::new, Unreached::losses);
        let delivered = delivered.frames;
        self.board.publish_reading(Reading {
            counters,
            link,
            unreached,
            may_be_more_by_xdp,
            delivered,
            ..Reading::default()
        });
        lost
    }

    /// Reads and publishes the capture's occupancy and the status of its interface.
    /// Errors: The interface is gone. The kernel reports to a packet socket only the first step of its removal: it went down.
    pub(super) fn look(&self, capture: &mut impl Capture) -> Result<()> {
        self.board.note_fill(capture.fill());
        self.link.look();
        match self.look_again() {
            Err(source) if self.stats.is_some() && self.interface.is_gone() => {
                Err(CaptureError::Removed { interface: self.interface.name.clone(), source })
            }
            _ => Ok(()),
        }
    }

    /// Whether a read delivered frames. It delivers none if the interface went down but still exists: a packet socket stays bound
    /// and continues when the interface comes up again.
    #[inline]
    pub(super) fn survive(&self, outcome: Result<bool>) -> Result<bool> {
        const ENETDOWN: i32 = 100;
        let error = match outcome {
            Err(error) => error,
            gave => return gave,
        };
        match self.interface.or_removed(error) {
            CaptureError::Call { source, .. } if source.errno() == Some(ENETDOWN) => {
                self.board.set_down(true);
                // Limits the CPU use of a method that keeps failing.
                thread::sleep(Duration::from_millis(5));
                Ok(false)
            }
            error => Err(error),
        }
    }

    /// Stops new frames, if the method can, so that the capture can be drained.
    pub(super) fn shut(&self, capture: &impl Capture) -> Drain {
        // The recording covers what the interface has received until now.
        self.at_end.set(self.stats.as_ref().map(|_| self.link.sample()));
        let is_shut = self.stats.as_ref().is_some_and(|stats| stats.close().is_ok());
        if let Some(unreached) = &self.unreached {
            unreached.shut();
        }
        if is_shut {
            self.board.set_shut();
        }
        let now = Instant::now();
        // A kernel timer can be one tick of 10 ms late.
        let holds_until = now + capture.running().holds + Duration::from_millis(20);
        Drain { is_shut, holds_until, latest: holds_until + DRAIN, patience: PATIENCE }
    }
}

impl Drain {
    /// Nothing could be read for this time, because there was no memory: it does not count.
    pub(super) fn prolong(&mut self, waited: Duration) {
        let more = waited.min(self.patience);
        self.patience -= more;
        self.latest += more;
    }

    /// Whether to continue reading a capture that delivered nothing more. Its counters say that accepted frames are still inside:
    /// a kernel timer, or this thread, was late.
    pub(super) fn is_incomplete(&self, unread: Option<i64>) -> bool {
        self.is_shut && unread.is_some_and(|unread| unread > 0) && Instant::now() < self.latest
    }

    /// Whether the capture is empty, or its time is over. `gave` is whether the last read delivered frames.
    pub(super) fn is_over(&self, gave: bool) -> bool {
        let now = Instant::now();
        (!gave && now >= self.holds_until) || (!self.is_shut && now >= self.latest)
    }
}

#[cfg(test)]
mod tests {
    use capbench_capture::occupancy::Occupancy;

    use super::State;

    fn state(time_ns: u64, withheld: u64, complete_batches: Option<u32>) -> State {
        State { fill: Occupancy::new(withheld, 4_u64), complete_batches, time_ns }
    }

    #[test]
    fn losses_of_a_reading_end_before_it_unless_the_capture_got_full_meanwhile() {
        for (first, second, end) in [(3, 3, 1), (4, 4, 1), (4, 3, 1), (3, 4, 2)] {
            let found = state(1, first, None).end_of_losses(state(2, second, None));
            assert_eq!(found.time_ns, end, "{first} {second}");
        }
    }

    #[test]
    fn a_ring_that_another_thread_made_room_in_was_full_if_it_completed_as_many_blocks() {
        // Of four blocks the writer has the first two, and gives one back during the reading.
        for (complete, since, end) in [(1, 1, 1), (1, 2, 2), (2, 3, 1), (0, 1, 1), (0, 2, 2)] {
            let before = state(1, 2 + u64::from(complete), Some(complete));
            let found = before.end_of_losses(state(2, 1 + u64::from(since), Some(since)));
            assert_eq!(found.time_ns, end, "{complete} {since}");
        }
    }
}
