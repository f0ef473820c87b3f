//! Links, addresses and routes of rtnetlink(7), parsed attribute by attribute.

use std::net::IpAddr;

use capbench_sys::bpf::XdpAttachment;
use capbench_sys::host::InterfaceIndex;
use netlink_packet_core::{NlaBuffer, NlasIterator};

use super::exchange::{Answer, u16_at, u32_at};
use super::stats::LinkStats;

// linux/rtnetlink.h
const RTM_NEWLINK: u16 = 16;
const RTM_NEWADDR: u16 = 20;
const RTM_NEWROUTE: u16 = 24;
const RTM_NEWNSID: u16 = 88;
const RTA_OIF: u16 = 4;
const RTA_MULTIPATH: u16 = 9;
const RTN_UNICAST: u8 = 1;
/// Bytes of `struct ifinfomsg`.
const LINK_HEADER_LEN: usize = 16;
/// Bytes of `struct ifaddrmsg`.
const ADDRESS_HEADER_LEN: usize = 8;
/// Bytes of `struct rtmsg`.
const ROUTE_HEADER_LEN: usize = 12;
/// Bytes of `struct rtgenmsg`, padded.
const NAMESPACE_HEADER_LEN: usize = 4;
/// Bytes of `struct rtnexthop`.
const NEXT_HOP_LEN: usize = 8;

// linux/if_link.h
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_LINKINFO: u16 = 18;
const IFLA_INFO_KIND: u16 = 1;
const IFLA_STATS64: u16 = 23;
const IFLA_PROMISCUITY: u16 = 30;
const IFLA_LINK_NETNSID: u16 = 37;
const IFLA_GSO_MAX_SIZE: u16 = 41;
const IFLA_XDP: u16 = 43;
const IFLA_PERM_ADDRESS: u16 = 54;
const IFLA_GRO_MAX_SIZE: u16 = 58;
const IFLA_GSO_IPV4_MAX_SIZE: u16 = 63;
const IFLA_GRO_IPV4_MAX_SIZE: u16 = 64;

// linux/if_addr.h
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;

// linux/net_namespace.h
const NETNSA_NSID: u16 = 1;

// linux/if.h
const IFF_UP: u32 = 1 << 0;
const IFF_LOOPBACK: u32 = 1 << 3;
const IFF_NOARP: u32 = 1 << 7;
const IFF_PROMISC: u32 = 1 << 8;
const IFF_LOWER_UP: u32 = 1 << 16;

/// An interface at the time of the request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    /// Its number within its network namespace.
    pub index: InterfaceIndex,
    /// Its name.
    pub name: String,
    /// Its type, `ARPHRD_*` of linux/if_arp.h: what its packets begin with.
    pub hardware_type: u16,
    /// Largest payload of an Ethernet frame in bytes.
    pub mtu: u32,
    /// Its Ethernet address; `None` without one of 6 bytes.
    pub mac: Option<[u8; 6]>,
    /// The Ethernet address that the device was made with, which a bond or an administrator cannot change; `None` if it has none.
    pub permanent_mac: Option<[u8; 6]>,
    /// Set up by the administrator (IFF_UP).
    pub up: bool,
    /// The link is up: a cable is connected, or the peer of a veth is up (IFF_LOWER_UP).
    pub carrier: bool,
    /// No address resolution (IFF_NOARP).
    pub no_arp: bool,
    /// Set promiscuous by the administrator (IFF_PROMISC); does not include the promiscuous mode of sockets.
    pub promiscuous: bool,
    /// Loopback (IFF_LOOPBACK).
    pub loopback: bool,
    /// The kernel's name of its kind, for example `veth`; `None` for network cards.
    pub kind: Option<String>,
    /// Number of users of promiscuous mode, including sockets (IFLA_PROMISCUITY); `None` if the kernel does not report it.
    pub promiscuity: Option<u32>,
    /// Size limit of a packet that GRO joins, in octets (IFLA_GRO_MAX_SIZE since Linux 5.19, IFLA_GRO_IPV4_MAX_SIZE since 6.3,
    /// the larger one); `None` if the kernel does not report it.
    pub gro_most: Option<u32>,
    /// Size limit of a packet that the interface takes unsegmented, in octets (IFLA_GSO_MAX_SIZE, and IFLA_GSO_IPV4_MAX_SIZE since
    /// Linux 6.3, the larger one); `None` if the kernel does not report it.
    pub gso_most: Option<u32>,
    /// The interface tied to it: the peer of a veth.
    pub tied_to: Option<Tie>,
    /// How an XDP program is attached; `None` if the kernel does not report it.
    pub xdp: Option<XdpAttachment>,
    /// Its counters; `None` if the kernel sent none.
    pub stats: Option<LinkStats>,
}

/// The other end of an interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tie {
    /// Its number within its network namespace.
    pub index: InterfaceIndex,
    /// The id of that namespace in the interface's own namespace (ip-netns(8), "nsid"); `None` if both are the same.
    pub namespace: Option<i32>,
}

/// The link that `answer` describes; `None` for other or unreadable messages.
pub(super) fn link(answer: &Answer) -> Option<Link> {
    let body = of_kind(answer, RTM_NEWLINK)?;
    let index = InterfaceIndex::new(u32_at(body, 4)?)?;
    let flags = u32_at(body, 8)?;
    let attributes = body.get(LINK_HEADER_LEN..)?;
    let name = attribute(attributes, IFLA_IFNAME)?;
    Some(Link {
        index,
        name: String::from_utf8_lossy(name.split(|byte| *byte == 0).next()?).into_owned(),
        hardware_type: u16_at(body, 2)?,
        mtu: u32_at(attribute(attributes, IFLA_MTU)?, 0)?,
        mac: attribute(attributes, IFLA_ADDRESS).and_then(|address| address.try_into().ok()),
        permanent_mac: attribute(attributes, IFLA_PERM_ADDRESS).and_then(|address| address.try_into().ok()),
        up: flags & IFF_UP != 0,
        carrier: flags & IFF_LOWER_UP != 0,
        no_arp: flags & IFF_NOARP != 0,
        promiscuous: flags & IFF_PROMISC != 0,
        loopback: flags & IFF_LOOPBACK != 0,
        kind: attribute(attributes, IFLA_LINKINFO)
            .and_then(|info| attribute(info, IFLA_INFO_KIND))
            .map(|kind| String::from_utf8_lossy(kind).trim_end_matches('\0').to_owned()),
        promiscuity: attribute(attributes, IFLA_PROMISCUITY).and_then(|count| u32_at(count, 0)),
        gro_most: larger_of(attributes, [IFLA_GRO_MAX_SIZE, IFLA_GRO_IPV4_MAX_SIZE]),
        gso_most: larger_of(attributes, [IFLA_GSO_MAX_SIZE, IFLA_GSO_IPV4_MAX_SIZE]),
        tied_to: attribute(attributes, IFLA_LINK)
            .and_then(|index| u32_at(index, 0))
            .and_then(InterfaceIndex::new)
            .map(|index| Tie { index, namespace: netns_id(attributes) }),
        xdp: attribute(attributes, IFLA_XDP).and_then(XdpAttachment::parse),
        stats: attribute(attributes, IFLA_STATS64).and_then(LinkStats::parse),
    })
}

/// The larger of two numbers, or the one that is there.
fn larger_of(attributes: &[u8], kinds: [u16; 2]) -> Option<u32> {
    kinds.into_iter().filter_map(|kind| u32_at(attribute(attributes, kind)?, 0)).max()
}

fn netns_id(attributes: &[u8]) -> Option<i32> {
    attribute(attributes, IFLA_LINK_NETNSID).and_then(|id| u32_at(id, 0)).map(|id| id as i32)
}

/// The number of a network namespace in `answer` (rtnetlink(7), RTM_GETNSID); `None` for other messages, and without a number.
pub(super) fn namespace_id(answer: &Answer) -> Option<i32> {
    let attributes = of_kind(answer, RTM_NEWNSID)?.get(NAMESPACE_HEADER_LEN..)?;
    attribute(attributes, NETNSA_NSID).and_then(|id| u32_at(id, 0)).map(|id| id as i32)
}

/// The address in `answer` if it belongs to the interface `index`.
pub(super) fn address(answer: &Answer, index: InterfaceIndex) -> Option<IpAddr> {
    let body = of_kind(answer, RTM_NEWADDR)?;
    if u32_at(body, 4)? != index.number() {
        return None;
    }
    let attributes = body.get(ADDRESS_HEADER_LEN..)?;
    // On a point-to-point link IFA_ADDRESS is the peer's address and IFA_LOCAL this end's (rtnetlink(7)).
    let bytes = attribute(attributes, IFA_LOCAL).or_else(|| attribute(attributes, IFA_ADDRESS))?;
    <[u8; 4]>::try_from(bytes)
        .map(IpAddr::from)
        .or_else(|_| <[u8; 16]>::try_from(bytes).map(IpAddr::from))
        .ok()
}

/// The interfaces of the route in `answer` if it is a default route; else none.
pub(super) fn default_routes(answer: &Answer) -> Vec<InterfaceIndex> {
    let Some(body) = of_kind(answer, RTM_NEWROUTE) else { return Vec::new() };
    let (Some(&prefix), Some(&kind), Some(attributes)) =
        (body.get(1), body.get(7), body.get(ROUTE_HEADER_LEN..))
    else {
        return Vec::new();
    };
    if prefix != 0 || kind != RTN_UNICAST {
        return Vec::new();
    }
    let mut numbers: Vec<u32> =
        attribute(attributes, RTA_OIF).and_then(|value| u32_at(value, 0)).into_iter().collect();
    let mut hops = attribute(attributes, RTA_MULTIPATH).unwrap_or_default();
    while let (Some(length), Some(number)) = (u16_at(hops, 0), u32_at(hops, 4)) {
        numbers.push(number);
        let step = usize::from(length).max(NEXT_HOP_LEN).next_multiple_of(4);
        hops = hops.get(step..).unwrap_or_default();
    }
    numbers.into_iter().filter_map(InterfaceIndex::new).collect()
}

/// Parses octets as each kind of answer; returns whether one fits.
#[cfg(any(test, fuzzing))]
pub fn is_any(octets: &[u8]) -> bool {
    let answer = |kind| Answer { kind, body: octets.into() };
    let first = InterfaceIndex::new(1).is_some_and(|first| address(&answer(RTM_NEWADDR), first).is_some());
    link(&answer(RTM_NEWLINK)).is_some() || first || !default_routes(&answer(RTM_NEWROUTE)).is_empty()
}

fn of_kind(answer: &Answer, kind: u16) -> Option<&[u8]> {
    (answer.kind == kind).then_some(answer.body.as_slice())
}

/// The value of the first attribute `kind`. Attributes after an unreadable one are not found.
pub fn attribute(attributes: &[u8], kind: u16) -> Option<&[u8]> {
    let found =
        NlasIterator::new(attributes).map_while(std::result::Result::ok).find(|nla| nla.kind() == kind)?;
    // `NlaBuffer::value` would borrow from the local; this borrows from `attributes`.
    let length = usize::from(found.length());
    NlaBuffer::into_inner(found).get(4..length)
}

/// An attribute: its length, its kind, its value, and octets up to a multiple of 4.
pub(super) fn nla(kind: u16, value: &[u8]) -> Vec<u8> {
    let mut bytes = ((4 + value.len()) as u16).to_ne_bytes().to_vec();
    bytes.extend(kind.to_ne_bytes());
    bytes.extend(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn link_answer(attributes: &[Vec<u8>]) -> Answer {
        let mut body = vec![0, 0, 1, 0];
        body.extend(5u32.to_ne_bytes());
        body.extend((IFF_UP | IFF_LOWER_UP | IFF_NOARP).to_ne_bytes());
        body.extend([0; 4]);
        body.extend(attributes.concat());
        Answer { kind: RTM_NEWLINK, body }
    }

    #[test]
    fn a_link_is_read() {
        let answer = link_answer(&[
            nla(IFLA_IFNAME, b"veth0\0"),
            nla(IFLA_MTU, &1500u32.to_ne_bytes()),
            nla(IFLA_ADDRESS, &[2, 0, 0, 0, 0, 1]),
            nla(IFLA_PERM_ADDRESS, &[2, 0, 0, 0, 0, 9]),
            nla(IFLA_PROMISCUITY, &1u32.to_ne_bytes()),
            nla(IFLA_LINK, &7u32.to_ne_bytes()),
            nla(IFLA_GRO_MAX_SIZE, &131_072u32.to_ne_bytes()),
            nla(IFLA_GRO_IPV4_MAX_SIZE, &65_536u32.to_ne_bytes()),
            nla(IFLA_GSO_MAX_SIZE, &65_536u32.to_ne_bytes()),
            nla(IFLA_GSO_IPV4_MAX_SIZE, &130_000u32.to_ne_bytes()),
            nla(IFLA_LINK_NETNSID, &2u32.to_ne_bytes()),
            // Nested attributes may carry NLA_F_NESTED.
            nla(IFLA_XDP | 0x8000, &nla(2, &[2])),
        ]);
        let link = link(&answer).unwrap();
        assert_eq!((link.index.number(), link.name.as_str(), link.mtu), (5, "veth0", 1500));
        assert_eq!((link.gro_most, link.gso_most), (Some(131_072), Some(130_000)));
        assert_eq!(link.mac, Some([2, 0, 0, 0, 0, 1]));
        assert_eq!(link.permanent_mac, Some([2, 0, 0, 0, 0, 9]));
        assert!(link.up && link.carrier && link.no_arp && !link.promiscuous);
        let peer = Tie { index: InterfaceIndex::new(7).unwrap(), namespace: Some(2) };
        assert_eq!((link.tied_to, link.promiscuity), (Some(peer), Some(1)));
        assert_eq!((link.xdp, link.stats), (Some(XdpAttachment::Generic), None));
    }

    #[test]
    fn a_link_without_a_name_or_of_another_kind_is_none() {
        assert_eq!(link(&link_answer(&[nla(IFLA_MTU, &1500u32.to_ne_bytes())])), None);
        assert_eq!(link(&Answer { kind: RTM_NEWADDR, body: vec![0; 64] }), None);
        assert_eq!(link(&Answer { kind: RTM_NEWLINK, body: vec![0; 3] }), None);
    }

    #[test]
    fn addresses_of_the_interface_only() {
        let mut body = vec![2, 24, 0, 0];
        body.extend(5u32.to_ne_bytes());
        body.extend(nla(IFA_ADDRESS, &[10, 0, 0, 2]));
        body.extend(nla(IFA_LOCAL, &[10, 0, 0, 1]));
        let answer = Answer { kind: RTM_NEWADDR, body };
        let index = |number| InterfaceIndex::new(number).unwrap();
        assert_eq!(address(&answer, index(5)), Some([10, 0, 0, 1].into()));
        assert_eq!(address(&answer, index(6)), None);
    }

    fn route(family: u8, prefix: u8, kind: u8, attributes: &[Vec<u8>]) -> Answer {
        let mut body = vec![family, prefix, 0, 0, 254, 0, 0, kind, 0, 0, 0, 0];
        body.extend(attributes.concat());
        Answer { kind: RTM_NEWROUTE, body }
    }

    #[test]
    fn default_routes_by_one_or_several_ways() {
        let oif = nla(RTA_OIF, &3u32.to_ne_bytes());
        let found = default_routes(&route(10, 0, RTN_UNICAST, std::slice::from_ref(&oif)));
        assert_eq!(found, [InterfaceIndex::new(3).unwrap()]);
        let hop = |number: u32| [&8u16.to_ne_bytes()[..], &[0, 0], &number.to_ne_bytes()].concat();
        let found =
            default_routes(&route(2, 0, RTN_UNICAST, &[nla(RTA_MULTIPATH, &[hop(4), hop(6)].concat())]));
        assert_eq!(found.iter().map(|interface| interface.number()).collect::<Vec<_>>(), [4, 6]);
        // A network's route, and the "unreachable" default that every IPv6 namespace has.
        assert!(default_routes(&route(2, 24, RTN_UNICAST, std::slice::from_ref(&oif))).is_empty());
        assert!(default_routes(&route(10, 0, 7, &[oif])).is_empty());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(kind in prop::sample::select(vec![16u16, 20, 24]), body in prop::collection::vec(any::<u8>(), 0..120)) {
            let answer = Answer { kind, body };
            let _ = (link(&answer), address(&answer, InterfaceIndex::new(1).unwrap()), default_routes(&answer));
        }
    }
}
