//! The functions of libpcap's public interface that capbench calls, with their C signatures (`pcap/pcap.h`).

use std::ffi::{c_char, c_int, c_uchar};

use crate::error::Result;
use crate::library::Library;

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

/// `struct pcap_stat`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RawStatistics {
    pub(super) received: u32,
    pub(super) dropped: u32,
    pub(super) interface_dropped: u32,
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

/// `pcap_handler`.
pub(super) type Handler = unsafe extern "C" fn(*mut c_uchar, *const PacketHeader, *const c_uchar);

/// Makes the structure and its constructor out of one line each. Those that are newer than the rest are optional.
macro_rules! functions {
    (
        required { $($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+ }
        optional { $($newer:ident: fn($($newer_argument:ty),*) -> $newer_result:ty;)+ }
    ) => {
        /// The functions, valid as long as the library is open.
        pub(super) struct Functions {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            $(pub(super) $newer: Option<unsafe extern "C" fn($($newer_argument),*) -> $newer_result>,)+
        }

        impl Functions {
            /// Looks all of them up.
            pub(super) fn of(library: &Library) -> Result<Self> {
                Ok(Self {
                    $(
                        // SAFETY: this is the function's signature in every release of libpcap's public interface
                        // since 1.0 (`pcap/pcap.h`); pointers to `pcap_t` are opaque.
                        $name: *unsafe {
                            library.symbol::<unsafe extern "C" fn($($argument),*) $(-> $result)?>(stringify!($name))
                        }?,
                    )+
                    $(
                        // SAFETY: as above, for functions that came later.
                        $newer: unsafe {
                            library.symbol::<unsafe extern "C" fn($($newer_argument),*) -> $newer_result>(
                                stringify!($newer),
                            )
                        }
                        .ok()
                        .map(|symbol| *symbol),
                    )+
                })
            }
        }
    };
}

functions! {
    required {
        pcap_lib_version: fn() -> *const c_char;
        pcap_create: fn(*const c_char, *mut c_char) -> *mut Opaque;
        pcap_set_snaplen: fn(*mut Opaque, c_int) -> c_int;
        pcap_set_promisc: fn(*mut Opaque, c_int) -> c_int;
        pcap_set_timeout: fn(*mut Opaque, c_int) -> c_int;
        pcap_set_buffer_size: fn(*mut Opaque, c_int) -> c_int;
        pcap_activate: fn(*mut Opaque) -> c_int;
        pcap_close: fn(*mut Opaque);
        pcap_geterr: fn(*mut Opaque) -> *const c_char;
        pcap_statustostr: fn(c_int) -> *const c_char;
        pcap_setdirection: fn(*mut Opaque, c_int) -> c_int;
        pcap_setnonblock: fn(*mut Opaque, c_int, *mut c_char) -> c_int;
        pcap_fileno: fn(*mut Opaque) -> c_int;
        pcap_get_selectable_fd: fn(*mut Opaque) -> c_int;
        pcap_stats: fn(*mut Opaque, *mut RawStatistics) -> c_int;
        pcap_next: fn(*mut Opaque, *mut PacketHeader) -> *const c_uchar;
        pcap_next_ex: fn(*mut Opaque, *mut *mut PacketHeader, *mut *const c_uchar) -> c_int;
        pcap_dispatch: fn(*mut Opaque, c_int, Handler, *mut c_uchar) -> c_int;
        pcap_loop: fn(*mut Opaque, c_int, Handler, *mut c_uchar) -> c_int;
        pcap_breakloop: fn(*mut Opaque);
    }
    optional {
        pcap_set_immediate_mode: fn(*mut Opaque, c_int) -> c_int;
        pcap_set_tstamp_precision: fn(*mut Opaque, c_int) -> c_int;
    }
}
