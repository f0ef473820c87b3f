//! The queues of the workers, and the account of each, behind one lock that is taken once or twice per batch.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::Given;
use super::order::Progress;
use super::plan::{Distribution, Plan, WhenFull};
use super::report::{Report, WorkerCounts, WorkerReport};
use super::work::Job;
use crate::error::{CaptureError, Result};

/// What all threads of a hand-off share.
#[derive(Debug)]
pub(super) struct Shared<B> {
    plan: Plan,
    state: Mutex<State<B>>,
    /// There may be room now, or nobody left to make some.
    room: Condvar,
    /// There is a batch for this worker, or there will be none.
    work: Box<[Condvar]>,
}

#[derive(Debug)]
struct State<B> {
    workers: Vec<Place<B>>,
    /// Who is next in turn.
    turn: usize,
    /// The number of the next batch that is queued.
    next: u64,
    /// How far results have come.
    progress: Progress,
    waits: u64,
    is_closed: bool,
}

/// A worker as the others see it.
#[derive(Debug)]
struct Place<B> {
    queue: VecDeque<Entry<B>>,
    /// Number and frames of the batch that it works on.
    current: Option<(u64, u64)>,
    counts: WorkerCounts,
    /// What it said when it panicked.
    failure: Option<String>,
    is_failure_told: bool,
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

    /// Batches that it has.
    fn load(&self) -> usize {
        self.queue.len() + usize::from(self.current.is_some())
    }
}

/// Where a batch can go.
enum Choice {
    /// To this worker.
    Worker(usize),
    /// To this worker when its queue has room again.
    Full(usize),
    /// To this worker when older batches are done.
    OutOfWindow(usize),
    /// To nobody: this worker has panicked.
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
            Choice::OutOfWindow(worker)
        } else {
            Choice::Worker(worker)
        }
    }
}

impl<B> Shared<B> {
    pub(super) fn new(plan: Plan) -> Self {
        let place = |_| Place {
            queue: VecDeque::with_capacity(plan.queue),
            current: None,
            counts: WorkerCounts::default(),
            failure: None,
            is_failure_told: false,
        };
        let state = State {
            workers: (0..plan.workers).map(place).collect(),
            turn: 0,
            next: 0,
            progress: Progress { oldest: 0, undelivered: 0 },
            waits: 0,
            is_closed: false,
        };
        let work = (0..plan.workers).map(|_| Condvar::new()).collect();
        Self { plan, state: Mutex::new(state), room: Condvar::new(), work }
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Queues a batch, or says why it could not be. What is lost is dropped outside of the lock.
    pub(super) fn give(&self, port: usize, batch: B, frames: u64) -> Result<Given> {
        let mut state = self.lock();
        let mut has_waited = false;
        let (worker, lost_to): (usize, fn(&mut WorkerCounts) -> &mut super::Tally) = loop {
            match (state.choose(&self.plan, port), self.plan.when_full) {
                (Choice::Worker(worker), _) => {
                    let sequence = state.next;
                    state.next += 1;
                    state.turn = (worker + 1) % self.plan.workers;
                    let place = &mut state.workers[worker];
                    place.counts.given.count(frames);
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
        let counts = &mut state.workers[worker].counts;
        counts.given.count(frames);
        lost_to(counts).count(frames);
        let is_anybody_left = state.workers.iter().any(Place::is_alive);
        drop(state);
        drop(batch);
        if is_anybody_left {
            return Ok(Given::Lost);
        }
        Err(CaptureError::HandOff { reason: "no worker is left: all have panicked".into() })
    }

    /// The next batch for a worker, waiting for it; `None` when there will be none.
    pub(super) fn next(&self, worker: usize) -> Option<Job<B>> {
        let mut state = self.lock();
        loop {
            let place = &mut state.workers[worker];
            if let Some(Entry { job, frames }) = place.queue.pop_front() {
                place.current = Some((job.sequence, frames));
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

    /// A worker has done the work on its batch, and its result is where it belongs.
    pub(super) fn done(&self, worker: usize, progress: Progress) {
        let mut state = self.lock();
        let place = &mut state.workers[worker];
        if let Some((_, frames)) = place.current.take() {
            place.counts.worked.count(frames);
        }
        self.advance(state, progress);
    }

    /// Results have come so far.
    pub(super) fn came(&self, progress: Progress) {
        self.advance(self.lock(), progress);
    }

    /// Another thread may have come here first with what is newer.
    fn advance(&self, mut state: MutexGuard<'_, State<B>>, progress: Progress) {
        state.progress.oldest = state.progress.oldest.max(progress.oldest);
        state.progress.undelivered = state.progress.undelivered.max(progress.undelivered);
        drop(state);
        self.room.notify_all();
    }

    /// A worker has panicked: gives back what it has, and returns the numbers of those batches.
    pub(super) fn failed(&self, worker: usize, message: String) -> Vec<u64> {
        let mut state = self.lock();
        let place = &mut state.workers[worker];
        place.failure = Some(message);
        let mut numbers = Vec::with_capacity(place.load());
        if let Some((sequence, frames)) = place.current.take() {
            numbers.push(sequence);
            place.counts.given_back.count(frames);
        }
        let queue = std::mem::take(&mut place.queue);
        for entry in &queue {
            numbers.push(entry.job.sequence);
            place.counts.given_back.count(entry.frames);
        }
        drop(state);
        drop(queue);
        self.room.notify_all();
        numbers
    }

    pub(super) fn counts(&self) -> Vec<WorkerCounts> {
        self.lock().workers.iter().map(|place| place.counts).collect()
    }

    pub(super) fn take_failures(&self) -> Vec<CaptureError> {
        let mut failures = Vec::new();
        for (worker, place) in self.lock().workers.iter_mut().enumerate() {
            if let Some(message) = place.failure.clone().filter(|_| !place.is_failure_told) {
                place.is_failure_told = true;
                failures.push(CaptureError::Worker { worker, message });
            }
        }
        failures
    }

    /// No more batches will come.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.work.iter().for_each(Condvar::notify_all);
    }

    /// The account of all, once the threads have ended.
    pub(super) fn report<S>(&self, summaries: Vec<Option<S>>) -> Report<S> {
        let state = self.lock();
        let ends = state.workers.iter().zip(summaries).enumerate();
        let workers = ends.map(|(worker, (place, summary))| WorkerReport {
            counts: place.counts,
            summary: summary.ok_or_else(|| CaptureError::Worker {
                worker,
                message: place.failure.clone().unwrap_or_else(|| "no message".into()),
            }),
        });
        Report::new(workers.collect(), state.waits, state.progress.undelivered, self.plan)
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        // No code of others runs under it.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
