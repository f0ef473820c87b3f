//! A thread in a namespace that executes orders one after the other and reports each outcome.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crate::{LabError, Result};
use capbench_host::bed::Side;

/// The thread. Dropping it ends the thread after its current order.
#[derive(Debug)]
pub(super) struct Worker<Order, Done> {
    orders: Option<SyncSender<Order>>,
    done: Receiver<Done>,
    /// Entering the namespace can fail, and so can the work.
    thread: Option<JoinHandle<capbench_host::Result<Result<()>>>>,
}

impl<Order: Send + 'static, Done: Send + 'static> Worker<Order, Done> {
    /// Starts the thread; `work` ends when there are no more orders.
    pub(super) fn start(
        side: &Side,
        name: &str,
        work: impl FnOnce(Receiver<Order>, SyncSender<Done>) -> Result<()> + Send + 'static,
    ) -> Self {
        let (orders, on_order) = sync_channel(1);
        let (say_done, done) = sync_channel(1);
        let thread = side.spawn(name, move || work(on_order, say_done));
        Self { orders: Some(orders), done, thread: Some(thread) }
    }

    /// Sends an order. If the thread has ended, waiting for it returns the reason.
    pub(super) fn order(&self, order: Order) {
        if let Some(orders) = &self.orders {
            let _ = orders.send(order);
        }
    }

    /// Sends no more orders: the thread ends after its current one. Dropping this waits for that.
    pub(super) fn close(&mut self) {
        self.orders = None;
    }

    /// Waits for the outcome of an order.
    ///
    /// # Errors
    /// Why the thread ended instead.
    pub(super) fn done(&mut self) -> Result<Done> {
        match self.done.recv() {
            Ok(done) => Ok(done),
            Err(_) => Err(self.joined().err().unwrap_or_else(gone)),
        }
    }

    /// Why the thread ended.
    pub(super) fn failure(&mut self) -> LabError {
        self.joined().err().unwrap_or_else(gone)
    }

    /// Waits for the end of the thread and propagates its panic.
    fn joined(&mut self) -> Result<()> {
        self.orders = None;
        match self.thread.take() {
            Some(thread) => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))?,
            None => Ok(()),
        }
    }
}

impl<Order, Done> Drop for Worker<Order, Done> {
    fn drop(&mut self) {
        self.orders = None;
        // The thread's resources must be closed before others are opened; its result no longer matters.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn gone() -> LabError {
    LabError::Unsupported { what: "the trial".into(), reason: "one of its threads ended early".into() }
}
