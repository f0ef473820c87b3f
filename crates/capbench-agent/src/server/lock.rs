//! One controller at a time uses an interface.

use std::io;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};

use capbench_host::bed::Side;

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
        let name = format!("capbench/{}", side.index());
        let bound =
            SocketAddr::from_abstract_name(name).and_then(|address| UnixListener::bind_addr(&address));
        bound.map(|socket| Self { _socket: socket }).map_err(|error| {
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
