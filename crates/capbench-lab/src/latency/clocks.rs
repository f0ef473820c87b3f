//! The clock of kernel timestamps compared with the clock of plans.
//!
//! Planned times and deliveries are read from `CLOCK_MONOTONIC`, the clock of [`Instant`]; the kernel stamps frames with
//! `CLOCK_REALTIME`. The kernel derives both from one counter and steers both alike. Their difference changes only when somebody
//! sets the latter (timekeeping(9) of kernel/time, clock_settime(2), a leap second). It is read before and after a trial; if it
//! has changed, the trial's stamps do not belong to one clock.

use std::time::{Duration, Instant};

use capbench_sys::host::clock;

/// Number of reads; the best one counts.
const TRIES: usize = 32;

/// Smaller differences count as 0: kernel timestamps may come in whole microseconds.
const SAME_NS: u64 = 1_000;

/// Both clocks at one moment.
#[derive(Clone, Copy, Debug)]
pub struct RealtimeReading {
    /// The moment.
    at: Instant,
    /// `CLOCK_REALTIME` at that moment, in nanoseconds.
    realtime_ns: u64,
    /// Largest error of that value.
    error_ns: u64,
}

impl RealtimeReading {
    /// Reads one clock between two reads of the other, several times; returns the read with the smallest error.
    pub fn now() -> Self {
        let reading = |_| {
            let before = Instant::now();
            let realtime_ns = clock::realtime_ns();
            let between = before.elapsed();
            Self { at: before + between / 2, realtime_ns, error_ns: between.as_nanos().div_ceil(2) as u64 }
        };
        let first = reading(0);
        (1..TRIES)
            .map(reading)
            .fold(first, |best, next| if next.error_ns < best.error_ns { next } else { best })
    }

    /// `CLOCK_REALTIME` at another moment, in nanoseconds, if nobody sets it in between.
    pub fn realtime_at(&self, moment: Instant) -> u64 {
        match moment.checked_duration_since(self.at) {
            Some(later) => self.realtime_ns.saturating_add(later.as_nanos() as u64),
            None => self.realtime_ns.saturating_sub((self.at - moment).as_nanos() as u64),
        }
    }

    /// The same after the clock was set.
    #[cfg(test)]
    pub(super) fn set_forward(self, by: Duration) -> Self {
        Self { realtime_ns: self.realtime_ns + by.as_nanos() as u64, ..self }
    }

    /// `CLOCK_REALTIME` at the moment of the reading, in nanoseconds.
    pub fn realtime_ns(&self) -> u64 {
        self.realtime_ns
    }

    /// Largest error in nanoseconds.
    pub fn error_ns(&self) -> u64 {
        self.error_ns
    }

    /// By how much the clock was set between this reading and a later one; absent if it was not set.
    pub fn set_until(&self, later: &Self) -> Option<Duration> {
        let apart = self.realtime_at(later.at).abs_diff(later.realtime_ns);
        (apart > SAME_NS + self.error_ns + later.error_ns).then(|| Duration::from_nanos(apart))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(at: Instant, realtime_ns: u64, error_ns: u64) -> RealtimeReading {
        RealtimeReading { at, realtime_ns, error_ns }
    }

    #[test]
    fn realtime_is_known_before_and_after_the_reading() {
        let at = Instant::now() + Duration::from_secs(1);
        let known = reading(at, 5_000_000_000, 20);
        assert_eq!(known.realtime_at(at + Duration::from_millis(3)), 5_003_000_000);
        assert_eq!(known.realtime_at(at - Duration::from_millis(3)), 4_997_000_000);
    }

    #[test]
    fn a_clock_that_is_set_is_found_out_and_errors_of_reading_are_not() {
        let at = Instant::now();
        let later = at + Duration::from_secs(60);
        let before = reading(at, 9_000_000_000_000, 30);
        let expected = 9_060_000_000_000;
        for (realtime_ns, set) in [
            (expected, None),
            (expected + 900, None),
            (expected - 1_060, None),
            (expected + 1_061, Some(Duration::from_nanos(1_061))),
            (expected - 3_600_000_000_000, Some(Duration::from_secs(3600))),
        ] {
            assert_eq!(before.set_until(&reading(later, realtime_ns, 30)), set, "{realtime_ns}");
        }
    }

    #[test]
    fn two_readings_of_this_host_agree() {
        // A machine that pauses between two readings makes both of them uncertain, which they say.
        let (first, second) = (RealtimeReading::now(), RealtimeReading::now());
        let apart = first.realtime_at(second.at).abs_diff(second.realtime_ns);
        assert!(apart <= SAME_NS + first.error_ns + second.error_ns, "{first:?} {second:?}");
    }
}
