//! One controller at a time uses an interface.

use std::time::{Duration, Instant};

use capbench_host::bed::PortLock;
use capbench_sys::host::InterfaceIndex;

/// Waits until no process holds the interface, up to `patience`; whether that is so.
pub(super) fn is_free_within(
    interface: InterfaceIndex,
    patience: Duration,
    gives_up: impl Fn() -> bool,
) -> bool {
    const TICK: Duration = Duration::from_millis(20);
    let until = Instant::now() + patience;
    while !PortLock::is_free(interface) {
        if Instant::now() >= until || gives_up() {
            return false;
        }
        std::thread::sleep(TICK);
    }
    true
}
