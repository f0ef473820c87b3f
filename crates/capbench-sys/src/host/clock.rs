//! Clocks in nanoseconds: `clock_gettime(2)`.

use crate::error::check;

/// CPU time of the calling thread in ns, user and system, from the scheduler's own account (CLOCK_THREAD_CPUTIME_ID).
/// Exact at the moment of the call; whether it contains interrupts that were served meanwhile depends on the kernel's
/// configuration.
///
/// # Panics
/// Only where the kernel has no such clock, which no supported Linux lacks.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// Time since some fixed point in ns, never set back, as steady as NTP allows (CLOCK_MONOTONIC). It is the clock of
/// `std::time::Instant`, as a number that can be stored in a frame.
///
/// # Panics
/// As [`thread_cpu_ns`].
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Time since 1970-01-01 UTC in ns (CLOCK_REALTIME): the clock of packet timestamps. It can be set back.
///
/// # Panics
/// As [`thread_cpu_ns`].
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Ticks per second of the times in `/proc/stat`: USER_HZ, 100 on every architecture that is in use (time(7)).
/// `None` where the C library cannot tell.
pub fn ticks_per_second() -> Option<u64> {
    // SAFETY: sysconf(3) takes any number and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0)
}

fn read(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes one timespec behind the pointer; `time` is exclusively ours and alive.
    let code = unsafe { libc::clock_gettime(clock, &mut time) };
    check(code, || format!("clock_gettime({clock})"))
        .expect("every Linux since 2.6.12 has the three clocks used here");
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_costs_cpu_time_and_sleep_does_not() {
        let (cpu, clock) = (thread_cpu_ns(), monotonic_ns());
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(monotonic_ns() - clock >= 30_000_000);
        assert!(thread_cpu_ns() - cpu < 20_000_000);
        let cpu = thread_cpu_ns();
        while thread_cpu_ns() - cpu < 1_000_000 {}
    }

    #[test]
    fn ticks_are_known() {
        assert_eq!(ticks_per_second(), Some(100));
    }
}
