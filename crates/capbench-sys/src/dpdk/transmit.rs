//! Transmit queues of a port, one for each thread (`rte_eth_tx_burst`).

use std::os::fd::{AsFd, AsRawFd};
use std::ptr;
use std::sync::Arc;

use super::ffi;
use super::port::OpenPort;
use super::sockets::DriverSockets;

/// A transmit queue of a port.
#[derive(Debug)]
pub struct TransmitQueue {
    port: Arc<OpenPort>,
    queue: u16,
}

impl TransmitQueue {
    /// Each transmit queue of a port.
    pub fn all_of(port: OpenPort) -> Vec<Self> {
        let port = Arc::new(port);
        (0..port.transmit_queues).map(|queue| Self { port: Arc::clone(&port), queue }).collect()
    }

    /// The port of all queues.
    pub fn port(&self) -> &OpenPort {
        &self.port
    }

    /// Passes copies of frames to the driver: of each slot of `slot_octets`, as many octets as its length says. Returns how
    /// many it took.
    ///
    /// # Panics
    /// A length beyond the slot, or more lengths than slots.
    pub fn send(&mut self, frames: &[u8], slot_octets: usize, lengths: &[u16]) -> u16 {
        assert!(frames.len() >= lengths.len() * slot_octets, "{} frames", lengths.len());
        assert!(lengths.iter().all(|length| usize::from(*length) <= slot_octets), "{lengths:?}");
        let (port, count) = (ptr::from_ref(self.port.raw()), lengths.len().min(usize::from(u16::MAX)) as u16);
        let (frames, lengths) = (frames.as_ptr(), lengths.as_ptr());
        // SAFETY: the port is started and has this queue; of a queue there is one value, which is borrowed exclusively. There
        // are as many lengths as stated, each of a frame that is within its slot, and the slots are alive.
        unsafe { ffi::capbench_dpdk_send(port, self.queue, frames, slot_octets, lengths, count) }
    }

    /// Makes the kernel send frames that `net_af_packet` left in its rings: it asks the kernel once for each burst, and the kernel
    /// stops where its send buffer is full. Returns whether there were any.
    pub fn flush(&self) -> bool {
        let DriverSockets::Packet(sockets) = self.port.sockets() else { return false };
        sockets.iter().any(|socket| {
            // SAFETY: with a transmit ring send(2) looks at no buffer; a null one of length 0 is valid.
            unsafe { libc::send(socket.as_fd().as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT) > 0 }
        })
    }
}
