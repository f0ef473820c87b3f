//! `packet-tx`: a transmit ring that the kernel reads from (PACKET_TX_RING, packet_mmap.rst).

use std::time::Instant;

use capbench_sys::packet::{FrameGeometry, Kick, PacketSocket, Prefix, TransmitRing};

use super::{
    Finish, LAST_WAIT, Opened, Refusal, Refusals, SubmitCounts, Transmit, TransmitConfig, TransmitFacts,
};
use crate::Result;

/// Frames up to this length are copied by the kernel in one piece. Of larger ones it copies only the head and attaches pages.
/// Measured on a veth pair with Linux 6.18, packets/s copied against attached: 726,000 to 545,000 at 512 octets, 689,000 to
/// 526,000 at 1024, 647,000 to 526,000 at 1518. Above this length a copy needs more than a page of memory.
const COPIED_UP_TO: usize = 2048;

/// Minimum size of a block of the ring.
const BLOCK_OCTETS: u32 = 1 << 16;

/// A packet socket and its transmit ring.
#[derive(Debug)]
pub struct PacketTx {
    socket: PacketSocket,
    ring: TransmitRing,
    batch: usize,
    refusals: Refusals,
    /// Slots of abandoned frames that the kernel has not skipped yet.
    given_up: u32,
}

impl PacketTx {
    pub(super) fn open(config: &TransmitConfig, _: u16) -> Result<Opened> {
        let batch = config.checked_batch()?;
        let (socket, send_buffer_bytes) = config.socket()?;
        // Must precede the ring, or the kernel returns EBUSY.
        socket.set_loss(config.refusal == Refusal::Lose)?;
        let prefix = Prefix::VnetHeader { copied_up_to: COPIED_UP_TO, head: config.head_octets };
        let slot_size = TransmitRing::slot_size(config.slot_octets(), prefix);
        let geometry =
            FrameGeometry::new(slot_size, config.ring_slots, slot_size.next_multiple_of(BLOCK_OCTETS))?;
        let ring = socket.transmit_frames(geometry, prefix)?;
        config.bind(&socket)?;
        let facts = TransmitFacts {
            batch,
            send_buffer_bytes,
            qdisc_bypass: config.qdisc_bypass,
            ring_slots: Some(geometry.frames()),
            copied_up_to: Some(COPIED_UP_TO),
            in_flight: config.in_flight(send_buffer_bytes).min(geometry.frames()),
        };
        Ok(Opened {
            sender: Box::new(Self {
                socket,
                ring,
                batch,
                refusals: Refusals::new(config.refusal),
                given_up: 0,
            }),
            facts,
        })
    }

    /// Makes the kernel send the frames in the ring, until it has sent all or refuses a frame that is to be repeated.
    fn kick(&mut self) -> Result<SubmitCounts> {
        self.refusals.check()?;
        let mut counts = SubmitCounts::default();
        loop {
            let kick = self.ring.kick(&self.socket);
            counts.accepted += self.accepted_slots()?;
            if counts.accepted > 0 {
                self.refusals.note_accepted();
            }
            let kick = match kick {
                Ok(kick) => kick,
                // Frames accepted before the failure are reported first. The failure occurs again at the next kick.
                Err(_) if counts.sent() > 0 => return Ok(counts),
                Err(error) => return Err(error.into()),
            };
            match (kick, self.refusals.policy) {
                (Kick::Done, _) => return Ok(counts),
                (Kick::Refused, Refusal::Repeat) => {
                    counts.refused_repeated += 1;
                    self.refusals.is_one_too_many(false);
                    return Ok(counts);
                }
                (Kick::Refused, Refusal::Lose) => {
                    self.ring.give_up_oldest();
                    self.given_up += 1;
                    counts.refused_lost += 1;
                }
            }
        }
    }

    /// Frames that the kernel accepted since the last call. Slots of abandoned frames are the oldest, so they are skipped
    /// first; they do not count as frames.
    fn accepted_slots(&mut self) -> Result<u64> {
        let slots = self.ring.take_count()?;
        let passed_over = slots.min(self.given_up);
        self.given_up -= passed_over;
        Ok(u64::from(slots - passed_over))
    }
}

impl Transmit for PacketTx {
    #[inline]
    fn room(&mut self) -> usize {
        // Frames that the kernel refused go first: a ring filled up after them would be sent after the phase's end.
        self.ring.room((self.batch as u32).saturating_sub(self.ring.pending())) as usize
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut [u8] {
        self.ring.slot(index as u32)
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        self.ring.request(lengths)?;
        self.kick()
    }

    fn finish(&mut self) -> Result<Finish> {
        let mut finish = Finish::default();
        let begun = Instant::now();
        while self.ring.pending() > 0 && begun.elapsed() < LAST_WAIT {
            match self.kick() {
                Ok(counts) => finish.counts += counts,
                // An interface that is down accepts no more frames. The rest is withdrawn below.
                Err(_) => break,
            }
        }
        finish.counts.accepted += self.accepted_slots()?;
        self.ring.withdraw()?;
        self.given_up = 0;
        while self.ring.in_flight() > 0 && begun.elapsed() < LAST_WAIT {
            std::thread::yield_now();
        }
        finish.in_flight = u64::from(self.ring.in_flight());
        Ok(finish)
    }
}
