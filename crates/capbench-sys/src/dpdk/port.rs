//! A device that receives or sends, its buffers and its counters (rte_ethdev.h).

use std::ffi::{CStr, c_void};
use std::num::NonZeroU16;
use std::ops::{Deref, Range};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use std::{ptr, slice};

use super::device::{Device, Plugged, pool_name};
use super::eal::{Eal, Turn, refused, text};
use super::ffi;
use super::name::DeviceName;
use super::sockets::{Before, DriverSockets};
use super::thread::Registered;
use crate::host::{InterfaceIndex, clock};
use crate::packet::{Frame, VlanTag};
use crate::{Result, SysError};

/// Requested settings of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// MTU to set on the device; `None` leaves it unchanged.
    pub mtu: Option<u32>,
    /// Receive queues, as far as the device has them; `None`: all that it has.
    pub queues: Option<u16>,
    /// Descriptors of each receive queue; the device may grant another number.
    pub descriptors: u16,
    /// Octets of data in a buffer, including DPDK's head room of 128 octets.
    pub room: u16,
    /// Frames per burst, 1 or more.
    pub burst: u16,
    /// Promiscuous mode. Virtual devices set it on their interface permanently.
    pub promiscuous: bool,
    /// Threads that receive from its queues, or that send, each through a queue.
    pub threads: NonZeroU16,
    /// Descriptors of each transmit queue; `None`: it only receives.
    pub transmit: Option<u16>,
}

/// A started port. Dropping it unplugs the device.
#[derive(Debug)]
pub struct OpenPort {
    eal: &'static Eal,
    plugged: Plugged,
    port: ffi::Port,
    driver: String,
    sockets: DriverSockets,
    /// The first receive queue that no [`Port`] has.
    unread: AtomicU16,
    /// Queues through which threads send.
    pub(super) transmit_queues: u16,
}

// SAFETY: DPDK's ports belong to the process and to no thread (rte_ethdev.h): any thread may read counters, one
// at a time, and may close a port that no other uses. Queues are for one thread at a time, which their types ensure.
unsafe impl Send for OpenPort {}
// SAFETY: as above; a shared reference reaches counters, descriptions, and sockets only.
unsafe impl Sync for OpenPort {}

/// Receive queues of a port. It stays on the thread that made it.
#[derive(Debug)]
pub struct Port {
    open: Arc<OpenPort>,
    buffers: Box<[*mut c_void]>,
    frames: Box<[ffi::Frame]>,
    queues: Range<u16>,
    /// The queue to look at next.
    queue: u16,
    _registered: Registered,
}

impl Port {
    /// The next `count` queues of a port, one or more, for the calling thread, which reads up to `burst` frames at once. `None`: no
    /// more are left.
    pub fn next(open: &Arc<OpenPort>, count: NonZeroU16, burst: u16) -> Result<Option<Self>> {
        let burst = usize::from(burst.max(1));
        let _turn = open.eal.turn();
        let registered = Registered::new()?;
        let end = |first: u16| first.checked_add(count.get()).filter(|end| *end <= open.port.queues);
        // Relaxed: the number itself is all that threads exchange.
        let first = open.unread.fetch_update(Ordering::Relaxed, Ordering::Relaxed, end);
        Ok(first.ok().map(|first| Self {
            open: Arc::clone(open),
            buffers: vec![ptr::null_mut(); burst].into(),
            frames: vec![ffi::Frame::default(); burst].into(),
            queues: first..first + count.get(),
            queue: first,
            _registered: registered,
        }))
    }

    /// Its queues.
    pub fn own_queues(&self) -> &Range<u16> {
        &self.queues
    }

    /// The next frames. Polls repeatedly as long as `patience` returns true after an empty poll. It does not sleep unless the
    /// driver does (`rte_eth_rx_burst`).
    #[inline]
    pub fn receive(&mut self, mut patience: impl FnMut() -> bool) -> Option<Burst<'_>> {
        loop {
            let count = self.look();
            if count > 0 {
                return Some(Burst { port: self, count, time_ns: clock::realtime_ns() });
            }
            if !patience() {
                return None;
            }
            std::hint::spin_loop();
        }
    }

    /// Looks once at each queue, in turns, until one has frames; how many there are.
    #[inline]
    fn look(&mut self) -> u16 {
        for _ in self.queues.clone() {
            let queue = self.queue;
            self.queue = if queue + 1 < self.queues.end { queue + 1 } else { self.queues.start };
            // SAFETY: the port is started and has this queue, which no other `Port` has, and only this thread, which
            // `Port` stays on, receives from it. Both arrays have the stated number of elements and are exclusively ours: a burst that
            // borrows them would borrow `self`.
            let count = unsafe {
                ffi::capbench_dpdk_receive(
                    self.open.port.number,
                    queue,
                    self.buffers.as_mut_ptr(),
                    self.frames.as_mut_ptr(),
                    self.buffers.len() as u16,
                )
            };
            if count > 0 {
                return count;
            }
        }
        0
    }
}

impl Deref for Port {
    type Target = OpenPort;

    fn deref(&self) -> &OpenPort {
        &self.open
    }
}

impl OpenPort {
    /// Plugs the device in, in the calling thread's network namespace, and starts it. For a virtual device, `interface` is the
    /// interface below it.
    pub fn open(
        eal: &'static Eal,
        device: &Device,
        interface: Option<InterfaceIndex>,
        wanted: &Wanted,
    ) -> Result<Self> {
        let (turn, began) = (eal.turn(), Instant::now());
        let (plugged, port, sockets) = loop {
            match attempt(&turn, device, interface, wanted) {
                Err(SysError::Argument { what, .. })
                    if what == QUEUE_SETUP && is_of_xdp(device) && began.elapsed() < XDP_SETTLES =>
                {
                    thread::sleep(Duration::from_millis(5));
                }
                outcome => break outcome?,
            }
        };
        let (driver, unread) = (text(port.driver.as_ptr()), AtomicU16::new(0));
        let transmit_queues = wanted.transmit.map_or(0, |_| wanted.threads.get());
        Ok(Self { eal, plugged, driver, port, sockets, unread, transmit_queues })
    }

    pub(super) fn raw(&self) -> &ffi::Port {
        &self.port
    }

    /// The EAL of the port.
    pub fn eal(&self) -> &'static Eal {
        self.eal
    }

    /// The name of its driver.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Number of receive queues.
    pub fn queues(&self) -> u16 {
        self.port.queues
    }

    /// Whether the device spreads frames over its queues by their flow (RSS).
    pub fn has_rss(&self) -> bool {
        self.port.rss != 0
    }

    /// Granted descriptors of each receive queue, and the number of frame buffers.
    pub fn sizes(&self) -> (u16, u32) {
        (self.port.descriptors, self.port.buffers)
    }

    /// Whether VLAN tags are removed from frames and passed as metadata. DPDK does not report the tag protocol identifier.
    pub fn vlan_stripped(&self) -> bool {
        self.port.vlan_stripped != 0
    }

    /// The sockets that its driver opened.
    pub fn sockets(&self) -> &DriverSockets {
        &self.sockets
    }

    /// All counters of the port since it was opened, by the names of DPDK and the driver (`rte_eth_xstats_get`).
    pub fn counters(&self) -> Result<Vec<(String, u64)>> {
        const WHAT: &str = "rte_eth_xstats_get";
        // Drivers add what registers counted to sums of their own, without a lock.
        let _turn = self.eal.turn();
        // SAFETY: with room for none, nothing is written; the port is open.
        let known = unsafe { ffi::capbench_dpdk_counters(self.port.number, ptr::null_mut(), 0) };
        if known < 0 {
            return Err(refused(WHAT.into(), known));
        }
        let empty = ffi::Counter { name: [0; 64], value: 0 };
        let mut counters = vec![empty; known as usize];
        // SAFETY: writes at most as many counters as the length says, and `counters` has that many.
        let filled = unsafe {
            ffi::capbench_dpdk_counters(self.port.number, counters.as_mut_ptr(), counters.len() as u32)
        };
        if filled < 0 {
            return Err(refused(WHAT.into(), filled));
        }
        counters.truncate(filled as usize);
        Ok(counters.iter().map(|counter| (text(counter.name.as_ptr()), counter.value)).collect())
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        let turn = self.eal.turn();
        // SAFETY: the port was opened by `start` and is closed here only.
        unsafe { ffi::capbench_dpdk_close(&raw const self.port) };
        self.plugged.unplug(&turn);
        // Before the buffers go: until its sockets are closed, the kernel knows their memory.
        std::mem::replace(&mut self.sockets, DriverSockets::None).close();
        // SAFETY: the port is closed, and a burst or a transmit queue, which would use buffers, would borrow or share `self`.
        unsafe { ffi::capbench_dpdk_free_pool(&raw const self.port) };
    }
}

/// The kernel takes the memory of a closed AF_XDP socket away from the queue some time later, by a worker thread
/// (`xp_put_pool`, net/xdp/xsk_buff_pool.c). Until then the queue is busy.
const XDP_SETTLES: Duration = Duration::from_millis(500);

const QUEUE_SETUP: &str = "rte_eth_rx_queue_setup";

fn is_of_xdp(device: &Device) -> bool {
    device.name == DeviceName::AfXdp
}

/// Plugs a device in and starts its port; all or nothing.
fn attempt(
    turn: &Turn,
    device: &Device,
    interface: Option<InterfaceIndex>,
    wanted: &Wanted,
) -> Result<(Plugged, ffi::Port, DriverSockets)> {
    let before = Before::now()?;
    let plugged = device.plug(turn)?;
    let opened = start(&plugged, wanted).and_then(|port| {
        let sockets = sockets(&before, &port, interface).inspect_err(|_| end(&port))?;
        Ok((port, sockets))
    });
    let (port, sockets) = opened.inspect_err(|_| plugged.unplug(turn))?;
    Ok((plugged, port, sockets))
}

fn start(plugged: &Plugged, wanted: &Wanted) -> Result<ffi::Port> {
    let request = ffi::Wanted {
        mtu: wanted.mtu.unwrap_or(0),
        queues: wanted.queues.unwrap_or(0),
        descriptors: wanted.descriptors,
        transmit_queues: wanted.transmit.map_or(1, |_| wanted.threads.get()),
        transmit_descriptors: wanted.transmit.unwrap_or(64),
        room: wanted.room,
        // The burst in use, one that is being received, and as many again in the thread's cache.
        spare: wanted.burst.max(32).saturating_mul(4),
        promiscuous: wanted.promiscuous.into(),
        transmits: wanted.transmit.is_some().into(),
        threads: wanted.threads.get(),
    };
    // SAFETY: the structure is integers and a pointer, of which all zeroes is a value.
    let mut port: ffi::Port = unsafe { std::mem::zeroed() };
    let pool = pool_name();
    let mut failed = ptr::null();
    // SAFETY: names are NUL-terminated and alive for the call, as is the request; `port` and `failed` are exclusively
    // ours, and the function writes one value to each.
    let code = unsafe {
        ffi::capbench_dpdk_open(
            plugged.name(),
            pool.as_ptr(),
            &raw const request,
            &raw mut port,
            &raw mut failed,
        )
    };
    if code == 0 {
        return Ok(port);
    }
    // SAFETY: the function sets `failed` to a constant string before anything can fail.
    let call = unsafe { CStr::from_ptr(failed) }.to_string_lossy();
    Err(refused(call.into_owned(), code))
}

fn end(port: &ffi::Port) {
    // SAFETY: the port was opened by `start`; no buffer of it is in use, for nothing was received.
    unsafe {
        ffi::capbench_dpdk_close(port);
        ffi::capbench_dpdk_free_pool(port);
    }
}

/// The sockets that appeared for a port, where there is one for each queue.
fn sockets(before: &Before, port: &ffi::Port, interface: Option<InterfaceIndex>) -> Result<DriverSockets> {
    let queues = usize::from(port.queues);
    let driver = text(port.driver.as_ptr());
    Ok(match (driver.as_str(), interface) {
        ("net_af_packet", Some(interface)) => {
            let found = before.packet_sockets(interface)?;
            if found.len() == queues { DriverSockets::Packet(found) } else { DriverSockets::None }
        }
        ("net_af_xdp", _) => {
            let found = before.xdp_sockets()?;
            if found.len() == queues { DriverSockets::Xdp(found) } else { DriverSockets::None }
        }
        _ => DriverSockets::None,
    })
}

/// A burst of received frames. Dropping it returns their buffers.
#[derive(Debug)]
pub struct Burst<'a> {
    port: &'a mut Port,
    count: u16,
    time_ns: u64,
}

impl Burst<'_> {
    /// The address of the port.
    #[inline]
    pub fn hardware_address(&self) -> [u8; 6] {
        self.port.open.port.mac
    }

    /// The frames in the driver's order. The time is that of the burst.
    #[inline]
    pub fn frames(&self) -> impl Iterator<Item = Frame<'_>> {
        self.port.frames[..usize::from(self.count)].iter().map(move |frame| {
            // SAFETY: the shim says that the buffer has `length` octets there. The buffer is ours since it was received, and
            // nobody writes to it, until the drop of `self` returns it.
            let data = unsafe { slice::from_raw_parts(frame.data, frame.length as usize) };
            let vlan = VlanTag { tci: frame.vlan_tci, tpid: 0x8100 };
            Frame {
                vlan: (frame.vlan_stripped != 0).then_some(vlan),
                ..Frame::new(data, frame.wire_length, self.time_ns)
            }
        })
    }
}

impl Drop for Burst<'_> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: this burst is what the last look found, for it borrows the port since; it is dropped once, and no
        // frame that borrows from it is left.
        unsafe { ffi::capbench_dpdk_free(self.port.buffers.as_mut_ptr(), self.count) };
    }
}
