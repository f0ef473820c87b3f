//! Signals to a running command: to end it, to print its statistics, to flush its packets.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use capbench_agent::client::Interrupt;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXFSZ};
use signal_hook::iterator;

/// Signals within this time after the first count as the same request. timeout(1) signals its command and its whole group, and
/// a shell's Ctrl-C can reach a process on both ways. Nobody presses Ctrl-C twice that fast on purpose.
const SAME: Duration = Duration::from_millis(300);

/// SIGINT, SIGTERM and SIGHUP: the first ends the command and saves its results; a later second one ends the process at once.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    wanted: Arc<AtomicBool>,
    signal: Arc<AtomicUsize>,
    interrupt: Interrupt,
}

impl Stop {
    /// Installs the handlers.
    pub fn install() -> Result<Self> {
        Self::calling(|| ())
    }

    /// Installs the handlers; the first signal has a thread make this call, too.
    pub fn calling(first: impl FnOnce() + Send + 'static) -> Result<Self> {
        let stop = Self { wanted: Arc::default(), signal: Arc::default(), interrupt: Interrupt::default() };
        let was_told = Arc::new(AtomicBool::new(false));
        // Beyond the file size limit, a write then fails instead of ending the process (setrlimit(2)).
        signal_hook::flag::register(SIGXFSZ, Arc::default()).context("cannot handle SIGXFSZ")?;
        let wanted = [Some(SIGINT), Some(SIGTERM), (!is_ignored(SIGHUP)).then_some(SIGHUP)];
        let wanted: Vec<_> = wanted.into_iter().flatten().collect();
        for &signal in &wanted {
            let attempt = || format!("cannot handle signal {signal}");
            signal_hook::flag::register_conditional_shutdown(signal, 128 + signal, Arc::clone(&was_told))
                .with_context(attempt)?;
            signal_hook::flag::register_usize(signal, Arc::clone(&stop.signal), signal as usize)
                .with_context(attempt)?;
            signal_hook::flag::register(signal, Arc::clone(&stop.wanted)).with_context(attempt)?;
        }
        let interrupt = stop.interrupt();
        let mut signals = iterator::Signals::new(&wanted).context("cannot wait for signals")?;
        thread::Builder::new()
            .name("capbench-stop".into())
            .spawn(move || {
                if signals.forever().next().is_some() {
                    interrupt.stop();
                    first();
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

    /// Reaches agents that run for this process.
    pub fn interrupt(&self) -> Interrupt {
        self.interrupt.clone()
    }

    /// Whether a signal arrived.
    pub fn is_wanted(&self) -> bool {
        self.wanted.load(Ordering::Relaxed)
    }

    /// The signal's number; 0 if none arrived.
    pub fn signal(&self) -> u8 {
        self.signal.load(Ordering::Relaxed) as u8
    }
}

/// Whether the parent made the process ignore a signal, as nohup(1) does; `SigIgn` of proc_pid_status(5).
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask =
        status.lines().find_map(|line| u64::from_str_radix(line.strip_prefix("SigIgn:")?.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

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
        self.print.load(Ordering::Relaxed) && self.print.swap(false, Ordering::Relaxed)
    }

    /// Whether a signal asked to flush captured packets to the readers since the last call.
    pub fn is_flush_wanted(&self) -> bool {
        self.flush.load(Ordering::Relaxed) && self.flush.swap(false, Ordering::Relaxed)
    }
}
