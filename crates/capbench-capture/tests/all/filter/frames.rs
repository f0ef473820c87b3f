//! Random frames, such as expressions distinguish.

use capbench_capture::{Frame, PacketType, VlanTag};
use etherparse::{
    EtherType, Ethernet2Header, IpFragOffset, IpNumber, Ipv4Header, Ipv6Header, SingleVlanHeader, TcpHeader,
    UdpHeader, VlanId, VlanPcp,
};
use proptest::prelude::*;
use proptest::sample::select;

pub const HOSTS: [[u8; 6]; 4] =
    [[2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2], [0xff; 6], [0x01, 0x00, 0x5e, 0, 0, 251]];
const ADDRESSES: [[u8; 4]; 5] =
    [[192, 0, 2, 1], [192, 0, 2, 255], [198, 51, 100, 7], [10, 1, 2, 3], [224, 0, 0, 251]];
const ADDRESSES6: [[u8; 16]; 3] = [
    [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
    [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9],
    [0xff, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1],
];
const PORTS: [u16; 6] = [53, 80, 99, 443, 5353, 60_000];

/// Octets of a UDP datagram or the like, and its protocol.
fn transport() -> impl Strategy<Value = (IpNumber, Vec<u8>)> {
    let payload = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..90),
        Just(b"GET / HTTP/1.1\r\n".to_vec()),
        Just(Vec::new()),
    ];
    (0..5u8, select(&PORTS[..]), select(&PORTS[..]), any::<u8>(), payload).prop_map(
        |(kind, from, to, flags, payload)| match kind {
            0 | 1 => {
                let mut header = TcpHeader::new(from, to, 7, 1024);
                (header.syn, header.ack) = (flags & 1 != 0, flags & 2 != 0);
                (header.fin, header.psh) = (flags & 4 != 0, flags & 8 != 0);
                if flags & 16 != 0 {
                    header.set_options_raw(&[1, 1, 1, 1]).unwrap();
                }
                (IpNumber::TCP, [&header.to_bytes()[..], &payload].concat())
            }
            2 | 3 => {
                let header = UdpHeader::without_ipv4_checksum(from, to, payload.len()).unwrap();
                (IpNumber::UDP, [&header.to_bytes()[..], &payload].concat())
            }
            _ if flags & 1 == 0 => {
                (IpNumber::ICMP, [&[flags & 8, 0, 0, 0, 0, 1, 0, 2], &payload[..]].concat())
            }
            _ if flags & 2 == 0 => {
                (IpNumber::IPV6_ICMP, [&[128 | flags >> 7, 0, 0, 0], &payload[..]].concat())
            }
            _ => (IpNumber::GRE, payload),
        },
    )
}

fn network() -> impl Strategy<Value = (EtherType, Vec<u8>)> {
    let v4 = (transport(), select(&ADDRESSES[..]), select(&ADDRESSES[..]), 1..20u8, 0..8u8).prop_map(
        |((protocol, payload), from, to, ttl, fragment)| {
            let mut header = Ipv4Header::new(payload.len() as u16, ttl, protocol, from, to).unwrap();
            header.more_fragments = fragment == 7;
            if fragment == 6 {
                header.fragment_offset = IpFragOffset::try_new(185).unwrap();
            }
            if fragment == 5 {
                header.options = [1u8; 8].into();
            }
            header.set_payload_len(payload.len()).unwrap();
            (EtherType::IPV4, [&header.to_bytes()[..], &payload].concat())
        },
    );
    let v6 = (transport(), select(&ADDRESSES6[..]), select(&ADDRESSES6[..]), any::<u8>()).prop_map(
        |((next_header, payload), source, destination, hop_limit)| {
            let header = Ipv6Header {
                payload_length: payload.len() as u16,
                next_header,
                hop_limit,
                source,
                destination,
                ..Ipv6Header::default()
            };
            (EtherType::IPV6, [&header.to_bytes()[..], &payload].concat())
        },
    );
    let other = (
        select(
            &[EtherType::ARP, EtherType(0x88b5), EtherType(0x8847), EtherType(0x8864), EtherType(100)][..],
        ),
        proptest::collection::vec(any::<u8>(), 2..60),
    );
    prop_oneof![4 => v4, 3 => v6, 1 => other]
}

/// A frame of Ethernet, with up to two tags, some of them cut short.
pub fn frame() -> impl Strategy<Value = Vec<u8>> {
    let tag = (select(&[1u16, 100, 200][..]), 0..8u8, any::<bool>());
    let tags = prop_oneof![
        3 => Just(Vec::new()),
        2 => proptest::collection::vec(tag, 1..3),
    ];
    let cut = prop_oneof![9 => Just(None), 1 => (1..80usize).prop_map(Some)];
    (select(&HOSTS[..]), select(&HOSTS[..2]), tags, any::<bool>(), network(), cut).prop_map(
        |(destination, source, tags, service, (kind, packet), cut)| {
            let outer =
                if service { EtherType::VLAN_DOUBLE_TAGGED_FRAME } else { EtherType::VLAN_TAGGED_FRAME };
            let kinds: Vec<_> =
                [outer, EtherType::VLAN_TAGGED_FRAME][..tags.len()].iter().copied().chain([kind]).collect();
            let mut frame = Ethernet2Header { source, destination, ether_type: kinds[0] }.to_bytes().to_vec();
            for ((id, priority, drop_eligible_indicator), &ether_type) in tags.iter().zip(&kinds[1..]) {
                let header = SingleVlanHeader {
                    pcp: VlanPcp::try_new(*priority).unwrap(),
                    drop_eligible_indicator: *drop_eligible_indicator,
                    vlan_id: VlanId::try_new(*id).unwrap(),
                    ether_type,
                };
                frame.extend(header.to_bytes());
            }
            frame.extend(packet);
            frame.truncate(cut.unwrap_or(usize::MAX));
            frame
        },
    )
}

/// A frame as a method without metadata returns it.
pub fn plain(data: &[u8]) -> Frame<'_> {
    with_tag(data, None)
}

/// The same with a tag as metadata.
pub fn with_tag(data: &[u8], vlan: Option<VlanTag>) -> Frame<'_> {
    Frame {
        data,
        wire_length: data.len() as u32,
        time_ns: 0,
        vlan,
        packet_type: PacketType::Host,
        hash: None,
        status: 0,
    }
}
