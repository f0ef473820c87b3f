//! SIGINT and SIGTERM: the first asks the command to finish what it saves, the second ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};

/// Whether the user wants to stop, and by which signal.
#[derive(Clone, Debug)]
pub struct Stop {
    wanted: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
}

impl Stop {
    /// Installs the handlers.
    pub fn install() -> anyhow::Result<Self> {
        let stop = Self { wanted: Arc::new(AtomicBool::new(false)), signal: Arc::new(AtomicUsize::new(0)) };
        for signal in [SIGINT, SIGTERM] {
            let attempt = || format!("cannot handle signal {signal}");
            // In this order: the second signal finds the flag set by the first.
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&stop.wanted))
                .with_context(attempt)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)
                .with_context(attempt)?;
            signal_hook::flag::register(signal, Arc::clone(&stop.wanted)).with_context(attempt)?;
        }
        Ok(stop)
    }

    /// The flag for loops that end when it becomes true.
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.wanted)
    }

    /// Whether a signal came.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The signal's number; 0 when none came.
    pub fn signal(&self) -> u8 {
        self.signal.load(Ordering::Relaxed) as u8
    }
}
