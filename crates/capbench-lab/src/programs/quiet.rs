//! Detects when a program has read everything: it becomes inactive. A foreign program offers no other sign.

use std::time::{Duration, Instant};

/// Share of a CPU beyond its idle time from which a program counts as busy.
const BUSY: f64 = 0.05;

/// State of a program at one moment.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Look {
    pub(super) at: Instant,
    /// CPU time of its processes so far.
    pub(super) cpu_ns: u64,
    /// Octets that it has written so far.
    pub(super) written: u64,
    /// Octets that wait in its sockets.
    pub(super) queued: u64,
    /// Whether one of its threads could continue: it runs, waits for a CPU, or for a disk.
    pub(super) can_go_on: bool,
}

impl Look {
    /// CPUs that it kept busy between an earlier look and this one.
    pub(super) fn share_since(&self, before: &Self) -> f64 {
        let wall = (self.at - before.at).as_nanos().max(1) as f64;
        self.cpu_ns.saturating_sub(before.cpu_ns) as f64 / wall
    }
}

/// Watches a program until it has been inactive for a while.
#[derive(Debug)]
pub(super) struct Stillness {
    /// Its CPU use without work, in CPUs: a program may poll.
    idle: f64,
    last: Look,
    moved: Instant,
}

impl Stillness {
    pub(super) fn new(idle: f64, first: Look) -> Self {
        Self { idle, last: first, moved: first.at }
    }

    /// Whether it has been inactive for `quiet` up to this look.
    pub(super) fn has_lasted(&mut self, quiet: Duration, now: Look) -> bool {
        let busy = now.share_since(&self.last) > self.idle + BUSY;
        // On a busy host a program may wait long for a CPU. One that polls is always runnable.
        let waits = now.can_go_on && self.idle < BUSY;
        if busy || waits || now.written != self.last.written || now.queued != self.last.queued {
            self.moved = now.at;
        }
        self.last = now;
        now.at - self.moved >= quiet
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::{Look, Stillness};

    const TICK: Duration = Duration::from_millis(10);

    /// Ticks until it is taken for still, given CPU ns, octets written and octets queued after each.
    fn ticks(idle: f64, looks: impl Fn(u64) -> (u64, u64, u64)) -> Option<u64> {
        ticks_until(idle, looks, 0)
    }

    /// The same for one that could go on until some tick.
    fn ticks_until(idle: f64, looks: impl Fn(u64) -> (u64, u64, u64), end: u64) -> Option<u64> {
        let start = Instant::now();
        let look = |tick: u64| {
            let (cpu_ns, written, queued) = looks(tick);
            Look { at: start + TICK * tick as u32, cpu_ns, written, queued, can_go_on: tick <= end }
        };
        let mut stillness = Stillness::new(idle, look(0));
        (1..1000).find(|tick| stillness.has_lasted(5 * TICK, look(*tick)))
    }

    #[test]
    fn work_growth_and_a_shrinking_queue_are_movement() {
        assert_eq!(ticks(0.0, |_| (7, 7, 7)), Some(5));
        assert_eq!(ticks(0.0, |tick| (tick.min(20) * 5_000_000, 0, 0)), Some(25));
        assert_eq!(ticks(0.0, |tick| (0, tick.min(20), 0)), Some(25));
        assert_eq!(ticks(0.0, |tick| (0, 0, 20 - tick.min(20))), Some(25));
        // A wake-up now and then is none.
        assert_eq!(ticks(0.0, |tick| (tick * 100_000, 0, 0)), Some(5));
        assert_eq!(ticks(0.0, |tick| (tick * 10_000_000, 0, 0)), None);
    }

    #[test]
    fn a_program_that_polls_is_still_when_it_only_polls() {
        assert_eq!(ticks(1.0, |tick| (tick * 10_000_000, 0, 0)), Some(5));
        assert_eq!(ticks_until(1.0, |tick| (tick * 10_000_000, 0, 0), 1000), Some(5));
    }

    #[test]
    fn a_program_that_waits_for_a_cpu_is_not_still() {
        assert_eq!(ticks_until(0.0, |_| (0, 0, 0), 20), Some(25));
    }
}
