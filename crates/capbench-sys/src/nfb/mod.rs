//! CESNET's NFB cards (NDK platform) through libnfb, which is opened at run time (`nfb/nfb.h`, `nfb/ndp.h`).
//!
//! `ndp_rx_burst_get` returns packets in the card's memory; `ndp_rx_burst_put` gives all of a queue's back at once. A [`Burst`]
//! borrows the [`Card`] by `&mut` and puts when it is dropped, so each burst is put exactly once and its frames cannot be used
//! afterwards. A card is used on the thread that opened it.
//!
//! On a malformed DMA header libnfb itself ends the process (`errx`). This module cannot prevent that.

mod abi;
mod controller;

use std::ffi::{c_int, c_uint};
use std::ptr::{self, NonNull};
use std::time::{Duration, Instant};

use abi::{Functions, NdpPacket, NdpQueue, NfbDevice};
use controller::Controller;
pub use controller::QueueCounts;

use crate::error::{Result, SysError, by_code};
use crate::host::wait::milliseconds;
use crate::library::Library;
use crate::library_call::{Fetch, broken, by_errno, c_string, forget_errno};
use crate::packet::{Frame, PacketType};

/// Most packets of one burst, as in CESNET's own tools.
pub const BURST: usize = 64;

/// How long to sleep between looks where the library cannot wait.
const NAP: Duration = Duration::from_micros(100);
/// How long one wait of the library's may take: whether it wakes for every kind of queue is not documented.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// The open libnfb.
#[derive(Debug)]
pub struct Nfb {
    functions: Functions,
    library: Library,
}

/// An open card with the requested receive queues.
#[derive(Debug)]
pub struct Card {
    device: NonNull<NfbDevice>,
    path: String,
    queues: Vec<Queue>,
    packets: Box<[NdpPacket]>,
    held: Option<Held>,
    turn: usize,
    /// Whether `ndp_rx_poll` does something.
    can_poll: bool,
    /// Where in the firmware's headers the time is, if it is asked for.
    header_time: Option<u16>,
    // Dropped last: the library has to be open while the handles are.
    api: Nfb,
}

#[derive(Debug)]
struct Queue {
    number: u32,
    handle: NonNull<NdpQueue>,
    is_started: bool,
    controller: Option<Controller>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    queue: usize,
    count: usize,
}

impl Nfb {
    /// Opens the library by its name or path.
    pub fn load(name: &str) -> Result<Self> {
        // SAFETY: the user named it as libnfb, whose initialisation does nothing.
        let library = unsafe { Library::open(name) }?;
        let functions = Functions::of(&library)?;
        Ok(Self { functions, library })
    }

    /// Opens a card by its device node and starts one receive queue, or all. With `header_time`, times are read at that octet
    /// of the firmware's headers.
    pub fn open(self, path: &str, only: Option<u32>, header_time: Option<u16>) -> Result<Card> {
        let name = c_string("a device's path", path)?;
        forget_errno();
        // SAFETY: a C string that outlives the call.
        let device = unsafe { (self.functions.nfb_open)(name.as_ptr()) };
        let Some(device) = NonNull::new(device) else {
            return Err(by_errno(self.library.name(), || format!("nfb_open({path})")));
        };
        let mut card = Card {
            device,
            path: path.into(),
            queues: Vec::new(),
            packets: vec![NdpPacket::default(); BURST].into(),
            held: None,
            turn: 0,
            can_poll: false,
            header_time,
            api: self,
        };
        card.open_queues(only)?;
        card.start()?;
        Ok(card)
    }
}

impl Card {
    fn open_queues(&mut self, only: Option<u32>) -> Result<()> {
        let functions = self.api.functions;
        // SAFETY: an open device.
        let count = unsafe { (functions.ndp_get_rx_queue_count)(self.device.as_ptr()) };
        let Ok(count) = u32::try_from(count) else {
            return Err(by_code(format!("ndp_get_rx_queue_count({})", self.path), count));
        };
        for number in 0..count {
            // SAFETY: an open device and one of its queues' numbers.
            let is_available = functions
                .ndp_rx_queue_is_available
                .is_none_or(|is_available| unsafe { is_available(self.device.as_ptr(), number) } != 0);
            if !is_available || only.is_some_and(|only| only != number) {
                continue;
            }
            forget_errno();
            // SAFETY: as above.
            let handle = unsafe { (functions.ndp_open_rx_queue)(self.device.as_ptr(), number) };
            let Some(handle) = NonNull::new(handle) else {
                let call = || format!("ndp_open_rx_queue({}, {number})", self.path);
                return Err(by_errno(self.api.library.name(), call));
            };
            self.queues.push(Queue { number, handle, is_started: false, controller: None });
        }
        if self.queues.is_empty() {
            let what = only.map_or("usable receive queue".into(), |only| format!("receive queue {only}"));
            return Err(self.broken("nfb_open", &format!("the card has no {what}; it has {count}")));
        }
        Ok(())
    }

    fn start(&mut self) -> Result<()> {
        let functions = self.api.functions;
        for queue in &mut self.queues {
            // SAFETY: an open device, closed after its controllers (see `drop`).
            queue.controller = unsafe { Controller::find(&functions, self.device, queue.number) };
            // SAFETY: an open queue.
            let code = unsafe { (functions.ndp_queue_start)(queue.handle.as_ptr()) };
            if code != 0 {
                return Err(by_code(format!("ndp_queue_start({}, {})", self.path, queue.number), code));
            }
            queue.is_started = true;
        }
        self.can_poll = match self.poll(Duration::ZERO) {
            // Later releases of libnfb always answer this.
            None => false,
            Some(code) if code == -libc::ENXIO => false,
            Some(code) if code < 0 && code != -libc::EINTR => return Err(self.poll_failure(code)),
            Some(_) => true,
        };
        Ok(())
    }

    /// The numbers of its queues.
    pub fn queues(&self) -> impl Iterator<Item = u32> {
        self.queues.iter().map(|queue| queue.number)
    }

    /// Whether the library can wait for packets. Otherwise it polls every 100 us.
    pub fn can_poll(&self) -> bool {
        self.can_poll
    }

    /// The burst of the last [`Self::fetch`].
    #[inline]
    pub fn burst(&mut self) -> Burst<'_> {
        Burst { card: self }
    }

    /// Counts of each queue since it was opened; `None` if the firmware describes no counters.
    pub fn counts(&self) -> Result<Vec<(u32, Option<QueueCounts>)>> {
        self.queues
            .iter()
            .map(|queue| match &queue.controller {
                None => Ok((queue.number, None)),
                Some(controller) => match controller.counts(&self.api.functions) {
                    Some(counts) => Ok((queue.number, Some(counts))),
                    None => Err(self.broken("nfb_comp_read", "the card's counters cannot be read any more")),
                },
            })
            .collect()
    }

    #[inline]
    fn put(&mut self) {
        if let Some(held) = self.held.take() {
            // SAFETY: an open queue from which a burst was got and not put. No frame of it is borrowed: they borrow the
            // burst, and this takes `&mut self`.
            unsafe { (self.api.functions.ndp_rx_burst_put)(self.queues[held.queue].handle.as_ptr()) };
        }
    }

    /// `ndp_rx_poll`, if there is one. It may release packets of bursts, so none is out.
    fn poll(&mut self, timeout: Duration) -> Option<c_int> {
        self.put();
        let poll = self.api.functions.ndp_rx_poll?;
        let mut queue = ptr::null_mut();
        // SAFETY: an open device and a valid place; which queue has most is not used.
        Some(unsafe { poll(self.device.as_ptr(), milliseconds(timeout), &raw mut queue) })
    }

    #[cold]
    fn poll_failure(&self, code: c_int) -> SysError {
        match code {
            // The driver's answer, and not EPERM: poll(2) knows no such error.
            -1 => self.broken("ndp_rx_poll", "the device reports an error; is the card still there?"),
            code => by_code(format!("ndp_rx_poll({})", self.path), code),
        }
    }

    #[cold]
    fn broken(&self, call: &str, reason: &str) -> SysError {
        broken(self.api.library.name(), &format!("{call}({})", self.path), reason)
    }
}

impl Fetch for Card {
    /// A burst, from each queue in turn; the one that is out is put first.
    #[inline]
    fn fetch(&mut self) -> Result<bool> {
        self.put();
        let queues = self.queues.len();
        for step in 0..queues {
            let queue = (self.turn + step) % queues;
            // SAFETY: an open, started queue, and room for as many packets as are said.
            let count = unsafe {
                (self.api.functions.ndp_rx_burst_get)(
                    self.queues[queue].handle.as_ptr(),
                    self.packets.as_mut_ptr(),
                    BURST as c_uint,
                )
            } as usize;
            if count == 0 {
                continue;
            }
            self.turn = (queue + 1) % queues;
            self.held = Some(Held { queue, count });
            let is_whole = |packet: &NdpPacket| !packet.data.is_null();
            if !self.packets.get(..count).is_some_and(|packets| packets.iter().all(is_whole)) {
                self.put();
                let reason = match count > BURST {
                    true => format!("it returned {count} packets where {BURST} were asked for"),
                    false => "it gave a packet without data".into(),
                };
                return Err(self.broken("ndp_rx_burst_get", &reason));
            }
            return Ok(true);
        }
        Ok(false)
    }

    fn fetch_within(&mut self, timeout: Duration) -> Result<bool> {
        let start = Instant::now();
        loop {
            let left = timeout.saturating_sub(start.elapsed());
            if left.is_zero() {
                return Ok(false);
            }
            if self.can_poll {
                match self.poll(left.min(LOOK_AGAIN)) {
                    Some(code) if code == -libc::EINTR => return Ok(false),
                    Some(code) if code < 0 => return Err(self.poll_failure(code)),
                    _ => {}
                }
            } else {
                std::thread::sleep(left.min(NAP));
            }
            if self.fetch()? {
                return Ok(true);
            }
        }
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.put();
        let functions = &self.api.functions;
        for mut queue in self.queues.drain(..) {
            if queue.is_started {
                // SAFETY: an open, started queue without a burst out. A queue that does not stop is closed all the same.
                unsafe { (functions.ndp_queue_stop)(queue.handle.as_ptr()) };
            }
            // SAFETY: an open queue, closed here and nowhere else.
            unsafe { (functions.ndp_close_rx_queue)(queue.handle.as_ptr()) };
            queue.controller = None;
        }
        // SAFETY: an open device without open queues or components, closed here and nowhere else.
        unsafe { (functions.nfb_close)(self.device.as_ptr()) };
    }
}

/// Packets of one queue in the card's memory. Dropping it returns all of them at once.
#[derive(Debug)]
pub struct Burst<'c> {
    card: &'c mut Card,
}

impl Burst<'_> {
    /// The packets in order of arrival.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        let card = &*self.card;
        let count = card.held.map_or(0, |held| held.count);
        card.packets[..count].iter().map(|packet| {
            let length = packet.data_length as usize;
            // SAFETY: the library returned this packet with its length, not null (`fetch`). It stays unchanged until the burst
            // is put, which happens when `self` is dropped.
            let data = unsafe { std::slice::from_raw_parts(packet.data, length) };
            let time_ns = card.header_time.map_or(0, |at| header_time(packet, at));
            Frame {
                packet_type: PacketType::Host,
                status: packet.flags.into(),
                ..Frame::new(data, packet.data_length, time_ns)
            }
        })
    }
}

impl Drop for Burst<'_> {
    #[inline]
    fn drop(&mut self) {
        self.card.put();
    }
}

/// The time in a firmware header: at octet `at`, nanoseconds and then seconds, 32 bits each, little-endian, as CESNET's
/// tools read it. 0 where the header is shorter.
#[inline]
fn header_time(packet: &NdpPacket, at: u16) -> u64 {
    let (at, length) = (usize::from(at), usize::from(packet.header_length));
    if packet.header.is_null() || length < at + 8 {
        return 0;
    }
    // SAFETY: the library gave this header with its length, not null; it lives as long as the packet.
    let header = unsafe { std::slice::from_raw_parts(packet.header, length) };
    let word = |at: usize| {
        u64::from(u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]))
    };
    word(at + 4) * 1_000_000_000 + word(at)
}

#[cfg(test)]
mod tests {
    use super::{NdpPacket, header_time};
    use std::mem::{offset_of, size_of};

    #[test]
    fn a_packet_is_laid_out_as_in_the_header() {
        assert_eq!((offset_of!(NdpPacket, data_length), offset_of!(NdpPacket, header_length)), (16, 20));
        assert_eq!((offset_of!(NdpPacket, flags), size_of::<NdpPacket>()), (22, 24));
    }

    #[test]
    fn times_are_read_only_from_headers_that_have_them() {
        let header = [9, 9, 9, 9, 5, 0, 0, 0, 2, 0, 0, 0];
        let packet = NdpPacket { header: header.as_ptr(), header_length: 12, ..NdpPacket::default() };
        assert_eq!(header_time(&packet, 4), 2_000_000_005);
        assert_eq!(header_time(&NdpPacket { header_length: 11, ..packet }, 4), 0);
        assert_eq!(header_time(&NdpPacket::default(), 0), 0);
    }
}
