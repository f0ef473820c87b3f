//! The interfaces on which somebody captures.

use std::path::Path;

use capbench_host::Result;
use capbench_host::links::Links;
use capbench_sys::host::NetNamespace;

use crate::sockets::{self, Socket};

/// The interfaces of the calling thread's network namespace on which a socket captures now, in the kernel's order. A socket on
/// all interfaces counts for each one that is up.
///
/// # Errors
/// If the kernel does not list the interfaces.
pub fn interfaces() -> Result<Vec<String>> {
    let links = Links::of_current_namespace()?.all()?;
    let Some(first) = links.first() else { return Ok(Vec::new()) };
    let namespace = NetNamespace::current()?.inode();
    let source = sockets::Source::new(Path::new(sockets::records::KERNEL_TYPES), namespace, first.index);
    let sockets = source.read();
    let here: Vec<_> =
        sockets.all().filter(|socket| socket.receives && socket.namespace == namespace).collect();
    let is_captured = |name: &str, up: bool| here.iter().any(|socket| captures(socket, name, up));
    Ok(links.into_iter().filter(|link| is_captured(&link.name, link.up)).map(|link| link.name).collect())
}

/// Whether a socket of this namespace captures on an interface.
fn captures(socket: &Socket, name: &str, up: bool) -> bool {
    socket.interface.as_deref() == Some(name) || socket.every_interface && up
}

#[cfg(test)]
mod tests {
    use super::{Socket, captures};

    #[test]
    fn a_socket_captures_on_its_interface_or_on_all_that_are_up() {
        let on_eth0 = Socket { interface: Some("eth0".into()), ..Socket::default() };
        let on_all = Socket { every_interface: true, ..Socket::default() };
        let of = |socket| {
            [("eth0", false), ("eth1", true), ("eth1", false)].map(|(name, up)| captures(socket, name, up))
        };
        assert_eq!((of(&on_eth0), of(&on_all)), ([true, false, false], [false, true, false]));
    }
}
