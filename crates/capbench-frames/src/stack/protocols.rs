//! The protocols of a stack and the fields of their headers: names and defaults of the Open Traffic Generator model 1.61, bits of
//! the wire. To add a protocol: a row here.

/// A protocol.
#[derive(Debug, PartialEq, Eq)]
pub struct Protocol {
    /// Its name in a packet file, as in the model.
    pub name: &'static str,
    /// Octets of its header without an optional part.
    pub octets: usize,
    /// How the header in front of it names it.
    pub number: Numbers,
    /// The fields of its header.
    pub fields: &'static [Field],
}

/// The numbers of a protocol in the header in front of it.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Numbers {
    /// In an Ethernet, VLAN or GRE header.
    pub ether_type: Option<u16>,
    /// In an IP header.
    pub ip_protocol: Option<u8>,
    /// The destination port of UDP.
    pub udp_port: Option<u16>,
}

/// A field.
#[derive(Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name; names of a group are separated by a dot.
    pub name: &'static str,
    /// Its first bit in the header.
    pub bit: usize,
    /// Its width.
    pub bits: u32,
    /// How its values are written.
    pub kind: Kind,
    /// Its value if nothing else states one.
    pub default: u128,
    /// How it is computed if no value is stated.
    pub auto: Option<Auto>,
}

/// How the values of a field are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A number.
    Number,
    /// An Ethernet address.
    Mac,
    /// An IPv4 address.
    Ipv4,
    /// An IPv6 address.
    Ipv6,
}

/// How a field is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Auto {
    /// It has its default.
    Default,
    /// The ether type of the next header; the default if that has none.
    EtherType,
    /// The IP protocol of the next header; the default if that has none.
    IpProtocol,
    /// The UDP port of the next header; the default if that has none.
    UdpPort,
    /// 1 if the next header is another than this one's protocol.
    Bottom,
    /// Octets from the header to the end of the frame, without the first ones.
    Length {
        /// How many octets do not count.
        without: usize,
    },
    /// The Internet checksum.
    Checksum(Cover),
}

/// What a checksum covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cover {
    /// The header, of the length that its second half octet states.
    Ipv4Header,
    /// From the header to the end of the frame.
    Rest,
    /// The same, and the pseudo header of the IP header in front of it, with this protocol.
    WithPseudoHeader {
        /// The number of the protocol.
        protocol: u8,
    },
}

const fn number(name: &'static str, bit: usize, bits: u32, default: u128) -> Field {
    Field { name, bit, bits, kind: Kind::Number, default, auto: None }
}

const fn auto(name: &'static str, bit: usize, bits: u32, default: u128, auto: Auto) -> Field {
    Field { name, bit, bits, kind: Kind::Number, default, auto: Some(auto) }
}

const fn address(name: &'static str, bit: usize, kind: Kind) -> Field {
    let bits = match kind {
        Kind::Mac => 48,
        Kind::Number | Kind::Ipv4 => 32,
        Kind::Ipv6 => 128,
    };
    Field { name, bit, bits, kind, default: 0, auto: None }
}

const fn numbers(ether_type: u16, ip_protocol: u8) -> Numbers {
    Numbers {
        ether_type: if ether_type > 0 { Some(ether_type) } else { None },
        ip_protocol: if ip_protocol > 0 { Some(ip_protocol) } else { None },
        udp_port: None,
    }
}

const NO_NUMBERS: Numbers = numbers(0, 0);

/// The destination of pause frames, 01:80:c2:00:00:01 (IEEE 802.3 31B).
const PAUSE_ADDRESS: u128 = 0x0180_c200_0001;

/// The ether type of pause frames.
const PAUSE_TYPE: u128 = 0x8808;

/// A header of octets that nothing interprets.
pub const CUSTOM: &str = "custom";

/// All protocols.
pub const PROTOCOLS: &[Protocol] = &[
    Protocol {
        name: "ethernet",
        octets: 14,
        number: numbers(0x6558, 0),
        fields: &[
            Field { auto: Some(Auto::Default), ..address("dst", 0, Kind::Mac) },
            address("src", 48, Kind::Mac),
            auto("ether_type", 96, 16, 0xffff, Auto::EtherType),
        ],
    },
    Protocol {
        name: "vlan",
        octets: 4,
        number: numbers(0x8100, 0),
        fields: &[
            number("priority", 0, 3, 0),
            number("cfi", 3, 1, 0),
            number("id", 4, 12, 0),
            // The type after the tag. The model has no `auto` here; its default 65535 is that of ether_type.
            auto("tpid", 16, 16, 0xffff, Auto::EtherType),
        ],
    },
    Protocol {
        name: "mpls",
        octets: 4,
        number: numbers(0x8847, 137),
        fields: &[
            auto("label", 0, 20, 16, Auto::Default),
            number("traffic_class", 20, 3, 0),
            auto("bottom_of_stack", 23, 1, 1, Auto::Bottom),
            number("time_to_live", 24, 8, 64),
        ],
    },
    Protocol {
        name: "arp",
        octets: 28,
        number: numbers(0x0806, 0),
        fields: &[
            number("hardware_type", 0, 16, 1),
            number("protocol_type", 16, 16, 0x0800),
            number("hardware_length", 32, 8, 6),
            number("protocol_length", 40, 8, 4),
            number("operation", 48, 16, 1),
            address("sender_hardware_addr", 64, Kind::Mac),
            address("sender_protocol_addr", 112, Kind::Ipv4),
            address("target_hardware_addr", 144, Kind::Mac),
            address("target_protocol_addr", 192, Kind::Ipv4),
        ],
    },
    Protocol {
        name: "ipv4",
        octets: 20,
        number: numbers(0x0800, 4),
        fields: &[
            number("version", 0, 4, 4),
            auto("header_length", 4, 4, 5, Auto::Default),
            number("priority.raw", 8, 8, 0),
            number("priority.dscp.phb", 8, 6, 0),
            number("priority.dscp.ecn", 14, 2, 0),
            number("priority.tos.precedence", 8, 3, 0),
            number("priority.tos.delay", 11, 1, 0),
            number("priority.tos.throughput", 12, 1, 0),
            number("priority.tos.reliability", 13, 1, 0),
            number("priority.tos.monetary", 14, 1, 0),
            number("priority.tos.unused", 15, 1, 0),
            auto("total_length", 16, 16, 46, Auto::Length { without: 0 }),
            number("identification", 32, 16, 0),
            number("reserved", 48, 1, 0),
            number("dont_fragment", 49, 1, 0),
            number("more_fragments", 50, 1, 0),
            number("fragment_offset", 51, 13, 0),
            number("time_to_live", 64, 8, 64),
            auto("protocol", 72, 8, 61, Auto::IpProtocol),
            auto("header_checksum", 80, 16, 0, Auto::Checksum(Cover::Ipv4Header)),
            address("src", 96, Kind::Ipv4),
            address("dst", 128, Kind::Ipv4),
        ],
    },
    Protocol {
        name: "ipv6",
        octets: 40,
        number: numbers(0x86dd, 41),
        fields: &[
            number("version", 0, 4, 6),
            number("traffic_class", 4, 8, 0),
            number("flow_label", 12, 20, 0),
            auto("payload_length", 32, 16, 0, Auto::Length { without: 40 }),
            auto("next_header", 48, 8, 59, Auto::IpProtocol),
            number("hop_limit", 56, 8, 64),
            address("src", 64, Kind::Ipv6),
            address("dst", 192, Kind::Ipv6),
        ],
    },
    Protocol {
        name: "udp",
        octets: 8,
        number: numbers(0, 17),
        fields: &[
            number("src_port", 0, 16, 0),
            auto("dst_port", 16, 16, 0, Auto::UdpPort),
            // The model has no `auto` here; its default 0 is no length that a datagram can have.
            auto("length", 32, 16, 0, Auto::Length { without: 0 }),
            auto("checksum", 48, 16, 0, Auto::Checksum(Cover::WithPseudoHeader { protocol: 17 })),
        ],
    },
    Protocol {
        name: "tcp",
        octets: 20,
        number: numbers(0, 6),
        fields: &[
            number("src_port", 0, 16, 0),
            number("dst_port", 16, 16, 0),
            number("seq_num", 32, 32, 0),
            number("ack_num", 64, 32, 0),
            // The model's default 0 is no length that a header can have.
            auto("data_offset", 96, 4, 5, Auto::Default),
            number("ecn_ns", 103, 1, 0),
            number("ecn_cwr", 104, 1, 0),
            number("ecn_echo", 105, 1, 0),
            number("ctl_urg", 106, 1, 0),
            number("ctl_ack", 107, 1, 0),
            number("ctl_psh", 108, 1, 0),
            number("ctl_rst", 109, 1, 0),
            number("ctl_syn", 110, 1, 0),
            number("ctl_fin", 111, 1, 0),
            number("window", 112, 16, 0),
            auto("checksum", 128, 16, 0, Auto::Checksum(Cover::WithPseudoHeader { protocol: 6 })),
        ],
    },
    Protocol {
        name: "icmp",
        octets: 8,
        number: numbers(0, 1),
        fields: &[
            number("echo.type", 0, 8, 8),
            number("echo.code", 8, 8, 0),
            auto("echo.checksum", 16, 16, 0, Auto::Checksum(Cover::Rest)),
            number("echo.identifier", 32, 16, 0),
            number("echo.sequence_number", 48, 16, 0),
        ],
    },
    Protocol {
        name: "icmpv6",
        octets: 8,
        number: numbers(0, 58),
        fields: &[
            number("echo.type", 0, 8, 128),
            number("echo.code", 8, 8, 0),
            auto("echo.checksum", 16, 16, 0, Auto::Checksum(Cover::WithPseudoHeader { protocol: 58 })),
            number("echo.identifier", 32, 16, 0),
            number("echo.sequence_number", 48, 16, 0),
        ],
    },
    Protocol {
        name: "gre",
        octets: 4,
        number: numbers(0, 47),
        fields: &[
            number(CHECKSUM_PRESENT, 0, 1, 0),
            number("reserved0", 1, 12, 0),
            number("version", 13, 3, 0),
            auto("protocol", 16, 16, 0x0800, Auto::EtherType),
            auto("checksum", 32, 16, 0, Auto::Checksum(Cover::Rest)),
            number("reserved1", 48, 16, 0),
        ],
    },
    Protocol {
        name: "vxlan",
        octets: 8,
        number: Numbers { ether_type: None, ip_protocol: None, udp_port: Some(4789) },
        fields: &[
            number("flags", 0, 8, 8),
            number("reserved0", 8, 24, 0),
            auto("vni", 32, 24, 0, Auto::Default),
            number("reserved1", 56, 8, 0),
        ],
    },
    Protocol {
        name: "ethernetpause",
        octets: 18,
        number: NO_NUMBERS,
        fields: &[
            Field { default: PAUSE_ADDRESS, ..address("dst", 0, Kind::Mac) },
            address("src", 48, Kind::Mac),
            number("ether_type", 96, 16, PAUSE_TYPE),
            number("control_op_code", 112, 16, 1),
            number("time", 128, 16, 0),
        ],
    },
    Protocol {
        name: "pfcpause",
        octets: 34,
        number: NO_NUMBERS,
        fields: &[
            Field { default: PAUSE_ADDRESS, ..address("dst", 0, Kind::Mac) },
            address("src", 48, Kind::Mac),
            number("ether_type", 96, 16, PAUSE_TYPE),
            number("control_op_code", 112, 16, 0x0101),
            number("class_enable_vector", 128, 16, 0),
            number("pause_class_0", 144, 16, 0),
            number("pause_class_1", 160, 16, 0),
            number("pause_class_2", 176, 16, 0),
            number("pause_class_3", 192, 16, 0),
            number("pause_class_4", 208, 16, 0),
            number("pause_class_5", 224, 16, 0),
            number("pause_class_6", 240, 16, 0),
            number("pause_class_7", 256, 16, 0),
        ],
    },
    Protocol {
        name: "igmpv1",
        octets: 8,
        number: numbers(0, 2),
        fields: &[
            number("version", 0, 4, 1),
            number("type", 4, 4, 1),
            number("unused", 8, 8, 0),
            auto("checksum", 16, 16, 0, Auto::Checksum(Cover::Rest)),
            address("group_address", 32, Kind::Ipv4),
        ],
    },
    Protocol { name: CUSTOM, octets: 0, number: NO_NUMBERS, fields: &[] },
];

/// The field of GRE that says whether checksum and `reserved1` are in the header (RFC 2784 2.1).
pub const CHECKSUM_PRESENT: &str = "checksum_present";

impl Protocol {
    /// The protocol with this name.
    pub fn find(name: &str) -> Option<&'static Self> {
        PROTOCOLS.iter().find(|protocol| protocol.name == name)
    }
}

impl Field {
    /// Its largest value.
    pub const fn most(&self) -> u128 {
        u128::MAX >> (128 - self.bits)
    }

    /// Its bits.
    pub(super) const fn range(&self) -> std::ops::Range<usize> {
        self.bit..self.bit + self.bits as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_inside_their_headers_and_defaults_fit() {
        for protocol in PROTOCOLS {
            let room = if protocol.name == "gre" { 8 } else { protocol.octets };
            for field in protocol.fields {
                assert!(field.range().end <= 8 * room, "{} {}", protocol.name, field.name);
                assert!(field.default <= field.most(), "{} {}", protocol.name, field.name);
                // A writer changes up to 8 octets at once, or 16 that begin with the field.
                let octets = field.range().end.div_ceil(8) - field.bit / 8;
                assert!(octets <= 8 || field.bit % 8 == 0 && field.bits == 128, "{}", field.name);
            }
        }
    }
}
