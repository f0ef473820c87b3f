//! What a run knows of a host: measured or started once, and used by each side of a trial that is on the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capbench_host::accounts::irqtime::IrqAccounting;

use super::calibration::Calibration;
use super::pace::Paces;
use super::tracing::Tracing;

/// One host.
#[derive(Clone, Debug)]
pub(super) struct Host {
    /// How its kernel accounts for interrupts.
    pub(super) irq: IrqAccounting,
    /// The tracer.
    pub(super) tracing: Tracing,
    /// The speed of the wait loop.
    pub(super) calibration: Calibration,
    /// The speed of CPUs around a trial.
    pub(super) paces: Paces,
    /// Set when the user wants to stop.
    pub(super) stop: Arc<AtomicBool>,
}

impl Host {
    /// A host without a tracer, of which nothing was measured yet.
    pub(super) fn new(irq: IrqAccounting, stop: Arc<AtomicBool>) -> Self {
        Self {
            irq,
            tracing: Tracing::none("it was not asked for"),
            calibration: Calibration::default(),
            paces: Paces::default(),
            stop,
        }
    }

    /// Whether the user wants to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
