//! What a pcapng file says of a frame beside its octets (draft-ietf-opsawg-pcapng, section 4.3).

use capbench_sys::packet::{Frame, PacketType};

/// What is known of a frame that the method does not tell with it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketFacts {
    /// Number of its interface among those that the encoder was made with, from 0.
    pub interface: u32,
    /// The receive queue through which it came, where it is known (`epb_queue`).
    pub queue: Option<u32>,
    /// Frames that were lost between the previous frame of this interface in the file and this one, for a frame before
    /// which that is known (`epb_dropcount`).
    pub dropped: Option<u64>,
}

/// How the flow hashes of frames were computed: the first octet of `epb_hash`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum HashAlgorithm {
    /// Whatever the kernel had (`skb_get_hash`): the adapter's hash, or its own where the adapter gave none. The draft has no
    /// number for that; 255 is not assigned.
    #[default]
    Unassigned,
    /// Toeplitz, by an adapter that is known to compute it for every frame.
    Toeplitz,
}

impl HashAlgorithm {
    /// Its number in a file.
    pub fn code(self) -> u8 {
        match self {
            Self::Unassigned => 255,
            Self::Toeplitz => 5,
        }
    }
}

/// Inbound, in bits 0 and 1.
const INBOUND: u32 = 1;
/// Outbound, there.
const OUTBOUND: u32 = 2;
/// Where the reception type begins, of 3 bits: unicast, multicast, broadcast, promiscuous from 1 on.
const RECEPTION: u32 = 2;
/// Checksum not ready.
const NOT_READY: u32 = 9;
/// Checksum valid.
const VALID: u32 = 10;
/// TCP segmentation offloaded.
const SEGMENTS: u32 = 11;

/// The flags word of a frame (section 4.3.1); 0 when nothing is known.
#[inline]
pub(super) fn flags_of(frame: &Frame<'_>) -> u32 {
    let whom = match frame.packet_type {
        PacketType::Host => INBOUND | 1 << RECEPTION,
        PacketType::Multicast => INBOUND | 2 << RECEPTION,
        PacketType::Broadcast => INBOUND | 3 << RECEPTION,
        PacketType::OtherHost => INBOUND | 4 << RECEPTION,
        PacketType::Outgoing => OUTBOUND,
        PacketType::Other(_) | PacketType::Unknown => 0,
    };
    whom | u32::from(frame.checksum_is_missing()) << NOT_READY
        | u32::from(frame.checksum_is_valid()) << VALID
        | u32::from(frame.is_segments()) << SEGMENTS
}

/// Whom a frame was for, of its flags word.
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

/// The status flags (`TP_STATUS_*`) that stand in a flags word.
pub(super) fn status_of(flags: u32) -> u32 {
    let bit = |at: u32| flags >> at & 1 != 0;
    Frame::checksum_status(bit(NOT_READY), bit(VALID), bit(SEGMENTS))
}
