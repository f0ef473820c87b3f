//! `sendto`: one system call a frame, the way of `dain-2004` and of every tool that does not care.

use super::{Finish, Handed, Opened, Transmit, TransmitConfig, TransmitFacts};
use crate::error::Result;
use capbench_sys::packet::{PacketSocket, Sent};

/// A packet socket and one slot.
#[derive(Debug)]
pub struct Sendto {
    socket: PacketSocket,
    slot: Box<[u8]>,
}

impl Sendto {
    pub(super) fn open(config: &TransmitConfig) -> Result<Opened> {
        let (socket, send_buffer_bytes) = config.socket()?;
        config.bind(&socket)?;
        let facts = TransmitFacts {
            batch: 1,
            send_buffer_bytes,
            qdisc_bypass: config.qdisc_bypass,
            ring_slots: None,
            copied_up_to: None,
        };
        let slot = vec![0; config.slot_octets()].into();
        Ok(Opened { sender: Box::new(Self { socket, slot }), facts })
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

    fn submit(&mut self, lengths: &[u16]) -> Result<Handed> {
        let mut handed = Handed::default();
        if let Some(&length) = lengths.first() {
            match self.socket.send_frame(&self.slot[..usize::from(length)])? {
                Sent::Frames(_) => handed.accepted = 1,
                // The frame is gone: the interface's drop counter has it.
                Sent::Refused => handed.refused_lost = 1,
            }
        }
        Ok(handed)
    }

    fn finish(&mut self) -> Result<Finish> {
        Ok(Finish::default())
    }
}
