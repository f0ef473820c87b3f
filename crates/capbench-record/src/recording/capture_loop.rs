//! The loop of a capture's thread: reads frames until it must stop or fails, then drains the ring.

use std::time::{Duration, Instant};

use capbench_capture::capture::Capture;
use capbench_capture::error::Result;

use super::board::{HandledRequests, Requests};
use super::capture_side::{CaptureSide, TICK};

/// Receives the frames of a capture.
pub(super) trait Consumer {
    /// Longest wait for frames, and so for a request.
    const WAIT: Duration = TICK;

    /// Reads the next frames of the capture, waiting up to about `timeout`. Returns whether there were any.
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool>;

    /// Reads and publishes the counters of the capture.
    fn read<C: Capture>(&mut self, capture: &mut C) -> Result<()>;

    /// Whether it accepts no more frames.
    fn has_ended(&self) -> bool;

    /// Whether the next frames should wait in their ring; waits a moment.
    #[inline]
    fn is_blocked<C: Capture>(&mut self, _capture: &mut C) -> bool {
        false
    }

    /// Periodic work between two reads.
    #[inline]
    fn tend(&mut self, _due: Due) {}

    /// Waits a limited time for room for the rest of the ring. Returns how long it waited.
    fn wait_for_room(&self) -> Duration {
        Duration::ZERO
    }
}

/// Work due between two reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// No frame came: a file whose interval is over can end.
    pub(super) is_idle: bool,
    /// Counters were just read for the file: write statistics.
    pub(super) statistics: bool,
    /// Flush everything to readers.
    pub(super) flush: bool,
}

/// Reads all frames of a capture. Returns the error that ended it.
pub(super) fn run<C: Capture>(
    capture: &mut C,
    side: &CaptureSide,
    consumer: &mut impl Consumer,
    requests: &Requests,
) -> Result<()> {
    let outcome = until_stopped(capture, side, consumer, requests);
    if outcome.is_err() || consumer.has_ended() {
        // A recording without one of its interfaces is incomplete, so all captures stop.
        requests.stop();
    }
    let emptied = empty(capture, side, consumer);
    // Losses that were counted after the last frame.
    let read = consumer.read(capture);
    outcome.and(emptied).and(read)
}

fn until_stopped<C: Capture, F: Consumer>(
    capture: &mut C,
    side: &CaptureSide,
    consumer: &mut F,
    requests: &Requests,
) -> Result<()> {
    let mut handled = HandledRequests::default();
    // A file may end in less than a second, so the counters are read here, too.
    consumer.read(capture)?;
    while !requests.is_stop() && !consumer.has_ended() {
        let waited = CaptureSide::waited(capture);
        // Waiting frames count as arrived frames: no statistics are read meanwhile, unless they are overdue.
        let gave = consumer.is_blocked(capture) || side.survive(consumer.next(capture, F::WAIT))?;
        if gave {
            side.gave();
        }
        let statistics = handled.are_statistics_due(requests, || CaptureSide::is_calm(capture, gave, waited));
        if statistics {
            consumer.read(capture)?;
        }
        consumer.tend(Due { is_idle: !gave, statistics, flush: handled.is_flush_due(requests) });
        if handled.is_look_due(requests) {
            side.look(capture)?;
        }
    }
    Ok(())
}

/// Drains the ring. Frames that wait in it for room or memory are not lost.
fn empty<C: Capture>(capture: &mut C, side: &CaptureSide, consumer: &mut impl Consumer) -> Result<()> {
    let mut drain = side.shut(capture);
    loop {
        drain.prolong(consumer.wait_for_room());
        let start = Instant::now();
        let gave = side.survive(consumer.next(capture, TICK / 4))?;
        let has_not_looked = capture.packing().is_some_and(|packing| packing.did_not_look());
        if has_not_looked {
            drain.prolong(start.elapsed());
        }
        if drain.is_over(gave || has_not_looked) {
            consumer.read(capture)?;
            if !drain.is_incomplete(side.board.reading().unread()) {
                return Ok(());
            }
        }
    }
}
