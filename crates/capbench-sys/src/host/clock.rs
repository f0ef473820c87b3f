//! Clocks in nanoseconds: `clock_gettime(2)`.

use super::ProcessId;
use crate::Result;
use crate::error::{by_code, named};

/// CPU time of the calling thread in ns, user and system, from the scheduler (CLOCK_THREAD_CPUTIME_ID). Exact at the call. The
/// kernel's configuration decides whether it includes interrupts during the thread's run.
pub fn thread_cpu_ns() -> u64 {
    read(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// CPU time of another process in ns, user and system, of all its threads including ended ones; exact at the call
/// (clock_getcpuclockid(3)). Excludes child processes.
///
/// # Errors
/// `ESRCH` or `EINVAL` if the process does not exist (any more).
pub fn process_cpu_ns(process: ProcessId) -> Result<u64> {
    let what = || format!("clock_getcpuclockid({process})");
    let mut clock: libc::clockid_t = 0;
    // SAFETY: clock_getcpuclockid(3) takes a number and writes one clockid_t behind the pointer; `clock` is exclusively
    // ours and alive.
    match unsafe { libc::clock_getcpuclockid(process.raw(), &mut clock) } {
        0 => named(try_read(clock), what),
        code => Err(by_code(what(), code)),
    }
}

/// Time since a fixed point in ns, never set back, slewed by NTP (CLOCK_MONOTONIC). It is the clock of `std::time::Instant`, as
/// a number that fits into a frame.
pub fn monotonic_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC)
}

/// Time since 1970-01-01 UTC in ns (CLOCK_REALTIME): the clock of packet timestamps. It can be set back.
pub fn realtime_ns() -> u64 {
    read(libc::CLOCK_REALTIME)
}

/// Time since a fixed point in ns at the hardware's rate, which NTP never changes (CLOCK_MONOTONIC_RAW).
pub fn monotonic_raw_ns() -> u64 {
    read(libc::CLOCK_MONOTONIC_RAW)
}

/// Like [`monotonic_ns`], but it continues while the system is suspended (CLOCK_BOOTTIME).
pub fn boottime_ns() -> u64 {
    read(libc::CLOCK_BOOTTIME)
}

/// Ticks per second of the times in `/proc/stat`: USER_HZ, 100 on every architecture in use (time(7)). `None` if the C library
/// does not report it.
pub fn ticks_per_second() -> Option<u64> {
    // SAFETY: sysconf(3) takes any number and touches no memory of ours.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0)
}

/// What the kernel says of CLOCK_REALTIME.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelClock {
    /// Whether something steers it (no STA_UNSYNC).
    pub is_synchronised: bool,
    /// The largest error in nanoseconds. It grows until whoever steers the clock reports again.
    pub max_error_ns: u64,
}

/// The kernel's state of CLOCK_REALTIME (adjtimex(2)). Changes nothing.
///
/// # Errors
/// When the system call is not allowed here.
pub fn kernel_clock() -> Result<KernelClock> {
    // SAFETY: a `timex` of zeros is a value of it: numbers only.
    let mut state: libc::timex = unsafe { std::mem::zeroed() };
    // SAFETY: adjtimex(2) reads `modes`, which is 0 and so changes nothing, and fills the `timex`, which is exclusively ours.
    let found = unsafe { libc::adjtimex(&mut state) };
    if found < 0 {
        return named(Err(std::io::Error::last_os_error()), || "adjtimex".to_string());
    }
    Ok(KernelClock {
        is_synchronised: found != libc::TIME_ERROR && state.status & libc::STA_UNSYNC == 0,
        max_error_ns: u64::try_from(state.maxerror).unwrap_or(0) * 1000,
    })
}

fn read(clock: libc::clockid_t) -> u64 {
    try_read(clock).expect("every Linux since 2.6.39 has the clocks used here")
}

fn try_read(clock: libc::clockid_t) -> std::io::Result<u64> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: clock_gettime(2) writes one timespec behind the pointer; `time` is exclusively ours and alive.
    match unsafe { libc::clock_gettime(clock, &mut time) } {
        0 => Ok(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64),
        // A process that is gone is an invalid clock to clock_gettime(2).
        _ => Err(std::io::Error::last_os_error()),
    }
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
    fn another_process_has_its_own_time() {
        let mut child = std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let process = ProcessId::new(child.id()).unwrap();
        while process_cpu_ns(process).unwrap() < 1_000_000 {}
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(process_cpu_ns(process).is_err());
    }

    #[test]
    fn every_clock_goes_on() {
        for clock in [monotonic_ns, realtime_ns, monotonic_raw_ns, boottime_ns] {
            let start = clock();
            while clock() == start {}
        }
        // In this order: both go on between the two readings.
        let monotonic = monotonic_ns();
        assert!(boottime_ns() >= monotonic, "it counts what the other leaves out");
    }

    #[test]
    fn the_kernel_says_whether_its_clock_is_steered() {
        let clock = kernel_clock().unwrap();
        // A clock that nothing steers has the largest error that the kernel knows: 16 s.
        assert!(clock.is_synchronised || clock.max_error_ns >= 1_000_000, "{clock:?}");
    }

    #[test]
    fn ticks_are_known() {
        assert_eq!(ticks_per_second(), Some(100));
    }
}
