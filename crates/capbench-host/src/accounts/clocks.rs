//! Detects steps of the host's clocks: compares CLOCK_REALTIME, CLOCK_MONOTONIC_RAW and CLOCK_BOOTTIME with CLOCK_MONOTONIC
//! (clock_gettime(2)).
//!
//! Schedules and lateness use CLOCK_MONOTONIC, packet time stamps CLOCK_REALTIME. Slewing changes the rate of both equally; a
//! step changes CLOCK_REALTIME only.

use capbench_sys::host::clock;

use capbench_model::disturbance::ClockDrift;

/// Attempts to read the clocks without an interruption in between.
const TRIES: usize = 5;

/// The clocks at nearly the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockSnapshot {
    monotonic_ns: u64,
    realtime_ns: u64,
    raw_ns: u64,
    boottime_ns: u64,
}

impl ClockSnapshot {
    /// Reads all clocks one after the other, several times, and keeps the fastest attempt.
    pub fn read() -> Self {
        let read = || {
            let monotonic_ns = clock::monotonic_ns();
            let snapshot = Self {
                monotonic_ns,
                realtime_ns: clock::realtime_ns(),
                raw_ns: clock::monotonic_raw_ns(),
                boottime_ns: clock::boottime_ns(),
            };
            (clock::monotonic_ns() - monotonic_ns, snapshot)
        };
        let tries = (1..TRIES).map(|_| read());
        tries.fold(read(), |best, next| if next.0 < best.0 { next } else { best }).1
    }

    /// The drift since `before`.
    pub fn since(&self, before: &Self) -> ClockDrift {
        let passed = |now: u64, then: u64| now as i64 - then as i64;
        let monotonic_ns = passed(self.monotonic_ns, before.monotonic_ns);
        let raw_ns = passed(self.raw_ns, before.raw_ns);
        ClockDrift {
            realtime_step_ns: passed(self.realtime_ns, before.realtime_ns) - monotonic_ns,
            slew_ppm: (monotonic_ns - raw_ns) as f64 / raw_ns.max(1) as f64 * 1e6,
            suspended_ns: (passed(self.boottime_ns, before.boottime_ns) - monotonic_ns).max(0) as u64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ClockSnapshot;

    const START: ClockSnapshot =
        ClockSnapshot { monotonic_ns: 1_000, realtime_ns: 5_000, raw_ns: 900, boottime_ns: 2_000 };

    fn after(monotonic: u64, realtime: u64, raw: u64, boottime: u64) -> super::ClockDrift {
        let now = ClockSnapshot {
            monotonic_ns: START.monotonic_ns + monotonic,
            realtime_ns: (START.realtime_ns + 1_000_000_000 + realtime) - 1_000_000_000,
            raw_ns: START.raw_ns + raw,
            boottime_ns: START.boottime_ns + boottime,
        };
        now.since(&START)
    }

    #[test]
    fn a_step_a_slew_and_a_suspend_are_distinguished() {
        let even = after(1_000_000, 1_000_000, 1_000_000, 1_000_000);
        assert_eq!((even.realtime_step_ns, even.slew_ppm, even.suspended_ns), (0, 0.0, 0));
        assert_eq!(after(1_000_000, 3_000_000, 1_000_000, 1_000_000).realtime_step_ns, 2_000_000);
        assert_eq!(after(1_000_000, 0, 1_000_000, 1_000_000).realtime_step_ns, -1_000_000);
        assert_eq!(after(1_000_500, 1_000_500, 1_000_000, 1_000_500).slew_ppm, 500.0);
        assert_eq!(after(1_000_000, 1_000_000, 1_000_000, 8_000_000).suspended_ns, 7_000_000);
    }

    #[test]
    fn the_clocks_of_this_host_can_be_compared() {
        let before = ClockSnapshot::read();
        let drift = ClockSnapshot::read().since(&before);
        assert!(drift.slew_ppm.is_finite());
    }
}
