//! All queues of an interface as one source: each has a socket with rings; all share one UMEM.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use super::frame_queue::{FrameBatch, FrameQueue, Share};
use super::socket::{BindOptions, XdpSocket, XdpStatistics};
use super::umem::{Umem, UmemGeometry};
use crate::busy_poll::{BusyPoll, incoming_napi};
use crate::error::Result;
use crate::host::interface::InterfaceIndex;
use crate::host::wait;
use crate::packet::Readiness;

/// Entries of a completion ring that nobody uses: the kernel wants one with every UMEM.
const UNUSED_COMPLETIONS: u32 = 64;

/// Settings of a receiver.
#[derive(Clone, Debug)]
pub struct ReceiverConfig<'q> {
    /// The interface.
    pub interface: InterfaceIndex,
    /// Its queues to receive from.
    pub queues: &'q [u32],
    /// Bytes of a chunk: 2048 or 4096.
    pub chunk_size: u32,
    /// Entries of each receive ring, a power of two.
    pub received: u32,
    /// Entries of each fill ring, a power of two. With fewer entries than chunks the driver runs short of chunks.
    pub fill: u32,
    /// Chunks of each queue in addition to the receive ring's entries: for frames that the application holds.
    pub spare: u32,
    /// Frame limit of a batch.
    pub batch: u32,
    /// How sockets are bound.
    pub bind: BindOptions,
    /// Busy polling, if any.
    pub busy_poll: Option<BusyPoll>,
}

#[derive(Debug)]
struct Port {
    socket: XdpSocket,
    frames: FrameQueue,
}

/// Receives from queues in turn. Frames arrive only if an XDP program redirects them to the sockets.
#[derive(Debug)]
pub struct Receiver {
    ports: Vec<Port>,
    polls: Vec<libc::pollfd>,
    geometry: UmemGeometry,
    wakes: bool,
    busy: bool,
    next: usize,
}

impl Receiver {
    /// Makes the UMEM and binds a socket to each queue, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// `EPERM` without CAP_NET_RAW; `ENOBUFS` beyond the limit of locked memory; `EBUSY` if another socket has a queue;
    /// `EOPNOTSUPP` if zero-copy is requested but the driver lacks it; `ENETDOWN` if the interface is down.
    pub fn open(config: &ReceiverConfig<'_>) -> Result<Self> {
        let each = config.received.saturating_add(config.spare);
        let geometry = UmemGeometry::new(config.chunk_size, each.saturating_mul(config.queues.len() as u32))?;
        let umem = Umem::of_pages(geometry)?;
        let mut ports: Vec<Port> = Vec::with_capacity(config.queues.len());
        for (index, &queue) in (0u32..).zip(config.queues) {
            let socket = XdpSocket::open()?;
            if index == 0 {
                socket.register(&umem)?;
            }
            let fill = socket.fill_ring(config.fill)?;
            socket.completion_ring(UNUSED_COMPLETIONS)?;
            let received = socket.receive_ring(config.received)?;
            if let Some(poll) = config.busy_poll {
                poll.set(&socket)?;
            }
            let share = Share { first_chunk: index * each, chunks: each, batch: config.batch };
            // Before it is bound: a driver with zero-copy fills its hardware ring when it is.
            let frames = FrameQueue::new(Arc::clone(&umem), received, fill, share);
            socket.bind(config.interface, queue, config.bind, ports.first().map(|port| &port.socket))?;
            // The kernel binds to interfaces that are down, and says so only here.
            socket.drive_receive()?;
            ports.push(Port { socket, frames });
        }
        let entry = |port: &Port| libc::pollfd {
            fd: port.socket.as_fd().as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        let polls = ports.iter().map(entry).collect();
        let (wakes, busy) = (config.bind.need_wakeup, config.busy_poll.is_some());
        Ok(Self { ports, polls, geometry, wakes, busy, next: 0 })
    }

    /// The sockets, in the order of the queues, as an XSKMAP needs them.
    pub fn sockets(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.ports.iter().map(|port| port.socket.as_fd())
    }

    /// The UMEM's sizes.
    pub fn geometry(&self) -> UmemGeometry {
        self.geometry
    }

    /// Whether any queue has frames. Also makes the system calls that busy polling and drivers with wake-up need.
    ///
    /// # Errors
    /// `ENETDOWN` if the interface went down or was removed; detected only by a system call.
    #[inline]
    pub fn is_ready(&mut self) -> Result<bool> {
        if self.wakes || self.busy {
            self.drive()?;
        }
        Ok(self.find().is_some())
    }

    /// The next frames of the current queue, or of the next queue with frames, and the position of that queue.
    #[inline]
    pub fn take(&mut self) -> Option<(usize, FrameBatch<'_>)> {
        let index = self.find()?;
        self.next = if index + 1 == self.ports.len() { 0 } else { index + 1 };
        let batch = self.ports[index].frames.take()?;
        Some((index, batch))
    }

    #[inline]
    fn find(&mut self) -> Option<usize> {
        let count = self.ports.len();
        (0..count)
            .map(
                |offset| {
                    if self.next + offset < count { self.next + offset } else { self.next + offset - count }
                },
            )
            .find(|&index| self.ports[index].frames.is_ready())
    }

    #[inline]
    fn drive(&mut self) -> Result<()> {
        for port in &mut self.ports {
            let polls = self.busy && !port.frames.is_ready();
            if polls || (self.wakes && port.frames.needs_wakeup()) {
                port.socket.drive_receive().or_else(|error| port.socket.pending_error().and(Err(error)))?;
            }
        }
        Ok(())
    }

    /// Waits until a queue has frames (poll(2)), which also wakes the driver. After a timeout it checks that the interface is
    /// still up: poll does not report it.
    ///
    /// # Errors
    /// `ENETDOWN` after the interface went down or was removed.
    pub fn wait(&mut self, timeout: Duration) -> Result<Readiness> {
        wait::poll(&mut self.polls, timeout, "AF_XDP sockets")?;
        let readable = self.polls.iter().any(|entry| entry.revents & libc::POLLIN != 0);
        let alarmed = self.polls.iter().any(|entry| entry.revents & !libc::POLLIN != 0);
        if alarmed || !readable {
            for port in &self.ports {
                port.socket.pending_error()?;
                port.socket.drive_receive()?;
            }
        }
        Ok(if readable { Readiness::Ready } else { Readiness::Nothing })
    }

    /// The counters of each socket.
    pub fn statistics(&self) -> impl Iterator<Item = Result<XdpStatistics>> {
        self.ports.iter().map(|port| port.socket.statistics())
    }

    /// Whether zero-copy is active; `None` if the kernel does not report it. All queues of an interface have the same mode.
    pub fn zero_copy(&self) -> Result<Option<bool>> {
        self.ports.first().map_or(Ok(None), |port| port.socket.zero_copy())
    }

    /// The NAPI instances of the sockets, one per queue.
    pub fn napis(&self) -> impl Iterator<Item = Result<Option<u32>>> {
        self.ports.iter().map(|port| incoming_napi(&port.socket))
    }

    /// Frames read from each queue so far.
    pub fn frames_read(&self) -> impl Iterator<Item = u64> {
        self.ports.iter().map(|port| port.frames.frames_read())
    }

    /// For each queue, the unread frames in its receive ring and its capacity.
    pub fn waiting(&self) -> impl Iterator<Item = (u32, u32)> {
        self.ports.iter().map(|port| port.frames.waiting())
    }

    /// Descriptors with a chunk that the kernel did not own: always 0, unless kernel or driver have a bug.
    pub fn impossible(&self) -> u64 {
        self.ports.iter().map(|port| port.frames.impossible()).sum()
    }
}
