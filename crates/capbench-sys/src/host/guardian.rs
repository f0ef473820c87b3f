//! A process that restores a setting of an interface when its owner ends, also by SIGKILL: fork(2).
//!
//! It is a copy of this process that only waits for the end of a pipe. It starts no program: another program would need a file,
//! and might not have this process's capabilities. The kernel closes the pipe however its owner ends.

use std::io::{PipeWriter, pipe};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

use rustix::io::Errno;

use super::ethtool::{Change, Prepared};
use crate::error::named;
use crate::{Result, SysError};

/// Descriptors of the guardian.
const LEASE: RawFd = 0;
const SOCKET: RawFd = 1;
const KEPT: RawFd = 2;

/// The command name of the process (`comm` of proc_pid_comm(5)).
const NAME: &std::ffi::CStr = c"capbench-guard";

/// A process that makes a change when this value is dropped, or when this process ends.
#[derive(Debug)]
pub struct Guardian {
    change: Change,
    /// Its other end is the guardian's. `None` once the guardian was to make the change.
    lease: Option<PipeWriter>,
    process: libc::pid_t,
}

impl Guardian {
    /// Starts the process. It sleeps until then. It keeps `kept` open until it has made the change.
    ///
    /// # Errors
    /// `EAGAIN` or `ENOMEM` if the system can start no process.
    pub fn start(change: Change, kept: BorrowedFd<'_>) -> Result<Self> {
        let (wait, lease) = named(pipe(), || "pipe2 for the guardian of a setting".into())?;
        let mut prepared = change.prepared()?;
        let most_files = most_files();
        let files = [wait.as_raw_fd(), change.as_fd().as_raw_fd(), kept.as_raw_fd()];
        let blocked = Blocked::all()?;
        // SAFETY: the child runs `guard` only, which never returns, takes no lock, allocates nothing and makes async-signal-safe calls
        // only: other threads of this process, whose locks may be taken for ever in the child, do not matter.
        let process = unsafe { libc::fork() };
        if process == 0 {
            guard(files, most_files, &mut prepared);
        }
        // After `process` is known: nothing in between may change errno.
        let failure = (process < 0).then(|| SysError::last(|| "fork for the guardian of a setting".into()));
        drop(blocked);
        match failure {
            Some(failure) => Err(failure),
            None => Ok(Self { change, lease: Some(lease), process }),
        }
    }

    /// Lets it make the change now, and waits until it is made.
    ///
    /// # Errors
    /// As [`Change::make`]; or somebody killed the guardian before it made the change.
    pub fn end(mut self) -> Result<()> {
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        if self.lease.take().is_none() {
            return Ok(());
        }
        let mut status = 0;
        loop {
            // SAFETY: waitpid writes the status of a child of ours, which nobody else waits for.
            let waited = unsafe { libc::waitpid(self.process, &mut status, 0) };
            if waited == self.process {
                break;
            }
            let error = SysError::last(|| "waitpid for the guardian of a setting".into());
            if error.errno() != Some(Errno::INTR.raw_os_error()) {
                return Err(error);
            }
        }
        if libc::WIFEXITED(status) {
            return self.change.made(libc::WEXITSTATUS(status));
        }
        // It was killed: whoever did that, the change is still to be made.
        self.change.make()
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Who wants to know the outcome calls `end`.
        let _ = self.finish();
    }
}

/// The process: waits until the lease ends, makes the change, and exits with the errno of the call.
fn guard([wait, socket, kept]: [RawFd; 3], most_files: libc::c_uint, change: &mut Prepared) -> ! {
    // SAFETY: system calls that touch memory of this process only where they are given a buffer of ours. That all other descriptors
    // are closed is what is wanted: nobody must wait for the end of a stream that this process holds open. The three that it keeps
    // are above 2, because the standard library opens 0 to 2 before anything else. Signals are blocked since before the fork, so
    // that no handler of the program runs here, and a session of its own takes it out of the terminal's reach.
    unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, NAME.as_ptr());
        libc::dup2(wait, LEASE);
        libc::dup2(socket, SOCKET);
        libc::dup2(kept, KEPT);
        let first = 3;
        if libc::syscall(libc::SYS_close_range, first, libc::c_uint::MAX, 0) != 0 {
            // Before Linux 5.9.
            for file in first..most_files {
                libc::close(file as RawFd);
            }
        }
        let mut octet = 0_u8;
        loop {
            let read = libc::read(LEASE, (&raw mut octet).cast(), 1);
            if read == 0 || (read < 0 && *libc::__errno_location() != libc::EINTR) {
                break;
            }
        }
        libc::_exit(change.make(SOCKET))
    }
}

/// A bound of the numbers of this process's descriptors.
fn most_files() -> libc::c_uint {
    const MANY: libc::c_long = 1 << 20;
    // SAFETY: sysconf reads a limit of this process.
    let most = unsafe { libc::sysconf(libc::_SC_OPEN_MAX) };
    most.clamp(0, MANY) as libc::c_uint
}

/// All signals are blocked in the calling thread until this is dropped.
struct Blocked(libc::sigset_t);

impl Blocked {
    fn all() -> Result<Self> {
        // SAFETY: all zeroes is a value of the structure, which the calls fill; pthread_sigmask reads one set and writes the other.
        let (error, before) = unsafe {
            let (mut all, mut before) = (std::mem::zeroed(), std::mem::zeroed());
            libc::sigfillset(&mut all);
            (libc::pthread_sigmask(libc::SIG_SETMASK, &all, &mut before), before)
        };
        match error {
            0 => Ok(Self(before)),
            error => Err(crate::error::by_code("pthread_sigmask".into(), error)),
        }
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: reads the set that the same call wrote; it fails for values of the first argument only.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, std::ptr::null_mut()) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::stdin;

    use super::*;
    use crate::host::ethtool::{Offload, offload, offload_change, set_offload};
    use crate::host::interface::flags_of;
    use crate::host::namespace::unshare_net;

    #[test]
    fn a_change_that_fails_is_reported_by_the_guardian() {
        let gone = offload_change("no-such-if", Offload::Gro, true).unwrap();
        let error = Guardian::start(gone, stdin().as_fd()).unwrap().end().unwrap_err();
        assert_eq!(error.errno(), Some(libc::ENODEV), "{error}");
        assert!(error.to_string().starts_with("ioctl(ETHTOOL_SGRO, no-such-if)"), "{error}");
    }

    #[test]
    fn root_a_guardian_sets_an_interface_up_again() {
        let Some(()) = capbench_testing::network::privileges() else { return };
        let in_namespace = || {
            let _namespace = unshare_net().unwrap();
            assert!(!flags_of("lo").unwrap().up(), "a new namespace has it down");
            Guardian::start(Change::up("lo").unwrap(), stdin().as_fd()).unwrap().end().unwrap();
            assert!(flags_of("lo").unwrap().up());
        };
        std::thread::spawn(in_namespace).join().unwrap();
    }

    #[test]
    fn root_a_guardian_restores_a_setting_even_if_it_is_killed() {
        let Some(()) = capbench_testing::network::privileges() else { return };
        std::thread::spawn(|| {
            let _namespace = unshare_net().unwrap();
            let is_on = || offload("lo", Offload::Gro).unwrap();
            let before = is_on();
            for kills in [false, true] {
                let change = offload_change("lo", Offload::Gro, before).unwrap();
                let guardian = Guardian::start(change, stdin().as_fd()).unwrap();
                set_offload("lo", Offload::Gro, !before).unwrap();
                assert_ne!(is_on(), before);
                if kills {
                    // SAFETY: kill(2) of a child of ours that nobody has waited for.
                    assert_eq!(unsafe { libc::kill(guardian.process, libc::SIGKILL) }, 0);
                }
                guardian.end().unwrap();
                assert_eq!(is_on(), before);
            }
        })
        .join()
        .unwrap();
    }
}
