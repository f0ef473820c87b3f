//! CESNET's COMBO cards through libsze2 (szedata2), which is opened at run time (`libsze2.h` of its 2008 to 2010 releases,
//! the last public ones).
//!
//! A packet is in the card's DMA ring and valid until the next call of `szedata_read_next` or `szedata_close`. Here it is
//! borrowed from the [`Card`], and every library call needs the card by `&mut`, so the compiler refuses a packet that outlives
//! its memory. A card is used on the thread that opened it.

use std::ffi::{c_char, c_int, c_short, c_uint};
use std::ptr::{self, NonNull};
use std::time::Duration;

use crate::error::{Result, SysError, by_code};
use crate::host::wait::milliseconds;
use crate::library::Library;
use crate::library_call::{Fetch, broken, by_errno, c_string, forget_errno, function_table};
use crate::packet::{Frame, PacketType};

/// `struct szedata`.
#[repr(C)]
pub(super) struct Szedata {
    opaque: [u8; 0],
}

/// `SZE2_ALL_INTERFACES`: the driver subscribes those that the card has.
const ALL_INTERFACES: u32 = u32::MAX;
/// `SZEDATA_POLLRX`.
const POLL_RECEIVE: c_short = libc::POLLIN;
/// Octets of `struct szedata2_packet` in front of a packet: its size and that of the card's own data, 16 bits each.
const HEADER: usize = 4;
/// The variable that says for how many milliseconds `szedata_read_next` waits.
const READ_TIMEOUT: &str = "SZE2_RX_POLL_TIMEOUT";

function_table! {
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

/// The open libsze2.
#[derive(Debug)]
pub struct Sze2 {
    functions: Functions,
    read_timeout: *mut c_int,
    library: Library,
}

/// An open card with all its receive channels.
#[derive(Debug)]
pub struct Card {
    handle: NonNull<Szedata>,
    node: String,
    current: Option<Extent>,
    channels: u32,
    // Dropped last: the library has to be open while the handle is.
    api: Sze2,
}

#[derive(Clone, Copy, Debug)]
struct Extent {
    data: *const u8,
    length: usize,
}

impl Sze2 {
    /// Opens the library by its name or path.
    pub fn load(name: &str) -> Result<Self> {
        // SAFETY: the user named it as libsze2, whose initialisation does nothing.
        let library = unsafe { Library::open(name) }?;
        let functions = Functions::of(&library)?;
        // SAFETY: `libsze2.h` declares it as an int; a symbol's address is a pointer to it.
        let read_timeout = unsafe { library.symbol::<*mut c_int>(READ_TIMEOUT) }?;
        Ok(Self { functions, read_timeout, library })
    }

    /// Opens a card by its device node, subscribes all its receive channels, and starts them.
    pub fn open(self, node: &str) -> Result<Card> {
        let name = c_string("a device's path", node)?;
        forget_errno();
        // SAFETY: a C string that outlives the call.
        let handle = unsafe { (self.functions.szedata_open)(name.as_ptr()) };
        let Some(handle) = NonNull::new(handle) else {
            return Err(by_errno(self.library.name(), || format!("szedata_open({node})")));
        };
        let mut card = Card { handle, node: node.into(), current: None, channels: ALL_INTERFACES, api: self };
        card.start()?;
        Ok(card)
    }
}

impl Card {
    fn start(&mut self) -> Result<()> {
        let Sze2 { functions, read_timeout, .. } = &self.api;
        // Waiting is done by `szedata_poll`: where its poll fails, `szedata_read_next` ends the whole process.
        // SAFETY: the library's own variable, read by the calls that this thread makes; `szedata_open` has set it already.
        unsafe { read_timeout.write(0) };
        let mut transmit = 0;
        // SAFETY: an open handle and two valid masks, one of them not empty.
        let code = unsafe {
            (functions.szedata_subscribe3)(self.handle.as_ptr(), &raw mut self.channels, &raw mut transmit)
        };
        if code != 0 {
            return Err(by_code(format!("szedata_subscribe3({})", self.node), code));
        }
        if self.channels == 0 {
            return Err(self.broken("szedata_subscribe3", "the card has no receive channel to subscribe"));
        }
        // SAFETY: an open handle with subscribed channels.
        let code = unsafe { (functions.szedata_start)(self.handle.as_ptr()) };
        if code != 0 {
            return Err(by_code(format!("szedata_start({})", self.node), code));
        }
        Ok(())
    }

    /// The subscribed receive channels, one bit each.
    pub fn channels(&self) -> u32 {
        self.channels
    }

    /// The current packet, until the next one is read.
    #[inline]
    pub fn frame(&self) -> Option<Frame<'_>> {
        let Extent { data, length } = self.current?;
        // SAFETY: `fetch` found these bytes inside the packet that the library gave. They stay as they are until its next
        // call, which takes `&mut self`; the card does not write where the library has locked.
        let data = unsafe { std::slice::from_raw_parts(data, length) };
        Some(Frame { packet_type: PacketType::Host, ..Frame::new(data, length as u32, 0) })
    }

    #[cold]
    fn short_read(&self, length: usize, wanted: usize) -> SysError {
        self.broken("szedata_read_next", &format!("a packet of {length} octets says that it has {wanted}"))
    }

    #[cold]
    fn broken(&self, call: &str, reason: &str) -> SysError {
        broken(self.api.library.name(), &format!("{call}({})", self.node), reason)
    }
}

impl Fetch for Card {
    #[inline]
    fn fetch(&mut self) -> Result<bool> {
        self.current = None;
        let functions = &self.api.functions;
        let mut length: c_uint = 0;
        // SAFETY: an open, started handle and a valid place. This releases the packet before; no borrow of it is
        // left, since they borrow `self`.
        let contents = unsafe { (functions.szedata_read_next)(self.handle.as_ptr(), &raw mut length) };
        if contents.is_null() {
            return Ok(false);
        }
        let length = length as usize;
        if length < HEADER {
            return Err(self.short_read(length, HEADER));
        }
        let (mut data, mut card_data) = (ptr::null_mut(), ptr::null_mut());
        let (mut data_length, mut card_length) = (0, 0);
        // SAFETY: `contents` is what `szedata_read_next` gave, with its whole header; the other places are valid.
        let segment = unsafe {
            (functions.szedata_decode_packet)(
                contents,
                &raw mut data,
                &raw mut card_data,
                &raw mut data_length,
                &raw mut card_length,
            )
        };
        let offset = (data as usize).wrapping_sub(contents as usize);
        let end = offset.saturating_add(data_length as usize);
        if segment as usize > length || end > length {
            return Err(self.short_read(length, end.max(segment as usize)));
        }
        self.current = Some(Extent { data, length: data_length as usize });
        Ok(true)
    }

    fn fetch_within(&mut self, timeout: Duration) -> Result<bool> {
        let mut events = POLL_RECEIVE;
        // SAFETY: an open handle and a valid place.
        let code = unsafe {
            (self.api.functions.szedata_poll)(self.handle.as_ptr(), &raw mut events, milliseconds(timeout))
        };
        match code {
            0 => Ok(false),
            // The driver's answer, and not EPERM: poll(2) knows no such error.
            -1 => Err(self.broken("szedata_poll", "the device reports an error; is the card still there?")),
            code if code == -libc::EINTR => Ok(false),
            code if code < 0 => Err(by_code(format!("szedata_poll({})", self.node), code)),
            _ if events & POLL_RECEIVE == 0 => {
                Err(self.broken("szedata_poll", "it woke for something else than packets"))
            }
            _ => self.fetch(),
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        // Stops the channels and releases what is locked, the current packet too.
        // SAFETY: an open handle, closed here and nowhere else.
        unsafe { (self.api.functions.szedata_close)(self.handle.as_ptr()) };
    }
}
