//! What goes with a capture besides its frames: its counters, its entrance, and an interface that goes down and comes back.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use capbench_sys::host::interface::{self, InterfaceIndex};

use super::board::CaptureBoard;
use super::link::Link;
use crate::capture::Capture;
use crate::counters::Counters;
use crate::error::{CaptureError, Result};
use crate::intake::Intake;
use crate::options::Interface;

/// How long one wait for frames lasts. The merge needs to hear at least every 20 ms that there are none.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// How long frames may still come, at most, out of a capture whose entrance cannot be shut, or that goes on giving.
const DRAIN: Duration = Duration::from_millis(500);

/// How long the output may keep it from being emptied, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of an open capture.
#[derive(Debug)]
pub(super) struct Entrance {
    pub(super) intake: Option<Intake>,
    pub(super) board: Arc<CaptureBoard>,
    link: Link,
    index: InterfaceIndex,
}

/// How far emptying a capture has come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    is_shut: bool,
    /// Until when it may hold frames back.
    holds_until: Instant,
    latest: Instant,
    /// What may still be added to that.
    patience: Duration,
}

impl Entrance {
    pub(super) fn of(
        capture: &impl Capture,
        interface: &Interface,
        board: Arc<CaptureBoard>,
    ) -> Result<Self> {
        let link = Link::of(&interface.name);
        // Whoever asks before the first reading hears whether there is anything to hear.
        board.tell_counters(Counters::default(), link.read());
        Ok(Self { intake: capture.intake()?, board, link, index: interface.index })
    }

    /// Frames came: where the interface was down, this tells whether it is up again. They may have lain in the ring.
    #[inline]
    pub(super) fn gave(&self) {
        if self.board.is_down() {
            self.look_again();
        }
    }

    #[cold]
    fn look_again(&self) {
        let flags = interface::name_of(self.index).and_then(|name| interface::flags_of(&name));
        if flags.is_ok_and(|flags| flags.up()) {
            self.board.set_down(false);
        }
    }

    /// How often the capture found nothing and had to wait: when that has grown, its ring was empty.
    #[inline]
    pub(super) fn waited(capture: &impl Capture) -> u64 {
        let counts = capture.waits();
        counts.waits + counts.spun
    }

    /// Whether the capture just found its ring empty, and it has not filled up since, as while this process was stopped: then
    /// no loss lies between what was taken and what comes. `before` is what [`Entrance::waited`] said before the last take.
    pub(super) fn is_calm(capture: &mut impl Capture, gave: bool, before: u64) -> bool {
        let was_empty = !gave || Self::waited(capture) > before;
        was_empty && capture.fill().is_none_or(|fill| fill.share() <= 0.5)
    }

    /// Reads the counters and tells them; what was lost after it was accepted, where the method knows.
    pub(super) fn read(&self, capture: &mut impl Capture) -> Result<Option<u64>> {
        let counters = capture.counters()?;
        let lost = counters.dropped();
        self.board.tell_counters(counters, self.link.read());
        Ok(lost)
    }

    /// The same for a capture whose frames are being looked at, without what the interface itself counts.
    #[cold]
    pub(super) fn read_beside(&self) -> Result<Option<u64>> {
        let Some(intake) = &self.intake else { return Ok(None) };
        let counters = intake.counters()?;
        let lost = counters.dropped();
        self.board.tell_counters(counters, self.board.link());
        Ok(lost)
    }

    /// Looks how full the capture is, and tells it.
    pub(super) fn look(&self, capture: &mut impl Capture) {
        self.board.tell_fill(capture.fill());
    }

    /// Whether an error is one that the capture gets over: its interface went down, and is still there. A packet socket
    /// stays bound to it, and goes on when it comes up again.
    pub(super) fn survive(&self, error: CaptureError) -> Result<()> {
        const ENETDOWN: i32 = 100;
        match &error {
            CaptureError::Call { source, .. }
                if source.errno() == Some(ENETDOWN) && interface::name_of(self.index).is_ok() =>
            {
                self.board.set_down(true);
                // Methods that go on refusing do not use up a CPU.
                thread::sleep(Duration::from_millis(5));
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// Lets nothing more in, where that can be, to be emptied.
    pub(super) fn shut(&self, capture: &impl Capture) -> Drain {
        let is_shut = self.intake.as_ref().is_some_and(|intake| intake.close().is_ok());
        let now = Instant::now();
        // A timer of the kernel can be one tick of 10 ms late.
        let holds_until = now + capture.running().holds + Duration::from_millis(20);
        Drain { is_shut, holds_until, latest: holds_until + DRAIN, patience: PATIENCE }
    }
}

impl Drain {
    /// For so long nothing could be taken, for want of memory for it: that time does not count.
    pub(super) fn prolong(&mut self, waited: Duration) {
        let more = waited.min(self.patience);
        self.patience -= more;
        self.latest += more;
    }

    /// Whether the capture is empty, or has had its time; `gave` is whether it just gave something.
    pub(super) fn is_over(&self, gave: bool) -> bool {
        let now = Instant::now();
        (!gave && now >= self.holds_until) || (!self.is_shut && now >= self.latest)
    }
}
