//! One run at a time uses an interface, from before it changes a setting until the setting is restored.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::InterfaceIndex;

use super::Side;
use crate::{HostError, Result};

/// How long a lock may be in use before it is refused. A process that starts another one (fork(2)) shares its descriptors with it
/// until that runs its program: a lock that was given back in this time is free a little later, on a busy host after some
/// milliseconds.
const PATIENCE: Duration = Duration::from_secs(1);

/// How often that is looked at.
const TICK: Duration = Duration::from_millis(5);

/// Holds an interface. The lock is an abstract socket (unix(7)): it exists in one network namespace, as the interface does, and
/// ends with the process, however it ends.
#[derive(Debug)]
pub struct PortLock {
    _socket: UnixListener,
}

impl PortLock {
    /// Takes the interface. Call it inside its network namespace. If it is in use, it is refused after a second.
    ///
    /// # Errors
    /// Another process has it, or the guardian of one that was killed.
    pub fn take(side: &Side) -> Result<Self> {
        within(PATIENCE, || take(side.index())).map_err(|error| in_use(side, &error))
    }

    /// Whether no process has the interface.
    pub fn is_free(interface: InterfaceIndex) -> bool {
        take(interface).is_ok()
    }
}

fn take(interface: InterfaceIndex) -> io::Result<PortLock> {
    let lock = PortLock { _socket: bind(format!("capbench/{interface}"))? };
    guard(interface).map(|_| lock)
}

/// What a guardian holds until it has restored a setting of the interface: it outlives the process that has the interface.
pub(super) fn guarded(side: &Side) -> Result<UnixListener> {
    within(PATIENCE, || guard(side.index())).map_err(|error| in_use(side, &error))
}

fn guard(interface: InterfaceIndex) -> io::Result<UnixListener> {
    bind(format!("capbench/{interface}/guard"))
}

fn bind(name: String) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
}

/// Takes a lock, again and again while it is in use, up to `patience`.
fn within<T>(patience: Duration, take: impl Fn() -> io::Result<T>) -> io::Result<T> {
    let until = Instant::now() + patience;
    loop {
        match take() {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && Instant::now() < until => {
                thread::sleep(TICK);
            }
            outcome => return outcome,
        }
    }
}

fn in_use(side: &Side, error: &io::Error) -> HostError {
    HostError::Interface {
        interface: side.name().into(),
        reason: match error.kind() {
            io::ErrorKind::AddrInUse => "another controller uses it; wait until its run has ended".into(),
            _ => format!("cannot be locked: {error}"),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn a_lock_that_a_starting_process_still_shares_is_waited_for() {
        let name = || format!("capbench/test/{}", std::process::id());
        let lock = bind(name()).unwrap();
        // The copy is what a process has between fork and exec.
        let copy = lock.try_clone().unwrap();
        drop(lock);
        let in_use = within(Duration::ZERO, || bind(name())).unwrap_err();
        assert_eq!(in_use.kind(), io::ErrorKind::AddrInUse);
        let (tried, was_tried) = mpsc::channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                was_tried.recv().unwrap();
                drop(copy);
            });
            let taken = within(Duration::from_secs(60), || {
                let outcome = bind(name());
                let _ = tried.send(());
                outcome
            });
            taken.unwrap();
        });
    }
}
