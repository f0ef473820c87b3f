//! Progress of time, and steps of the host's clock.
//!
//! Frames are stamped by CLOCK_REALTIME, which can be set. A forward step leaves a gap in the timestamps, which does not disturb
//! the merge. After a backward step, timestamps repeat. Frames from before the step must neither wait for nor be ordered after
//! those behind it. So eras distinguish them: a new era begins when the clock falls back by more than [`STEP_NS`]. For a while,
//! other ports can still deliver frames from before the step. Until the window has passed, a frame belongs to the era whose
//! newest timestamp is nearer.

use std::time::Duration;

use capbench_sys::host::clock::{monotonic_ns, realtime_ns};

/// A backward jump of timestamps by more than this, in ns, is a clock step. Disorder in a ring is a thousandth of it. Frames
/// after a smaller step count as late.
pub(super) const STEP_NS: u64 = 1_000_000_000;

/// The host's clocks at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// CLOCK_REALTIME, ns.
    pub real_ns: u64,
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
}

impl Moment {
    /// The current moment.
    pub fn now() -> Self {
        Self { real_ns: realtime_ns(), monotonic_ns: monotonic_ns() }
    }
}

/// Progress of a port.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    /// The newest era seen from it.
    pub era: u32,
    /// The greatest time of its frames in that era, ns; 0 before the first.
    pub greatest: u64,
}

impl Reached {
    fn enter(&mut self, era: u32) {
        *self = Self { era, greatest: 0 };
    }
}

#[derive(Debug)]
pub(super) struct Eras {
    window_ns: u64,
    seen: Option<Moment>,
    /// Nanoseconds of progress that the merge has counted: see [`Self::advance`].
    pub elapsed_ns: u64,
    current: u32,
    /// When the current era began, in `elapsed_ns`.
    began_ns: u64,
    /// The greatest time in the current era, and in the era before.
    newest: u64,
    newest_before: u64,
    pub set_back: u64,
    pub set_forward: u64,
}

impl Eras {
    pub fn new(window: Duration) -> Self {
        Self {
            window_ns: nanoseconds(window),
            seen: None,
            elapsed_ns: 0,
            current: 0,
            began_ns: 0,
            newest: 0,
            newest_before: 0,
            set_back: 0,
            set_forward: 0,
        }
    }

    /// Whether the window has passed since `then`, in [`Self::elapsed_ns`].
    pub fn is_past(&self, then: u64) -> bool {
        self.elapsed_ns - then > self.window_ns
    }

    /// Advances to `now`.
    ///
    /// One call advances by up to a quarter of the window. If the process was stopped for a while, the ports could not report,
    /// and their frames are only arriving now.
    pub fn advance(&mut self, now: Moment) {
        let Some(seen) = self.seen.replace(now) else { return };
        let elapsed = now.monotonic_ns.saturating_sub(seen.monotonic_ns);
        self.elapsed_ns += elapsed.min(self.window_ns / 4);
        let expected = seen.real_ns.saturating_add(elapsed);
        if now.real_ns > expected.saturating_add(STEP_NS) {
            self.set_forward += 1;
        } else if now.real_ns.saturating_add(STEP_NS) < expected {
            let known = self.is_new() && now.real_ns.abs_diff(self.newest) < STEP_NS;
            if !known {
                self.begin(now.real_ns);
            }
        }
    }

    /// The era of a port's next frames, whose timestamps span `first` to `last`.
    pub fn of_frames(&mut self, port: &mut Reached, first: u64, last: u64) -> u32 {
        let era = self.of_time(port, first);
        if era == port.era {
            port.greatest = port.greatest.max(last);
        }
        if era == self.current {
            self.newest = self.newest.max(last);
        }
        era
    }

    /// The era of a time at which a port found no frames.
    pub fn of_look(&mut self, port: &mut Reached, time: u64) -> u32 {
        if port.era < self.current { self.of_time(port, time) } else { port.era }
    }

    fn of_time(&mut self, port: &mut Reached, time: u64) -> u32 {
        if port.era < self.current {
            if self.is_new() && time.abs_diff(self.newest_before) < time.abs_diff(self.newest) {
                if port.era + 1 < self.current {
                    port.enter(self.current - 1);
                }
                return port.era;
            }
            port.enter(self.current);
        } else if time.saturating_add(STEP_NS) < port.greatest {
            self.begin(time);
            port.enter(self.current);
        } else if self.is_new()
            && time > self.newest.saturating_add(STEP_NS)
            && time.abs_diff(self.newest_before) < STEP_NS
        {
            // A frame of another CPU, stamped before the step and published after it.
            return self.current - 1;
        }
        self.current
    }

    /// Whether frames from before the current era can still come.
    fn is_new(&self) -> bool {
        self.current > 0 && !self.is_past(self.began_ns)
    }

    fn begin(&mut self, time: u64) {
        self.set_back += 1;
        self.current += 1;
        self.began_ns = self.elapsed_ns;
        self.newest_before = self.newest;
        self.newest = time;
    }
}

/// A duration in nanoseconds, saturating at 584 years.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
