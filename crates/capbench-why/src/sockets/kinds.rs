//! The kernel's numbers for kinds of rings and fanout groups.

use super::socket::{Method, Ring};

/// The method by `enum tpacket_versions`.
pub(super) fn method(has_ring: bool, version: u32) -> Method {
    match (has_ring, version) {
        (false, _) => Method::Recv,
        (true, 0) => Method::PacketV1,
        (true, 1) => Method::PacketV2,
        (true, _) => Method::PacketV3,
    }
}

/// Captured octets per frame: limited by the filter's verdict or by the size of a slot.
pub(super) fn cut_to(method: Method, ring: Option<Ring>, reserve: u32, filter: Option<u32>) -> Option<u32> {
    /// Octets of a slot before the frame: its header, the sender's address and the alignment (packet_mmap).
    const IN_FRONT: u32 = 66;
    let slot = match method {
        Method::PacketV1 | Method::PacketV2 => {
            ring.map(|ring| ring.slot_octets.saturating_sub(IN_FRONT + reserve))
        }
        _ => None,
    };
    [slot, filter.filter(|octets| *octets > 0)].into_iter().flatten().min()
}

/// The name by `PACKET_FANOUT_*` of linux/if_packet.h.
pub(super) fn fanout_kind(kind: u32) -> String {
    match kind {
        0 => "hash".into(),
        1 => "lb".into(),
        2 => "cpu".into(),
        3 => "rollover".into(),
        4 => "rnd".into(),
        5 => "qm".into(),
        6 => "cbpf".into(),
        7 => "ebpf".into(),
        other => format!("kind {other}"),
    }
}
