//! What the merge knows of a port.

use std::collections::VecDeque;
use std::time::Duration;

use super::eras::{Reached, nanoseconds};
use super::run::Key;
use super::tally::PortTally;

/// What is known of a port before it gives anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortPlan {
    /// How long at most it holds a frame back although its thread is looking for frames: see [`capbench_capture::Running::holds`].
    pub hold: Duration,
    /// By how much at most the times of frames fall back, within a batch or from one to the next.
    pub disorder: Duration,
    /// How many of its batches may be held. When there are more after a round, the oldest frames of all ports are put
    /// out until there are not.
    pub batches: u32,
}

impl PortPlan {
    /// A port whose method holds frames back for `holds` and has `batches` of them in its ring or pool.
    ///
    /// The kernel looks at a block's age with a timer that can be one tick late, which is 10 ms on kernels with the
    /// longest one. Disorder is taken as three times the most that was measured where two CPUs fed one ring. And half of
    /// the ring stays with the kernel: a batch that is held is memory in which it cannot put frames.
    pub fn new(holds: Duration, batches: u32) -> Self {
        Self {
            hold: holds.saturating_add(Duration::from_millis(10)),
            disorder: Duration::from_micros(4500),
            batches: (batches / 2).max(1),
        }
    }

    /// The same for a port whose batches come from several receive queues, one batch of a queue behind one of another: a
    /// batch can then be as much older than the one before it as frames wait for their batch to fill.
    #[must_use]
    pub fn of_several_queues(self) -> Self {
        Self { disorder: self.disorder.saturating_add(self.hold), ..self }
    }

    /// The window that suits ports: 50 ms more than the longest that any of them holds frames back.
    ///
    /// A capture thread that is well reports at least every 20 ms, waiting for frames no longer than that. After twice
    /// that time and what the scheduler of a busy host may add, it is not well.
    pub fn window(ports: &[Self]) -> Duration {
        let hold = ports.iter().map(|plan| plan.hold).max().unwrap_or_default();
        hold.saturating_add(Duration::from_millis(50))
    }
}

/// A batch some of whose frames are not out.
#[derive(Debug)]
pub(super) struct Held<B> {
    /// `None` when its last frame is out.
    pub batch: Option<B>,
    /// Runs left.
    pub runs: u32,
    /// Whether none of its frames is out.
    pub untouched: bool,
    /// The greatest time in it.
    pub last: Key,
    /// When it came, by the time that the merge saw go by.
    pub came_ns: u64,
    /// Octets of its frames.
    pub octets: u64,
}

#[derive(Debug)]
pub(super) struct Port<B> {
    pub plan: PortPlan,
    pub reached: Reached,
    /// Nothing older will come from it, if it behaves as planned.
    pub promise: Key,
    /// Whether its promise counts: not when its frames have no times, nor when it has ended.
    pub promises: bool,
    /// When it last gave or said something, by the time that the merge saw go by.
    pub reported_ns: u64,
    /// Its batches in arrival order. Gaps are left where one was done with before an older one.
    pub held: VecDeque<Held<B>>,
    /// The number of the first of them.
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

    /// It gave frames up to `greatest`.
    pub fn gave(&mut self, greatest: Key) {
        let time = greatest.time.saturating_sub(nanoseconds(self.plan.disorder));
        self.promise = Key { time, ..greatest }.max_in_era(self.promise);
        self.promises = true;
    }

    /// It found nothing at this time.
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

    /// Forgets batches at the front that are done with.
    pub fn forget(&mut self) {
        while self.held.front().is_some_and(|held| held.batch.is_none()) {
            self.held.pop_front();
            self.first = self.first.wrapping_add(1);
        }
    }
}

impl Key {
    /// The greater of both in the era of `self`.
    fn max_in_era(self, other: Self) -> Self {
        if other.era == self.era { self.max(other) } else { self }
    }
}
