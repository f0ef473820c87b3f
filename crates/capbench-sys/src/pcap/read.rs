//! The four ways to read packets from libpcap.
//!
//! pcap_next and pcap_next_ex return one packet, valid until the next call; on a ring libpcap copies the packet for that.
//! pcap_dispatch and pcap_loop call back for each packet, which is in the engine's memory and valid during the callback only.
//! The first three are called without blocking, pcap_loop blocks, as their manual pages specify.

use std::any::Any;
use std::ffi::{CStr, CString, c_int, c_uchar};
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::Duration;

use super::functions::{ERROR_BREAK, Opaque, PacketHeader};
use super::handle::Pcap;
use super::ticker::Ticker;
use crate::error::Result;
use crate::packet::Frame;

/// The packet that was read last: valid until the next call that reads, which needs the handle mutably.
#[derive(Clone, Copy, Debug)]
pub(super) struct Current {
    header: PacketHeader,
    data: *const u8,
}

struct Delivery<'c, F> {
    each: F,
    unit_ns: u64,
    frames: u64,
    /// A panic of `each`: it must not unwind through C, and goes on after libpcap has returned.
    panic: Option<Box<dyn Any + Send>>,
    breakloop: unsafe extern "C" fn(*mut Opaque),
    handle: *mut Opaque,
    _borrow: PhantomData<&'c mut Pcap>,
}

/// The frame that a header and a pointer of libpcap's describe.
///
/// # Safety
/// `data` must point to as many octets as the header says were captured, and nobody may write them during `'a`.
#[inline]
unsafe fn frame<'a>(header: &PacketHeader, data: *const u8, unit_ns: u64) -> Frame<'a> {
    // SAFETY: the caller vouches for pointer, length and lifetime.
    let data = unsafe { std::slice::from_raw_parts(data, header.captured as usize) };
    let (seconds, part) = (header.time.tv_sec as u64, header.time.tv_usec as u64);
    let time_ns = seconds.wrapping_mul(1_000_000_000).wrapping_add(part.wrapping_mul(unit_ns));
    Frame::new(data, header.length, time_ns)
}

/// `pcap_handler`: passes a packet to the closure behind `user`.
///
/// # Safety
/// `user` must point to the `Delivery<F>` of the call that is under way; header and data are those that libpcap gives.
unsafe extern "C" fn deliver<F: FnMut(&Frame<'_>)>(
    user: *mut c_uchar,
    header: *const PacketHeader,
    data: *const c_uchar,
) {
    // SAFETY: the pointer is the one that was passed to the call which calls back, and nothing else uses it meanwhile.
    let delivery = unsafe { &mut *user.cast::<Delivery<'_, F>>() };
    if delivery.panic.is_some() || header.is_null() || data.is_null() {
        return;
    }
    delivery.frames += 1;
    // SAFETY: libpcap gives a header, and as many octets as it says, both unchanged until this returns
    // (pcap_loop(3PCAP)); the frame is gone by then.
    let frame = unsafe { frame(&*header, data, delivery.unit_ns) };
    let each = &mut delivery.each;
    if let Err(panic) = catch_unwind(AssertUnwindSafe(|| each(&frame))) {
        delivery.panic = Some(panic);
        // SAFETY: the handle is open: it is calling this function.
        unsafe { (delivery.breakloop)(delivery.handle) };
    }
}

impl Pcap {
    /// The packet that a single-packet function read last.
    #[inline]
    pub fn current(&self) -> Option<Frame<'_>> {
        let current = self.current.as_ref()?;
        // SAFETY: libpcap keeps a packet that it returned as it is until the next call that reads (pcap_next_ex(3PCAP)),
        // and a copy of ours stays until then, too. Every such call takes `&mut self` and forgets it first, so no frame
        // of `&self` can be in use then.
        Some(unsafe { frame(&current.header, current.data, self.unit_ns) })
    }

    /// Reads one packet with pcap_next; whether there was one. pcap_next reports an error only by the handle's text.
    ///
    /// # Errors
    /// There is no packet and the handle's error text has changed.
    #[inline]
    pub fn read_next(&mut self) -> Result<bool> {
        self.current = None;
        self.set_blocking(false)?;
        let mut header =
            PacketHeader { time: libc::timeval { tv_sec: 0, tv_usec: 0 }, captured: 0, length: 0 };
        // SAFETY: the handle is open and active, and the header is live and writable.
        let data = unsafe { (self.library.functions.pcap_next)(self.handle.as_ptr(), &raw mut header) };
        if data.is_null() {
            return self.check_text("pcap_next").map(|()| false);
        }
        self.current = Some(Current { header, data });
        Ok(true)
    }

    /// Reads one packet with pcap_next_ex; whether there was one.
    #[inline]
    pub fn read_next_ex(&mut self) -> Result<bool> {
        self.current = None;
        self.set_blocking(false)?;
        let mut header: *mut PacketHeader = std::ptr::null_mut();
        let mut data: *const c_uchar = std::ptr::null();
        // SAFETY: the handle is open and active, and both pointers are live and writable.
        let code = unsafe {
            (self.library.functions.pcap_next_ex)(self.handle.as_ptr(), &raw mut header, &raw mut data)
        };
        if code == ERROR_BREAK {
            return Ok(false);
        }
        if code != 1 {
            return self.check(code, "pcap_next_ex").map(|()| false);
        }
        if header.is_null() || data.is_null() {
            return Err(self.failed("pcap_next_ex", "it announced a packet and returned none".into()));
        }
        // SAFETY: libpcap returned 1: the header is valid until the next call that reads.
        self.current = Some(Current { header: unsafe { *header }, data });
        Ok(true)
    }

    /// Calls `each` for the available packets, up to a limit, with pcap_dispatch; returns their number.
    #[inline]
    pub fn dispatch(&mut self, most: u16, each: impl FnMut(&Frame<'_>)) -> Result<u64> {
        self.set_blocking(false)?;
        self.call_back(c_int::from(most), "pcap_dispatch", self.library.functions.pcap_dispatch, each)
    }

    /// Calls `each` for all packets that arrive within `duration`, with pcap_loop; returns their number.
    ///
    /// pcap_loop returns only when its loop is broken: a timer signal does that.
    pub fn run_loop(&mut self, duration: Duration, each: impl FnMut(&Frame<'_>)) -> Result<u64> {
        self.prepare_loop()?;
        self.set_blocking(true)?;
        let _stop = self.ticker.as_ref().map(|ticker| ticker.start(duration)).transpose()?;
        self.call_back(-1, "pcap_loop", self.library.functions.pcap_loop, each)
    }

    /// Makes the timer of [`Pcap::run_loop`], for callers that need it before frames arrive.
    ///
    /// # Errors
    /// No timer is available, or other code in this program uses its signal.
    pub fn prepare_loop(&mut self) -> Result<()> {
        if self.ticker.is_none() {
            // SAFETY: the ticker is this handle's and dropped before it is closed; pcap_breakloop(3PCAP) may be called
            // by a signal handler.
            let ticker = unsafe { Ticker::new(self.library.functions.pcap_breakloop, self.handle.as_ptr()) };
            self.ticker = Some(ticker?);
        }
        Ok(())
    }

    /// Reads one packet with pcap_dispatch and copies it; whether there was one. For batches from a handle that is otherwise
    /// read by callbacks. No measurement calls it.
    pub fn copy_one(&mut self) -> Result<bool> {
        self.current = None;
        let mut copy = std::mem::take(&mut self.copy);
        let mut header = None;
        let outcome = self.dispatch(1, |frame| {
            copy.clear();
            copy.extend_from_slice(frame.data);
            header = Some((frame.wire_length, frame.time_ns));
        });
        self.copy = copy;
        outcome?;
        let Some((length, time_ns)) = header else { return Ok(false) };
        let part = (time_ns % 1_000_000_000 / self.unit_ns) as libc::suseconds_t;
        let time = libc::timeval { tv_sec: (time_ns / 1_000_000_000) as libc::time_t, tv_usec: part };
        let header = PacketHeader { time, captured: self.copy.len() as u32, length };
        self.current = Some(Current { header, data: self.copy.as_ptr() });
        Ok(true)
    }

    #[inline]
    fn call_back<F: FnMut(&Frame<'_>)>(
        &mut self,
        count: c_int,
        name: &'static str,
        function: unsafe extern "C" fn(*mut Opaque, c_int, super::functions::Handler, *mut c_uchar) -> c_int,
        each: F,
    ) -> Result<u64> {
        self.current = None;
        let mut delivery = Delivery {
            each,
            unit_ns: self.unit_ns,
            frames: 0,
            panic: None,
            breakloop: self.library.functions.pcap_breakloop,
            handle: self.handle.as_ptr(),
            _borrow: PhantomData,
        };
        // SAFETY: the handle is open and active; `deliver` is compiled for this type of closure, and `delivery` lives
        // until the call returns and is reached by nobody else meanwhile.
        let code = unsafe {
            function(self.handle.as_ptr(), count, deliver::<F>, (&raw mut delivery).cast::<c_uchar>())
        };
        if let Some(panic) = delivery.panic {
            resume_unwind(panic);
        }
        if code != ERROR_BREAK {
            self.check(code, name)?;
        }
        Ok(delivery.frames)
    }

    /// Fails with the handle's error text if it has changed: pcap_next reports errors in no other way.
    fn check_text(&mut self, function: &'static str) -> Result<()> {
        let text = self.raw_text();
        if text.is_none_or(CStr::is_empty) || text == self.known_text.as_deref() {
            return Ok(());
        }
        let reason = text.map(|text| text.to_string_lossy().into_owned()).unwrap_or_default();
        self.look_at_text();
        Err(self.failed(function, reason))
    }

    pub(super) fn look_at_text(&mut self) {
        self.known_text = self.raw_text().map(CString::from);
    }

    fn raw_text(&self) -> Option<&CStr> {
        // SAFETY: the handle is open.
        let text = unsafe { (self.library.functions.pcap_geterr)(self.handle.as_ptr()) };
        // SAFETY: libpcap's text ends with a zero octet and is in the handle. Only calls that take `&mut self`, or
        // that borrow shorter than this, change it.
        (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
    }
}
