//! Ways to hand frames to the kernel: one file each, one row each in [`METHODS`].

mod packet_tx;
mod sendmmsg;
mod sendto;

use crate::error::{Result, TrafficError};
use crate::head::HEAD_ROOM;
use crate::pacer::{self, SendJob};
use crate::plan::FramePlan;
use crate::report::SendReport;
use crate::units::FrameSize;
use capbench_sys::host::InterfaceIndex;
use capbench_sys::packet::{PacketSocket, Protocol};
use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

pub use packet_tx::PacketTx;
pub use sendmmsg::Sendmmsg;
pub use sendto::Sendto;

/// The largest batch.
pub const MOST_BATCH: usize = 256;

/// A way to hand frames to the kernel, as the pacer drives it: `room`, then `slot` for each frame, then `submit`.
pub trait Transmit {
    /// How many slots may be written now; at most [`MOST_BATCH`], and 0 while a ring is full.
    fn room(&mut self) -> usize;

    /// Slot `index` of the next batch, `index` below [`Self::room`]. It holds zeros or what a
    /// [`FrameWriter`](crate::frame::FrameWriter) wrote.
    ///
    /// # Panics
    /// Beyond the room.
    fn slot(&mut self, index: usize) -> &mut [u8];

    /// Hands over the first `lengths.len()` slots, each with its length without FCS. Without lengths it offers
    /// frames again that the kernel left in a ring.
    ///
    /// # Errors
    /// Whatever the kernel says but "no buffer space" (`ENOBUFS`), which is counted.
    fn submit(&mut self, lengths: &[u16]) -> Result<Handed>;

    /// Ends a sending phase: waits a moment for what is in a ring and takes back the rest, so that nothing of this
    /// trial can be sent in the next one.
    ///
    /// # Errors
    /// As [`Self::submit`].
    fn finish(&mut self) -> Result<Finish>;
}

/// What became of submitted frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Handed {
    /// Frames that the kernel took.
    pub accepted: u64,
    /// Frames refused with `ENOBUFS` and lost.
    pub refused_lost: u64,
    /// Refusals with `ENOBUFS` after which the frame stayed in the ring.
    pub refused_repeated: u64,
}

/// How a sending phase ended.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Finish {
    /// What became of frames in the meantime.
    pub handed: Handed,
    /// Frames that were submitted but never taken by the kernel, and are taken back now.
    pub withdrawn: u64,
    /// Frames that the kernel took and the driver has not let go of yet.
    pub in_flight: u64,
}

impl Handed {
    /// Frames handed to the kernel.
    pub const fn sent(self) -> u64 {
        self.accepted + self.refused_lost
    }
}

impl AddAssign for Handed {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.refused_lost += other.refused_lost;
        self.refused_repeated += other.refused_repeated;
    }
}

/// Runs whole sending phases; dynamic dispatch happens here, once a phase, and never per frame.
pub trait Sender: Send {
    /// Sends the frames of a job: [`pacer::run`].
    ///
    /// # Errors
    /// As [`pacer::run`].
    fn send(&mut self, job: &SendJob<'_>) -> Result<SendReport>;
}

impl<T: Transmit + Send> Sender for T {
    fn send(&mut self, job: &SendJob<'_>) -> Result<SendReport> {
        pacer::run(job, self)
    }
}

/// How to transmit.
#[derive(Debug, Clone, Copy)]
pub struct TransmitConfig {
    /// The interface that sends.
    pub interface: InterfaceIndex,
    /// The largest frame.
    pub largest: FrameSize,
    /// Octets from the destination address to the end of the stamp, which a ring copies rather than refers to.
    pub head_octets: usize,
    /// Frames handed over by one call at most.
    pub batch: usize,
    /// Send buffer to ask for, in bytes of the kernel's accounting.
    pub send_buffer_bytes: u32,
    /// Whether to go past the queueing discipline (`PACKET_QDISC_BYPASS`).
    pub qdisc_bypass: bool,
    /// Slots of a transmit ring.
    pub ring_slots: u32,
    /// Whether a ring carries `PACKET_VNET_HDR`, which lets the kernel copy small frames: 25 to 40 % faster.
    pub vnet_header: bool,
}

impl TransmitConfig {
    /// The fastest settings known for these frames: batches of 64, a 4 MiB send buffer, no queueing discipline.
    pub fn for_plan(interface: InterfaceIndex, plan: &FramePlan) -> Self {
        Self {
            interface,
            largest: plan.sizes().largest(),
            head_octets: plan.layout().minimum_size().captured(),
            batch: 64,
            send_buffer_bytes: 4 << 20,
            qdisc_bypass: true,
            ring_slots: 1024,
            vnet_header: true,
        }
    }

    /// Octets of a slot: the largest frame and room for the longest head, in cache lines.
    fn slot_octets(&self) -> usize {
        self.largest.captured().max(HEAD_ROOM).next_multiple_of(64)
    }

    /// The batch, if a transmit method can do it.
    fn checked_batch(&self) -> Result<usize> {
        if (1..=MOST_BATCH).contains(&self.batch) {
            Ok(self.batch)
        } else {
            let asked = self.batch as u64;
            Err(TrafficError::Transmit { what: "a batch of frames", asked, allowed: "1 to 256" })
        }
    }

    /// A socket for sending, configured but not bound, and the send buffer that the kernel granted.
    fn socket(&self) -> Result<(PacketSocket, u32)> {
        let socket = PacketSocket::open()?;
        socket.set_qdisc_bypass(self.qdisc_bypass)?;
        let granted = socket.set_send_buffer(self.send_buffer_bytes)?;
        Ok((socket, granted))
    }

    /// Binds a socket so that it sends there and receives nothing.
    fn bind(&self, socket: &PacketSocket) -> Result<()> {
        Ok(socket.bind(self.interface, Protocol::Nothing)?)
    }
}

/// What really runs, for the report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransmitFacts {
    /// Frames handed over by one call at most.
    pub batch: usize,
    /// Send buffer that the kernel granted, in bytes of its own accounting (it doubles what is asked, socket(7)).
    pub send_buffer_bytes: u32,
    /// Whether frames go past the queueing discipline.
    pub qdisc_bypass: bool,
    /// Slots of the transmit ring; `None` without a ring.
    pub ring_slots: Option<u32>,
    /// Frames up to this length are copied in one piece rather than attached as pages; `None` where the method
    /// always copies.
    pub copied_up_to: Option<usize>,
}

/// A transmit method that is open.
pub struct Opened {
    /// Runs sending phases.
    pub sender: Box<dyn Sender>,
    /// What really runs.
    pub facts: TransmitFacts,
}

/// A row of the table of transmit methods.
#[derive(Debug, Clone, Copy)]
pub struct TransmitMethod {
    /// The name that selects it.
    pub name: &'static str,
    /// What it is, in a line.
    pub summary: &'static str,
    /// Opens it on an interface.
    ///
    /// # Errors
    /// A refused setting, no privilege (CAP_NET_RAW), or no such interface.
    pub open: fn(&TransmitConfig) -> Result<Opened>,
}

/// All transmit methods, the fastest first.
pub const METHODS: &[TransmitMethod] = &[
    TransmitMethod {
        name: "packet-tx",
        summary: "AF_PACKET transmit ring (PACKET_TX_RING, TPACKET_V2), small frames copied, large ones attached",
        open: PacketTx::open,
    },
    TransmitMethod {
        name: "sendmmsg",
        summary: "AF_PACKET socket, sendmmsg(2): many frames a call",
        open: Sendmmsg::open,
    },
    TransmitMethod {
        name: "sendto",
        summary: "AF_PACKET socket, send(2): one frame a call",
        open: Sendto::open,
    },
];

/// The method with this name.
///
/// # Errors
/// No such method; the message lists those that there are.
pub fn method(name: &str) -> Result<&'static TransmitMethod> {
    METHODS.iter().find(|method| method.name == name).ok_or_else(|| {
        let known: Vec<&str> = METHODS.iter().map(|method| method.name).collect();
        TrafficError::Unknown { kind: "transmit method", name: name.to_owned(), known: known.join(", ") }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_name() {
        assert_eq!(method("packet-tx").unwrap().name, "packet-tx");
        let error = method("dpdk").unwrap_err().to_string();
        assert_eq!(error, "there is no transmit method 'dpdk'; there are: packet-tx, sendmmsg, sendto");
    }
}
