//! SIGINT and SIGTERM: the first asks the command to finish what it saves, a second one a moment later ends the process at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Context;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;

/// For how long after the first signal others say the same again: timeout(1) sends one to its command and one to its whole group,
/// and a shell's Ctrl-C can reach a process by both ways, too. Nobody presses it twice in that time and means more by it.
const SAME: Duration = Duration::from_millis(300);

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
        let was_told = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            let attempt = || format!("cannot handle signal {signal}");
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&was_told))
                .with_context(attempt)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)
                .with_context(attempt)?;
            signal_hook::flag::register(signal, Arc::clone(&stop.wanted)).with_context(attempt)?;
        }
        let mut signals = Signals::new([SIGINT, SIGTERM]).context("cannot wait for signals")?;
        thread::Builder::new()
            .name("capbench-stop".into())
            .spawn(move || {
                if signals.forever().next().is_some() {
                    thread::sleep(SAME);
                    was_told.store(true, Ordering::Relaxed);
                }
            })
            .context("cannot start the thread that waits for signals")?;
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
