//! Runs system calls on every thread of the process, for attributes of threads instead of processes: capabilities,
//! `no_new_privs`, Landlock domains.
//!
//! Threads of vendors' libraries run no code of capbench, and capture threads wait in system calls. A signal reaches all of
//! them: the C library applies setuid(2) to all threads in the same way (nptl(7)).

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering::SeqCst};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;

use super::thread::current_thread;
use super::{proc_file, signal_handler};
use crate::error::{by_code, check};
use crate::{Result, SysError};

/// How long a thread may need to run the signal's handler.
const PATIENCE: Duration = Duration::from_secs(5);

type Action = Box<dyn Fn() -> rustix::io::Result<()> + Send + Sync>;

struct Round {
    action: Action,
    /// The thread that has made them last.
    answered: AtomicI32,
    /// The error's number of that thread; 0 for none.
    error: AtomicI32,
}

static ROUND: AtomicPtr<Round> = AtomicPtr::new(null_mut());

static TURN: Mutex<()> = Mutex::new(());

/// The ticker of libpcap has the one before (`pcap/ticker.rs`).
fn signal() -> libc::c_int {
    libc::SIGRTMIN() + 6
}

/// Has every thread of the process make the same system calls, the calling one first. A thread that is started meanwhile by one
/// that has not made them is found, too.
///
/// # Safety
/// `action` runs in a signal handler: it may do nothing but what signal-safety(7) allows, and nothing that changes what other
/// code of the interrupted thread relies on.
pub(super) unsafe fn on_every_thread(what: &str, action: Action) -> Result<()> {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    install(what)?;
    // Never freed: a thread that answers too late still finds it.
    let round: &'static Round =
        Box::leak(Box::new(Round { action, answered: AtomicI32::new(0), error: AtomicI32::new(0) }));
    let own = current_thread().raw();
    refused(what, own, number(&(round.action)()))?;
    ROUND.store(std::ptr::from_ref(round).cast_mut(), SeqCst);
    let done = ask_all(what, round, own);
    ROUND.store(null_mut(), SeqCst);
    done
}

fn ask_all(what: &str, round: &Round, own: libc::pid_t) -> Result<()> {
    let mut done = vec![own];
    loop {
        let missing: Vec<_> = threads()?.into_iter().filter(|thread| !done.contains(thread)).collect();
        if missing.is_empty() {
            return Ok(());
        }
        for thread in missing {
            ask(what, round, thread)?;
            done.push(thread);
        }
    }
}

/// Has one thread make the calls; one that has ended meanwhile needs to make none.
fn ask(what: &str, round: &Round, thread: libc::pid_t) -> Result<()> {
    round.answered.store(0, SeqCst);
    // SAFETY: both calls take numbers and touch no memory of ours; the signal has a handler.
    let code = unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, signal()) };
    if code < 0 && io::Error::last_os_error().raw_os_error() == Some(libc::ESRCH) {
        return Ok(());
    }
    check(code as libc::c_int, || format!("{what}: tgkill({thread})"))?;
    let start = Instant::now();
    while round.answered.load(SeqCst) != thread {
        if !std::path::Path::new(&format!("/proc/self/task/{thread}")).exists() {
            return Ok(());
        }
        if start.elapsed() > PATIENCE {
            let name = std::fs::read_to_string(format!("/proc/self/task/{thread}/comm")).unwrap_or_default();
            let (name, signal) = (name.trim_end(), signal());
            let reason = format!("the thread {thread} ({name}) does not answer: it blocks signal {signal}");
            return Err(SysError::argument(what, reason));
        }
        thread::sleep(Duration::from_micros(50));
    }
    refused(what, thread, round.error.load(SeqCst))
}

fn number(done: &rustix::io::Result<()>) -> libc::c_int {
    done.err().map_or(0, Errno::raw_os_error)
}

fn refused(what: &str, thread: libc::pid_t, error: libc::c_int) -> Result<()> {
    match error {
        0 => Ok(()),
        code => Err(by_code(format!("{what}, by thread {thread}"), code)),
    }
}

pub(super) fn threads() -> Result<Vec<libc::pid_t>> {
    proc_file::numbers_in("/proc/self/task")
}

/// Installs the handler once. It stays: a signal that comes late must not end the process.
fn install(what: &str) -> Result<()> {
    static ERROR: OnceLock<c_int> = OnceLock::new();
    // SAFETY: the handler does only what signal-safety(7) allows.
    let installed = || unsafe { signal_handler::install(signal(), libc::SA_RESTART, on_signal) };
    match ERROR.get_or_init(|| installed().map_or_else(|error| error.errno().unwrap_or(libc::EINVAL), |()| 0))
    {
        0 => Ok(()),
        code => Err(by_code(format!("{what}: sigaction({})", signal()), *code)),
    }
}

extern "C" fn on_signal(_signal: libc::c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: errno's address is that of the interrupted thread, which does not run meanwhile.
    let errno = unsafe { libc::__errno_location() };
    // SAFETY: as before.
    let saved = unsafe { *errno };
    let round = ROUND.load(SeqCst);
    // SAFETY: the kernel passes a filled siginfo_t to a handler with SA_SIGINFO; getpid(2) takes nothing. A signal of another
    // process starts nothing.
    let is_own = unsafe { (*info).si_code == libc::SI_TKILL && (*info).si_pid() == libc::getpid() };
    if !round.is_null() && is_own {
        // SAFETY: a round is leaked, so that it is alive whenever its address can be read; it is only shared.
        let round = unsafe { &*round };
        round.error.store(number(&(round.action)()), SeqCst);
        round.answered.store(current_thread().raw(), SeqCst);
    }
    // SAFETY: as before.
    unsafe { *errno = saved };
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::sync::mpsc::channel;

    #[test]
    fn threads_that_wait_make_the_calls_and_wait_on() {
        let (stop, wait) = channel::<()>();
        let waiting = thread::spawn(move || wait.recv().is_ok());
        let sleeping = thread::spawn(|| {
            let start = Instant::now();
            thread::sleep(Duration::from_millis(300));
            start.elapsed()
        });
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let count = move || {
            counted.fetch_add(1, SeqCst);
            Ok(())
        };
        // SAFETY: an atomic addition is allowed in a handler and changes nothing of other code.
        unsafe { on_every_thread("count", Box::new(count)) }.unwrap();
        assert!(calls.load(SeqCst) >= 3);
        stop.send(()).unwrap();
        assert!(waiting.join().unwrap());
        assert!(sleeping.join().unwrap() >= Duration::from_millis(300));
        // SAFETY: it does nothing.
        let error = unsafe { on_every_thread("refuse", Box::new(|| Err(Errno::PERM))) }.unwrap_err();
        assert!(error.errno() == Some(libc::EPERM) && error.to_string().starts_with("refuse"), "{error}");
    }
}
