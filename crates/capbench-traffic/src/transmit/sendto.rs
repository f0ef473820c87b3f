//! `sendto`: one system call per frame, as in `dain-2004` and in every simple tool.

use capbench_sys::host::LinkLayer;
use capbench_sys::packet::{PacketDestination, PacketSocket, Sent};

use super::{Finish, Opened, Refusals, SubmitCounts, Transmit, TransmitConfig, TransmitFacts};
use crate::Result;

/// A packet socket and one slot.
#[derive(Debug)]
pub struct Sendto {
    socket: PacketSocket,
    slot: Box<[u8]>,
    /// Where IP packets go on a link without Ethernet.
    destination: Option<PacketDestination>,
    refusals: Refusals,
}

impl Sendto {
    pub(super) fn open(config: &TransmitConfig, _: u16) -> Result<Opened> {
        let (socket, send_buffer_bytes) = config.socket()?;
        config.bind(&socket)?;
        let facts = TransmitFacts {
            batch: 1,
            send_buffer_bytes,
            qdisc_bypass: config.qdisc_bypass,
            ring_slots: None,
            copied_up_to: None,
            in_flight: config.in_flight(send_buffer_bytes),
        };
        let slot = vec![0; config.slot_octets()].into();
        let destination = (config.layer == LinkLayer::Ip).then(|| PacketDestination::new(config.interface));
        let refusals = Refusals::new(config.refusal);
        Ok(Opened { sender: Box::new(Self { socket, slot, destination, refusals }), facts })
    }
}

impl Transmit for Sendto {
    #[inline]
    fn room(&mut self) -> usize {
        1
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut [u8] {
        debug_assert_eq!(index, 0, "there is one slot");
        &mut self.slot
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        self.refusals.check()?;
        let mut counts = SubmitCounts::default();
        let Some(&length) = lengths.first() else { return Ok(counts) };
        loop {
            let frame = &self.slot[..usize::from(length)];
            let sent = match &mut self.destination {
                None => self.socket.send_frame(frame)?,
                Some(destination) => destination.send(&self.socket, frame)?,
            };
            match sent {
                Sent::Frames(_) => {
                    counts.accepted = 1;
                    self.refusals.note_accepted();
                    break;
                }
                Sent::Refused if self.refusals.note(false, &mut counts) => break,
                Sent::Refused => {}
            }
        }
        Ok(counts)
    }

    fn finish(&mut self) -> Result<Finish> {
        Ok(Finish::default())
    }
}
