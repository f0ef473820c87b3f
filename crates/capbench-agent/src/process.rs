//! The command of a location whose standard input and output are a connection, and what it complains about.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use capbench_sys::host::process::{ProcessId, Signal, signal_group};

use crate::location::Location;
use crate::{AgentError, Result};

/// How long the command may take to end after its input was closed.
const FAREWELL: Duration = Duration::from_secs(5);

/// The same if the user waits for this process.
const SHORT_FAREWELL: Duration = Duration::from_secs(1);

/// How long the end of standard error is awaited after the command's.
const COMPLAINTS: Duration = Duration::from_secs(1);

/// How long processes that the command started may take to end after SIGTERM. An agent's guardian restores settings meanwhile.
const LAST_WORK: Duration = Duration::from_millis(500);

const TICK: Duration = Duration::from_millis(2);

/// The process. It is awaited when this is dropped, and killed if it does not end: close its input before.
#[derive(Debug)]
pub struct Process {
    child: Child,
    complaints: Arc<Mutex<String>>,
    reader_of_complaints: Option<JoinHandle<()>>,
}

/// How the process ended.
#[derive(Debug)]
pub struct Ended {
    /// Its status; `None` if it had to be killed.
    pub status: Option<ExitStatus>,
    /// The last line that it printed on standard error; empty if it printed none.
    pub complaint: String,
}

impl Process {
    /// Starts the command of a location. `words` are the command line of this program there, where the location leaves it open.
    ///
    /// # Errors
    /// The command cannot be started.
    ///
    /// # Panics
    /// Never: both streams are pipes.
    pub fn start(location: &Location, words: &[String]) -> Result<(Self, ChildStdin, ChildStdout)> {
        let own = std::env::current_exe().unwrap_or_else(|_| "capbench".into());
        let words = location.command(own.into(), words);
        let started = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // That of the user's login is none of an agent on this host.
            .env_remove("SSH_CONNECTION")
            // The terminal's signals are for this process, which ends its agents itself.
            .process_group(0)
            .spawn();
        let mut child = started.map_err(|source| AgentError::Start {
            location: location.to_string(),
            program: words[0].to_string_lossy().into_owned(),
            source,
        })?;
        let complaints = Arc::new(Mutex::new(String::new()));
        let reader_of_complaints = child.stderr.take().map(|errors| {
            let complaints = Arc::clone(&complaints);
            std::thread::spawn(move || keep_last_line(BufReader::new(errors), &complaints))
        });
        let (input, output) =
            child.stdin.take().zip(child.stdout.take()).expect("both streams are pipes of this process");
        Ok((Self { child, complaints, reader_of_complaints }, input, output))
    }

    /// Waits for its end, for a while: a short one if the user waits. Its input is closed.
    pub fn end(&mut self, is_awaited_by_user: bool) -> Ended {
        let status = self.wait(if is_awaited_by_user { SHORT_FAREWELL } else { FAREWELL });
        // A process that the command started may hold its standard error open for longer.
        let until = Instant::now() + COMPLAINTS;
        while status.is_some()
            && self.reader_of_complaints.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(TICK);
        }
        let complaint = self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ended { status, complaint }
    }

    /// Ends it and all that it started.
    pub fn kill(&mut self) {
        // It leads a group with all that it started. Until it is waited for, no other group has its number.
        if let Some(leader) = ProcessId::new(self.child.id())
            && matches!(self.child.try_wait(), Ok(None))
        {
            let _ = signal_group(leader, Signal::Terminate);
            std::thread::sleep(LAST_WORK);
            let _ = signal_group(leader, Signal::Kill);
        }
        let _ = self.child.wait();
    }

    fn wait(&mut self, patience: Duration) -> Option<ExitStatus> {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(TICK),
                Err(_) => return None,
            }
        }
        self.kill();
        None
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.wait(FAREWELL);
    }
}

/// Keeps the last line that is not empty, without control characters.
fn keep_last_line(mut errors: impl BufRead, last: &Mutex<String>) {
    const LONGEST: u64 = 1000;
    let mut line = Vec::new();
    while errors.by_ref().take(LONGEST).read_until(b'\n', &mut line).is_ok_and(|octets| octets > 0) {
        let text: String = String::from_utf8_lossy(&line).chars().filter(|one| !one.is_control()).collect();
        let text = text.trim();
        let text = text.strip_prefix("capbench: ").unwrap_or(text);
        if !text.is_empty() {
            text.clone_into(&mut last.lock().unwrap_or_else(PoisonError::into_inner));
        }
        line.clear();
    }
}
