//! Starts a program for a trial, and ends it and all processes that it started.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use std::os::unix::process::{CommandExt, ExitStatusExt};

use capbench_sys::host::ProcessId;
use capbench_sys::host::process::{Signal, lead_own_session, signal_group, signal_process};

use super::output::Output;
use super::tree::{self, MARK, Member};

/// Polling interval for conditions without an event.
pub(super) const TICK: Duration = Duration::from_millis(5);
/// Time limit for a program that the first signal did not end.
const SECOND_PATIENCE: Duration = Duration::from_secs(2);
/// Time limit for killed processes: the kernel needs a moment to remove them.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// Standard input without data, and output that nobody reads.
const NULL: &str = "/dev/null";
const SHELL: &str = "/bin/sh";

/// A running program. Dropping it kills the program and all processes that it started.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    id: ProcessId,
    mark: String,
    /// Dropped, and so ended, after the program's processes are.
    _guard: Guard,
    status: Option<ExitStatus>,
    /// Whether a check has shown that none of its processes is left.
    is_cleared: bool,
}

/// How a program ended.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    /// The signals that did not end it.
    pub(super) unheeded: Vec<Signal>,
    /// Number of its processes that still existed afterwards and were killed.
    pub(super) left: usize,
}

impl Ended {
    /// Whether a stopped program normally ends like that: without an error, by the signal, or with the status that shells give
    /// for the signal.
    pub(super) fn is_usual(&self) -> bool {
        match self.status.code() {
            Some(code) => code == 0 || code > 128,
            None => self.status.signal().is_some_and(Signal::is_of_stopping),
        }
    }
}

impl Process {
    /// Starts it in the calling thread's network namespace and on its CPUs, in `directory`. The calling thread must outlive it.
    ///
    /// # Errors
    /// The failed step, not always the program's fault, and the system's reason.
    pub(super) fn start(
        program: &Path,
        arguments: &[String],
        directory: &Path,
        output: &Output,
    ) -> Result<Self, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let mark = format!("{}.{number}", std::process::id());
        // Opened here and not by the library, which would report a failure as one of the program.
        let null = OpenOptions::new().read(true).write(true).open(NULL);
        let null = null.map_err(|error| {
            format!("{NULL} cannot be opened for its input: {error}; everybody may read and write it on a sound host")
        })?;
        let [out, errors] = output.files().map_err(|error| {
            format!("the files in {} for what it says cannot be made: {error}", directory.display())
        })?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(directory)
            // capbench parses its output, so the output must be in its original language.
            .env("LC_ALL", "C")
            .env(MARK, &mark)
            .stdin(copy(&null)?)
            .stdout(out)
            .stderr(errors);
        // First: this process can be killed as soon as the program runs.
        let mut guard = Guard::start(&mark, directory, &null)?;
        let child = lead_own_session(&mut command)
            .spawn()
            .map_err(|error| format!("{} cannot be started: {error}", program.display()))?;
        let id = ProcessId::new(child.id()).expect("the number of a process that was just started");
        let noted = guard.note_leader(id);
        let process = Self { child, id, mark, _guard: guard, status: None, is_cleared: false };
        noted.map(|()| process)
    }

    pub(super) fn members(&self) -> Vec<Member> {
        tree::members(self.id)
    }

    /// Its exit status, if it has ended.
    ///
    /// # Errors
    /// None with a known cause: it is this process's child.
    pub(super) fn status(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            self.status = self.child.try_wait()?;
        }
        Ok(self.status)
    }

    /// Stops it by `signal`, then by stronger ones, and makes sure that none of its processes is left.
    ///
    /// # Errors
    /// As [`Process::status`].
    pub(super) fn stop(mut self, signal: Signal, patience: Duration) -> io::Result<Ended> {
        let mut unheeded = Vec::new();
        let before = self.members();
        let steps = [(signal, patience), (Signal::Terminate, SECOND_PATIENCE), (Signal::Kill, LAST_PATIENCE)];
        let mut status = None;
        for (signal, patience) in steps {
            // Signals its group, as Ctrl-C does. A process that has already ended is no error.
            let _ = signal_group(self.id, signal);
            status = self.wait(patience)?;
            if status.is_some() {
                break;
            }
            unheeded.push(signal);
        }
        let left = self.kill_all(&before);
        match status {
            Some(status) => Ok(Ended { status, unheeded, left }),
            None => Err(io::Error::new(io::ErrorKind::TimedOut, "the kernel did not end it after SIGKILL")),
        }
    }

    fn wait(&mut self, patience: Duration) -> io::Result<Option<ExitStatus>> {
        let begun = Instant::now();
        loop {
            let status = self.status()?;
            if status.is_some() || begun.elapsed() >= patience {
                return Ok(status);
            }
            thread::sleep(TICK);
        }
    }

    /// Kills its remaining processes. Returns their number.
    fn kill_all(&mut self, known: &[Member]) -> usize {
        self.is_cleared = true;
        if self.status.is_none() {
            let _ = signal_group(self.id, Signal::Kill);
        }
        // Once the program has been waited for, the kernel may reuse its number. From here on, session, mark and start time
        // identify processes.
        let begun = Instant::now();
        let mut killed: Vec<ProcessId> = Vec::new();
        loop {
            let mut left: Vec<Member> = known.iter().filter(|member| member.is_alive()).copied().collect();
            left.extend(tree::marked(&self.mark));
            left.retain(|member| member.id != self.id);
            for member in &left {
                if !killed.contains(&member.id) {
                    killed.push(member.id);
                }
                let _ = signal_process(member.id, Signal::Kill);
            }
            if left.is_empty() || begun.elapsed() >= LAST_PATIENCE {
                return killed.len();
            }
            thread::sleep(TICK);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.is_cleared {
            // If the program has ended by itself, the kernel may have reused its number.
            let members = if self.status.is_none() { self.members() } else { Vec::new() };
            self.kill_all(&members);
        }
        if self.status.is_none() {
            // The child is ours, and was killed.
            let _ = self.child.wait();
        }
    }
}

/// Script of the guard. Its arguments are the program's directory and its mark; its first line is the leader of the program's group.
///
/// `read` ends when the other end of the pipe is closed: the kernel does that however this process ends. Without -s, dash parses
/// "--" as a number. Processes that left the group, and all where this process ended before it wrote the line, are found by their
/// mark, repeatedly: one may have started another in the meantime, and a killed one needs a moment to disappear.
const GUARD: &str = include_str!("guard.sh");

/// A shell that waits for the end of this process, then kills the program with all processes that it started, and removes its
/// directory. The kernel itself ends the program with the thread that started it, but not the program's own children.
#[derive(Debug)]
struct Guard(Child);

impl Guard {
    fn start(mark: &str, directory: &Path, null: &File) -> Result<Self, String> {
        Command::new(SHELL)
            .args(["-c", GUARD, "capbench-guard"])
            .arg(directory)
            .arg(format!("{MARK}={mark}"))
            .stdin(Stdio::piped())
            .stdout(copy(null)?)
            .stderr(copy(null)?)
            // No signal from the terminal may end it first.
            .process_group(0)
            .spawn()
            .map(Self)
            .map_err(|error| {
                format!("the guard that would end it with capbench, {SHELL}, cannot be started: {error}")
            })
    }

    /// Writes the leader of the program's group to it.
    fn note_leader(&mut self, leader: ProcessId) -> Result<(), String> {
        let mut pipe = self.0.stdin.as_ref().expect("it was asked for");
        // In one piece: the guard reads all of it, or nothing.
        pipe.write_all(format!("{leader}\n").as_bytes()).map_err(|error| {
            format!("the guard that would end it with capbench, {SHELL}, has ended: {error}")
        })
    }
}

/// Nothing is left to be ended.
impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A duplicate of the file for another process.
fn copy(file: &File) -> Result<File, String> {
    file.try_clone().map_err(|error| format!("{NULL} cannot be handed to it: {error}"))
}

/// An exit status as text.
pub(super) fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit status {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => "an unknown status".into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{File, create_dir};
    use std::process::{Command, Stdio};

    use capbench_testing::{Scratch, network::eventually};

    use super::{Guard, MARK, NULL, Output, Process};

    /// The process that starts a program is killed before the guard knows the program's number.
    #[test]
    fn a_guard_that_knows_only_the_mark_ends_the_program() {
        let folder = Scratch::new();
        let directory = folder.file("of-the-program");
        create_dir(&directory).unwrap();
        let mark = format!("{}.of-this-test", std::process::id());
        let mut guard = Guard::start(&mark, &directory, &File::open(NULL).unwrap()).unwrap();
        let mut program =
            Command::new("sleep").arg("1000").env(MARK, &mark).stdin(Stdio::null()).spawn().unwrap();
        guard.0.stdin.take();
        let mut has_ended = || program.try_wait().unwrap().is_some();
        eventually("both are gone", || has_ended() && !directory.exists());
    }

    #[test]
    fn what_fails_at_a_start_is_named() {
        let start = |program: &str, directory: &std::path::Path| {
            let output = Output::new(directory, "x");
            Process::start(program.as_ref(), &[], directory, &output).unwrap_err()
        };
        let folder = Scratch::new();
        let here = folder.file("here");
        std::fs::create_dir(&here).unwrap();
        let error = start("/no/such/program", &here);
        assert!(error.starts_with("/no/such/program cannot be started: No such file"), "{error}");
        std::fs::remove_dir_all(&here).unwrap();
        let error = start("/bin/sh", &here);
        assert!(error.contains("for what it says cannot be made: No such file"), "{error}");
    }
}
