//! Foreign programs that this process starts and must end: faccessat(2), setsid(2), prctl(2), kill(2).

use std::fmt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

use rustix::fs::{Access, AtFlags, CWD, accessat};
use rustix::io::Errno;
use rustix::process::{
    self, Pid, getpid, getppid, kill_process, kill_process_group, set_parent_process_death_signal, setsid,
    test_kill_process, test_kill_process_group,
};

use crate::Result;
use crate::error::named;

/// The kernel's number of a process, within this process's PID namespace. Never 0 or 1: for kill(2) their negatives mean the
/// caller's group and every process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessId(libc::pid_t);

impl ProcessId {
    /// The process with this number; `None` for 0, 1 and invalid numbers.
    pub fn new(number: u32) -> Option<Self> {
        libc::pid_t::try_from(number).ok().filter(|number| *number > 1).map(Self)
    }

    /// The kernel's number.
    pub fn number(self) -> u32 {
        self.0.unsigned_abs()
    }

    pub(super) fn raw(self) -> libc::pid_t {
        self.0
    }

    pub(crate) fn pid(self) -> Pid {
        Pid::from_raw(self.0).expect("it is above 1")
    }
}

/// Signals to stop programs with (signal(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// No signal; only checks that the process exists.
    Probe,
    /// The terminal's Ctrl-C.
    Interrupt,
    /// The terminal's Ctrl-\.
    Quit,
    /// The terminal was closed.
    Hangup,
    /// A request to end.
    Terminate,
    /// Defined by the program.
    User1,
    /// Defined by the program.
    User2,
    /// Ends the process immediately.
    Kill,
}

impl Signal {
    /// Those that a user can name, with the kernel's. The probe is none of them.
    const NAMED: [(&'static str, Self, process::Signal); 7] = [
        ("INT", Self::Interrupt, process::Signal::INT),
        ("QUIT", Self::Quit, process::Signal::QUIT),
        ("HUP", Self::Hangup, process::Signal::HUP),
        ("TERM", Self::Terminate, process::Signal::TERM),
        ("USR1", Self::User1, process::Signal::USR1),
        ("USR2", Self::User2, process::Signal::USR2),
        ("KILL", Self::Kill, process::Signal::KILL),
    ];

    /// Whether `number` is a signal that users send, not a fault of the program.
    pub fn is_of_stopping(number: i32) -> bool {
        Self::NAMED.iter().any(|(_, _, signal)| signal.as_raw() == number)
    }

    fn of_kernel(self) -> Option<process::Signal> {
        Self::NAMED.iter().find(|(_, signal, _)| *signal == self).map(|(_, _, signal)| *signal)
    }
}

impl FromStr for Signal {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        let name = text.strip_prefix("SIG").unwrap_or(text);
        let known = Self::NAMED.map(|(known, ..)| known);
        let found = Self::NAMED.iter().find(|(known, ..)| *known == name).map(|(_, signal, _)| *signal);
        found.ok_or_else(|| {
            format!("\"{text}\" is no signal to stop a program with; {} are", known.join(", "))
        })
    }
}

impl fmt::Display for Signal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMED.iter().find(|(_, signal, _)| signal == self) {
            Some((name, ..)) => write!(formatter, "SIG{name}"),
            None => formatter.write_str("signal 0"),
        }
    }
}

/// Checks that this process may execute the file at `path`, by its effective user and the file system's permissions.
///
/// # Errors
/// `EACCES` if it may not, `ENOENT` if the file does not exist, and other errors of faccessat(2).
pub fn may_execute(path: &Path) -> Result<()> {
    let accessed = accessat(CWD, path, Access::EXEC_OK, AtFlags::EACCESS);
    named(accessed, || format!("faccessat({}, X_OK)", path.display()))
}

/// Makes `command` start its program as leader of a new session and process group, so that no terminal signal of the user
/// reaches it. SIGINT ends it, also if this process ignores it, as what a script starts in the background does. The kernel kills the
/// program when the *thread* that starts it ends, for any reason (PR_SET_PDEATHSIG of prctl(2)), so that thread must outlive the program.
///
/// Child processes of the program are in its group unless they leave it; the kernel does not kill them. It also does not kill a
/// program with set-user-ID or file capabilities, because execve(2) clears the request.
pub fn lead_own_session(command: &mut Command) -> &mut Command {
    let parent = getpid().as_raw_pid();
    let prepare = move || {
        setsid()?;
        set_parent_process_death_signal(Some(process::Signal::KILL))?;
        // SAFETY: signal(2) with SIG_DFL installs no handler, and signal-safety(7) lists it.
        if unsafe { libc::signal(libc::SIGINT, libc::SIG_DFL) } == libc::SIG_ERR {
            return Err(std::io::Error::last_os_error());
        }
        // A parent that ended before the request was made sends nothing any more.
        if getppid().map(Pid::as_raw_pid) == Some(parent) { Ok(()) } else { Err(Errno::SRCH.into()) }
    };
    // SAFETY: the closure runs in the child between fork and exec, where another thread's locks may stay locked for ever. It
    // makes async-signal-safe system calls only. It takes no lock and allocates nothing, nor does an error made of a number.
    unsafe { command.pre_exec(prepare) }
}

/// Sends `signal` to every process of the group that `leader` leads or led.
///
/// # Errors
/// `ESRCH` if no process of the group is left, `EPERM` if none of them may be signalled.
pub fn signal_group(leader: ProcessId, signal: Signal) -> Result<()> {
    let sent = match signal.of_kernel() {
        Some(signal) => kill_process_group(leader.pid(), signal),
        None => test_kill_process_group(leader.pid()),
    };
    named(sent, || format!("kill(group {leader}, {signal})"))
}

/// Sends `signal` to one process.
pub fn signal_process(process: ProcessId, signal: Signal) -> Result<()> {
    let sent = match signal.of_kernel() {
        Some(signal) => kill_process(process.pid(), signal),
        None => test_kill_process(process.pid()),
    };
    named(sent, || format!("kill({process}, {signal})"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Stdio};

    use super::*;

    fn start(script: &str) -> Child {
        let mut command = Command::new("sh");
        lead_own_session(command.args(["-c", script]).stdin(Stdio::null())).spawn().unwrap()
    }

    #[test]
    fn numbers_that_mean_many_processes_are_refused() {
        for number in [0, 1, u32::MAX] {
            assert_eq!(ProcessId::new(number), None);
        }
        assert_eq!(ProcessId::new(2).unwrap().number(), 2);
    }

    #[test]
    fn signals_have_the_names_of_kill() {
        for (text, signal) in [("INT", Signal::Interrupt), ("SIGTERM", Signal::Terminate)] {
            assert_eq!(text.parse::<Signal>().unwrap(), signal);
        }
        assert_eq!(Signal::User1.to_string(), "SIGUSR1");
        assert!(Signal::is_of_stopping(libc::SIGINT) && !Signal::is_of_stopping(libc::SIGSEGV));
        for text in ["", "int", "9", "SIGSTOP", "SIG"] {
            assert!(text.parse::<Signal>().unwrap_err().contains("TERM"), "{text}");
        }
    }

    #[test]
    fn only_executable_files_are_reported_as_executable() {
        may_execute("/bin/sh".as_ref()).unwrap();
        let errno = |path: &str| may_execute(path.as_ref()).unwrap_err().errno();
        assert_eq!(errno("/proc/version"), Some(libc::EACCES));
        assert_eq!(errno("/no/such"), Some(libc::ENOENT));
        assert_eq!(errno("a\0b"), Some(libc::EINVAL));
    }

    #[test]
    fn a_signal_reaches_the_whole_group() {
        let mut child = start("sleep 100 & wait");
        let leader = ProcessId::new(child.id()).unwrap();
        signal_group(leader, Signal::Probe).unwrap();
        signal_group(leader, Signal::Kill).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
        // The shell's child is adopted and reaped by another process: soon, not at once.
        let begun = std::time::Instant::now();
        while let Ok(()) = signal_group(leader, Signal::Probe) {
            assert!(begun.elapsed() < std::time::Duration::from_secs(30));
            std::thread::yield_now();
        }
        assert_eq!(signal_process(leader, Signal::Probe).unwrap_err().errno(), Some(libc::ESRCH));
    }

    #[test]
    fn an_interrupt_ends_a_program_also_if_this_process_ignores_it() {
        // SAFETY: neither SIG_IGN nor what was there before is a handler of this test, and no other test needs SIGINT.
        let before = unsafe { libc::signal(libc::SIGINT, libc::SIG_IGN) };
        let mut child = start("exec sleep 100");
        // SAFETY: as above.
        unsafe { libc::signal(libc::SIGINT, before) };
        signal_group(ProcessId::new(child.id()).unwrap(), Signal::Interrupt).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGINT));
    }

    #[test]
    fn a_program_ends_with_the_thread_that_started_it() {
        let mut child = std::thread::spawn(|| start("exec sleep 100")).join().unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGKILL));
    }
}
