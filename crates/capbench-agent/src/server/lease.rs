//! Ends an agent whose controller does not read its answer, or whose call takes longer than what was asked for.
//!
//! Its thread sleeps until then. It wakes when a lease is renewed: before a trial sends, and never while it does.

use std::io;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use capbench_sys::host::process::{self, ProcessId, Signal};

/// What to do when a lease has ended.
pub type AtEnd = fn();

/// A lease. Dropping it ends the thread.
#[derive(Debug)]
pub(super) struct Lease {
    /// `None`: it is being dropped.
    renewals: Option<Sender<Duration>>,
    watch: Option<JoinHandle<()>>,
}

impl Lease {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system cannot start a thread.
    pub(super) fn start(at_end: AtEnd) -> io::Result<Self> {
        let (sender, renewals) = channel::<Duration>();
        let watch = move || {
            let mut until: Option<Instant> = None;
            loop {
                let renewed = match until {
                    None => renewals.recv().map_err(|_| RecvTimeoutError::Disconnected),
                    Some(end) => renewals.recv_timeout(end.saturating_duration_since(Instant::now())),
                };
                match renewed {
                    // A lease that the clock cannot express does not end.
                    Ok(within) => until = Instant::now().checked_add(within),
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => return at_end(),
                }
            }
        };
        let watch = std::thread::Builder::new().name("capbench-lease".into()).spawn(watch)?;
        Ok(Self { renewals: Some(sender), watch: Some(watch) })
    }

    /// The lease ends this long after now, and no longer as before.
    pub(super) fn renew(&self, within: Duration) {
        // The thread has ended only if the lease has.
        let _ = self.renewals.as_ref().map(|renewals| renewals.send(within));
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.renewals = None;
        let _ = self.watch.take().map(JoinHandle::join);
    }
}

/// Ends this process as `kill -9` does: guardians restore the settings of interfaces, and nothing waits for anybody.
pub fn kill_own_process() {
    if let Some(own) = ProcessId::new(std::process::id()) {
        let _ = process::signal_process(own, Signal::Kill);
    }
    // The first process of a namespace ignores its own signals.
    std::process::exit(1);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread::sleep;

    use super::*;

    #[test]
    fn a_lease_ends_unless_it_is_renewed_or_dropped() {
        static ENDED: AtomicUsize = AtomicUsize::new(0);
        let count: AtEnd = || _ = ENDED.fetch_add(1, Ordering::SeqCst);
        let (short, long) = (Duration::from_millis(20), Duration::from_secs(3600));
        let renewed = Lease::start(count).unwrap();
        renewed.renew(short);
        renewed.renew(long);
        let dropped = Lease::start(count).unwrap();
        dropped.renew(Duration::from_millis(200));
        drop(dropped);
        sleep(Duration::from_millis(400));
        assert_eq!(ENDED.load(Ordering::SeqCst), 0);
        renewed.renew(short);
        let begun = Instant::now();
        while ENDED.load(Ordering::SeqCst) == 0 {
            assert!(begun.elapsed() < Duration::from_secs(60));
            sleep(short);
        }
    }
}
