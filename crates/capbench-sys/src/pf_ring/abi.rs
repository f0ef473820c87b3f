//! The part of libpfring's public interface in use: `pfring.h` of 2025 (release 8) and `linux/pf_ring.h` of 6.5.0, and for
//! releases 7 and 8 the layouts in public bindings to that header.

use std::ffi::{c_char, c_int, c_uint};

use crate::library_call::function_table;

/// `pfring`.
#[repr(C)]
pub(super) struct Pfring {
    opaque: [u8; 0],
}

/// `struct pfring_pkthdr`. What follows the direction was packed (7), moved (7.8) and extended; what comes before is in
/// these places from 6.5 on, packed or not. The library writes all of it, about 200 octets in 6.5.0, so there is room for
/// five times that.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct PacketHeader {
    pub(super) seconds: i64,
    pub(super) microseconds: i64,
    pub(super) captured: u32,
    pub(super) length: u32,
    /// `extended_hdr.timestamp_ns`; 0 where the module does not fill it.
    pub(super) time_ns: u64,
    /// `extended_hdr.flags`
    pub(super) flags: u32,
    /// `extended_hdr.rx_direction`: 1 received, 0 sent.
    pub(super) is_received: u8,
    /// The other fields, which differ between releases.
    pub(super) rest: [u8; 987],
}

/// `pfring_packet_info` of release 8.0 and later, the first with `pfring_recv_burst`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct PacketInfo {
    /// The packet, in the adapter's memory.
    pub(super) data: *const u8,
    pub(super) seconds: i64,
    pub(super) microseconds: i64,
    pub(super) captured: u16,
    pub(super) length: u16,
    /// `PKT_FLAGS_*`
    pub(super) flags: u32,
    pub(super) hash: u32,
}

/// `pfring_stat`: received, dropped, and since 7.0 shunted. Later releases may append; there is room.
pub(super) type Statistics = [u64; 8];

/// The first release whose packet header is known to have the layout above, as `RING_VERSION_NUM`.
pub(super) const LEAST_VERSION: u32 = 0x06_05_00;
pub(super) const BURST_VERSION: u32 = 0x08_00_00;

/// `PF_RING_PROMISC`
pub(super) const PROMISCUOUS: u32 = 1 << 3;
/// `PF_RING_DO_NOT_PARSE`: nobody asked for parsed headers, which cost time where packets are copied. A cluster needs them.
pub(super) const DO_NOT_PARSE: u32 = 1 << 9;
/// `recv_only_mode` of `socket_mode`.
pub(super) const RECEIVE_ONLY: c_int = 2;
/// Most octets of a packet that the kernel module captures (`MAX_CAPLEN`).
pub const MOST_CAPTURED: u32 = 65_600;
/// `PF_RING_ERROR_NOT_SUPPORTED`
pub(super) const NOT_SUPPORTED: c_int = -7;

/// What `PF_RING_ERROR_*` mean.
pub(super) fn meaning(code: c_int) -> &'static str {
    match code {
        -1 => "it failed",
        -2 => "an argument was refused",
        -3 => "no packet is available",
        -5 => "the configuration is wrong",
        -6 => "the demo time is over; the module needs a licence",
        NOT_SUPPORTED => "this module does not have it",
        -8 => "library and kernel module are of different releases",
        -9 => "the adapter is not known to it",
        -10 => "not enough memory",
        -11 => "the ring is in the wrong state",
        -12 => "the ring is not enabled",
        _ => "it failed for a reason unknown here",
    }
}

function_table! {
    struct Functions;
    required {
        pfring_open: unsafe extern "C" fn(*const c_char, u32, u32) -> *mut Pfring,
        pfring_close: unsafe extern "C" fn(*mut Pfring),
        pfring_version_noring: unsafe extern "C" fn(*mut u32),
        pfring_set_socket_mode: unsafe extern "C" fn(*mut Pfring, c_int) -> c_int,
        pfring_set_direction: unsafe extern "C" fn(*mut Pfring, c_int) -> c_int,
        pfring_set_poll_watermark: unsafe extern "C" fn(*mut Pfring, u16) -> c_int,
        pfring_set_cluster: unsafe extern "C" fn(*mut Pfring, c_uint, c_int) -> c_int,
        pfring_enable_ring: unsafe extern "C" fn(*mut Pfring) -> c_int,
        pfring_poll: unsafe extern "C" fn(*mut Pfring, c_uint) -> c_int,
        pfring_recv: unsafe extern "C" fn(*mut Pfring, *mut *mut u8, c_uint, *mut PacketHeader, u8) -> c_int,
        pfring_stats: unsafe extern "C" fn(*mut Pfring, *mut Statistics) -> c_int,
    }
    optional {
        pfring_recv_burst: unsafe extern "C" fn(*mut Pfring, *mut PacketInfo, u8, u8) -> c_int,
        pfring_get_num_queued_pkts: unsafe extern "C" fn(*mut Pfring) -> u32,
        pfring_get_caplen: unsafe extern "C" fn(*mut Pfring) -> c_int,
        pfring_get_ring_id: unsafe extern "C" fn(*mut Pfring) -> u32,
    }
}

#[cfg(test)]
mod tests {
    use super::{PacketHeader, PacketInfo};
    use std::mem::{offset_of, size_of};

    #[test]
    fn the_fields_used_lie_where_every_release_has_them() {
        assert_eq!((offset_of!(PacketHeader, captured), offset_of!(PacketHeader, length)), (16, 20));
        assert_eq!((offset_of!(PacketHeader, time_ns), offset_of!(PacketHeader, is_received)), (24, 36));
        assert!(size_of::<PacketHeader>() >= 1024);
        assert_eq!((offset_of!(PacketInfo, captured), size_of::<PacketInfo>()), (24, 40));
    }
}
