//! The loop of every capture's thread: it takes frames until it is to stop or cannot go on, then what is left in the ring.

use std::time::{Duration, Instant};

use capbench_capture::capture::Capture;
use capbench_capture::error::Result;

use super::board::{HandledRequests, Requests};
use super::capture_side::{CaptureSide, TICK};

/// Where the frames of a capture go.
pub(super) trait Consumer {
    /// Takes the next frames of the capture, waiting for them at most about `timeout`; whether there were any.
    fn next<C: Capture>(&mut self, capture: &mut C, timeout: Duration) -> Result<bool>;

    /// Reads and publishes the counters of the capture.
    fn read<C: Capture>(&mut self, capture: &mut C) -> Result<()>;

    /// Whether it uses no more frames.
    fn has_ended(&self) -> bool;

    /// Whether the next frames had better wait in their ring; after a moment.
    #[inline]
    fn is_held_up<C: Capture>(&mut self, _capture: &mut C) -> bool {
        false
    }

    /// Does what is due between two takes.
    #[inline]
    fn tend(&mut self, _due: Due) {}

    /// Waits for room for what is left in the ring, for a while; how long.
    fn wait_for_room(&self) -> Duration {
        Duration::ZERO
    }
}

/// What is due between two takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Due {
    /// No frame came: a file whose interval is over can end.
    pub(super) is_idle: bool,
    /// Statistics belong into the file: counters were just read for that.
    pub(super) statistics: bool,
    /// Readers are to have everything.
    pub(super) flush: bool,
}

/// Takes all frames of a capture; why it could not go on.
pub(super) fn run<C: Capture>(
    capture: &mut C,
    side: &CaptureSide,
    consumer: &mut impl Consumer,
    requests: &Requests,
) -> Result<()> {
    let outcome = until_stopped(capture, side, consumer, requests);
    if outcome.is_err() || consumer.has_ended() {
        // A recording without one of its interfaces is not what was asked for.
        requests.stop();
    }
    let emptied = empty(capture, side, consumer);
    // What was found lost, and no frame came after it.
    let read = consumer.read(capture);
    outcome.and(emptied).and(read)
}

fn until_stopped<C: Capture>(
    capture: &mut C,
    side: &CaptureSide,
    consumer: &mut impl Consumer,
    requests: &Requests,
) -> Result<()> {
    let mut granted = HandledRequests::default();
    // A file may end before a second has passed.
    consumer.read(capture)?;
    while !requests.is_stop() && !consumer.has_ended() {
        let waited = CaptureSide::waited(capture);
        // Frames that wait are as good as frames that came: no statistics are read meanwhile, unless they are late.
        let gave = consumer.is_held_up(capture) || side.survive(consumer.next(capture, TICK))?;
        if gave {
            side.gave();
        }
        let statistics = granted.are_statistics_due(requests, || CaptureSide::is_calm(capture, gave, waited));
        if statistics {
            consumer.read(capture)?;
        }
        consumer.tend(Due { is_idle: !gave, statistics, flush: granted.is_flush_due(requests) });
        if granted.is_look_due(requests) {
            side.look(capture)?;
        }
    }
    Ok(())
}

/// Takes out what is left. What waits in the ring meanwhile, for room or for memory, is not lost.
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
