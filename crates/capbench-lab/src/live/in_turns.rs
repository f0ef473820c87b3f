//! The sides of set-ups that take turns on a link. They are prepared once, and the generator that they share stays open: what is checked and
//! opened again for each short trial takes as long as the trial. Captures are opened for each trial: an open one costs the others time.

use std::fmt;
use std::num::NonZeroU16;

use capbench_host::bed::Side;

use super::host::Host;
use super::messages::{PrepareReceiving, PrepareSending};
use super::{ReceiveSide, Senders, TransmitSide};
use crate::Result;
use crate::live::ends::ReceiveEnd;
use crate::subject::Subject;

/// The sides so far.
#[derive(Default)]
pub(super) struct KeptSides {
    transmit: Option<Kept<PrepareSending, TransmitSide>>,
    receive: Vec<Kept<PrepareReceiving, ReceiveSide>>,
}

impl fmt::Debug for KeptSides {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("KeptSides").field("receive", &self.receive.len()).finish_non_exhaustive()
    }
}

/// A side and what it was prepared for.
struct Kept<Prepare, Prepared> {
    asked: Prepare,
    side: Prepared,
}

/// Both sides of the trials of a set-up, as a trial drives them.
pub(super) struct BothSides<'l> {
    pub(super) senders: Senders<'l>,
    pub(super) receive: Box<dyn ReceiveEnd + 'l>,
}

/// What both sides are prepared for.
pub(super) struct PrepareBoth<'a> {
    pub(super) sending: PrepareSending,
    pub(super) receiving: PrepareReceiving,
    pub(super) subject: &'a Subject,
    pub(super) transmit_side: &'a Side,
    pub(super) receive_side: &'a Side,
    pub(super) threads: NonZeroU16,
}

impl PrepareBoth<'_> {
    /// Prepares both sides for the trials of this set-up only.
    ///
    /// # Errors
    /// What cannot run here.
    pub(super) fn once<'l>(self, host: &Host) -> Result<BothSides<'l>> {
        let receive = ReceiveSide::prepare(self.receiving, self.subject.clone(), self.receive_side, host)?;
        let transmit = TransmitSide::prepare(self.sending, self.transmit_side, host)?;
        let senders = Senders::one(Box::new(transmit), self.threads);
        Ok(BothSides { senders, receive: Box::new(receive) })
    }
}

impl KeptSides {
    /// Waits until the captures of earlier trials are closed: closing takes CPU time.
    pub(super) fn wait_until_closed(&mut self) {
        for kept in &mut self.receive {
            kept.side.wait_until_closed();
        }
    }

    /// The sides for this set-up: those that it had before, or new ones.
    ///
    /// # Errors
    /// What cannot run here.
    pub(super) fn prepare(&mut self, asked: PrepareBoth<'_>, host: &Host) -> Result<BothSides<'_>> {
        let PrepareBoth { sending, receiving, subject, transmit_side, receive_side, threads } = asked;
        let nth = match self.receive.iter().position(|kept| kept.asked == receiving) {
            Some(nth) => nth,
            None => {
                let side = ReceiveSide::prepare(receiving.clone(), subject.clone(), receive_side, host)?;
                self.receive.push(Kept { asked: receiving, side });
                self.receive.len() - 1
            }
        };
        let transmit = match self.transmit.take() {
            Some(kept) if kept.asked == sending => kept,
            _ => {
                let side = TransmitSide::prepare(sending.clone(), transmit_side, host)?;
                Kept { asked: sending, side }
            }
        };
        let transmit = self.transmit.insert(transmit);
        let senders = Senders::one(Box::new(&mut transmit.side), threads);
        Ok(BothSides { senders, receive: Box::new(&mut self.receive[nth].side) })
    }
}

impl Drop for KeptSides {
    fn drop(&mut self) {
        // A later side found the settings of the interface as an earlier one had made them.
        while self.receive.pop().is_some() {}
    }
}
