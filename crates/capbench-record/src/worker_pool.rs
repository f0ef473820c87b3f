//! Worker pool: one thread passes batches to worker threads. Results come back in the order of the batches.
//!
//! The pool locks and wakes threads once per batch, never per frame. It allocates nothing while it runs.
//!
//! ```
//! use capbench_capture::{Batch, OwnedBatch};
//! use capbench_record::worker_pool::{Job, Plan, WorkerPool};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let count = |_worker| |job: Job<OwnedBatch>| job.batch.frame_count();
//! let mut pool = WorkerPool::start(Plan::new(2), count, |frames| println!("{frames} frames"))?;
//! // while let Some(batch) = capture.next_owned(timeout)? { pool.give(0, batch.frame_count() as u64, batch)?; }
//! assert!(pool.finish().is_empty(), "no worker panicked");
//! # Ok(())
//! # }
//! ```

use std::any::Any;
use std::collections::VecDeque;
use std::iter::Sum;
use std::mem::take;
use std::ops::AddAssign;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

use capbench_model::counters::Loss;

use crate::error::{RecordError, Result};
use crate::own_places;

/// What happens to a batch when its queue is full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WhenFull {
    /// The caller waits. The ring of the capture method then loses frames, and the method's counters report them.
    #[default]
    Wait,
    /// The batch is dropped, and its frames count as lost at that queue.
    Drop,
}

/// How batches are distributed: to the worker with the fewest batches; of several, to the next in turn. A batch also counts as
/// waiting in a full queue while the oldest unfinished batch is as many batches behind as all queues together hold.
///
/// Workers hold up to [`Plan::most_held`] batches. If a V3 ring has fewer blocks, it fills before a queue does: then the ring
/// loses frames, with either setting of [`WhenFull`]. The kernel fills blocks in order: if a worker still holds the next block,
/// the kernel stops at it. So the ring must hold all frames that arrive while a queue is processed, or the batches must be
/// copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Worker threads.
    pub workers: usize,
    /// Batches that may wait per worker, in addition to the one that it processes.
    pub queue: usize,
    /// What happens to a batch when its queue is full.
    pub when_full: WhenFull,
}

impl Plan {
    /// This many workers, each with a queue of 8 batches.
    pub fn new(workers: usize) -> Self {
        Self { workers, queue: 8, when_full: WhenFull::default() }
    }

    /// Maximum number of batches with the workers, if workers keep none after processing.
    pub fn most_held(&self) -> usize {
        self.workers * (self.queue + 1)
    }

    /// Checks that the plan is valid, before threads and places are allocated.
    pub(crate) fn check(&self) -> Result<()> {
        let reason = match (self.workers, self.queue) {
            (0, _) => "it needs at least one worker",
            (_, 0) => "it needs queues of at least one batch",
            (4097.., _) => "more than 4096 workers are not possible",
            (_, 65_537..) => "queues of more than 65536 batches are not possible",
            _ => return Ok(()),
        };
        Err(RecordError::WorkerPool { reason: reason.into() })
    }
}

/// A number of batches, and the frames in them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Batches.
    pub batches: u64,
    /// Frames in them.
    pub frames: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, more: Self) {
        self.batches += more.batches;
        self.frames += more.frames;
    }
}

/// Counts of a worker: `assigned` is the sum of the others, plus batches in its queue or in work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkerCounts {
    /// Batches meant for it, including lost ones.
    pub assigned: Tally,
    /// Batches that it processed.
    pub worked: Tally,
    /// Lost because its queue was full.
    pub refused: Tally,
    /// Lost although another worker's queue had room: all results waited for the oldest batch, which this worker had.
    pub out_of_window: Tally,
    /// Lost because it panicked: the batches that it had, and later batches for it alone.
    pub lost_by_panic: Tally,
}

impl WorkerCounts {
    /// Sum of all losses.
    pub fn lost(&self) -> Tally {
        let mut lost = self.refused;
        lost += self.out_of_window;
        lost += self.lost_by_panic;
        lost
    }
}

impl Sum for WorkerCounts {
    fn sum<I: Iterator<Item = Self>>(several: I) -> Self {
        several.fold(Self::default(), |mut sum, one| {
            sum.assigned += one.assigned;
            sum.worked += one.worked;
            sum.refused += one.refused;
            sum.out_of_window += one.out_of_window;
            sum.lost_by_panic += one.lost_by_panic;
            sum
        })
    }
}

/// A batch to process.
#[derive(Debug)]
pub struct Job<B> {
    /// The batch. The worker may keep it; dropping it returns its memory.
    pub batch: B,
    /// The port that delivered it.
    pub port: usize,
    /// Its number among all queued batches, from 0.
    sequence: u64,
    frames: u64,
}

/// Passes batches to worker threads. Drop it to let them process the remaining batches and end.
#[derive(Debug)]
pub struct WorkerPool<B> {
    shared: Arc<Shared<B>>,
    threads: Vec<JoinHandle<()>>,
}

impl<B: Send + 'static> WorkerPool<B> {
    /// Starts the workers. `make` runs in each worker's thread, where it can set the CPU affinity. `sink` gets the results one at
    /// a time, in the order of their batches. Workers wait while `sink` runs; it must not panic.
    ///
    /// # Errors
    /// The plan is invalid, or a thread cannot be started.
    pub fn start<W, R>(
        plan: Plan,
        make: impl Fn(usize) -> W + Send + Sync + 'static,
        sink: impl FnMut(R) + Send + 'static,
    ) -> Result<Self>
    where
        W: FnMut(Job<B>) -> R + 'static,
        R: Send + 'static,
    {
        plan.check()?;
        let results = Results { sink, oldest: 0, window: VecDeque::with_capacity(plan.most_held()) };
        let of_all = Arc::new((make, Mutex::new(results)));
        let shared = Arc::new(Shared::new(plan));
        let mut pool = Self { shared, threads: Vec::with_capacity(plan.workers) };
        for worker in 0..plan.workers {
            let (shared, of_all) = (Arc::clone(&pool.shared), Arc::clone(&of_all));
            let thread = thread::Builder::new()
                .name(format!("capbench-w{worker}"))
                .spawn(move || shared.run(worker, &of_all.0, &of_all.1))
                .map_err(|error| RecordError::WorkerPool {
                    reason: format!("the system starts no thread for worker {worker}: {error}"),
                })?;
            pool.threads.push(thread);
        }
        Ok(pool)
    }

    /// Passes a batch of a port, with this many frames, to a worker. With [`WhenFull::Wait`] it waits for room; otherwise the batch
    /// may be dropped and counted as lost.
    ///
    /// # Errors
    /// If no worker is left; the batch counts as lost.
    pub fn give(&self, port: usize, frames: u64, batch: B) -> Result<()> {
        self.shared.give(port, frames, batch)
    }

    /// Counts of each worker so far, for these ports only.
    pub fn counts_of(&self, ports: &[usize]) -> Vec<WorkerCounts> {
        let of_ports = |worker: &Worker<B>| {
            ports.iter().filter_map(|&port| worker.counts.get(port)).copied().sum::<WorkerCounts>()
        };
        self.shared.lock().workers.iter().map(of_ports).collect()
    }

    /// Entries for the ledger, for these ports only: frames lost at each worker's queue.
    pub fn losses_of(&self, ports: &[usize]) -> Vec<Loss> {
        let line = |(worker, counts): (usize, WorkerCounts)| {
            let queue = self.shared.plan.queue;
            let mut source = format!("worker {worker}: its queue of {queue} batches was full");
            for (tally, why) in [
                (counts.out_of_window, "because all results waited for its oldest batch"),
                (counts.lost_by_panic, "because it panicked"),
            ] {
                if tally.frames > 0 {
                    source.push_str(&format!("; {} of them {why}", tally.frames));
                }
            }
            let count = Some(counts.lost().frames);
            Loss { place: own_places::WORKERS, count, source: source.into() }
        };
        self.counts_of(ports).into_iter().enumerate().map(line).collect()
    }

    /// Whether the sink has got the results of all batches of this port, or never will.
    pub fn is_through(&self, port: usize) -> bool {
        self.shared.lock().is_through(port)
    }

    /// Waits until [`Self::is_through`]. Passing more batches for the port meanwhile can prolong the wait.
    pub fn wait_through(&self, port: usize) {
        let mut state = self.shared.lock();
        while !state.is_through(port) {
            state = self.shared.room.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Workers that panicked since the last call.
    pub fn take_failures(&self) -> Vec<RecordError> {
        let mut failures = Vec::new();
        for (worker, of) in self.shared.lock().workers.iter_mut().enumerate() {
            if let Some(message) = of.failure.clone().filter(|_| !of.is_failure_reported) {
                of.is_failure_reported = true;
                failures.push(RecordError::Worker { worker, message });
            }
        }
        failures
    }

    /// Lets the workers process the remaining batches, and ends them. Returns all workers that panicked.
    pub fn finish(&mut self) -> Vec<RecordError> {
        self.close();
        self.shared.lock().workers.iter_mut().for_each(|worker| worker.is_failure_reported = false);
        self.take_failures()
    }
}

impl<B> WorkerPool<B> {
    fn close(&mut self) {
        self.shared.lock().is_closed = true;
        self.shared.work.iter().for_each(Condvar::notify_all);
        for thread in self.threads.drain(..) {
            // The thread has caught and noted the panic of its worker.
            let _ = thread.join();
        }
    }
}

impl<B> Drop for WorkerPool<B> {
    fn drop(&mut self) {
        self.close();
    }
}

/// Results on their way to the sink.
struct Results<R, F> {
    sink: F,
    /// The oldest batch without a result.
    oldest: u64,
    /// From the oldest batch on: whether it is done, and its result, if there is one.
    window: VecDeque<Option<Option<R>>>,
}

impl<R, F: FnMut(R)> Results<R, F> {
    /// Accepts the result of a batch, or that there will be none. Returns the oldest batch without a result.
    fn done(&mut self, sequence: u64, result: Option<R>) -> u64 {
        let index = (sequence - self.oldest) as usize;
        while self.window.len() <= index {
            self.window.push_back(None);
        }
        self.window[index] = Some(result);
        while let Some(Some(_)) = self.window.front() {
            self.oldest += 1;
            if let Some(result) = self.window.pop_front().flatten().flatten() {
                (self.sink)(result);
            }
        }
        self.oldest
    }
}

/// State shared by all threads of a pool, behind one lock that is locked once or twice per batch.
#[derive(Debug)]
struct Shared<B> {
    plan: Plan,
    state: Mutex<State<B>>,
    /// Signals that there may be room, or that no worker is left.
    room: Condvar,
    /// Signals this worker that there is a batch, or that there will be none.
    work: Box<[Condvar]>,
}

#[derive(Debug)]
struct State<B> {
    workers: Vec<Worker<B>>,
    /// The worker that is next in turn.
    turn: usize,
    /// The number of the next batch that is queued.
    next: u64,
    /// The oldest batch without a result.
    oldest: u64,
    /// By port: the number after that of its last queued batch.
    behind: Vec<u64>,
    is_closed: bool,
}

/// A worker as other threads see it.
#[derive(Debug)]
struct Worker<B> {
    queue: VecDeque<Job<B>>,
    /// Number, port and frames of the batch that it processes.
    current: Option<(u64, usize, u64)>,
    /// By port.
    counts: Vec<WorkerCounts>,
    /// Its panic message.
    failure: Option<String>,
    is_failure_reported: bool,
}

impl<B> Worker<B> {
    fn is_alive(&self) -> bool {
        self.failure.is_none()
    }

    /// Adds a batch to one of its counts for a port.
    fn count(&mut self, port: usize, frames: u64, which: fn(&mut WorkerCounts) -> &mut Tally) {
        if self.counts.len() <= port {
            self.counts.resize(port + 1, WorkerCounts::default());
        }
        *which(&mut self.counts[port]) += Tally { batches: 1, frames };
    }

    /// The oldest batch that it has.
    fn oldest(&self) -> Option<u64> {
        self.current.map(|(sequence, ..)| sequence).or_else(|| self.queue.front().map(|job| job.sequence))
    }
}

/// Where a batch can go.
enum Choice {
    Worker(usize),
    /// To this worker when its queue has room again.
    Full(usize),
    /// To another worker once the oldest batch is done, which this worker has.
    OutOfWindow(usize),
    /// To none: all have panicked.
    Gone,
}

impl<B> State<B> {
    fn choose(&self, plan: &Plan) -> Choice {
        let in_turn = (0..plan.workers).map(|after| (self.turn + after) % plan.workers);
        let load = |&worker: &usize| {
            let Worker { queue, current, .. } = &self.workers[worker];
            queue.len() + usize::from(current.is_some())
        };
        let alive = in_turn.filter(|&worker| self.workers[worker].is_alive());
        let Some(worker) = alive.min_by_key(load) else { return Choice::Gone };
        if self.workers[worker].queue.len() >= plan.queue {
            Choice::Full(worker)
        } else if self.next - self.oldest >= plan.most_held() as u64 {
            let has_oldest = |worker: &Worker<B>| worker.oldest() == Some(self.oldest);
            // That batch may have been finished just now.
            Choice::OutOfWindow(self.workers.iter().position(has_oldest).unwrap_or(worker))
        } else {
            Choice::Worker(worker)
        }
    }

    fn is_through(&self, port: usize) -> bool {
        self.oldest >= self.behind.get(port).copied().unwrap_or(0)
    }
}

impl<B> Shared<B> {
    fn new(plan: Plan) -> Self {
        let worker = |_| Worker {
            queue: VecDeque::with_capacity(plan.queue),
            current: None,
            counts: Vec::new(),
            failure: None,
            is_failure_reported: false,
        };
        let workers = (0..plan.workers).map(worker).collect();
        let state = State { workers, turn: 0, next: 0, oldest: 0, behind: Vec::new(), is_closed: false };
        let work = (0..plan.workers).map(|_| Condvar::new()).collect();
        Self { plan, state: Mutex::new(state), room: Condvar::new(), work }
    }

    fn lock(&self) -> MutexGuard<'_, State<B>> {
        // No caller's code runs under this lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues a batch, or counts it as lost. Lost batches are dropped after the lock is released.
    fn give(&self, port: usize, frames: u64, batch: B) -> Result<()> {
        let mut state = self.lock();
        let (worker, lost): (usize, fn(&mut WorkerCounts) -> &mut Tally) = loop {
            match (state.choose(&self.plan), self.plan.when_full) {
                (Choice::Worker(worker), _) => {
                    let sequence = state.next;
                    state.next += 1;
                    state.turn = (worker + 1) % self.plan.workers;
                    if state.behind.len() <= port {
                        state.behind.resize(port + 1, 0);
                    }
                    state.behind[port] = state.next;
                    state.workers[worker].count(port, frames, |counts| &mut counts.assigned);
                    state.workers[worker].queue.push_back(Job { batch, port, sequence, frames });
                    drop(state);
                    self.work[worker].notify_one();
                    return Ok(());
                }
                (Choice::Full(worker), WhenFull::Drop) => break (worker, |counts| &mut counts.refused),
                (Choice::OutOfWindow(worker), WhenFull::Drop) => {
                    break (worker, |counts| &mut counts.out_of_window);
                }
                (Choice::Full(_) | Choice::OutOfWindow(_), WhenFull::Wait) => {
                    state = self.room.wait(state).unwrap_or_else(PoisonError::into_inner);
                }
                (Choice::Gone, _) => break (state.turn, |counts| &mut counts.lost_by_panic),
            }
        };
        state.workers[worker].count(port, frames, |counts| &mut counts.assigned);
        state.workers[worker].count(port, frames, lost);
        let is_anybody_left = state.workers.iter().any(Worker::is_alive);
        drop(state);
        drop(batch);
        if is_anybody_left {
            return Ok(());
        }
        Err(RecordError::WorkerPool { reason: "no worker is left: all have panicked".into() })
    }

    /// Processes batches until the queue is closed and empty, or the worker panics.
    fn run<W: FnMut(Job<B>) -> R, R>(
        &self,
        index: usize,
        make: &impl Fn(usize) -> W,
        results: &Mutex<Results<R, impl FnMut(R)>>,
    ) {
        let done =
            |sequence, result| results.lock().unwrap_or_else(PoisonError::into_inner).done(sequence, result);
        let all = || {
            let mut work = make(index);
            while let Some(job) = self.next(index) {
                let sequence = job.sequence;
                let result = work(job);
                let oldest = done(sequence, Some(result));
                let mut state = self.lock();
                let worker = &mut state.workers[index];
                if let Some((_, port, frames)) = worker.current.take() {
                    worker.count(port, frames, |counts| &mut counts.worked);
                }
                self.advance(state, oldest);
            }
        };
        // A panic can leave the worker inconsistent, so it is dropped. The accounts are outside of it.
        if let Err(panic) = catch_unwind(AssertUnwindSafe(all)) {
            for abandoned in self.failed(index, message_of(&*panic)) {
                let oldest = done(abandoned, None);
                self.advance(self.lock(), oldest);
            }
            // Dropping the panic payload may panic, too.
            std::mem::forget(panic);
        }
    }

    /// Waits for the next batch of a worker; `None` if there will be none.
    fn next(&self, worker: usize) -> Option<Job<B>> {
        let mut state = self.lock();
        loop {
            let Worker { queue, current, .. } = &mut state.workers[worker];
            if let Some(job) = queue.pop_front() {
                *current = Some((job.sequence, job.port, job.frames));
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

    /// Notes how far results have been delivered. Another thread may have noted newer progress before.
    fn advance(&self, mut state: MutexGuard<'_, State<B>>, oldest: u64) {
        state.oldest = state.oldest.max(oldest);
        drop(state);
        self.room.notify_all();
    }

    /// A worker has panicked: returns its batches' memory, and the numbers of these batches.
    fn failed(&self, worker: usize, message: String) -> Vec<u64> {
        let mut state = self.lock();
        let worker = &mut state.workers[worker];
        worker.failure = Some(message);
        let queue = take(&mut worker.queue);
        let queued = queue.iter().map(|job| (job.sequence, job.port, job.frames));
        let mut numbers = Vec::with_capacity(queue.len() + 1);
        for (sequence, port, frames) in worker.current.take().into_iter().chain(queued) {
            numbers.push(sequence);
            worker.count(port, frames, |counts| &mut counts.lost_by_panic);
        }
        drop(state);
        drop(queue);
        self.room.notify_all();
        numbers
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(String::from);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

#[cfg(test)]
mod tests;
