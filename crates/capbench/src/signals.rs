//! Requests by signal to a running capture, other than its end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use anyhow::{Context, Result};
use signal_hook::consts::{SIGUSR1, SIGUSR2};

/// `SIGUSR1` and `SIGUSR2`, which then no longer end the process.
#[derive(Debug)]
pub struct Signals {
    print: Arc<AtomicBool>,
    flush: Arc<AtomicBool>,
}

impl Signals {
    /// Installs the handlers.
    pub fn install() -> Result<Self> {
        let signals = Self { print: Arc::default(), flush: Arc::default() };
        for (signal, flag) in [(SIGUSR1, &signals.print), (SIGUSR2, &signals.flush)] {
            signal_hook::flag::register(signal, Arc::clone(flag))
                .with_context(|| format!("cannot handle signal {signal}"))?;
        }
        Ok(signals)
    }

    /// Whether a signal asked for the statistics since the last call.
    pub fn is_print_wanted(&self) -> bool {
        self.print.load(Relaxed) && self.print.swap(false, Relaxed)
    }

    /// Whether a signal asked to flush captured packets to the readers since the last call.
    pub fn is_flush_wanted(&self) -> bool {
        self.flush.load(Relaxed) && self.flush.swap(false, Relaxed)
    }
}
