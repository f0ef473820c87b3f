//! The two ends of a link as a trial drives them: by messages, in this order.
//!
//! An end is a side in this process ([`TransmitSide`](super::TransmitSide), [`ReceiveSide`](super::ReceiveSide)), or one in another
//! process, to which the messages are sent.

use super::halves::{ReceiveHalf, TransmitHalf};
use super::messages::{Arm, FinishReceiving, FinishSending, Go, Sent};
use crate::Result;
use crate::receiver::SharedStart;

/// The end that sends.
pub trait TransmitEnd {
    /// Reads the counters, and opens the generator unless it is open. `start` is set when sending begins, for a receiver that
    /// shares this process's clock.
    ///
    /// # Errors
    /// When it cannot send.
    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()>;

    /// Begins to send the frames of the armed trial, and returns at once.
    ///
    /// # Errors
    /// When it cannot begin.
    fn go(&mut self, go: Go) -> Result<()>;

    /// Waits until the last frame of the trial that began was sent; what was sent in each of its streams.
    ///
    /// # Errors
    /// Why sending failed.
    fn sent(&mut self) -> Result<Vec<Sent>>;

    /// After an error of `sent`: what the process that ended had sent, if somebody can still report it.
    fn reported(&mut self) -> Option<Vec<Sent>> {
        None
    }

    /// Closes the generator unless it stays open, and reads the counters.
    ///
    /// # Errors
    /// Counters that cannot be read.
    fn finish(&mut self, finish: FinishSending) -> Result<TransmitHalf>;

    /// Gives up the armed trial, and closes the generator.
    fn release(&mut self);

    /// Whether its process ended or cannot be reached, so that no message reaches it any more.
    fn is_lost(&self) -> bool {
        false
    }
}

/// The end that receives.
pub trait ReceiveEnd {
    /// Whether a capture can stay open for several trials.
    ///
    /// # Errors
    /// Why it cannot.
    fn can_stay_open(&self) -> Result<()>;

    /// Reads the counters, opens the capture unless it is open, and waits until it receives. `start` is set when sending begins;
    /// `None`: the sender does not share this process's clock.
    ///
    /// # Errors
    /// When it cannot receive.
    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()>;

    /// Waits until the sent frames have arrived or no more come, closes the capture unless it stays open, and reads the counters.
    ///
    /// # Errors
    /// Why receiving failed, or counters that cannot be read.
    fn finish(&mut self, finish: FinishReceiving) -> Result<ReceiveHalf>;

    /// Gives up the armed trial, and closes the capture.
    fn release(&mut self);

    /// Whether its process ended or cannot be reached, so that no message reaches it any more.
    fn is_lost(&self) -> bool {
        false
    }
}

/// An end that stays prepared while a trial drives it.
impl<E: TransmitEnd> TransmitEnd for &mut E {
    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()> {
        E::arm(self, arm, start)
    }

    fn go(&mut self, go: Go) -> Result<()> {
        E::go(self, go)
    }

    fn sent(&mut self) -> Result<Vec<Sent>> {
        E::sent(self)
    }

    fn reported(&mut self) -> Option<Vec<Sent>> {
        E::reported(self)
    }

    fn finish(&mut self, finish: FinishSending) -> Result<TransmitHalf> {
        E::finish(self, finish)
    }

    fn release(&mut self) {
        E::release(self);
    }

    fn is_lost(&self) -> bool {
        E::is_lost(self)
    }
}

/// An end that stays prepared while a trial drives it.
impl<E: ReceiveEnd> ReceiveEnd for &mut E {
    fn can_stay_open(&self) -> Result<()> {
        E::can_stay_open(self)
    }

    fn arm(&mut self, arm: Arm, start: Option<SharedStart>) -> Result<()> {
        E::arm(self, arm, start)
    }

    fn finish(&mut self, finish: FinishReceiving) -> Result<ReceiveHalf> {
        E::finish(self, finish)
    }

    fn release(&mut self) {
        E::release(self);
    }

    fn is_lost(&self) -> bool {
        E::is_lost(self)
    }
}
