//! One controller at a time uses an interface.

use std::io;
use std::time::{Duration, Instant};

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use capbench_host::bed::Side;
use capbench_sys::host::InterfaceIndex;

use crate::message::{Kind, Refusal};

/// Holds an interface. The lock is an abstract socket (unix(7)): it exists in one network namespace, as the interface does, and
/// ends with the process, however it ends.
#[derive(Debug)]
pub(super) struct PortLock {
    _socket: UnixListener,
}

impl PortLock {
    /// Takes the interface. Call it inside its network namespace.
    ///
    /// # Errors
    /// Another process has it.
    pub(super) fn take(side: &Side) -> Result<Self, Refusal> {
        bind(side.index()).map(|socket| Self { _socket: socket }).map_err(|error| {
            let interface = side.name();
            let message = match error.kind() {
                io::ErrorKind::AddrInUse => {
                    format!("interface {interface}: another controller uses it; wait until its run has ended")
                }
                _ => format!("interface {interface}: cannot be locked: {error}"),
            };
            Refusal::new(Kind::Failed, message)
        })
    }
}

/// Waits until no process holds the interface, up to `patience`; whether that is so.
pub(super) fn is_free_within(
    interface: InterfaceIndex,
    patience: Duration,
    gives_up: impl Fn() -> bool,
) -> bool {
    const TICK: Duration = Duration::from_millis(20);
    let until = Instant::now() + patience;
    while bind(interface).is_err() {
        if Instant::now() >= until || gives_up() {
            return false;
        }
        std::thread::sleep(TICK);
    }
    true
}

fn bind(interface: InterfaceIndex) -> io::Result<UnixListener> {
    let address = SocketAddr::from_abstract_name(format!("capbench/{interface}"))?;
    UnixListener::bind_addr(&address)
}
