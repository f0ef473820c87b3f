//! The interfaces on which somebody captures.

use std::path::Path;

use capbench_host::links::Links;
use capbench_host::{HostError, Result};
use capbench_sys::host::NetNamespace;

use crate::sockets::records::KERNEL_TYPES;
use crate::sockets::{Socket, Source};

/// The interfaces of the calling thread's network namespace on which a socket captures now, in the kernel's order. A socket on
/// all interfaces counts for each one that is up.
///
/// # Errors
/// If the kernel does not list the interfaces.
pub fn interfaces() -> Result<Vec<String>> {
    let links = Links::of_current_namespace()?;
    let (source, namespace) = source(&links, Path::new(KERNEL_TYPES))?;
    on_which(&links, source.read().all(), namespace)
}

/// The sockets of the host, seen from the first interface of a network namespace, and the namespace.
pub(super) fn source(links: &Links, types: &Path) -> Result<(Source, u64)> {
    let namespace = NetNamespace::current()?.inode();
    // Every namespace has its loopback interface.
    let missing = || HostError::NoInterface { interface: "lo".into() };
    let first = links.all()?.into_iter().next().ok_or_else(missing)?;
    Ok((Source::new(types, namespace, first.index), namespace))
}

/// The interfaces on which one of these sockets captures.
pub(super) fn on_which<'s>(
    links: &Links,
    sockets: impl Iterator<Item = &'s Socket>,
    namespace: u64,
) -> Result<Vec<String>> {
    let here: Vec<_> = sockets.filter(|socket| socket.receives && socket.namespace == namespace).collect();
    let is_captured = |name: &str, up: bool| here.iter().any(|socket| captures(socket, name, up));
    let links = links.all()?.into_iter();
    Ok(links.filter(|link| is_captured(&link.name, link.up)).map(|link| link.name).collect())
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
