//! One run at a time uses an interface.

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
    /// Another process has it.
    pub fn take(side: &Side) -> Result<Self> {
        bind(side.index()).map(|socket| Self { _socket: socket }).map_err(|error| HostError::Interface {
            interface: side.name().into(),
            reason: match error.kind() {
                io::ErrorKind::AddrInUse => "another controller uses it; wait until its run has ended".into(),
                _ => format!("cannot be locked: {error}"),
            },
        })
    }

    /// Whether no process has the interface.
    pub fn is_free(interface: InterfaceIndex) -> bool {
        bind(interface).is_ok()
    }
}

fn bind(interface: InterfaceIndex) -> io::Result<UnixListener> {
    let address = SocketAddr::from_abstract_name(format!("capbench/{interface}"))?;
    UnixListener::bind_addr(&address)
}
