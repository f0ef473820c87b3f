//! A timer whose signal breaks a libpcap loop.
//!
//! pcap_loop blocks until packets arrive; without packets the kernel does not wake it. pcap_breakloop(3PCAP) may be called from
//! a signal handler, and a signal ends the waiting system call in every release of libpcap. Breaking a loop from another thread
//! works only since 1.10. The signal goes to the reading thread.

use std::ffi::{c_int, c_void};
use std::mem::zeroed;
use std::sync::OnceLock;
use std::time::Duration;

use super::functions::Opaque;
use crate::error::{Result, SysError, check};
use crate::host::signal_handler;

/// Beyond the real-time signals that the C library keeps for itself.
fn signal() -> c_int {
    libc::SIGRTMIN() + 5
}

struct Target {
    breakloop: unsafe extern "C" fn(*mut Opaque),
    handle: *mut Opaque,
}

pub(super) struct Ticker {
    timer: libc::timer_t,
    // From `Box::into_raw`, freed after the timer is deleted. No box: that would claim what the handler reads for itself
    // each time it is moved.
    target: *mut Target,
}

/// Stops a ticker when it is dropped, also when a closure of the loop panicked.
#[must_use]
pub(super) struct Stopper(libc::timer_t);

extern "C" fn on_signal(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
    /// `SI_TIMER` of `asm-generic/siginfo.h`.
    const FROM_TIMER: c_int = -2;
    // SAFETY: the kernel gives valid information to a handler set with SA_SIGINFO. A timer's signal of this number is
    // only made by `Ticker`, and carries the pointer that `Box::into_raw` gave for its target. The thread that
    // the signal is for stops and deletes the timer, and then frees the target. A signal that was pending then has
    // reached this thread before that call returned. Nobody writes to the target in between, and only this reads it.
    unsafe {
        if (*info).si_code != FROM_TIMER {
            return;
        }
        let errno = libc::__errno_location();
        let before = *errno;
        let target = (*info).si_value().sival_ptr.cast::<Target>();
        ((*target).breakloop)((*target).handle);
        *errno = before;
    }
}

fn install() -> Result<()> {
    static INSTALLED: OnceLock<std::result::Result<(), String>> = OnceLock::new();
    // Without SA_RESTART: the system call that the loop waits in has to end.
    // SAFETY: the handler calls what may be called by handlers only.
    let installed = || unsafe { signal_handler::install(signal(), 0, on_signal) };
    let outcome = INSTALLED.get_or_init(|| installed().map_err(|error| error.to_string()));
    outcome.clone().map_err(|reason| SysError::argument("the timer of pcap_loop", reason))
}

impl Ticker {
    /// A stopped timer, for the loop of one handle on the calling thread.
    ///
    /// # Safety
    /// The handle must be open until this is dropped, and `breakloop` be its pcap_breakloop.
    pub(super) unsafe fn new(
        breakloop: unsafe extern "C" fn(*mut Opaque),
        handle: *mut Opaque,
    ) -> Result<Self> {
        install()?;
        let target = Box::into_raw(Box::new(Target { breakloop, handle }));
        // SAFETY: plain data; all zeroes is a valid value.
        let (mut event, mut timer): (libc::sigevent, libc::timer_t) = unsafe { (zeroed(), zeroed()) };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_value = libc::sigval { sival_ptr: target.cast() };
        // SAFETY: no preconditions.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        // SAFETY: both structures are live.
        let code = unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &raw mut event, &raw mut timer) };
        if let Err(error) = check(code, || "timer_create".into()) {
            // SAFETY: from `Box::into_raw` above; without a timer nobody else has it.
            drop(unsafe { Box::from_raw(target) });
            return Err(error);
        }
        let ticker = Self { timer, target };
        // SAFETY: a signal set is plain data that sigemptyset fills.
        let mut set: libc::sigset_t = unsafe { zeroed() };
        // SAFETY: the set is live, here and below.
        unsafe {
            libc::sigemptyset(&raw mut set);
            libc::sigaddset(&raw mut set, signal());
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
        }
        Ok(ticker)
    }

    /// Lets it tick every `period`, until what it returns is dropped. More than once: a tick between libpcap's look at its
    /// flag and its system call would be lost on releases that have no descriptor to wake them.
    pub(super) fn start(&self, period: Duration) -> Result<Stopper> {
        set(self.timer, period.max(Duration::from_millis(1)))?;
        Ok(Stopper(self.timer))
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        // A timer that exists can be stopped.
        let _ = set(self.0, Duration::ZERO);
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        let _ = set(self.timer, Duration::ZERO);
        // SAFETY: the timer is this one's, and deleted here only.
        unsafe { libc::timer_delete(self.timer) };
        // SAFETY: from `Box::into_raw` in `new`, and freed here only. The timer is gone, and its signals with it: they are
        // for this thread, since the ticker cannot leave it, and reach it before the calls above return.
        drop(unsafe { Box::from_raw(self.target) });
    }
}

fn set(timer: libc::timer_t, period: Duration) -> Result<()> {
    let period = libc::timespec {
        tv_sec: period.as_secs() as libc::time_t,
        tv_nsec: period.subsec_nanos() as libc::c_long,
    };
    let times = libc::itimerspec { it_interval: period, it_value: period };
    // SAFETY: the timer exists as long as its owner, and the structure is live.
    let code = unsafe { libc::timer_settime(timer, 0, &raw const times, std::ptr::null_mut()) };
    check(code, || "timer_settime".into()).map(drop)
}
