//! Waiting for frames: spin for a bounded time, then sleep in poll(2), and count both.
//!
//! A ring pays off only while it is never empty. At rates just below its limit, a reader that polls at once pays for a sleep
//! and a wake-up per frame. Spinning first avoids that.

use std::time::{Duration, Instant};

use capbench_sys::Result;
use capbench_sys::packet::PacketSocket;

use capbench_model::counters::WaitCounts;

/// Waits for a ring.
#[derive(Debug)]
pub(crate) struct Waiter {
    spin: Duration,
    pub(crate) counts: WaitCounts,
}

impl Waiter {
    pub(crate) fn new(spin: Duration) -> Self {
        Self { spin, counts: WaitCounts::default() }
    }

    /// Spins as long as the user allows. Returns `true` as soon as `ready` does.
    #[inline]
    pub(crate) fn spin(&mut self, mut ready: impl FnMut() -> bool) -> bool {
        if self.spin.is_zero() {
            return false;
        }
        let start = Instant::now();
        loop {
            if ready() {
                self.counts.spun += 1;
                return true;
            }
            if start.elapsed() >= self.spin {
                return false;
            }
            std::hint::spin_loop();
        }
    }

    /// Spins, then polls. Returns whether there is something to read.
    pub(crate) fn wait(
        &mut self,
        socket: &PacketSocket,
        timeout: Duration,
        mut ready: impl FnMut() -> bool,
    ) -> Result<bool> {
        if self.spin(&mut ready) {
            return Ok(true);
        }
        self.sleep(|| socket.wait_readable(timeout).map(|_| ready()))
    }

    /// Counts a sleep. `sleep` returns whether there is something to read.
    pub(crate) fn sleep(&mut self, sleep: impl FnOnce() -> Result<bool>) -> Result<bool> {
        self.counts.waits += 1;
        let found = sleep()?;
        self.counts.empty += u64::from(!found);
        Ok(found)
    }
}
