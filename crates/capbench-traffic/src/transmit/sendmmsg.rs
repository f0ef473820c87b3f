//! `sendmmsg`: many frames per system call, copied by the kernel.

use capbench_sys::host::LinkLayer;
use capbench_sys::packet::{PacketSocket, SendVector, Sent};

use super::{Finish, Opened, Refusals, SubmitCounts, Transmit, TransmitConfig, TransmitFacts};
use crate::Result;

/// A packet socket and a vector of slots.
#[derive(Debug)]
pub struct Sendmmsg {
    socket: PacketSocket,
    vector: SendVector,
    refusals: Refusals,
}

impl Sendmmsg {
    pub(super) fn open(config: &TransmitConfig, _: u16) -> Result<Opened> {
        let batch = config.checked_batch()?;
        let (socket, send_buffer_bytes) = config.socket()?;
        config.bind(&socket)?;
        let facts = TransmitFacts {
            batch,
            send_buffer_bytes,
            qdisc_bypass: config.qdisc_bypass,
            ring_slots: None,
            copied_up_to: None,
            in_flight: config.in_flight(send_buffer_bytes),
        };
        let vector = match config.layer {
            LinkLayer::Ethernet => SendVector::new(batch, config.slot_octets()),
            LinkLayer::Ip => SendVector::of_packets(batch, config.slot_octets(), config.interface),
        };
        Ok(Opened {
            sender: Box::new(Self { socket, vector, refusals: Refusals::new(config.refusal) }),
            facts,
        })
    }
}

impl Transmit for Sendmmsg {
    #[inline]
    fn room(&mut self) -> usize {
        self.vector.frames()
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut [u8] {
        self.vector.slot(index)
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        self.refusals.check()?;
        let mut counts = SubmitCounts::default();
        self.vector.set_lengths(lengths);
        let mut next = 0;
        while next < lengths.len() && !self.refusals.has_given_up {
            // The kernel stops at the first frame that it refuses and returns the number of frames before it.
            let count = match self.vector.send(&self.socket, next..lengths.len()) {
                Ok(Sent::Frames(count)) => count,
                Ok(Sent::Refused) => 0,
                // Frames accepted before the failure are reported first. The failure occurs again at the next call.
                Err(_) if counts.sent() > 0 => return Ok(counts),
                Err(error) => return Err(error.into()),
            };
            counts.accepted += count as u64;
            next += count;
            if count > 0 {
                self.refusals.note_accepted();
            }
            if next < lengths.len() && self.refusals.note(count > 0, &mut counts) {
                next += 1;
            }
        }
        Ok(counts)
    }

    fn finish(&mut self) -> Result<Finish> {
        Ok(Finish::default())
    }
}
