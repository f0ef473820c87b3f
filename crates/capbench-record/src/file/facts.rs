//! Metadata of a frame in a pcapng file (draft-ietf-opsawg-pcapng, section 4.3).

use capbench_sys::packet::{Frame, PacketType};

/// Metadata of a frame that the capture method does not deliver with the frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFacts {
    /// Index of the interface among the encoder's interfaces, from 0.
    pub interface: u32,
    /// The receive queue (`epb_queue`), if known.
    pub queue: Option<u32>,
    /// Frames lost between the previous frame of this interface in the file and this one (`epb_dropcount`), if known.
    pub dropped: Option<u64>,
}

/// The algorithm of the frames' flow hashes: the first octet of `epb_hash`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashAlgorithm {
    /// The kernel's hash (`skb_get_hash`): computed by the adapter, or by the kernel where the adapter did not. The draft has no
    /// code for this; 255 is unassigned.
    #[default]
    Unassigned,
    /// Toeplitz: the adapter is known to compute it for every frame.
    Toeplitz,
}

impl HashAlgorithm {
    /// Its code in a file.
    pub fn code(self) -> u8 {
        match self {
            Self::Unassigned => 255,
            Self::Toeplitz => 5,
        }
    }
}

/// Bits 0 and 1: inbound.
const INBOUND: u32 = 1;
/// Bits 0 and 1: outbound.
const OUTBOUND: u32 = 2;
/// First bit of the 3-bit reception type: 1 unicast, 2 multicast, 3 broadcast, 4 promiscuous.
const RECEPTION: u32 = 2;
/// Checksum not ready.
const NOT_READY: u32 = 9;
/// Checksum valid.
const VALID: u32 = 10;
/// TCP segmentation offloaded.
const SEGMENTS: u32 = 11;

/// The flags word of a frame (section 4.3.1); 0 if nothing is known.
#[inline]
pub(super) fn flags_of(frame: &Frame<'_>) -> u32 {
    let addressee = match frame.packet_type {
        PacketType::Host => INBOUND | 1 << RECEPTION,
        PacketType::Multicast => INBOUND | 2 << RECEPTION,
        PacketType::Broadcast => INBOUND | 3 << RECEPTION,
        PacketType::OtherHost => INBOUND | 4 << RECEPTION,
        PacketType::Outgoing => OUTBOUND,
        PacketType::Other(_) | PacketType::Unknown => 0,
    };
    addressee
        | u32::from(frame.checksum_is_missing()) << NOT_READY
        | u32::from(frame.checksum_is_valid()) << VALID
        | u32::from(frame.is_segments()) << SEGMENTS
}

/// The bits that say more than that a frame was received, whole and with a complete checksum.
pub(super) const REMARKABLE: u32 = OUTBOUND | 1 << NOT_READY | 1 << SEGMENTS;

pub(super) fn packet_type_of(flags: u32) -> PacketType {
    match (flags & 3, flags >> RECEPTION & 7) {
        (OUTBOUND, _) => PacketType::Outgoing,
        (_, 1) => PacketType::Host,
        (_, 2) => PacketType::Multicast,
        (_, 3) => PacketType::Broadcast,
        (_, 4) => PacketType::OtherHost,
        _ => PacketType::Unknown,
    }
}

/// The status flags (`TP_STATUS_*`) from a flags word.
pub(super) fn status_of(flags: u32) -> u32 {
    let bit = |at: u32| flags >> at & 1 != 0;
    Frame::checksum_status(bit(NOT_READY), bit(VALID), bit(SEGMENTS))
}
