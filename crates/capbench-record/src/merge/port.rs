//! State of a port in the merge.

use std::collections::VecDeque;
use std::time::Duration;

use super::eras::{Reached, nanoseconds};
use super::run::Key;

/// Counters of the merge for a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortTally {
    /// Frames delivered.
    pub frames: u64,
    /// Frames that were older than a frame delivered before. They come after it in the stream.
    pub late: u64,
    /// Maximum lateness in nanoseconds; absent if no frame was late. Late frames from before a backward clock step do not count.
    pub latest_ns: Option<u64>,
    /// Batches whose frames were not in time order.
    pub unsorted_batches: u64,
}

/// Properties of a port, known before its first batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// Maximum time that it keeps a frame back although its thread polls: see [`capbench_model::running::Running::holds`].
    pub hold: Duration,
    /// Maximum by which frame timestamps fall back, within a batch or from one batch to the next.
    pub disorder: Duration,
    /// Maximum number of its unfinished batches. If more remain after a round, the merge delivers the oldest frames of all ports
    /// until the limit is met.
    pub batches: u32,
}

impl PortPlan {
    /// A port whose method keeps frames back for `holds` and has `batches` batches in its ring or pool.
    ///
    /// The kernel checks the age of a block by a timer that can be one tick late: 10 ms on kernels with the longest tick.
    /// Disorder is three times the maximum measured with two CPUs feeding one ring. Half of the ring stays with the kernel,
    /// because it cannot put frames into unfinished batches.
    pub fn new(holds: Duration, batches: u32) -> Self {
        Self {
            hold: holds.saturating_add(Duration::from_millis(10)),
            disorder: Duration::from_micros(4500),
            batches: (batches / 2).max(1),
        }
    }

    /// As `new`, for a port that delivers batches of several receive queues in turn. A batch can then be older than the one
    /// before by the time that frames wait for their batch to fill.
    #[must_use]
    pub fn of_several_queues(self) -> Self {
        Self { disorder: self.disorder.saturating_add(self.hold), ..self }
    }

    /// The window for these ports: the maximum time that any of them keeps frames back, plus 50 ms.
    ///
    /// A healthy capture thread reports at least every 20 ms, its longest wait for frames. The window allows twice that, plus
    /// scheduling delay of a busy host.
    pub fn window(ports: &[Self]) -> Duration {
        let hold = ports.iter().map(|plan| plan.hold).max().unwrap_or_default();
        hold.saturating_add(Duration::from_millis(50))
    }
}

/// A batch with frames that are not delivered yet.
#[derive(Debug)]
pub(super) struct Held<B> {
    /// `None` after its last frame was delivered.
    pub batch: Option<B>,
    /// Runs left.
    pub runs: u32,
    /// Whether none of its frames was delivered.
    pub untouched: bool,
    /// The greatest time in it.
    pub last: Key,
    /// Arrival time, by the merge's elapsed time.
    pub came_ns: u64,
    /// Octets of its frames.
    pub octets: u64,
}

#[derive(Debug)]
pub(super) struct Port<B> {
    pub plan: PortPlan,
    pub reached: Reached,
    /// No older frame will come from it, if it behaves as planned.
    pub promise: Key,
    /// Whether its promise counts: false if its frames have no timestamps, or after it has ended.
    pub promises: bool,
    /// Time of its last batch or report, by the merge's elapsed time.
    pub reported_ns: u64,
    /// Its batches in arrival order. A batch that finished before an older one leaves an empty entry.
    pub held: VecDeque<Held<B>>,
    /// The number of the first entry.
    pub first: u32,
    /// How many of them have frames left.
    pub batches: u32,
    pub tally: PortTally,
}

impl<B> Port<B> {
    pub fn new(plan: PortPlan) -> Self {
        Self {
            plan,
            reached: Reached::default(),
            promise: Key::LEAST,
            promises: true,
            reported_ns: 0,
            held: VecDeque::new(),
            first: 0,
            batches: 0,
            tally: PortTally::default(),
        }
    }

    /// It delivered frames up to `greatest`.
    pub fn gave(&mut self, greatest: Key) {
        let time = greatest.time.saturating_sub(nanoseconds(self.plan.disorder));
        self.promise = Key { time, ..greatest }.max_in_era(self.promise);
        self.promises = true;
    }

    /// It found no frames at this time.
    pub fn looked(&mut self, at: Key) {
        let slack = nanoseconds(self.plan.hold.saturating_add(self.plan.disorder));
        let promise = Key { time: at.time.saturating_sub(slack), ..at };
        self.promise = promise.max_in_era(self.promise);
    }

    /// The batch with this number.
    #[inline]
    pub fn batch(&mut self, number: u32) -> &mut Held<B> {
        &mut self.held[number.wrapping_sub(self.first) as usize]
    }

    /// Removes finished batches from the front.
    pub fn forget(&mut self) {
        while self.held.front().is_some_and(|held| held.batch.is_none()) {
            self.held.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

impl Key {
    /// The greater of the two, within the era of `self`.
    fn max_in_era(self, other: Self) -> Self {
        if other.era == self.era { self.max(other) } else { self }
    }
}
