//! What a run knows of a host: measured or started once, and used by each side of a trial that is on the host.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use capbench_host::accounts::irqtime::IrqAccounting;
use capbench_host::bed::Side;
use capbench_model::statement::Statement;

use super::calibration::Calibration;
use super::pace::Paces;
use super::tracing::{End, Tracing};
use crate::Result;
use crate::error::TracerNotAsked;

/// One host.
#[derive(Clone, Debug)]
pub struct Host {
    /// How its kernel accounts for interrupts.
    pub(super) irq: IrqAccounting,
    /// The tracer.
    pub(super) tracing: Tracing,
    /// Whether the tracer may cost what it costs.
    pub(super) traces_always: bool,
    /// The speed of the wait loop.
    pub(super) calibration: Calibration,
    /// The speed of CPUs around a trial.
    pub(super) paces: Paces,
    /// Set when the user wants to stop.
    pub(super) stop: Arc<AtomicBool>,
}

impl Host {
    /// A host without a tracer, of which nothing was measured yet.
    pub fn new(irq: IrqAccounting, stop: Arc<AtomicBool>) -> Self {
        Self {
            irq,
            tracing: Tracing::none(&TracerNotAsked.to_string()),
            traces_always: false,
            calibration: Calibration::default(),
            paces: Paces::default(),
            stop,
        }
    }

    /// Adds a tracer. It reads the description of the kernel's types (BTF) from this file, or the kernel's own.
    pub fn trace(&mut self, types: Option<&Path>) {
        self.tracing = Tracing::NotYet(types.map(Into::into));
    }

    /// Whether there is a tracer, as text for the results.
    pub fn statement(&self) -> Option<Statement> {
        self.tracing.statement()
    }

    /// Makes the tracer watch the sides of a link that are on this host.
    ///
    /// # Errors
    /// The tracer cannot watch them. A tracer that cannot start is no error: the account says that there is none.
    pub fn watch(&mut self, sides: &[(End, &Side)]) -> Result<()> {
        self.tracing.watch(sides)
    }

    /// Whether the user wants to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
