//! `af-xdp-tx`: an AF_XDP transmit ring in copy mode (Documentation/networking/af_xdp.rst, net/xdp/xsk.c).
//!
//! The kernel builds a socket buffer for each frame and passes it to the driver, bypassing the queueing discipline. It stops
//! at the first frame that it cannot send and returns the reason:
//!
//! | sendto | what became of the frame | here |
//! |---|---|---|
//! | `EBUSY` | the driver dropped it (`NET_XMIT_DROP`); its chunk is still completed | refused |
//! | `EAGAIN` | it stays in the ring: the driver's queue or the send buffer is full, or the call's budget is used up | pending |
//! | 0 | all were passed to the driver | accepted |
//!
//! So a completion does not mean that a frame was sent; only `EBUSY` reports a frame that was not.

use std::time::Instant;

use capbench_sys::SysError;
use capbench_sys::xdp::umem::CHUNK_SIZES;
use capbench_sys::xdp::{Transmitter, TransmitterConfig, Wake, XdpSocket};

use super::{
    Finish, LAST_WAIT, Opened, Refusals, SubmitCounts, Transmit, TransmitConfig, TransmitFacts, missing,
};
use crate::{Result, TrafficError};

/// Frames that every kernel sends in one call, if nothing stops it (`TX_BATCH_SIZE` of 16 before Linux 5.11).
const LEAST_BUDGET: u32 = 16;

/// The missing feature of a kernel without these sockets.
const WITHOUT: &str = "AF_XDP (CONFIG_XDP_SOCKETS)";

/// Minimum number of ring entries: several batches, so that there is always room to repeat a frame.
const LEAST_FRAMES: u32 = 2048;

/// A socket, its rings and its chunks.
#[derive(Debug)]
pub struct AfXdpTx {
    transmitter: Transmitter,
    batch: usize,
    refusals: Refusals,
    /// Refused frames among those that the kernel has not yet reported as sent.
    refused: u64,
}

impl AfXdpTx {
    pub(super) fn open(config: &TransmitConfig, thread: u16) -> Result<Opened> {
        let batch = config.checked_batch()?;
        let octets = config.slot_octets() as u32;
        let chunk_size = CHUNK_SIZES.into_iter().find(|&size| size >= octets);
        let chunk_size = chunk_size.ok_or_else(|| TrafficError::Transmit {
            what: "a frame size of",
            asked: config.largest.octets().into(),
            allowed: "af-xdp-tx sends at most 4100 octets, FCS included; packet-tx sends larger ones",
        })?;
        let frames = config.ring_slots.max(LEAST_FRAMES).next_power_of_two();
        let transmitter = Transmitter::open(&TransmitterConfig {
            interface: config.interface,
            queue: thread.into(),
            chunk_size,
            frames,
            send_buffer_bytes: config.send_buffer_bytes,
            budget: batch as u32,
        })
        .map_err(explained)?;
        let send_buffer_bytes = transmitter.send_buffer_bytes();
        let facts = TransmitFacts {
            batch,
            send_buffer_bytes,
            // AF_XDP always bypasses it.
            qdisc_bypass: true,
            ring_slots: Some(frames),
            copied_up_to: None,
            in_flight: config.in_flight(send_buffer_bytes).min(frames),
        };
        let refusals = Refusals::new(config.refusal);
        Ok(Opened { sender: Box::new(Self { transmitter, batch, refusals, refused: 0 }), facts })
    }

    /// Whether an AF_XDP socket can be opened.
    pub(super) fn supported() -> std::result::Result<(), String> {
        XdpSocket::open().map(drop).map_err(|error| missing(&error, WITHOUT))
    }

    /// Makes the kernel send the frames in the ring, until it has sent all or an error stops it.
    fn kick(&mut self) -> Result<SubmitCounts> {
        self.refusals.check()?;
        let mut counts = SubmitCounts::default();
        let mut stops = self.transmitter.queue().pending() / LEAST_BUDGET + 1;
        while self.transmitter.queue().pending() > 0 && !self.refusals.has_given_up {
            let wake = self.transmitter.wake();
            // Before frames are counted: the dropped frame can be among those that the kernel now reports as completed.
            self.refused += u64::from(matches!(wake, Ok(Wake::Dropped)));
            let accepted = self.accepted();
            counts.accepted += accepted;
            if accepted > 0 {
                self.refusals.note_accepted();
            }
            match wake {
                Ok(Wake::Done) => break,
                Ok(Wake::Dropped) => self.refuse(accepted > 0, &mut counts),
                Ok(Wake::Stopped) if stops == 0 => break,
                Ok(Wake::Stopped) => {
                    self.transmitter.queue().collect();
                    stops -= 1;
                }
                // Frames accepted before the failure are reported first. The failure occurs again at the next kick.
                Err(_) if counts.sent() > 0 => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(counts)
    }

    /// The kernel has dropped a frame: it is lost, or submitted again.
    #[cold]
    fn refuse(&mut self, progress: bool, counts: &mut SubmitCounts) {
        if !self.refusals.note(progress, counts) && !self.transmitter.repeat_dropped() {
            counts.refused_repeated -= 1;
            counts.refused_lost += 1;
        }
    }

    /// Frames newly reported as completed, minus the refused ones.
    fn accepted(&mut self) -> u64 {
        let accepted = self.transmitter.queue().take_count();
        self.without_refused(accepted)
    }

    fn without_refused(&mut self, accepted: u32) -> u64 {
        let refused = self.refused.min(accepted.into());
        self.refused -= refused;
        u64::from(accepted) - refused
    }
}

impl Transmit for AfXdpTx {
    #[inline]
    fn room(&mut self) -> usize {
        // Frames that the kernel left go first: a ring filled up after them would be sent after the phase's end.
        let queue = self.transmitter.queue();
        queue.room((self.batch as u32).saturating_sub(queue.pending())) as usize
    }

    #[inline]
    fn slot(&mut self, index: usize) -> &mut [u8] {
        self.transmitter.queue().slot(index as u32)
    }

    fn submit(&mut self, lengths: &[u16]) -> Result<SubmitCounts> {
        self.transmitter.queue().request(lengths)?;
        self.kick()
    }

    fn finish(&mut self) -> Result<Finish> {
        let mut finish = Finish::default();
        let begun = Instant::now();
        while self.transmitter.queue().pending() > 0 && begun.elapsed() < LAST_WAIT {
            match self.kick() {
                Ok(counts) => finish.counts += counts,
                // An interface that is down accepts no more frames. The rest is withdrawn below.
                Err(_) => break,
            }
        }
        let (accepted, _) = self.transmitter.withdraw()?;
        finish.counts.accepted += self.without_refused(accepted);
        while self.transmitter.queue().in_flight() > 0 && begun.elapsed() < LAST_WAIT {
            std::thread::yield_now();
        }
        finish.in_flight = self.transmitter.queue().in_flight().into();
        Ok(finish)
    }
}

/// Adds the likely cause of a refusal to open.
fn explained(error: SysError) -> TrafficError {
    const EBUSY: i32 = 16;
    const EINVAL: i32 = 22;
    const ENOBUFS: i32 = 105;
    let reason = match error.errno() {
        Some(EBUSY) => "another AF_XDP socket has this queue of the interface; end its program",
        Some(EINVAL) => {
            "the interface has fewer queues than threads; ask for fewer, or give it more (ethtool -L)"
        }
        Some(ENOBUFS) => "the limit on locked memory is too low (ulimit -l); raise it or run as root",
        _ => return error.into(),
    };
    match error {
        SysError::Call { what, source } => SysError::Refused { what, reason: reason.into(), source }.into(),
        other => other.into(),
    }
}
