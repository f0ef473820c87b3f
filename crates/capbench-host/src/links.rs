//! Interfaces, over rtnetlink(7): creates, configures, reads and deletes them.
//!
//! A [`Links`] belongs to the network namespace in which it was opened and works from any thread. netlink-packet-route builds
//! the requests. This module parses the answers attribute by attribute, so that an attribute that a newer kernel adds or
//! changes cannot make a whole answer unreadable.

pub mod exchange;
pub mod message;
mod pause;
mod stats;
mod traffic_control;

use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Mutex, PoisonError};

use capbench_sys::host::{InterfaceIndex, NetNamespace};
use netlink_packet_core::{NLM_F_CREATE, NLM_F_EXCL};
use netlink_packet_route::link::{
    InfoData, InfoKind, InfoVeth, LinkAttribute, LinkFlags, LinkInfo, LinkMessage,
};
use netlink_packet_route::nsid::{NsidAttribute, NsidMessage};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};

use crate::{HostError, Result};
pub use capbench_sys::bpf::XdpAttachment;
use exchange::Exchange;
pub use message::{Link, Tie};
pub use pause::{PauseCounts, pause_counts};
pub use stats::{LinkDeltas, LinkStats};

/// A connection to the kernel for the interfaces of one network namespace.
#[derive(Debug)]
pub struct Links {
    exchange: Mutex<Exchange>,
}

/// A request for a veth pair (veth(4)).
#[derive(Debug, Clone, Copy)]
pub struct PairRequest<'request> {
    /// Name of the end in the namespace of the [`Links`], up to 15 bytes.
    pub name: &'request str,
    /// Name of the other end.
    pub peer_name: &'request str,
    /// Namespace of the other end.
    pub peer_namespace: &'request NetNamespace,
    /// Ethernet address of this end.
    pub mac: [u8; 6],
    /// Ethernet address of the other end.
    pub peer_mac: [u8; 6],
    /// MTU of both ends in bytes, without the Ethernet header.
    pub mtu: u32,
    /// Transmit and receive queues of both ends.
    pub queues: u32,
}

impl Links {
    /// A connection for the calling thread's current network namespace; it stays with that namespace.
    pub fn of_current_namespace() -> Result<Self> {
        let exchange = Exchange::open().map_err(|source| netlink_error("(all)", "ask the kernel", source))?;
        Ok(Self { exchange: Mutex::new(exchange) })
    }

    /// Makes a veth pair; both ends are down.
    pub fn create_pair(&self, pair: &PairRequest<'_>) -> Result<()> {
        let end = |name: &str, mac: [u8; 6]| {
            let mut message = LinkMessage::default();
            message.attributes.push(LinkAttribute::IfName(name.into()));
            message.attributes.push(LinkAttribute::Mtu(pair.mtu));
            message.attributes.push(LinkAttribute::NumTxQueues(pair.queues));
            message.attributes.push(LinkAttribute::NumRxQueues(pair.queues));
            message.attributes.push(LinkAttribute::Address(mac.to_vec()));
            message
        };
        let mut peer = end(pair.peer_name, pair.peer_mac);
        peer.attributes.push(LinkAttribute::NetNsFd(pair.peer_namespace.as_fd().as_raw_fd()));
        let mut message = end(pair.name, pair.mac);
        message.attributes.push(LinkAttribute::LinkInfo(vec![
            LinkInfo::Kind(InfoKind::Veth),
            LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(peer))),
        ]));
        let attempt = format!("make a veth pair with MTU {}", pair.mtu);
        self.change(pair.name, &attempt, RouteNetlinkMessage::NewLink(message), NLM_F_CREATE | NLM_F_EXCL)
    }

    /// Sets the interface up, without ARP.
    pub fn set_up_without_arp(&self, name: &str) -> Result<()> {
        let mut message = named(name);
        message.header.flags = LinkFlags::Up | LinkFlags::Noarp;
        message.header.change_mask = LinkFlags::Up | LinkFlags::Noarp;
        self.change(name, "set it up", RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Sets the interface up or down.
    pub fn set_up(&self, name: &str, up: bool) -> Result<()> {
        let mut message = named(name);
        message.header.flags = if up { LinkFlags::Up } else { LinkFlags::empty() };
        message.header.change_mask = LinkFlags::Up;
        let attempt = if up { "set it up" } else { "set it down" };
        self.change(name, attempt, RouteNetlinkMessage::SetLink(message), 0)
    }

    /// Deletes the interface, and the peer of a veth.
    pub fn delete(&self, name: &str) -> Result<()> {
        self.change(name, "delete it", RouteNetlinkMessage::DelLink(named(name)), 0)
    }

    /// The interface named `name`, with its current counters.
    ///
    /// # Errors
    /// [`HostError::NoInterface`] if there is none.
    pub fn by_name(&self, name: &str) -> Result<Link> {
        self.link(named(name), name)
    }

    /// The interface with the number `index`, with its current counters.
    pub fn by_index(&self, index: InterfaceIndex) -> Result<Link> {
        let mut message = LinkMessage::default();
        message.header.index = index.number();
        self.link(message, &format!("number {index}"))
    }

    /// Every interface of the namespace, with its current counters.
    pub fn all(&self) -> Result<Vec<Link>> {
        let answers = self
            .dump(RouteNetlinkMessage::GetLink(LinkMessage::default()))
            .map_err(|source| netlink_error("(all)", "list them", source))?;
        Ok(answers.iter().filter_map(message::link).collect())
    }

    /// The other end of a tie in any namespace, with its current counters.
    pub fn tied(&self, tie: Tie) -> Result<Link> {
        let mut message = LinkMessage::default();
        message.header.index = tie.index.number();
        message.attributes.extend(tie.namespace.map(LinkAttribute::IfNetnsId));
        self.link(message, &format!("number {}", tie.index))
    }

    /// The network namespace of the other end of an interface, as [`NetNamespace::inode`] identifies it. `None`: this process cannot
    /// see that namespace, or it is the interface's own.
    pub fn namespace_of(&self, tie: Tie) -> Option<u64> {
        self.visible_namespace_of(tie).map(|namespace| namespace.inode())
    }

    /// The same, to enter it.
    pub fn visible_namespace_of(&self, tie: Tie) -> Option<NetNamespace> {
        let wanted = tie.namespace?;
        let is_it = |namespace: &NetNamespace| {
            let mut message = NsidMessage::default();
            message.attributes.push(NsidAttribute::Fd(namespace.as_fd().as_raw_fd() as u32));
            let answers = self.exchange().request(RouteNetlinkMessage::GetNsId(message), 0).ok();
            answers.is_some_and(|answers| answers.iter().find_map(message::namespace_id) == Some(wanted))
        };
        NetNamespace::visible().into_iter().find(is_it)
    }

    /// Every IPv4 and IPv6 address of the interface `index`.
    pub fn addresses(&self, index: InterfaceIndex) -> Result<Vec<IpAddr>> {
        let request = RouteNetlinkMessage::GetAddress(Default::default());
        let answers = self
            .dump(request)
            .map_err(|source| netlink_error(&format!("number {index}"), "list its addresses", source))?;
        Ok(answers.iter().filter_map(|answer| message::address(answer, index)).collect())
    }

    /// The interfaces of every default route, IPv4 and IPv6, of every routing table.
    pub fn default_routes(&self) -> Result<Vec<InterfaceIndex>> {
        let mut routes = Vec::new();
        for family in [AddressFamily::Inet, AddressFamily::Inet6] {
            let mut message = netlink_packet_route::route::RouteMessage::default();
            message.header.address_family = family;
            match self.dump(RouteNetlinkMessage::GetRoute(message)) {
                Ok(answers) => routes.extend(answers.iter().flat_map(message::default_routes)),
                // A kernel without IPv6 has no such routes.
                Err(source)
                    if family == AddressFamily::Inet6 && source.raw_os_error() == Some(NOT_SUPPORTED) => {}
                Err(source) => return Err(netlink_error("(all)", "list the default routes", source)),
            }
        }
        Ok(routes)
    }

    fn link(&self, request: LinkMessage, what: &str) -> Result<Link> {
        let missing = || HostError::NoInterface { interface: what.into() };
        let answers = self.request(RouteNetlinkMessage::GetLink(request), 0).map_err(|source| {
            match source.raw_os_error() {
                // The kernel refuses names longer than 15 bytes with ERANGE (or EINVAL) before the lookup.
                Some(NO_DEVICE | OUT_OF_RANGE | INVALID) => missing(),
                _ => netlink_error(what, "read it", source),
            }
        })?;
        answers.iter().find_map(message::link).ok_or_else(missing)
    }

    fn change(&self, name: &str, attempt: &str, message: RouteNetlinkMessage, flags: u16) -> Result<()> {
        self.request(message, flags).map(drop).map_err(|source| netlink_error(name, attempt, source))
    }

    fn exchange(&self) -> std::sync::MutexGuard<'_, Exchange> {
        self.exchange.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn request(&self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<exchange::Answer>> {
        self.exchange().request(message, flags)
    }

    fn dump(&self, message: RouteNetlinkMessage) -> io::Result<Vec<exchange::Answer>> {
        self.exchange().dump(message)
    }

    fn dump_by(&self, kind: u16, body: &[u8]) -> io::Result<Vec<exchange::Answer>> {
        self.exchange().dump_by(kind, body)
    }
}

// errno(3), the same on every Linux architecture that capbench runs on.
const NO_DEVICE: i32 = 19;
const INVALID: i32 = 22;
const OUT_OF_RANGE: i32 = 34;
const NOT_SUPPORTED: i32 = 95;

fn named(name: &str) -> LinkMessage {
    let mut message = LinkMessage::default();
    message.attributes.push(LinkAttribute::IfName(name.into()));
    message
}

fn netlink_error(interface: &str, attempt: &str, source: io::Error) -> HostError {
    HostError::Netlink { interface: interface.into(), attempt: attempt.into(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_read() {
        let links = Links::of_current_namespace().unwrap();
        let lo = links.by_name("lo").unwrap();
        assert_eq!(lo.name, "lo");
        assert!(lo.mtu > 0 && lo.loopback);
        assert_eq!(links.by_index(lo.index).unwrap().name, "lo");
        assert!(links.all().unwrap().iter().any(|link| link.name == "lo"));
        links.default_routes().unwrap();
        links.addresses(lo.index).unwrap();
    }

    #[test]
    fn an_interface_that_is_not_there_is_named() {
        let links = Links::of_current_namespace().unwrap();
        for name in ["no-such-if", "a-name-that-is-too-long", "", "%"] {
            let error = links.by_name(name).unwrap_err();
            assert!(matches!(error, HostError::NoInterface { .. }), "{error}");
        }
        let index = InterfaceIndex::new(i32::MAX as u32).unwrap();
        assert!(matches!(links.by_index(index).unwrap_err(), HostError::NoInterface { .. }));
    }

    #[test]
    fn a_request_that_the_kernel_refuses_names_interface_and_reason() {
        let error = Links::of_current_namespace().unwrap().delete("no-such-if").unwrap_err().to_string();
        assert!(error.starts_with("interface no-such-if: cannot delete it: "), "{error}");
        assert!(error.contains("os error"), "{error}");
    }
}
