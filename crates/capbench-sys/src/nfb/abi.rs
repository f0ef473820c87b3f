//! The part of libnfb's public interface in use: `nfb/nfb.h`, `nfb/ndp.h`, `netcope/rxqueue.h` and `netcope/dma_ctrl_ndp.h` and
//! `_sze.h` of CESNET's ndk-sw, releases 6.17 (2023) to 6.31 (2026). The library does not report its release; its interface is
//! that of the 6 in `libnfb.so.6`. Handles are the library's own.

use std::ffi::{c_char, c_int, c_uint, c_void};

use crate::library_call::function_table;

/// `struct nfb_device`.
#[repr(C)]
pub(super) struct NfbDevice {
    opaque: [u8; 0],
}

/// `struct ndp_queue`.
#[repr(C)]
pub(super) struct NdpQueue {
    opaque: [u8; 0],
}

/// `struct nfb_comp`.
#[repr(C)]
pub(super) struct NfbComponent {
    opaque: [u8; 0],
}

/// `struct ndp_packet` of `nfb/ndp.h`, as it is since release 6.17, which added the flags.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct NdpPacket {
    pub(super) data: *const u8,
    /// What the firmware says about it; its layout is the firmware's.
    pub(super) header: *const u8,
    pub(super) data_length: u32,
    pub(super) header_length: u16,
    /// Bits 0 and 1: which of the firmware's header layouts this is.
    pub(super) flags: u16,
}

/// Receive DMA controllers by their names in the device tree, in the order in which `nc_rxqueue_open_index` looks for
/// them; a card has one kind.
pub(super) const CONTROLLERS: [(&std::ffi::CStr, Registers); 3] = [
    (c"netcope,dma_ctrl_sze_rx", Registers { received: 0x30, discarded: 0x38, strobe: false }),
    (c"cesnet,dma_ctrl_calypte_rx", Registers { received: 0x60, discarded: 0x70, strobe: true }),
    (c"netcope,dma_ctrl_ndp_rx", Registers { received: 0x60, discarded: 0x70, strobe: true }),
];

/// Where a controller keeps its packet counters, 64 bits each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Registers {
    /// `..._CNTR_RECV`
    pub(super) received: i64,
    /// `..._CNTR_DISC`
    pub(super) discarded: i64,
    /// Whether both are to be latched first, by [`STROBE`] written to the first.
    pub(super) strobe: bool,
}

/// `CNTR_CMD_STRB`
pub(super) const STROBE: u32 = 1;

function_table! {
    struct Functions;
    required {
        nfb_open: unsafe extern "C" fn(*const c_char) -> *mut NfbDevice,
        nfb_close: unsafe extern "C" fn(*mut NfbDevice),
        ndp_get_rx_queue_count: unsafe extern "C" fn(*const NfbDevice) -> c_int,
        ndp_open_rx_queue: unsafe extern "C" fn(*mut NfbDevice, c_uint) -> *mut NdpQueue,
        ndp_close_rx_queue: unsafe extern "C" fn(*mut NdpQueue),
        ndp_queue_start: unsafe extern "C" fn(*mut NdpQueue) -> c_int,
        ndp_queue_stop: unsafe extern "C" fn(*mut NdpQueue) -> c_int,
        ndp_rx_burst_get: unsafe extern "C" fn(*mut NdpQueue, *mut NdpPacket, c_uint) -> c_uint,
        ndp_rx_burst_put: unsafe extern "C" fn(*mut NdpQueue),
        nfb_comp_count: unsafe extern "C" fn(*const NfbDevice, *const c_char) -> c_int,
        nfb_comp_find: unsafe extern "C" fn(*const NfbDevice, *const c_char, c_uint) -> c_int,
        nfb_comp_open: unsafe extern "C" fn(*const NfbDevice, c_int) -> *mut NfbComponent,
        nfb_comp_close: unsafe extern "C" fn(*mut NfbComponent),
        nfb_comp_read: unsafe extern "C" fn(*const NfbComponent, *mut c_void, usize, i64) -> isize,
        nfb_comp_write: unsafe extern "C" fn(*const NfbComponent, *const c_void, usize, i64) -> isize,
    }
    optional {
        ndp_rx_queue_is_available: unsafe extern "C" fn(*const NfbDevice, c_uint) -> c_int,
        ndp_rx_poll: unsafe extern "C" fn(*mut NfbDevice, c_int, *mut *mut NdpQueue) -> c_int,
    }
}
