//! Headers of the generated frames: tag, network and transport protocol, addresses, number of flows.
//!
//! Addresses are those reserved for benchmarking: 198.18.0.0/15 (RFC 2544 C.2.2, erratum 423) and 2001:2::/48
//! (RFC 5180 8). Flow `f` is sent from 198.18.0.1 + f (2001:2:0:1::1 + f), port [`FIRST_SOURCE_PORT`] + f, to
//! 198.19.0.1 (2001:2:0:2::1), port [`DESTINATION_PORT`].

use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::stamp::STAMP_OCTETS;
use crate::{FrameError, FrameSize, Mtu, Result};

/// Destination port of every generated frame: the discard service (RFC 863).
pub const DESTINATION_PORT: u16 = 9;

/// Source port of flow 0.
pub const FIRST_SOURCE_PORT: u16 = 32_768;

/// Source address of flow 0 over IPv4.
pub const FIRST_SOURCE_V4: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 1);
/// Destination address over IPv4.
pub const DESTINATION_V4: Ipv4Addr = Ipv4Addr::new(198, 19, 0, 1);
/// Source address of flow 0 over IPv6.
pub const FIRST_SOURCE_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 1, 0, 0, 0, 1);
/// Destination address over IPv6.
pub const DESTINATION_V6: Ipv6Addr = Ipv6Addr::new(0x2001, 2, 0, 2, 0, 0, 0, 1);

/// Octets of an Ethernet header without tag.
pub const ETHERNET_OCTETS: usize = 14;
/// Octets of a VLAN tag.
pub const TAG_OCTETS: usize = 4;
/// Octets of an IPv4 header without options.
pub const NETWORK_V4_OCTETS: usize = 20;
/// Octets of an IPv6 header.
pub const NETWORK_V6_OCTETS: usize = 40;

/// Offset of the octet of the source Ethernet address that a stream's number is added to. So a switch sees each sender at one port.
pub(crate) const STREAM_AT: usize = 10;

/// A 48-bit Ethernet address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct MacAddress(pub [u8; 6]);

/// A VLAN tag (IEEE 802.1Q 9.6) with tag protocol identifier 0x8100.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct VlanTag {
    /// Tag control information: priority 3 bits, drop eligible 1, VLAN identifier 12.
    pub tci: u16,
}

impl VlanTag {
    /// Tag protocol identifier of the tags that this crate writes.
    pub const TPID: u16 = 0x8100;
}

/// The network protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Network {
    /// IPv4 without options.
    V4,
    /// IPv6 without extension headers.
    V6,
}

/// The transport protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub enum Transport {
    /// UDP; the stamp is the first 14 octets of its payload.
    Udp,
    /// TCP without options; the stamp is spread over header and payload (see [`crate::stamp`]).
    Tcp,
}

/// A number of flows, 1 to 32,768.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(try_from = "u16", into = "u16")]
pub struct Flows(u16);

/// The number of one flow, from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Flow(pub u16);

/// The headers of the generated frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrameLayout {
    /// A VLAN tag, or none.
    pub vlan: Option<VlanTag>,
    /// IPv4 or IPv6.
    pub network: Network,
    /// UDP or TCP.
    pub transport: Transport,
    /// Source Ethernet address.
    pub source: MacAddress,
    /// Destination Ethernet address. The default is that of another host: the receiving stack then drops the frame before its
    /// network layer (`PACKET_OTHERHOST`) and does not answer. Capture then needs promiscuous mode.
    pub destination: MacAddress,
    /// Number of flows.
    pub flows: Flows,
}

impl Default for FrameLayout {
    /// IPv4 and UDP in one flow, without tag, between two locally administered Ethernet addresses.
    fn default() -> Self {
        Self {
            vlan: None,
            network: Network::V4,
            transport: Transport::Udp,
            source: MacAddress([0x02, 0x63, 0x61, 0x70, 0x00, 0x01]),
            destination: MacAddress([0x02, 0x63, 0x61, 0x70, 0x00, 0x02]),
            flows: Flows::ONE,
        }
    }
}

impl FrameLayout {
    /// The kinds of its headers.
    pub const fn headers(&self) -> Headers {
        Headers { network: self.network, transport: self.transport, is_tagged: self.vlan.is_some() }
    }

    /// The packets of `dain-2004`: IPv4 and TCP with 4 octets of payload. Their minimum size is 62, as in that work.
    pub fn dain_2004() -> Self {
        Self { transport: Transport::Tcp, ..Self::default() }
    }

    /// The minimum size that holds headers and stamp. A runt if they are shorter than Ethernet allows.
    pub const fn minimum_size(&self) -> FrameSize {
        FrameSize::of_captured((self.network_at() + self.stamp_end()) as u16)
    }

    /// The largest size that an interface with this MTU can send.
    pub fn most_octets(&self, mtu: Mtu) -> u32 {
        mtu.0.saturating_add(self.network_at() as u32 + u32::from(crate::units::FCS_OCTETS))
    }

    /// Checks that frames of `size` hold the headers and the stamp and fit the MTU.
    ///
    /// # Errors
    /// Too small (names the minimum size) or above the MTU (names the largest size).
    pub fn check(&self, size: FrameSize, mtu: Mtu) -> Result<()> {
        let least = self.minimum_size();
        if size < least {
            return Err(FrameError::TooSmallForLayout {
                asked: size.octets(),
                layout: self.to_string(),
                least: least.octets(),
            });
        }
        let needed = (size.captured() - self.network_at()) as u32;
        if needed > mtu.0 {
            let most = self.most_octets(mtu);
            return Err(FrameError::LargerThanMtu { asked: size.octets(), needed, mtu: mtu.0, most });
        }
        Ok(())
    }

    /// Offset of the network header in a frame with its tag.
    pub const fn network_at(&self) -> usize {
        if self.vlan.is_some() { ETHERNET_OCTETS + TAG_OCTETS } else { ETHERNET_OCTETS }
    }

    /// Octets of the network header.
    pub const fn network_octets(&self) -> usize {
        match self.network {
            Network::V4 => NETWORK_V4_OCTETS,
            Network::V6 => NETWORK_V6_OCTETS,
        }
    }

    /// Octets from the network header to the end of the stamp.
    pub const fn stamp_end(&self) -> usize {
        self.network_octets()
            + match self.transport {
                Transport::Udp => 8 + STAMP_OCTETS,
                Transport::Tcp => 20 + 4,
            }
    }
}

impl fmt::Display for FrameLayout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headers().fmt(f)
    }
}

/// The kinds of headers of the generated frames: `IPv4/UDP`, `IPv6/TCP with a VLAN tag`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Headers {
    /// IPv4 or IPv6.
    pub network: Network,
    /// UDP or TCP.
    pub transport: Transport,
    /// Whether there is a VLAN tag.
    pub is_tagged: bool,
}

const TAGGED: &str = " with a VLAN tag";

impl FromStr for Headers {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let (rest, is_tagged) = match text.strip_suffix(TAGGED) {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (network, transport) = match rest {
            "IPv4/UDP" => (Network::V4, Transport::Udp),
            "IPv4/TCP" => (Network::V4, Transport::Tcp),
            "IPv6/UDP" => (Network::V6, Transport::Udp),
            "IPv6/TCP" => (Network::V6, Transport::Tcp),
            _ => return Err(format!("\"{text}\" are no headers")),
        };
        Ok(Self { network, transport, is_tagged })
    }
}

impl fmt::Display for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let network = match self.network {
            Network::V4 => "IPv4",
            Network::V6 => "IPv6",
        };
        let transport = match self.transport {
            Transport::Udp => "UDP",
            Transport::Tcp => "TCP",
        };
        write!(f, "{network}/{transport}{}", if self.is_tagged { TAGGED } else { "" })
    }
}

impl Flows {
    /// One flow.
    pub const ONE: Self = Self(1);
    /// The maximum number of flows: every source port from [`FIRST_SOURCE_PORT`] on.
    pub const MOST: u32 = 1 << 15;

    /// A number of flows.
    ///
    /// # Errors
    /// None, or more than [`Self::MOST`].
    pub fn new(flows: u32) -> Result<Self> {
        match u16::try_from(flows) {
            Ok(count) if (1..=Self::MOST).contains(&flows) => Ok(Self(count)),
            _ => Err(FrameError::Flows { asked: flows, most: Self::MOST }),
        }
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0 as u32
    }

    /// The flow with this number, if it exists.
    pub fn flow(self, number: u32) -> Option<Flow> {
        (number < self.get()).then_some(Flow(number as u16))
    }
}

impl TryFrom<u16> for Flows {
    type Error = FrameError;

    fn try_from(flows: u16) -> Result<Self> {
        Self::new(flows.into())
    }
}

impl From<Flows> for u16 {
    fn from(flows: Flows) -> Self {
        flows.0
    }
}

impl Flow {
    /// The flow that every layout has.
    pub const FIRST: Self = Self(0);

    /// Its number.
    pub const fn number(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

impl FromStr for MacAddress {
    type Err = FrameError;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || FrameError::parse(text, "an Ethernet address, such as 02:63:61:70:00:02");
        let mut address = [0; 6];
        let mut parts = text.split(':');
        for octet in &mut address {
            let part =
                parts.next().filter(|part| part.len() == 2 && !part.starts_with('+')).ok_or_else(wrong)?;
            *octet = u8::from_str_radix(part, 16).map_err(|_| wrong())?;
        }
        if parts.next().is_none() { Ok(Self(address)) } else { Err(wrong()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(vlan: bool, network: Network, transport: Transport) -> FrameLayout {
        FrameLayout {
            vlan: vlan.then_some(VlanTag { tci: 100 }),
            network,
            transport,
            ..FrameLayout::default()
        }
    }

    #[test]
    fn least_sizes() {
        use Network::*;
        use Transport::*;
        for (vlan, network, transport, octets) in [
            (false, V4, Udp, 60),
            (true, V4, Udp, 64),
            (false, V4, Tcp, 62),
            (true, V4, Tcp, 66),
            (false, V6, Udp, 80),
            (true, V6, Udp, 84),
            (false, V6, Tcp, 82),
            (true, V6, Tcp, 86),
        ] {
            let layout = layout(vlan, network, transport);
            assert_eq!(layout.minimum_size().octets(), octets, "{layout}");
        }
        assert_eq!(FrameLayout::dain_2004().minimum_size().captured(), 58);
    }

    #[test]
    fn sizes_that_do_not_fit_name_the_limit() {
        let tagged = layout(true, Network::V6, Transport::Tcp);
        let small = tagged.check(FrameSize::new(64).unwrap(), Mtu(1500)).unwrap_err().to_string();
        assert_eq!(
            small,
            "frame size 64 is too small for IPv6/TCP with a VLAN tag: at least 86 octets, the FCS included"
        );
        let large =
            FrameLayout::default().check(FrameSize::new(9999).unwrap(), Mtu(1500)).unwrap_err().to_string();
        assert_eq!(
            large,
            "frame size 9999 needs an MTU of 9981, but the interface has 1500: at most 1518 octets"
        );
        assert!(FrameLayout::default().check(FrameSize::new(1518).unwrap(), Mtu(1500)).is_ok());
        assert!(FrameLayout::default().check(FrameSize::new(1519).unwrap(), Mtu(1500)).is_err());
        assert!(tagged.check(FrameSize::new(1522).unwrap(), Mtu(1500)).is_ok());
        assert!(tagged.check(FrameSize::new(1523).unwrap(), Mtu(1500)).is_err());
    }

    #[test]
    fn addresses_and_flows_as_users_write_them() {
        let text = "02:63:61:70:00:fe";
        assert_eq!(text.parse::<MacAddress>().unwrap().to_string(), text);
        for wrong in ["", "02:63:61:70:00", "02:63:61:70:00:02:03", "2:63:61:70:00:02", "zz:63:61:70:00:02"] {
            assert!(wrong.parse::<MacAddress>().is_err(), "{wrong}");
        }
        assert_eq!(Flows::new(0).unwrap_err().to_string(), "0 flows are not allowed: 1 to 32768");
        assert!(Flows::new(32_768).is_ok());
        assert!(Flows::new(32_769).is_err());
        assert_eq!(Flows::ONE.flow(1), None);
    }
}
