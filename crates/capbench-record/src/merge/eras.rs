//! How far time has gone, and steps of the host's clock.
//!
//! Packets are stamped by CLOCK_REALTIME, which can be set. Set forward it leaves a gap in their times, which the merge
//! need not care about. Set back it gives times twice, and those from before the step must not wait for, nor be taken for
//! later than, those behind it. So times are told apart by eras: a new one begins when the clock falls back by more than
//! [`STEP_NS`]. Other ports may still bring frames from before the step for a while; until the window has passed, a frame
//! belongs to the era to whose newest time it is nearer.

use std::time::Duration;

use capbench_sys::host::clock::{monotonic_ns, realtime_ns};

/// A fall of times by more than this, in ns, is a step of the clock. The disorder in a ring is a thousandth of it, and
/// smaller steps pass as frames that are late.
pub(super) const STEP_NS: u64 = 1_000_000_000;

/// What the host's clocks said at one time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moment {
    /// CLOCK_REALTIME, ns.
    pub real_ns: u64,
    /// CLOCK_MONOTONIC, ns.
    pub monotonic_ns: u64,
}

impl Moment {
    /// The present one.
    pub fn now() -> Self {
        Self { real_ns: realtime_ns(), monotonic_ns: monotonic_ns() }
    }
}

/// How far a port has come.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reached {
    /// The newest era in which it has been seen.
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
    /// Nanoseconds that the merge has seen go by: see [`Self::advance`].
    pub elapsed_ns: u64,
    current: u32,
    /// When the current era began, by `elapsed_ns`.
    began_ns: u64,
    /// The greatest time seen in the current era, and in the one before.
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

    /// The window has passed since `then`, by [`Self::elapsed_ns`].
    pub fn is_past(&self, then: u64) -> bool {
        self.elapsed_ns - then > self.window_ns
    }

    /// Goes on to `now`.
    ///
    /// At most a quarter of the window counts as gone by: when the process was stopped for a while, ports were silent for
    /// no fault of theirs, and what they have for us is just arriving.
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

    /// The era to which times from `first` to `last` of a port belong that it gives next.
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

    /// The era of a time at which a port looked for frames.
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
            // Another CPU's frame, stamped in front of the step and published behind it.
            return self.current - 1;
        }
        self.current
    }

    /// Whether frames from before the current era may still come.
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

/// A duration as nanoseconds; those of more than 584 years are all alike.
pub(super) fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
