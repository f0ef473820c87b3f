//! The loop of a worker thread.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::order::Stage;
use super::queues::Shared;

/// A batch to process.
#[derive(Debug)]
pub struct Job<B> {
    /// The batch. The worker may keep it; dropping it returns its memory.
    pub batch: B,
    /// The port that delivered it.
    pub port: usize,
    /// Its number among all queued batches, from 0.
    pub sequence: u64,
}

/// Processes batches in its thread. A closure is a worker without a summary.
pub trait Worker<B> {
    /// The result per batch.
    type Output;
    /// The result at the end.
    type Summary;

    /// Processes a batch.
    fn work(&mut self, job: Job<B>) -> Self::Output;

    /// Called after the last batch.
    fn finish(self) -> Self::Summary;
}

impl<B, R, F: FnMut(Job<B>) -> R> Worker<B> for F {
    type Output = R;
    type Summary = ();

    fn work(&mut self, job: Job<B>) -> R {
        self(job)
    }

    fn finish(self) {}
}

/// Processes batches until the queue is closed and empty. Returns the summary, unless the worker panicked.
pub(super) fn run<B, W: Worker<B>, F: FnMut(u64, W::Output)>(
    shared: &Shared<B>,
    stage: &Stage<W::Output, F>,
    index: usize,
    make: &(impl Fn(usize) -> W + ?Sized),
) -> Option<W::Summary> {
    let all = || {
        let mut worker = make(index);
        while let Some(job) = shared.next(index) {
            let sequence = job.sequence;
            let output = worker.work(job);
            let progress = stage.done(sequence, output);
            shared.done(index, progress);
        }
        worker.finish()
    };
    // A panic can leave the worker inconsistent, so it is dropped. The accounts are outside of it.
    match catch_unwind(AssertUnwindSafe(all)) {
        Ok(summary) => Some(summary),
        Err(panic) => {
            for abandoned in shared.failed(index, message_of(&*panic)) {
                // If the sink panics here, it has panicked before. It is not called any more, so this happens once.
                if let Ok(progress) = catch_unwind(AssertUnwindSafe(|| stage.gone(abandoned))) {
                    shared.came(progress);
                }
            }
            // Dropping the panic payload may panic, too.
            std::mem::forget(panic);
            None
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(String::from);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
