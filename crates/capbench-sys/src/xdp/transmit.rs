//! A sending socket in copy mode: it needs neither an XDP program nor support of the driver.
//!
//! Copy mode makes counts exact: the kernel sends only inside our system calls, so unsent frames can be withdrawn at the end of
//! a phase.

use std::os::fd::AsFd;

use super::socket::{BindOptions, CopyMode, XdpSocket};
use super::transmit_queue::TransmitQueue;
use super::umem::{Umem, UmemGeometry};
use crate::error::Result;
use crate::host::interface::InterfaceIndex;
use crate::socket_option::{SEND_BUFFER, XDP_MAX_TX_SKB_BUDGET, set_buffer};

/// Entries of a fill ring that nobody uses: the kernel wants one with every UMEM.
const UNUSED_FILLS: u32 = 64;

/// System calls at most to have void requests passed over: each passes over one at least.
const MOST_FLUSHES: u32 = 1 << 16;

/// Settings of a transmitter.
#[derive(Clone, Copy, Debug)]
pub struct TransmitterConfig {
    /// The interface.
    pub interface: InterfaceIndex,
    /// Its queue.
    pub queue: u32,
    /// Bytes of a chunk: 2048 or 4096. Also the size limit of a frame.
    pub chunk_size: u32,
    /// Entries of the rings, and chunks: a power of two.
    pub frames: u32,
    /// Requested send buffer, in bytes of the kernel's accounting.
    pub send_buffer_bytes: u32,
    /// Frame limit of one system call; kernels before 6.17 send 32, before 5.11 16.
    pub budget: u32,
}

/// The result of a wake-up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// The kernel processed all requests.
    Done,
    /// It stopped early: at its budget, at a full queue of the driver or at the send buffer's limit. The rest stays in the
    /// ring.
    Stopped,
    /// It stopped after a frame that the driver refused and that is lost.
    Dropped,
}

/// A socket, its rings and its chunks.
#[derive(Debug)]
pub struct Transmitter {
    socket: XdpSocket,
    queue: TransmitQueue,
    send_buffer_bytes: u32,
}

impl Transmitter {
    /// Makes a UMEM and binds a socket, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW; `ENOBUFS` beyond the limit of locked memory; `EBUSY` if another socket has the queue.
    pub fn open(config: &TransmitterConfig) -> Result<Self> {
        let umem = Umem::of_pages(UmemGeometry::new(config.chunk_size, config.frames)?)?;
        let socket = XdpSocket::open()?;
        let send_buffer_bytes = set_buffer(&socket.as_fd(), SEND_BUFFER, config.send_buffer_bytes)?;
        socket.register(&umem)?;
        socket.fill_ring(UNUSED_FILLS)?;
        let completions = socket.completion_ring(config.frames)?;
        let requests = socket.transmit_ring(config.frames)?;
        // A larger budget than 32 saves system calls; without it (before Linux 6.17) more of them do the same.
        let budget = config.budget.clamp(32, config.frames.max(32));
        let _ = XDP_MAX_TX_SKB_BUDGET.set(&socket.as_fd(), &budget);
        let options = BindOptions { mode: CopyMode::Copy, need_wakeup: false };
        socket.bind(config.interface, config.queue, options, None)?;
        Ok(Self { socket, queue: TransmitQueue::new(umem, requests, completions), send_buffer_bytes })
    }

    /// The rings.
    #[inline]
    pub fn queue(&mut self) -> &mut TransmitQueue {
        &mut self.queue
    }

    /// Granted send buffer, in bytes of the kernel's accounting.
    pub fn send_buffer_bytes(&self) -> u32 {
        self.send_buffer_bytes
    }

    /// Makes the kernel send requested frames, as many as one system call sends.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface is down, `ENXIO` if it no longer exists.
    #[inline]
    pub fn wake(&mut self) -> Result<Wake> {
        Ok(match self.socket.drive_transmit()? {
            None => Wake::Done,
            Some(libc::EBUSY) => Wake::Dropped,
            Some(_) => Wake::Stopped,
        })
    }

    /// Requests the frame of a [`Wake::Dropped`] again, before those that the kernel has not read. Returns `false` if that is
    /// impossible; then the frame is lost.
    pub fn repeat_dropped(&mut self) -> bool {
        // SAFETY: the socket is ours alone, exclusively borrowed, and runs in copy mode: no system call is under way. After
        // any other end of a system call this may send a frame again, but touches no memory that is not ours.
        unsafe { self.queue.repeat_dropped() }
    }

    /// Withdraws frames that the kernel has not accepted, so that no later call sends them. Returns the number of newly
    /// accepted frames and of withdrawn ones.
    pub fn withdraw(&mut self) -> Result<(u32, u32)> {
        let accepted = self.queue.take_count();
        let pending = self.queue.pending();
        if pending == 0 {
            return Ok((accepted, 0));
        }
        let before = self.socket.statistics()?.tx_invalid_descs;
        // SAFETY: the socket is ours alone, exclusively borrowed, and runs in copy mode: no system call is under way.
        let chunks = unsafe { self.queue.void_pending() };
        let flushed = (0..MOST_FLUSHES).find_map(|_| match self.wake() {
            Ok(Wake::Stopped) => {
                self.queue.collect();
                None
            }
            // Since Linux 6.6 a call ends behind each void request, as if all were done.
            Ok(_) => (self.queue.left() == 0).then_some(true),
            // An interface that is down: the void requests stay, and are passed over when it is up again.
            Err(_) => Some(false),
        });
        let flushed = flushed.unwrap_or(false);
        // Kernels may report accepted frames late, but report the void requests that they met exactly.
        let passed = self.socket.statistics()?.tx_invalid_descs - before;
        let withdrawn = if flushed { pending.min(passed as u32) } else { pending };
        self.queue.withdrawn(&chunks, withdrawn, flushed);
        self.queue.collect();
        Ok((accepted + pending - withdrawn, withdrawn))
    }
}
