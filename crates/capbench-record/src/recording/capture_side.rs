//! An open capture next to its frames: its counters, the status of its interface, and its end.

use std::cell::Cell;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use capbench_capture::capture::Capture;
use capbench_capture::counters::Counters;
use capbench_capture::error::{CaptureError, Result};
use capbench_capture::interface::Interface;
use capbench_capture::stats_socket::StatsSocket;
use capbench_sys::SysError;
use capbench_sys::host::interface::Watched;

use super::board::{CaptureBoard, Reading};
use super::link::{Link, LinkCounts, LinkSample};
use super::plan::Source;
use super::unreached::Unreached;

/// How long one wait for frames lasts. The merge needs to hear at least every 20 ms that there are none.
pub(super) const TICK: Duration = Duration::from_millis(20);

/// How long a capture that cannot be closed, or that still has frames, is read at the end.
const DRAIN: Duration = Duration::from_millis(500);

/// How long a full output may delay that, at most.
const PATIENCE: Duration = Duration::from_secs(10);

/// What is known of an open capture.
#[derive(Debug)]
pub(super) struct CaptureSide {
    pub(super) stats: Option<StatsSocket>,
    pub(super) board: Arc<CaptureBoard>,
    interface: Interface,
    watched: Watched,
    link: Link,
    /// Counters of the interface when the capture was closed.
    at_end: Cell<Option<LinkSample>>,
    /// Absent for captures that are no packet socket.
    unreached: Option<Unreached>,
}

/// Frames that a capture has delivered.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Delivered {
    pub(super) frames: u64,
    /// Those of them that this host sent; 0 where nobody looks at each.
    pub(super) outgoing: u64,
}

/// Progress of emptying a capture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Drain {
    is_shut: bool,
    /// Until when the method may hold frames back.
    holds_until: Instant,
    latest: Instant,
    /// Time that may still be added.
    patience: Duration,
}

impl CaptureSide {
    /// Of a capture that was just opened: frames arrive.
    pub(super) fn of(capture: &mut impl Capture, source: &Source, board: Arc<CaptureBoard>) -> Result<Self> {
        let stats = capture.stats_socket()?;
        let accepted = if stats.is_some() { capture.counters()?.accepted } else { None };
        let link = Link::of(&source.interface.name, accepted.unwrap_or(0));
        let unreached = stats.is_some().then(|| Unreached::of(source));
        // Whoever asks before the first reading hears whether there is anything to hear.
        board.publish_reading(Reading { link: link.read(), ..Reading::default() });
        let (interface, at_end) = (source.interface.clone(), Cell::new(None));
        let failed =
            |error| CaptureError::Call { method: "record", interface: interface.name.clone(), source: error };
        let watched = Watched::new(interface.index).map_err(failed)?;
        Ok(Self { stats, board, interface, watched, link, at_end, unreached })
    }

    /// Frames came: where the interface was down, this tells whether it is up again. They may have lain in the ring.
    #[inline]
    pub(super) fn gave(&self) {
        if self.board.is_down() {
            // One that is gone stays down.
            let _ = self.look_again();
        }
    }

    /// Looks whether the interface is up.
    ///
    /// # Errors
    /// It is gone.
    #[cold]
    fn look_again(&self) -> std::result::Result<(), SysError> {
        self.board.set_down(!self.watched.flags()?.up());
        Ok(())
    }

    /// How often the capture found nothing and had to wait: when that has grown, its ring was empty.
    #[inline]
    pub(super) fn waited(capture: &impl Capture) -> u64 {
        let counts = capture.waits();
        counts.waits + counts.spun
    }

    /// Whether the capture just found its ring empty, and it has not filled up since, as while this process was stopped: then
    /// no loss lies between what was taken and what comes. `before` is what [`CaptureSide::waited`] said before the last take.
    pub(super) fn is_calm(capture: &mut impl Capture, gave: bool, before: u64) -> bool {
        let was_empty = !gave || Self::waited(capture) > before;
        was_empty && capture.fill().is_none_or(|fill| fill.share() <= 0.5)
    }

    /// Reads and publishes the counters of a capture that has delivered so many frames; what was lost in front of its socket and
    /// after it was accepted, where the method knows.
    pub(super) fn read(&self, capture: &mut impl Capture, delivered: Delivered) -> Result<Option<u64>> {
        // Before the method's counters: a frame that the interface has counted by then is accepted, or on its way.
        let sample = self.at_end.get().unwrap_or_else(|| self.link.sample());
        let counters = capture.counters()?;
        if let Some(unreached) = &self.unreached {
            unreached.compare(&sample, &counters, delivered.outgoing);
        }
        Ok(self.publish(counters, sample.counts, delivered))
    }

    /// The same for a capture whose frames are being looked at, without what the interface itself counts. `None` also where
    /// only the capture can read its counters.
    #[cold]
    pub(super) fn read_stats_now(&self, delivered: Delivered) -> Result<Option<u64>> {
        let Some(stats) = &self.stats else { return Ok(None) };
        let Some(counters) = stats.counters()? else { return Ok(None) };
        Ok(self.publish(counters, self.board.reading().link, delivered))
    }

    fn publish(&self, counters: Counters, link: LinkCounts, delivered: Delivered) -> Option<u64> {
        let unreached = self.unreached.as_ref();
        let lost = counters.dropped().map(|lost| lost + unreached.map_or(0, Unreached::least));
        let unreached = unreached.map(Unreached::loss);
        let delivered = delivered.frames;
        self.board.publish_reading(Reading { counters, link, unreached, delivered, ..Reading::default() });
        lost
    }

    /// Looks how full the capture is and whether its interface is up, and publishes it.
    ///
    /// # Errors
    /// The interface is gone. The kernel tells a packet socket only that it went down, which is the first step of that.
    pub(super) fn look(&self, capture: &mut impl Capture) -> Result<()> {
        self.board.tell_fill(capture.fill());
        self.link.look();
        match self.look_again() {
            Err(source) if self.stats.is_some() && self.interface.is_gone() => {
                Err(CaptureError::Removed { interface: self.interface.name.clone(), source })
            }
            _ => Ok(()),
        }
    }

    /// Whether a take gave frames. It gave none where its interface went down and is still there: a packet socket stays bound to
    /// it, and goes on when it comes up again.
    #[inline]
    pub(super) fn survive(&self, outcome: Result<bool>) -> Result<bool> {
        const ENETDOWN: i32 = 100;
        let error = match outcome {
            Err(error) => error,
            gave => return gave,
        };
        match self.interface.or_removed(error) {
            CaptureError::Call { source, .. } if source.errno() == Some(ENETDOWN) => {
                self.board.set_down(true);
                // Methods that go on refusing do not use up a CPU.
                thread::sleep(Duration::from_millis(5));
                Ok(false)
            }
            error => Err(error),
        }
    }

    /// Lets nothing more in, where that can be, to be emptied.
    pub(super) fn shut(&self, capture: &impl Capture) -> Drain {
        // What the interface received until now is all that the recording can be asked for.
        self.at_end.set(self.stats.as_ref().map(|_| self.link.sample()));
        let is_shut = self.stats.as_ref().is_some_and(|stats| stats.close().is_ok());
        if is_shut {
            self.board.set_shut();
        }
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

    /// Whether a capture that gave nothing more is read on. Nothing comes in any more, and its counters say that accepted frames
    /// are still to come out: a timer of the kernel, or this thread, was late.
    pub(super) fn is_incomplete(&self, unread: Option<i64>) -> bool {
        self.is_shut && unread.is_some_and(|unread| unread > 0) && Instant::now() < self.latest
    }

    /// Whether the capture is empty, or has had its time; `gave` is whether it just gave something.
    pub(super) fn is_over(&self, gave: bool) -> bool {
        let now = Instant::now();
        (!gave && now >= self.holds_until) || (!self.is_shut && now >= self.latest)
    }
}
