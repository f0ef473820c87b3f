//! An open ring: the packets of one call, or of one round of calls.

use std::ffi::{c_int, c_uint};
use std::io;
use std::ptr::{self, NonNull};
use std::time::Duration;

use super::abi::{
    DO_NOT_PARSE, MOST_CAPTURED, NOT_SUPPORTED, PROMISCUOUS, PacketHeader, PacketInfo, Pfring, RECEIVE_ONLY,
    meaning,
};
use super::{Cluster, PfRing, Reading, RingOptions, Version};
use crate::error::{Result, SysError};
use crate::host::wait::milliseconds;
use crate::library_call::{Fetch, broken, by_errno, c_string, forget_errno};
use crate::packet::{Frame, PacketType};

/// Packets copied in one round: enough to spread a round's cost, few enough to stay in the cache.
const COPIES: usize = 64;
/// Octets of the buffer for each of them. A round of longer packets has fewer.
const COPY_OCTETS: usize = 2048;

/// An open device.
#[derive(Debug)]
pub struct Ring {
    handle: NonNull<Pfring>,
    device: String,
    reading: Reading,
    /// Most octets of a packet in the ring.
    room: usize,
    asked: u32,
    /// Packets of which the ring has fewer octets than requested.
    cut: u64,
    header: Box<PacketHeader>,
    buffer: Box<[u8]>,
    infos: Box<[PacketInfo]>,
    packets: Box<[Packet]>,
    count: usize,
    /// The error that ended a round after its packets.
    failure: Option<SysError>,
    // Dropped last: the library has to be open while the handle is.
    api: PfRing,
}

#[derive(Clone, Copy, Debug, Default)]
struct Packet {
    data: *const u8,
    at: usize,
    captured: usize,
    length: u32,
    time_ns: u64,
    packet_type: PacketType,
}

/// Counts of a ring since it was opened (`pfring_stat`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets delivered to the reader.
    pub received: u64,
    /// Packets lost because the ring had no room.
    pub dropped: u64,
    /// Packets that the adapter bypassed by itself, if it does that.
    pub shunted: u64,
    /// Approximate number of packets waiting in the ring; `None` if the library does not report it.
    pub queued: Option<u32>,
    /// Read packets that are truncated in the ring although more octets were requested.
    pub cut: u64,
}

impl Ring {
    pub(super) fn open(api: PfRing, options: &RingOptions<'_>) -> Result<Self> {
        let name = c_string("a device's name", options.device)?;
        let captured = options.captured.clamp(1, MOST_CAPTURED);
        let parsing = if options.cluster.is_some() { 0 } else { DO_NOT_PARSE };
        let flags = parsing | if options.promiscuous { PROMISCUOUS } else { 0 };
        forget_errno();
        // SAFETY: a C string that outlives the call.
        let handle = unsafe { (api.functions.pfring_open)(name.as_ptr(), captured, flags) };
        let Some(handle) = NonNull::new(handle) else {
            return Err(by_errno(api.library.name(), || format!("pfring_open({})", options.device)));
        };
        // A release that takes less says so.
        // SAFETY: an open handle.
        let granted = api.functions.pfring_get_caplen.map(|granted| unsafe { granted(handle.as_ptr()) });
        let granted = granted.and_then(|octets| u32::try_from(octets).ok()).filter(|octets| *octets > 0);
        let room = granted.map_or(captured, |granted| granted.min(captured)) as usize;
        let (copies, infos) = match options.reading {
            Reading::Copied => (COPIES, 0),
            Reading::InPlace => (0, 0),
            Reading::Bursts(most) => (0, usize::from(most.max(1))),
        };
        let ring = Self {
            handle,
            device: options.device.into(),
            reading: options.reading,
            room,
            asked: options.captured,
            cut: 0,
            // SAFETY: the structure is integers, of which all zeroes is a value.
            header: Box::new(unsafe { std::mem::zeroed() }),
            buffer: vec![0; if copies > 0 { copies * COPY_OCTETS + room } else { 0 }].into(),
            infos: vec![PacketInfo::default(); infos].into(),
            packets: vec![Packet::default(); copies.max(infos).max(1)].into(),
            count: 0,
            failure: None,
            api,
        };
        ring.enable(options)?;
        Ok(ring)
    }

    fn enable(&self, options: &RingOptions<'_>) -> Result<()> {
        let (functions, handle) = (&self.api.functions, self.handle.as_ptr());
        // SAFETY: here and below, an open handle and plain numbers.
        match unsafe { (functions.pfring_set_socket_mode)(handle, RECEIVE_ONLY) } {
            // It spares resources for sending; modules without it can receive.
            0 | NOT_SUPPORTED => {}
            code => return Err(self.failed("pfring_set_socket_mode", code)),
        }
        // SAFETY: as above.
        self.done("pfring_set_direction", unsafe {
            (functions.pfring_set_direction)(handle, options.way as c_int)
        })?;
        if let Some(packets) = options.watermark {
            // SAFETY: as above.
            let code = unsafe { (functions.pfring_set_poll_watermark)(handle, packets) };
            self.done("pfring_set_poll_watermark", code)?;
        }
        if let Some(Cluster { number, sharing }) = options.cluster {
            // SAFETY: as above.
            let code = unsafe { (functions.pfring_set_cluster)(handle, number, sharing as c_int) };
            self.done("pfring_set_cluster", code)?;
        }
        // SAFETY: as above.
        self.done("pfring_enable_ring", unsafe { (functions.pfring_enable_ring)(handle) })
    }

    /// The library's release.
    pub fn version(&self) -> Version {
        self.api.version
    }

    /// Most octets that it captures of a packet.
    pub fn captured(&self) -> u32 {
        self.room as u32
    }

    /// The kernel module's number for it; `None` if the library reports none.
    pub fn number(&self) -> Option<u32> {
        // SAFETY: an open handle.
        self.api.functions.pfring_get_ring_id.map(|number| unsafe { number(self.handle.as_ptr()) })
    }

    /// The current packets, until the next read.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.packets[..self.count].iter().map(|packet| {
            let data = match self.reading {
                Reading::Copied => &self.buffer[packet.at..][..packet.captured],
                // SAFETY: the library gave this packet with its length, not null; the module keeps it as it is until its
                // next call (`can_lend`), which takes `&mut self`.
                _ => unsafe { std::slice::from_raw_parts(packet.data, packet.captured) },
            };
            Frame { packet_type: packet.packet_type, ..Frame::new(data, packet.length, packet.time_ns) }
        })
    }

    /// Its counts.
    pub fn statistics(&self) -> Result<Statistics> {
        let functions = &self.api.functions;
        let mut counts = super::abi::Statistics::default();
        // SAFETY: an open handle, and room for more than it writes.
        let code = unsafe { (functions.pfring_stats)(self.handle.as_ptr(), &raw mut counts) };
        self.done("pfring_stats", code)?;
        let [received, dropped, shunted, ..] = counts;
        // SAFETY: an open handle.
        let queued =
            functions.pfring_get_num_queued_pkts.map(|queued| unsafe { queued(self.handle.as_ptr()) });
        Ok(Statistics { received, dropped, shunted, queued, cut: self.cut })
    }

    fn copy(&mut self) -> Result<bool> {
        let mut at = 0;
        while self.count < COPIES && at + self.room <= self.buffer.len() {
            let place = self.buffer[at..][..self.room].as_mut_ptr();
            let (code, _) = self.receive(place, self.room as c_uint);
            if code == 0 {
                break;
            }
            if code < 0 {
                let failure = self.failed("pfring_recv", code);
                if self.count == 0 {
                    return Err(failure);
                }
                // The packets before it first.
                self.failure = Some(failure);
                break;
            }
            // A packet longer than its buffer was cut (`pfring_recv`).
            let captured = (self.header.captured as usize).min(self.room);
            self.keep(ptr::null(), at, captured);
            at += captured.next_multiple_of(8);
        }
        Ok(self.count > 0)
    }

    fn point(&mut self) -> Result<bool> {
        let (code, data) = self.receive(ptr::null_mut(), 0);
        if code < 0 {
            return Err(self.failed("pfring_recv", code));
        }
        if code == 0 {
            return Ok(false);
        }
        let captured = self.header.captured as usize;
        if data.is_null() || captured > self.room {
            return Err(self.misread("pfring_recv", captured));
        }
        self.keep(data, 0, captured);
        Ok(true)
    }

    fn burst(&mut self) -> Result<bool> {
        let Some(receive) = self.api.functions.pfring_recv_burst else { return Ok(false) };
        let most = self.infos.len();
        // SAFETY: an open, enabled handle, and room for this many packets, at most 255. This releases the
        // packets before; no borrow of them is left, since they borrow `self`.
        let code = unsafe { receive(self.handle.as_ptr(), self.infos.as_mut_ptr(), most as u8, 0) };
        let Ok(count) = usize::try_from(code) else {
            return Err(self.failed("pfring_recv_burst", code));
        };
        if count > most {
            let reason = format!("it returned {count} packets where {most} were asked for");
            return Err(self.broken("pfring_recv_burst", &reason));
        }
        for number in 0..count {
            let info = self.infos[number];
            let captured = usize::from(info.captured);
            if info.data.is_null() || captured > self.room {
                self.count = 0;
                return Err(self.misread("pfring_recv_burst", captured));
            }
            self.cut += u64::from(is_cut(captured, info.length.into(), self.asked));
            self.packets[number] = Packet {
                data: info.data,
                at: 0,
                captured,
                length: info.length.into(),
                time_ns: nanoseconds(info.seconds, info.microseconds),
                packet_type: PacketType::Host,
            };
            self.count = number + 1;
        }
        Ok(count > 0)
    }

    /// `pfring_recv` without waiting: its answer, and the address of the packet.
    #[inline]
    fn receive(&mut self, place: *mut u8, room: c_uint) -> (c_int, *const u8) {
        // Modules leave out what they do not know.
        self.header.seconds = 0;
        self.header.microseconds = 0;
        self.header.time_ns = 0;
        self.header.is_received = 1;
        let mut data = place;
        // SAFETY: an open, enabled handle; `room` octets at `place`, or neither; a header with room for every release's.
        // This releases the packet before; no borrow of it is left, since they borrow `self`.
        let code = unsafe {
            (self.api.functions.pfring_recv)(
                self.handle.as_ptr(),
                &raw mut data,
                room,
                &raw mut *self.header,
                0,
            )
        };
        (code, data)
    }

    /// Notes the packet whose header was just written.
    #[inline]
    fn keep(&mut self, data: *const u8, at: usize, captured: usize) {
        let header = &self.header;
        self.cut += u64::from(is_cut(captured, header.length, self.asked));
        self.packets[self.count] = Packet {
            data,
            at,
            captured,
            length: header.length,
            time_ns: match header.time_ns {
                0 => nanoseconds(header.seconds, header.microseconds),
                time => time,
            },
            packet_type: if header.is_received == 0 { PacketType::Outgoing } else { PacketType::Host },
        };
        self.count += 1;
    }

    fn done(&self, call: &str, code: c_int) -> Result<()> {
        if code < 0 { Err(self.failed(call, code)) } else { Ok(()) }
    }

    #[cold]
    fn failed(&self, call: &str, code: c_int) -> SysError {
        self.broken(call, &format!("{} ({code})", meaning(code)))
    }

    #[cold]
    fn misread(&self, call: &str, octets: usize) -> SysError {
        let most = self.room;
        self.broken(
            call,
            &format!("it gave a packet of {octets} octets, without data or beyond the {most} asked for"),
        )
    }

    #[cold]
    fn broken(&self, call: &str, reason: &str) -> SysError {
        broken(self.api.library.name(), &format!("{call}({})", self.device), reason)
    }
}

impl Fetch for Ring {
    #[inline]
    fn fetch(&mut self) -> Result<bool> {
        self.count = 0;
        if let Some(failure) = self.failure.take() {
            return Err(failure);
        }
        match self.reading {
            Reading::Copied => self.copy(),
            Reading::InPlace => self.point(),
            Reading::Bursts(_) => self.burst(),
        }
    }

    fn fetch_within(&mut self, timeout: Duration) -> Result<bool> {
        self.count = 0;
        forget_errno();
        // SAFETY: an open handle.
        let code = unsafe {
            (self.api.functions.pfring_poll)(self.handle.as_ptr(), milliseconds(timeout) as c_uint)
        };
        if code < 0 {
            let reason = io::Error::last_os_error();
            return match reason.raw_os_error() {
                Some(libc::EINTR) => Ok(false),
                Some(errno) if code == -1 && errno != 0 => {
                    Err(SysError::Call { what: format!("pfring_poll({})", self.device), source: reason })
                }
                _ => Err(self.failed("pfring_poll", code)),
            };
        }
        self.fetch()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        // SAFETY: an open handle, closed here and nowhere else.
        unsafe { (self.api.functions.pfring_close)(self.handle.as_ptr()) };
    }
}

/// Whether less of a packet was captured than was asked for.
#[inline]
fn is_cut(captured: usize, length: u32, asked: u32) -> bool {
    captured < length.min(asked) as usize
}

fn nanoseconds(seconds: i64, microseconds: i64) -> u64 {
    let time = seconds.checked_mul(1_000_000_000).zip(microseconds.checked_mul(1_000));
    time.and_then(|(seconds, rest)| seconds.checked_add(rest))
        .and_then(|time| time.try_into().ok())
        .unwrap_or(0)
}
