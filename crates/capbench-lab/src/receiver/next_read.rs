//! When the counters of a method are read during a trial.

use std::time::{Duration, Instant};

/// When to read the method's counters during a trial. Counters of packet sockets and of libpcap have 32 bits. libpcap's must not
/// grow by half of that between two reads, or they appear to go backwards.
pub(super) struct NextRead {
    /// Frames read from the ring until the next counter read.
    taken: u64,
    turns: u32,
    at: Instant,
}

impl NextRead {
    /// At this count a ring that loses 99 % of its frames has counted 1.7 billion.
    const FRAMES: u64 = 1 << 24;
    /// No network card of today receives 200 million packets/s. An application that reads hardly any frame loses the rest.
    const TIME: Duration = Duration::from_secs(10);
    /// Iterations of the loop between two clock reads.
    const TURNS: u32 = 64;

    pub(super) fn after(taken: u64, now: Instant) -> Self {
        Self { taken: taken + Self::FRAMES, turns: 0, at: now + Self::TIME }
    }

    /// Whether to read the counters now. Called once per loop iteration.
    #[inline]
    pub(super) fn is_due(&mut self, taken: u64, clock: impl FnOnce() -> Instant) -> bool {
        self.turns += 1;
        if self.turns < Self::TURNS {
            return taken >= self.taken;
        }
        self.turns = 0;
        taken >= self.taken || clock() >= self.at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// At 100 million packets/s, of which the application reads one each second, a counter of 32 bits passes its end in
    /// 43 s, and half of it in 21 s.
    #[test]
    fn counters_of_32_bits_are_read_before_they_can_pass_their_half() {
        let begun = Instant::now();
        let (mut next, mut last, mut largest) = (NextRead::after(0, begun), begun, Duration::ZERO);
        // Turns of 10 ms, as when nothing comes or what comes is worked on.
        for turn in 0..30_000u32 {
            let now = begun + Duration::from_millis(10) * turn;
            if next.is_due(u64::from(turn) / 100, || now) {
                largest = largest.max(now - last);
                (next, last) = (NextRead::after(u64::from(turn) / 100, now), now);
            }
        }
        assert!(last > begun && largest.as_secs_f64() * 100e6 < f64::from(u32::MAX / 2), "{largest:?}");
    }

    #[test]
    fn many_frames_are_a_reason_without_a_look_at_the_clock() {
        let begun = Instant::now();
        let mut next = NextRead::after(7, begun);
        assert!(!next.is_due(NextRead::FRAMES + 6, || unreachable!("not in the first turns")));
        assert!(next.is_due(NextRead::FRAMES + 7, || unreachable!("not in the first turns")));
    }
}
