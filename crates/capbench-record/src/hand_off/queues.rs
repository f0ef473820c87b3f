//! The workers' queues and counts, behind one lock that is taken once or twice per batch.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Given;
use super::order::Progress;
use super::plan::{Distribution, Plan, WhenFull};
use super::report::{Report, WorkerCounts, WorkerReport};
use super::work::Job;
use crate::error::{RecordError, Result};

/// State shared by all threads of a pool.
#[derive(Debug)]
pub(super) struct Shared<B> {
    plan: Plan,
    state: Mutex<State<B>>,
    /// Signals that there may be room, or that no worker is left.
    room: Condvar,
    /// Signals this worker that there is a batch, or that there will be none.
    work: Box<[Condvar]>,
}

#[derive(Debug)]
struct State<B> {
    workers: Vec<Place<B>>,
    /// The worker that is next in turn.
    turn: usize,
    /// The number of the next batch that is queued.
    next: u64,
    /// How far results have been delivered.
    progress: Progress,
    /// By port: the number after that of its last queued batch.
    behind: Vec<u64>,
    waits: u64,
    is_closed: bool,
}

/// A worker as other threads see it.
#[derive(Debug)]
struct Place<B> {
    queue: VecDeque<Entry<B>>,
    /// The batch that it processes.
    current: Option<Current>,
    /// By port.
    counts: Vec<WorkerCounts>,
    /// Its panic message.
    failure: Option<String>,
    is_failure_told: bool,
}

/// A batch that a worker is processing.
#[derive(Clone, Copy, Debug)]
struct Current {
    sequence: u64,
    port: usize,
    frames: u64,
}

#[derive(Debug)]
struct Entry<B> {
    job: Job<B>,
    frames: u64,
}

impl<B> Place<B> {
    fn is_alive(&self) -> bool {
        self.failure.is_none()
    }

    /// Batches queued or in work.
    fn load(&self) -> usize {
        self.queue.len() + usize::from(self.current.is_some())
    }

    /// Sum of its counts over all ports.
    fn all_counts(&self) -> WorkerCounts {
        self.counts.iter().copied().sum()
    }

    /// Its counts for a port.
    fn counts_of(&mut self, port: usize) -> &mut WorkerCounts {
        if self.counts.len() <= port {
            self.counts.resize(port + 1, WorkerCounts::default());
        }
        &mut self.counts[port]
    }

    /// The oldest batch that it has.
    fn oldest(&self) -> Option<u64> {
        let queued = || self.queue.front().map(|entry| entry.job.sequence);
        self.current.map(|current| current.sequence).or_else(queued)
    }
}

/// Where a batch can go.
enum Choice {
    /// To this worker.
    Worker(usize),
    /// To this worker when its queue has room again.
    Full(usize),
    /// To another worker once the oldest batch is done, which this worker has.
    OutOfWindow(usize),
    /// To none: this worker has panicked.
    Gone(usize),
}

impl<B> State<B> {
    fn choose(&self, plan: &Plan, port: usize) -> Choice {
        let worker = match plan.distribution {
            Distribution::ByPort => port % plan.workers,
            Distribution::NextFree => (0..plan.workers)
                .map(|after| (self.turn + after) % plan.workers)
                .filter(|&worker| self.workers[worker].is_alive())
                .min_by_key(|&worker| self.workers[worker].load())
                .unwrap_or(self.turn),
        };
        let place = &self.workers[worker];
        if !place.is_alive() {
            Choice::Gone(worker)
        } else if place.queue.len() >= plan.queue {
            Choice::Full(worker)
        } else if plan.ordered && self.next - self.progress.oldest >= plan.most_held() as u64 {
            let has_oldest = |place: &Place<B>| place.oldest() == Some(self.progress.oldest);
            // That batch may have been finished just now.
            Choice::OutOfWindow(self.workers.iter().position(has_oldest).unwrap_or(worker))
        } else {
            Choice::Worker(worker)
        }
    }

    fn is_through(&self, plan: &Plan, port: usize) -> bool {
        if plan.ordered {
            return self.progress.oldest >= self.behind.get(port).copied().unwrap_or(0);
        }
        let mut of_port = self.workers.iter().filter_map(|place| place.counts.get(port));
        of_port.all(|counts| counts.given.batches == counts.worked.batches + counts.lost().batches)
    }
}

impl<B> Shared<B> {
    pub(super) fn new(plan: Plan) -> Self {
        let place = |_| Place {
            queue: VecDeque::with_capacity(plan.queue),
            current: None,
            counts: Vec::new(),
            failure: None,
            is_failure_told: false,
        };
        let state = State {
            workers: (0..plan.workers).map(place).collect(),
            turn: 0,
            next: 0,
            progress: Progress { oldest: 0, undelivered: 0 },
            behind: Vec::new(),
            waits: 0,
            is_closed: false,
        };
        let work = (0..plan.workers).map(|_| Condvar::new()).collect();
        Self { plan, state: Mutex::new(state), room: Condvar::new(), work }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Queues a batch, or returns why not. Lost batches are dropped after the lock is released.
    pub(super) fn give(&self, port: usize, batch: B, frames: u64) -> Result<Given> {
        let mut state = self.lock();
        let mut has_waited = false;
        let (worker, lost_to): (usize, fn(&mut WorkerCounts) -> &mut super::Tally) = loop {
            match (state.choose(&self.plan, port), self.plan.when_full) {
                (Choice::Worker(worker), _) => {
                    let sequence = state.next;
                    state.next += 1;
                    state.turn = (worker + 1) % self.plan.workers;
                    if state.behind.len() <= port {
                        state.behind.resize(port + 1, 0);
                    }
                    state.behind[port] = state.next;
                    let place = &mut state.workers[worker];
                    place.counts_of(port).given.count(frames);
                    place.queue.push_back(Entry { job: Job { batch, port, sequence }, frames });
                    drop(state);
                    self.work[worker].notify_one();
                    return Ok(Given::Queued(worker));
                }
                (Choice::Full(worker), WhenFull::Drop) => break (worker, |counts| &mut counts.refused),
                (Choice::OutOfWindow(worker), WhenFull::Drop) => {
                    break (worker, |counts| &mut counts.out_of_window);
                }
                (Choice::Full(_) | Choice::OutOfWindow(_), WhenFull::Wait) => {
                    state.waits += u64::from(!has_waited);
                    has_waited = true;
                    state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                (Choice::Gone(worker), _) => break (worker, |counts| &mut counts.given_back),
            }
        };
        let counts = state.workers[worker].counts_of(port);
        counts.given.count(frames);
        lost_to(counts).count(frames);
        let is_anybody_left = state.workers.iter().any(Place::is_alive);
        drop(state);
        drop(batch);
        if is_anybody_left {
            return Ok(Given::Lost);
        }
        Err(RecordError::HandOff { reason: "no worker is left: all have panicked".into() })
    }

    /// Waits for the next batch of a worker; `None` if there will be none.
    pub(super) fn next(&self, worker: usize) -> Option<Job<B>> {
        let mut state = self.lock();
        loop {
            let place = &mut state.workers[worker];
            if let Some(Entry { job, frames }) = place.queue.pop_front() {
                place.current = Some(Current { sequence: job.sequence, port: job.port, frames });
                drop(state);
                self.room.notify_all();
                return Some(job);
            }
            if state.is_closed {
                return None;
            }
            state = self.work[worker].wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker has processed its batch and delivered the result.
    pub(super) fn done(&self, worker: usize, progress: Progress) {
        let mut state = self.lock();
        let place = &mut state.workers[worker];
        if let Some(Current { port, frames, .. }) = place.current.take() {
            place.counts_of(port).worked.count(frames);
        }
        self.advance(state, progress);
    }

    /// Updates how far results have been delivered.
    pub(super) fn came(&self, progress: Progress) {
        self.advance(self.lock(), progress);
    }

    /// Another thread may have updated it with newer progress before.
    fn advance(&self, mut state: MutexGuard<'_, State<B>>, progress: Progress) {
        state.progress.oldest = state.progress.oldest.max(progress.oldest);
        state.progress.undelivered = state.progress.undelivered.max(progress.undelivered);
        drop(state);
        self.room.notify_all();
    }

    /// A worker has panicked: returns its batches' memory, and the numbers of these batches.
    pub(super) fn failed(&self, worker: usize, message: String) -> Vec<u64> {
        let mut state = self.lock();
        let place = &mut state.workers[worker];
        place.failure = Some(message);
        let mut numbers = Vec::with_capacity(place.load());
        if let Some(Current { sequence, port, frames }) = place.current.take() {
            numbers.push(sequence);
            place.counts_of(port).given_back.count(frames);
        }
        let queue = std::mem::take(&mut place.queue);
        for entry in &queue {
            numbers.push(entry.job.sequence);
            place.counts_of(entry.job.port).given_back.count(entry.frames);
        }
        drop(state);
        drop(queue);
        self.room.notify_all();
        numbers
    }

    /// Counts of each worker.
    pub(super) fn counts(&self) -> Vec<WorkerCounts> {
        self.lock().workers.iter().map(Place::all_counts).collect()
    }

    /// Counts of each worker, for these ports only.
    pub(super) fn counts_of(&self, ports: &[usize]) -> Vec<WorkerCounts> {
        let of_ports =
            |place: &Place<B>| ports.iter().filter_map(|&port| place.counts.get(port)).copied().sum();
        self.lock().workers.iter().map(of_ports).collect()
    }

    /// Whether the results of all batches of this port were delivered, or never will be.
    pub(super) fn is_through(&self, port: usize) -> bool {
        self.lock().is_through(&self.plan, port)
    }

    /// Waits until [`Self::is_through`].
    pub(super) fn wait_through(&self, port: usize) {
        let mut state = self.lock();
        while !state.is_through(&self.plan, port) {
            state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn take_failures(&self) -> Vec<RecordError> {
        let mut failures = Vec::new();
        for (worker, place) in self.lock().workers.iter_mut().enumerate() {
            if let Some(message) = place.failure.clone().filter(|_| !place.is_failure_told) {
                place.is_failure_told = true;
                failures.push(RecordError::Worker { worker, message });
            }
        }
        failures
    }

    /// No more batches will come.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.work.iter().for_each(Condvar::notify_all);
    }

    /// The final report, once the threads have ended.
    pub(super) fn report<S>(&self, summaries: Vec<Option<S>>) -> Report<S> {
        let state = self.lock();
        let ends = state.workers.iter().zip(summaries).enumerate();
        let workers = ends.map(|(worker, (place, summary))| WorkerReport {
            counts: place.all_counts(),
            summary: summary.ok_or_else(|| RecordError::Worker {
                worker,
                message: place.failure.clone().unwrap_or_else(|| "no message".into()),
            }),
        });
        Report::new(workers.collect(), state.waits, state.progress.undelivered, self.plan)
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        // No caller's code runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
