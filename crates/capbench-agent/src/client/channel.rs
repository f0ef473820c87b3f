//! The process that is the connection to an agent: its standard input and output, and what it complains about.

use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use capbench_sys::host::process::{ProcessId, Signal, signal_group};

use super::interrupt::{Event, Input, Interrupt, locked};
use crate::framing;
use crate::location::Location;
use crate::{AgentError, Result};

/// How long an agent may take to end after its input was closed.
const FAREWELL: Duration = Duration::from_secs(5);

/// How long the end of standard error is awaited after the command's.
const COMPLAINTS: Duration = Duration::from_secs(1);

/// How long processes that the command started may take to end after SIGTERM. An agent's guardian restores settings meanwhile.
const LAST_WORK: Duration = Duration::from_millis(500);

/// Most messages of an agent that nobody has read yet: after them, the agent waits. Few, because each may be as long as
/// [`framing::MOST_OCTETS`]. A calm agent has one.
const UNREAD: usize = 8;

const TICK: Duration = Duration::from_millis(2);

/// The process. Dropping it ends the agent.
#[derive(Debug)]
pub(super) struct Channel {
    process: Child,
    input: Input,
    events: Receiver<Event>,
    complaints: Arc<Mutex<String>>,
    reader_of_complaints: Option<JoinHandle<()>>,
}

/// How the process ended.
#[derive(Debug)]
pub(super) struct Ended {
    /// Its status; `None` if it had to be killed.
    pub(super) status: Option<ExitStatus>,
    /// The last line that it printed on standard error; empty if it printed none.
    pub(super) complaint: String,
}

impl Channel {
    /// Starts the command of a location. `arguments` are for an agent whose command line the location leaves open.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn start(location: &Location, arguments: &[String], interrupt: &Interrupt) -> Result<Self> {
        let own = std::env::current_exe().unwrap_or_else(|_| "capbench".into());
        let words = location.agent_command(own.into(), arguments);
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
        let mut process = started.map_err(|source| AgentError::Start {
            location: location.to_string(),
            program: words[0].to_string_lossy().into_owned(),
            source,
        })?;
        let (sender, events) = sync_channel(UNREAD);
        let input = Arc::new(Mutex::new(process.stdin.take()));
        interrupt.reach(sender.clone(), &input);
        if let Some(output) = process.stdout.take() {
            std::thread::spawn(move || read_messages(BufReader::new(output), &sender));
        }
        let complaints = Arc::new(Mutex::new(String::new()));
        let reader_of_complaints = process.stderr.take().map(|errors| {
            let complaints = Arc::clone(&complaints);
            std::thread::spawn(move || keep_last_line(BufReader::new(errors), &complaints))
        });
        Ok(Self { input, process, events, complaints, reader_of_complaints })
    }

    /// Sends a message.
    pub(super) fn send(&mut self, message: &[u8]) -> io::Result<()> {
        match &mut *locked(&self.input) {
            Some(input) => framing::write(input, message),
            None => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Its standard input.
    pub(super) fn input(&self) -> &Input {
        &self.input
    }

    /// Waits up to `patience` for what comes next.
    pub(super) fn next(&self, patience: Duration) -> std::result::Result<Event, RecvTimeoutError> {
        self.events.recv_timeout(patience)
    }

    /// Closes the agent's input and waits for its end, for a while.
    pub(super) fn end(&mut self) -> Ended {
        let status = self.close();
        // A process that the command started may hold its standard error open for longer.
        let until = Instant::now() + COMPLAINTS;
        while status.is_some()
            && self.reader_of_complaints.as_ref().is_some_and(|reader| !reader.is_finished())
            && Instant::now() < until
        {
            std::thread::sleep(TICK);
        }
        let complaint = locked(&self.complaints).clone();
        Ended { status, complaint }
    }

    fn close(&mut self) -> Option<ExitStatus> {
        *locked(&self.input) = None;
        let begun = Instant::now();
        while begun.elapsed() < FAREWELL {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(TICK),
                Err(_) => return None,
            }
        }
        // It leads a group with all that it started. Until it is waited for, no other group has its number.
        if let Some(leader) = ProcessId::new(self.process.id()) {
            let _ = signal_group(leader, Signal::Terminate);
            std::thread::sleep(LAST_WORK);
            let _ = signal_group(leader, Signal::Kill);
        }
        let _ = self.process.wait();
        None
    }
}

impl Drop for Channel {
    fn drop(&mut self) {
        self.close();
    }
}

fn read_messages(mut output: impl BufRead, events: &SyncSender<Event>) {
    loop {
        let message = framing::read(&mut output);
        let is_last = !matches!(message, Ok(Some(_)));
        if events.send(Event::Message(message)).is_err() || is_last {
            return;
        }
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
            text.clone_into(&mut locked(last));
        }
        line.clear();
    }
}
