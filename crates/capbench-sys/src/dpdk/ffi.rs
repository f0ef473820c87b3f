//! The declarations of shim.h in Rust. Both sides assert the same layouts.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::mem::offset_of;

/// `struct capbench_dpdk_frame`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Frame {
    pub(super) data: *const u8,
    pub(super) length: u32,
    pub(super) wire_length: u32,
    pub(super) vlan_tci: u16,
    pub(super) vlan_stripped: u8,
    pub(super) reserved: u8,
}

/// `struct capbench_dpdk_wanted`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct Wanted {
    pub(super) mtu: u32,
    pub(super) queues: u16,
    pub(super) descriptors: u16,
    pub(super) transmit_queues: u16,
    pub(super) transmit_descriptors: u16,
    pub(super) room: u16,
    pub(super) spare: u16,
    pub(super) promiscuous: u8,
    pub(super) transmits: u8,
    pub(super) threads: u16,
}

/// `struct capbench_dpdk_port`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Port {
    pub(super) driver: [c_char; 64],
    pub(super) pool: *mut c_void,
    pub(super) buffers: u32,
    pub(super) number: u16,
    pub(super) queues: u16,
    pub(super) descriptors: u16,
    pub(super) vlan_stripped: u8,
    pub(super) mac: [u8; 6],
    pub(super) rss: u8,
    pub(super) reserved: [u8; 2],
}

/// `struct capbench_dpdk_counter`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Counter {
    pub(super) name: [c_char; 64],
    pub(super) value: u64,
}

const _: () = {
    assert!(size_of::<Frame>() == 24 && offset_of!(Frame, vlan_stripped) == 18);
    assert!(size_of::<Wanted>() == 20 && offset_of!(Wanted, threads) == 18);
    assert!(size_of::<Port>() == 96 && offset_of!(Port, rss) == 89);
    assert!(size_of::<Counter>() == 72);
};

unsafe extern "C" {
    pub(super) fn capbench_dpdk_version() -> *const c_char;
    pub(super) fn capbench_dpdk_driver_directory() -> *const c_char;
    pub(super) fn capbench_dpdk_reason(error: c_int) -> *const c_char;
    pub(super) fn capbench_dpdk_said(text: *mut c_char, size: usize) -> usize;
    pub(super) fn capbench_dpdk_start(count: c_int, arguments: *mut *mut c_char) -> c_int;
    pub(super) fn capbench_dpdk_register_thread() -> c_int;
    pub(super) fn capbench_dpdk_unregister_thread();
    pub(super) fn capbench_dpdk_plug(
        bus: *const c_char,
        name: *const c_char,
        arguments: *const c_char,
    ) -> c_int;
    pub(super) fn capbench_dpdk_unplug(bus: *const c_char, name: *const c_char) -> c_int;
    pub(super) fn capbench_dpdk_open(
        name: *const c_char,
        pool: *const c_char,
        wanted: *const Wanted,
        port: *mut Port,
        failed: *mut *const c_char,
    ) -> c_int;
    pub(super) fn capbench_dpdk_close(port: *const Port);
    pub(super) fn capbench_dpdk_free_pool(port: *const Port);
    pub(super) fn capbench_dpdk_receive(
        port: u16,
        queue: u16,
        buffers: *mut *mut c_void,
        frames: *mut Frame,
        count: u16,
    ) -> u16;
    pub(super) fn capbench_dpdk_send(
        port: *const Port,
        queue: u16,
        frames: *const u8,
        stride: usize,
        lengths: *const u16,
        count: u16,
    ) -> u16;
    pub(super) fn capbench_dpdk_free(buffers: *mut *mut c_void, count: u16);
    pub(super) fn capbench_dpdk_counters(port: u16, counters: *mut Counter, size: c_uint) -> c_int;
}
