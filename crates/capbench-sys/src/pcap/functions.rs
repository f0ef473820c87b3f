//! The functions of libpcap's public interface that capbench calls, with their C signatures (`pcap/pcap.h`).

use std::ffi::{c_char, c_int, c_uchar, c_uint};

use super::Statistics;
use crate::library_call::function_table;

/// `pcap_t`: libpcap's own, only ever behind a pointer.
#[repr(C)]
pub(super) struct Opaque {
    _private: [u8; 0],
}

/// `struct pcap_pkthdr`. On Linux its time is the C library's `struct timeval`, whose second member counts nanoseconds
/// in captures of that precision.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketHeader {
    pub(super) time: libc::timeval,
    pub(super) captured: u32,
    pub(super) length: u32,
}

/// `struct bpf_program` of `pcap/bpf.h`; its `struct bpf_insn` has the layout of the kernel's `struct sock_filter`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct RawProgram {
    pub(super) length: c_uint,
    pub(super) instructions: *mut libc::sock_filter,
}

/// `PCAP_ERRBUF_SIZE`.
pub(super) const ERROR_TEXT: usize = 256;
/// `PCAP_ERROR`: the handle's error text says what.
pub(super) const ERROR: c_int = -1;
/// `PCAP_ERROR_BREAK`: the loop was ended by pcap_breakloop.
pub(super) const ERROR_BREAK: c_int = -2;
/// `PCAP_ERROR_PERM_DENIED`.
pub(super) const ERROR_PERMISSION: c_int = -8;
/// `PCAP_ERROR_PROMISC_PERM_DENIED`.
pub(super) const ERROR_PROMISCUOUS_PERMISSION: c_int = -11;
/// `PCAP_WARNING`: the handle's error text says what.
pub(super) const WARNING: c_int = 1;
/// `PCAP_TSTAMP_PRECISION_NANO`.
pub(super) const NANOSECONDS: c_int = 1;
/// `PCAP_NETMASK_UNKNOWN`: expressions that need a netmask are refused.
pub(super) const NETMASK_UNKNOWN: u32 = u32::MAX;

/// `pcap_handler`.
pub(super) type Handler = unsafe extern "C" fn(*mut c_uchar, *const PacketHeader, *const c_uchar);

function_table! {
    /// Signatures of every release of libpcap's public interface since 1.0; pointers to `pcap_t` are opaque.
    struct Functions;
    required {
        pcap_lib_version: unsafe extern "C" fn() -> *const c_char,
        pcap_create: unsafe extern "C" fn(*const c_char, *mut c_char) -> *mut Opaque,
        pcap_set_snaplen: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_set_promisc: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_set_timeout: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_set_buffer_size: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_activate: unsafe extern "C" fn(*mut Opaque) -> c_int,
        pcap_close: unsafe extern "C" fn(*mut Opaque),
        pcap_geterr: unsafe extern "C" fn(*mut Opaque) -> *const c_char,
        pcap_statustostr: unsafe extern "C" fn(c_int) -> *const c_char,
        pcap_setdirection: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_setnonblock: unsafe extern "C" fn(*mut Opaque, c_int, *mut c_char) -> c_int,
        pcap_fileno: unsafe extern "C" fn(*mut Opaque) -> c_int,
        pcap_get_selectable_fd: unsafe extern "C" fn(*mut Opaque) -> c_int,
        pcap_stats: unsafe extern "C" fn(*mut Opaque, *mut Statistics) -> c_int,
        pcap_next: unsafe extern "C" fn(*mut Opaque, *mut PacketHeader) -> *const c_uchar,
        pcap_next_ex: unsafe extern "C" fn(*mut Opaque, *mut *mut PacketHeader, *mut *const c_uchar) -> c_int,
        pcap_dispatch: unsafe extern "C" fn(*mut Opaque, c_int, Handler, *mut c_uchar) -> c_int,
        pcap_loop: unsafe extern "C" fn(*mut Opaque, c_int, Handler, *mut c_uchar) -> c_int,
        pcap_breakloop: unsafe extern "C" fn(*mut Opaque),
    }
    optional {
        pcap_open_dead: unsafe extern "C" fn(c_int, c_int) -> *mut Opaque,
        pcap_set_immediate_mode: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_set_tstamp_precision: unsafe extern "C" fn(*mut Opaque, c_int) -> c_int,
        pcap_compile: unsafe extern "C" fn(*mut Opaque, *mut RawProgram, *const c_char, c_int, u32) -> c_int,
        pcap_freecode: unsafe extern "C" fn(*mut RawProgram),
        pcap_setfilter: unsafe extern "C" fn(*mut Opaque, *mut RawProgram) -> c_int,
        pcap_lookupnet: unsafe extern "C" fn(*const c_char, *mut u32, *mut u32, *mut c_char) -> c_int,
        pcap_datalink: unsafe extern "C" fn(*mut Opaque) -> c_int,
        bpf_image: unsafe extern "C" fn(*const libc::sock_filter, c_int) -> *const c_char,
    }
}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};
    use std::process::Command;

    use super::{
        ERROR_PERMISSION, ERROR_PROMISCUOUS_PERMISSION, ERROR_TEXT, NETMASK_UNKNOWN, PacketHeader,
        RawProgram, Statistics,
    };

    /// Against libpcap's own header, where a host has it: capbench needs none.
    #[test]
    fn structures_equal_libpcaps_header() {
        if !std::path::Path::new("/usr/include/pcap/pcap.h").exists() {
            return capbench_testing::missing("pcap/pcap.h (package libpcap0.8-dev)");
        }
        let asserts = [
            format!("sizeof(struct pcap_pkthdr) == {}", size_of::<PacketHeader>()),
            format!("offsetof(struct pcap_pkthdr, caplen) == {}", offset_of!(PacketHeader, captured)),
            format!("offsetof(struct pcap_pkthdr, len) == {}", offset_of!(PacketHeader, length)),
            format!("sizeof(struct pcap_stat) == {}", size_of::<Statistics>()),
            format!("offsetof(struct pcap_stat, ps_drop) == {}", offset_of!(Statistics, dropped)),
            format!("offsetof(struct pcap_stat, ps_ifdrop) == {}", offset_of!(Statistics, interface_dropped)),
            format!("sizeof(struct bpf_program) == {}", size_of::<RawProgram>()),
            format!("offsetof(struct bpf_program, bf_insns) == {}", offset_of!(RawProgram, instructions)),
            format!("sizeof(struct bpf_insn) == {}", size_of::<libc::sock_filter>()),
            format!("offsetof(struct bpf_insn, jt) == {}", offset_of!(libc::sock_filter, jt)),
            format!("offsetof(struct bpf_insn, k) == {}", offset_of!(libc::sock_filter, k)),
            format!("PCAP_NETMASK_UNKNOWN == {NETMASK_UNKNOWN}u"),
            format!("PCAP_ERRBUF_SIZE == {ERROR_TEXT}"),
            "PCAP_ERROR == -1 && PCAP_ERROR_BREAK == -2 && PCAP_WARNING == 1".into(),
            format!("PCAP_ERROR_PERM_DENIED == {ERROR_PERMISSION}"),
            format!("PCAP_ERROR_PROMISC_PERM_DENIED == {ERROR_PROMISCUOUS_PERMISSION}"),
            "PCAP_TSTAMP_PRECISION_NANO == 1 && PCAP_D_INOUT == 0 && PCAP_D_IN == 1 && PCAP_D_OUT == 2"
                .into(),
        ];
        let body: String =
            asserts.iter().map(|it| format!("_Static_assert({it}, \"it differs\");\n")).collect();
        let folder = capbench_testing::Scratch::new();
        let file = folder.file("abi.c");
        std::fs::write(&file, format!("#include <stddef.h>\n#include <pcap/pcap.h>\n{body}")).unwrap();
        let output = Command::new("cc").arg("-fsyntax-only").arg(&file).output().expect("a C compiler, cc");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
