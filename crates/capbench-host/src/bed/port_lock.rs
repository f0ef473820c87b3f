//! One run at a time uses an interface, from before it changes a setting until the setting is restored.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use capbench_sys::host::InterfaceIndex;

use super::Side;
use crate::{HostError, Result};

/// Holds an interface. The lock is an abstract socket (unix(7)): it exists in one network namespace, as the interface does, and
/// ends with the process, however it ends.
#[derive(Debug)]
pub struct PortLock {
    _socket: UnixListener,
}

impl PortLock {
    /// Takes the interface. Call it inside its network namespace.
    ///
    /// # Errors
    /// Another process has it, or the guardian of one that was killed.
    pub fn take(side: &Side) -> Result<Self> {
        take(side.index()).map_err(|error| in_use(side, &error))
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
    guard(side.index()).map_err(|error| in_use(side, &error))
}

fn guard(interface: InterfaceIndex) -> io::Result<UnixListener> {
    bind(format!("capbench/{interface}/guard"))
}

fn bind(name: String) -> io::Result<UnixListener> {
    UnixListener::bind_addr(&SocketAddr::from_abstract_name(name)?)
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
