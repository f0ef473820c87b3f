//! What a worker's thread does.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::order::Stage;
use super::queues::Shared;

/// A batch to be worked on.
#[derive(Debug)]
pub struct Job<B> {
    /// The batch. The worker may keep it, and drops it when it is done with it.
    pub batch: B,
    /// The port that it came from.
    pub port: usize,
    /// Its number among all batches that were queued, from 0 on.
    pub sequence: u64,
}

/// Works on batches in a thread of its own. A closure does, too, which leaves nothing in the end.
pub trait Worker<B> {
    /// The result of a batch.
    type Output;
    /// What there is to say in the end.
    type Summary;

    /// Works on a batch.
    fn work(&mut self, job: Job<B>) -> Self::Output;

    /// The end: there are no more batches.
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

/// Works until the queue is closed and empty. What it leaves, unless it panicked.
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
    // What a panic leaves half done is dropped with the worker; the accounts are kept outside of it.
    match catch_unwind(AssertUnwindSafe(all)) {
        Ok(summary) => Some(summary),
        Err(panic) => {
            for abandoned in shared.failed(index, message_of(&*panic)) {
                // A sink that panics here has panicked before: it gets nothing any more, so that this cannot happen twice.
                if let Ok(progress) = catch_unwind(AssertUnwindSafe(|| stage.gone(abandoned))) {
                    shared.came(progress);
                }
            }
            // The panic's own drop may panic.
            std::mem::forget(panic);
            None
        }
    }
}

fn message_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied().map(String::from);
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}
