//! Results, in order of completion or in order of their batches.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::plan::Plan;

/// Collects the results of all workers.
#[derive(Debug)]
pub(super) struct Stage<R, F> {
    ordered: bool,
    inner: Mutex<Inner<R, F>>,
}

#[derive(Debug)]
struct Inner<R, F> {
    sink: F,
    /// The sink is running, or its last call panicked: then it is not called any more.
    is_broken: bool,
    undelivered: u64,
    /// The oldest batch without a result.
    oldest: u64,
    /// The results from the oldest batch on.
    window: VecDeque<Slot<R>>,
}

#[derive(Debug)]
enum Slot<R> {
    /// A worker has its batch.
    Awaited,
    /// Waits for the results of older batches.
    Done(R),
    /// There will be no result.
    Gone,
}

/// How far results have been delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Progress {
    /// The oldest batch without a result.
    pub(super) oldest: u64,
    /// Results that were dropped.
    pub(super) undelivered: u64,
}

impl<R, F: FnMut(u64, R)> Stage<R, F> {
    pub(super) fn new(plan: Plan, sink: F) -> Self {
        let room = if plan.ordered { plan.most_held() } else { 0 };
        let window = VecDeque::with_capacity(room);
        let inner = Inner { sink, is_broken: false, undelivered: 0, oldest: 0, window };
        Self { ordered: plan.ordered, inner: Mutex::new(inner) }
    }

    /// Accepts a result. A panic of the sink propagates, and the sink is not called any more.
    pub(super) fn done(&self, sequence: u64, result: R) -> Progress {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ordered {
            inner.place(sequence, Slot::Done(result));
            inner.deliver_in_order();
        } else {
            inner.deliver(sequence, result);
        }
        inner.progress()
    }

    /// Notes that a batch will have no result. An existing result stays.
    pub(super) fn gone(&self, sequence: u64) -> Progress {
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        if self.ordered {
            inner.place(sequence, Slot::Gone);
            inner.deliver_in_order();
        }
        inner.progress()
    }
}

impl<R, F: FnMut(u64, R)> Inner<R, F> {
    fn place(&mut self, sequence: u64, slot: Slot<R>) {
        let Some(index) = sequence.checked_sub(self.oldest).map(|index| index as usize) else { return };
        while self.window.len() <= index {
            self.window.push_back(Slot::Awaited);
        }
        if matches!(self.window[index], Slot::Awaited) {
            self.window[index] = slot;
        }
    }

    fn deliver_in_order(&mut self) {
        while let Some(slot) = self.window.pop_front() {
            if matches!(slot, Slot::Awaited) {
                self.window.push_front(slot);
                return;
            }
            let sequence = self.oldest;
            self.oldest += 1;
            if let Slot::Done(result) = slot {
                self.deliver(sequence, result);
            }
        }
    }

    fn deliver(&mut self, sequence: u64, result: R) {
        if self.is_broken {
            self.undelivered += 1;
            return;
        }
        self.is_broken = true;
        (self.sink)(sequence, result);
        self.is_broken = false;
    }

    fn progress(&self) -> Progress {
        Progress { oldest: self.oldest, undelivered: self.undelivered }
    }
}
