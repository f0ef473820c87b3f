//! The part of libsze2's public interface in use: `libsze2.h` of CESNET's 2008 to 2010 releases, the last public ones. The
//! handle is the library's own; this module does not depend on its layout.

use std::ffi::{c_char, c_int, c_short, c_uint};

use crate::library_call::function_table;

/// `struct szedata`.
#[repr(C)]
pub(super) struct Szedata {
    opaque: [u8; 0],
}

/// `SZE2_ALL_INTERFACES`: the driver subscribes those that the card has.
pub(super) const ALL_INTERFACES: u32 = u32::MAX;
/// `SZEDATA_POLLRX`.
pub(super) const POLL_RECEIVE: c_short = libc::POLLIN;
/// Octets of `struct szedata2_packet` in front of a packet: its size and that of the card's own data, 16 bits each.
pub(super) const HEADER: usize = 4;
/// The variable that says for how many milliseconds `szedata_read_next` waits.
pub(super) const READ_TIMEOUT: &str = "SZE2_RX_POLL_TIMEOUT";

function_table! {
    /// Functions of `libsze2.h`.
    struct Functions;
    required {
        szedata_open: unsafe extern "C" fn(*const c_char) -> *mut Szedata,
        szedata_subscribe3: unsafe extern "C" fn(*mut Szedata, *mut u32, *mut u32) -> c_int,
        szedata_start: unsafe extern "C" fn(*mut Szedata) -> c_int,
        szedata_poll: unsafe extern "C" fn(*mut Szedata, *mut c_short, c_int) -> c_int,
        szedata_read_next: unsafe extern "C" fn(*mut Szedata, *mut c_uint) -> *mut u8,
        szedata_decode_packet: unsafe extern "C" fn(
            *mut u8, *mut *mut u8, *mut *mut u8, *mut c_uint, *mut c_uint,
        ) -> c_uint,
        szedata_close: unsafe extern "C" fn(*mut Szedata),
    }
    optional {}
}
