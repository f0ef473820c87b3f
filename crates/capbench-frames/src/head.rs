//! The constant part of a frame: the headers of one flow without lengths, checksums and stamp.

use etherparse::{
    EtherType, Ethernet2Header, IpNumber, Ipv4Header, Ipv6Header, SingleVlanHeader, TcpHeader, UdpHeader,
    VlanId, VlanPcp,
};

use crate::checksum::sum_words;
use crate::layout::{
    DESTINATION_PORT, DESTINATION_V4, DESTINATION_V6, FIRST_SOURCE_PORT, FIRST_SOURCE_V4, FIRST_SOURCE_V6,
};
use crate::{Flow, FrameLayout, Network, Transport, VlanTag};

/// Room for the longest head (tag, IPv6, TCP and stamp: 82 octets), in whole machine words.
pub const HEAD_ROOM: usize = 88;

/// Time to live of every packet.
const TTL: u8 = 64;

/// The headers of one flow. Lengths, checksums, stamp and all octets after it are zero.
#[derive(Debug, Clone)]
pub struct Head {
    /// The octets from the destination address on.
    pub octets: [u8; HEAD_ROOM],
    /// Sum of the IPv4 header words, with total length and checksum 0. 0 for IPv6, which has no header checksum.
    pub network_sum: u64,
    /// Sum of pseudo header (RFC 768, RFC 9293 3.1, RFC 8200 8.1) and transport header, with lengths, checksum and stamp 0.
    pub transport_sum: u64,
}

impl Head {
    /// The head of one flow.
    pub fn new(layout: &FrameLayout, flow: Flow) -> Self {
        let mut bytes = link_header(layout);
        let network_at = bytes.len();
        bytes.extend(network_header(layout, flow));
        let transport_at = bytes.len();
        bytes.extend(transport_header(layout, flow));

        // The addresses are the last octets of either network header.
        let (addresses, network_sum) = match layout.network {
            Network::V4 => (8, sum_words(&bytes[network_at..transport_at])),
            Network::V6 => (32, 0),
        };
        let transport_sum = sum_words(&bytes[transport_at - addresses..transport_at])
            + u64::from(protocol(layout).0)
            + sum_words(&bytes[transport_at..]);
        let mut octets = [0; HEAD_ROOM];
        octets[..bytes.len()].copy_from_slice(&bytes);
        Self { octets, network_sum, transport_sum }
    }
}

fn link_header(layout: &FrameLayout) -> Vec<u8> {
    let network = match layout.network {
        Network::V4 => EtherType::IPV4,
        Network::V6 => EtherType::IPV6,
    };
    let outer = if layout.vlan.is_some() { EtherType(VlanTag::TPID) } else { network };
    let ethernet =
        Ethernet2Header { source: layout.source.0, destination: layout.destination.0, ether_type: outer };
    let mut bytes = ethernet.to_bytes().to_vec();
    if let Some(VlanTag { tci }) = layout.vlan {
        let tag = SingleVlanHeader {
            pcp: VlanPcp::try_new((tci >> 13) as u8).unwrap_or(VlanPcp::ZERO),
            drop_eligible_indicator: tci & 0x1000 != 0,
            vlan_id: VlanId::try_new(tci & 0x0fff).unwrap_or(VlanId::ZERO),
            ether_type: network,
        };
        bytes.extend(tag.to_bytes());
    }
    bytes
}

fn network_header(layout: &FrameLayout, flow: Flow) -> Vec<u8> {
    match layout.network {
        Network::V4 => {
            let source = u32::from(FIRST_SOURCE_V4) + flow.number();
            let header = Ipv4Header {
                total_len: 0,
                dont_fragment: true,
                time_to_live: TTL,
                protocol: protocol(layout),
                source: source.to_be_bytes(),
                destination: DESTINATION_V4.octets(),
                ..Ipv4Header::default()
            };
            header.to_bytes().to_vec()
        }
        Network::V6 => {
            let source = u128::from(FIRST_SOURCE_V6) + u128::from(flow.number());
            let header = Ipv6Header {
                next_header: protocol(layout),
                hop_limit: TTL,
                source: source.to_be_bytes(),
                destination: DESTINATION_V6.octets(),
                ..Ipv6Header::default()
            };
            header.to_bytes().to_vec()
        }
    }
}

fn transport_header(layout: &FrameLayout, flow: Flow) -> Vec<u8> {
    let source_port = FIRST_SOURCE_PORT + flow.0;
    match layout.transport {
        Transport::Udp => {
            let header =
                UdpHeader { source_port, destination_port: DESTINATION_PORT, length: 0, checksum: 0 };
            header.to_bytes().to_vec()
        }
        Transport::Tcp => {
            // PSH and ACK: decoders see a segment in the middle of a connection.
            let mut header = TcpHeader::new(source_port, DESTINATION_PORT, 0, u16::MAX);
            (header.psh, header.ack) = (true, true);
            header.to_bytes().to_vec()
        }
    }
}

fn protocol(layout: &FrameLayout) -> IpNumber {
    match layout.transport {
        Transport::Udp => IpNumber::UDP,
        Transport::Tcp => IpNumber::TCP,
    }
}
