//! One captured frame, borrowed from its buffer.

/// `linux/if_packet.h` since Linux 6.3; the crate libc does not have it.
const TP_STATUS_GSO_TCP: u32 = 1 << 8;

/// A frame for the application: the bytes, borrowed until their batch is dropped, and the kernel's metadata.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The captured bytes from the destination MAC address on, without FCS and without a VLAN tag that was removed; on a link without
    /// Ethernet from the IP header on.
    pub data: &'a [u8],
    /// Octets of the frame in the kernel, without FCS and without a removed VLAN tag.
    pub wire_length: u32,
    /// Time stamp in nanoseconds since the epoch (V1: whole microseconds); 0 means none.
    pub time_ns: u64,
    /// The VLAN tag that the NIC or the stack removed from the bytes; `None` also if the method does not report it (V1).
    pub vlan: Option<VlanTag>,
    /// The kind of the frame's destination, seen from this host.
    pub packet_type: PacketType,
    /// The flow hash, if requested and supported (V3).
    pub hash: Option<u32>,
    /// The method's raw status flags (`TP_STATUS_*` of `linux/if_packet.h`).
    pub status: u32,
}

impl<'a> Frame<'a> {
    /// A frame without a VLAN tag, hash and flags, and of unknown packet type.
    #[inline]
    pub fn new(data: &'a [u8], wire_length: u32, time_ns: u64) -> Self {
        Self {
            data,
            wire_length,
            time_ns,
            vlan: None,
            packet_type: PacketType::Unknown,
            hash: None,
            status: 0,
        }
    }
}

impl Frame<'_> {
    /// Whether the ring has lost frames since its counters were read, all before this one (`TP_STATUS_LOSING`). Set by
    /// `tpacket_rcv` of net/packet/af_packet.c in V1 and V2 rings only; V3 marks blocks.
    #[inline]
    pub fn is_losing(&self) -> bool {
        self.status & libc::TP_STATUS_LOSING != 0
    }

    /// Whether its checksum is incomplete until the sending hardware fills it in (`TP_STATUS_CSUMNOTREADY`).
    #[inline]
    pub fn checksum_is_missing(&self) -> bool {
        self.status & libc::TP_STATUS_CSUMNOTREADY != 0
    }

    /// Whether its checksum was verified before the kernel captured it (`TP_STATUS_CSUM_VALID`).
    #[inline]
    pub fn checksum_is_valid(&self) -> bool {
        self.status & libc::TP_STATUS_CSUM_VALID != 0
    }

    /// Whether it represents several TCP segments on the wire (`TP_STATUS_GSO_TCP`).
    #[inline]
    pub fn is_segments(&self) -> bool {
        self.status & TP_STATUS_GSO_TCP != 0
    }

    /// Status flags for these answers to the three questions above.
    pub fn checksum_status(missing: bool, valid: bool, segments: bool) -> u32 {
        let flag = |set: bool, flag: u32| if set { flag } else { 0 };
        flag(missing, libc::TP_STATUS_CSUMNOTREADY)
            | flag(valid, libc::TP_STATUS_CSUM_VALID)
            | flag(segments, TP_STATUS_GSO_TCP)
    }
}

/// An IEEE 802.1Q tag kept as metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VlanTag {
    /// Priority, drop eligibility and VLAN identifier. 0 is a legal value.
    pub tci: u16,
    /// Tag protocol identifier; 0x8100 if the kernel did not report it.
    pub tpid: u16,
}

impl VlanTag {
    /// The tag that status flags and fields of a ring header or of `tpacket_auxdata` describe.
    #[inline]
    pub fn from_status(status: u32, tci: u16, tpid: u16) -> Option<Self> {
        if status & libc::TP_STATUS_VLAN_VALID == 0 {
            return None;
        }
        let tpid = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 { 0x8100 } else { tpid };
        Some(Self { tci, tpid })
    }
}

/// The kind of a frame's destination (`sll_pkttype`, packet(7)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PacketType {
    /// Addressed to this host.
    Host,
    /// A physical-layer broadcast.
    Broadcast,
    /// A physical-layer multicast.
    Multicast,
    /// Addressed to another host; captured because the interface is promiscuous.
    OtherHost,
    /// Sent by this host.
    Outgoing,
    /// Any other value of the kernel.
    Other(u8),
    /// The method does not report it.
    #[default]
    Unknown,
}

impl From<u8> for PacketType {
    #[inline]
    fn from(value: u8) -> Self {
        match value {
            libc::PACKET_HOST => Self::Host,
            libc::PACKET_BROADCAST => Self::Broadcast,
            libc::PACKET_MULTICAST => Self::Multicast,
            libc::PACKET_OTHERHOST => Self::OtherHost,
            libc::PACKET_OUTGOING => Self::Outgoing,
            other => Self::Other(other),
        }
    }
}
