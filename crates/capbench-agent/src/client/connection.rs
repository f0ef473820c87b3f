//! Starts an agent, calls it, and notices that it is gone.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use capbench_model::clocks::ClockState;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::interrupt::{Event, Interrupt};
use crate::framing;
use crate::location::Location;
use crate::message::{Answer, Greeting, Hello, PROTOCOL, Request};
use crate::{AgentError, Result};

/// How long an answer may take that needs no trial: a connection over ssh, the tracer, the driver's counters.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Linux delays an acknowledgement by the round trip time and at least 40 ms (tcp_send_delayed_ack of net/ipv4/tcp_output.c).
const DELAYED_ACKNOWLEDGEMENT: Duration = Duration::from_millis(60);

/// It never delays one longer than 200 ms (TCP_DELACK_MAX).
const LONGEST_DELAY: Duration = Duration::from_millis(250);

/// How long an agent may take to end after its input was closed.
const FAREWELL: Duration = Duration::from_secs(5);

/// An agent that answers. Dropping it ends the agent.
#[derive(Debug)]
pub struct Connection {
    location: Location,
    process: Child,
    /// `None` once it was closed.
    input: Option<ChildStdin>,
    events: Receiver<Event>,
    complaints: Arc<Mutex<String>>,
    reader_of_complaints: Option<JoinHandle<()>>,
    last_id: u64,
    /// The shortest time between a call and its answer: the round trip time, or more.
    quickest: Duration,
    hello: Hello,
    /// Whether a call has failed in a way after which answers cannot be assigned to calls.
    is_lost: bool,
}

/// A call whose answer is outstanding.
#[derive(Clone, Copy, Debug, Default)]
pub struct Begun {
    id: u64,
    call: &'static str,
}

impl Connection {
    /// Starts the agent of a location and greets it. `arguments` are for an agent whose command line the location leaves open.
    ///
    /// # Errors
    /// The command cannot be started, or what it starts is no agent of this version.
    pub fn open(
        location: &Location,
        arguments: &[String],
        trace: bool,
        interrupt: &Interrupt,
    ) -> Result<Self> {
        let own = std::env::current_exe().unwrap_or_else(|_| "capbench".into());
        let words = location.agent_command(own.into(), arguments);
        let started = Command::new(&words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // The terminal's signals are for this process, which ends its agents itself.
            .process_group(0)
            .spawn();
        let mut process = started.map_err(|source| AgentError::Start {
            location: location.to_string(),
            program: words[0].to_string_lossy().into_owned(),
            source,
        })?;
        let (sender, events) = channel();
        interrupt.reach(sender.clone());
        if let Some(output) = process.stdout.take() {
            std::thread::spawn(move || read_messages(BufReader::new(output), &sender));
        }
        let complaints = Arc::new(Mutex::new(String::new()));
        let reader_of_complaints = process.stderr.take().map(|errors| {
            let complaints = Arc::clone(&complaints);
            std::thread::spawn(move || keep_last_line(BufReader::new(errors), &complaints))
        });
        let mut connection = Self {
            location: location.clone(),
            input: process.stdin.take(),
            process,
            events,
            complaints,
            reader_of_complaints,
            last_id: 0,
            quickest: Duration::MAX,
            hello: Hello::default(),
            is_lost: false,
        };
        connection.hello = connection.call("hello", &Greeting { protocol: PROTOCOL, trace }, PATIENCE)?;
        Ok(connection)
    }

    /// Where the agent is.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// How it introduced itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Whether no further call can succeed.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Shows the agent that its controller is there.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn show_life(&mut self) -> Result<()> {
        self.hello = self.call("hello", &Greeting { protocol: PROTOCOL, trace: false }, PATIENCE)?;
        Ok(())
    }

    /// Whether the clock of the agent's host is synchronised, as that host says.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn clock_state(&mut self) -> Result<ClockState> {
        self.call("clock", &(), PATIENCE)
    }

    /// Calls the agent and waits up to `patience` for its answer. No thread of this process runs meanwhile.
    ///
    /// # Errors
    /// The agent refuses, is gone, or does not answer in time.
    pub fn call<A: DeserializeOwned>(
        &mut self,
        call: &'static str,
        params: &impl Serialize,
        patience: Duration,
    ) -> Result<A> {
        let at = Instant::now();
        let begun = self.begin(call, params)?;
        let answered = self.answer(begun, patience);
        self.quickest = self.quickest.min(at.elapsed());
        answered
    }

    /// Waits until the last answer is acknowledged, also by a TCP connection under this one, which delays that. Then a silent
    /// connection is silent on the wire, too.
    pub fn settle(&self) {
        if self.location.may_use_a_network() {
            std::thread::sleep(self.quickest.saturating_add(DELAYED_ACKNOWLEDGEMENT).min(LONGEST_DELAY));
        }
    }

    /// Calls the agent, and does not wait for its answer.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn begin(&mut self, call: &'static str, params: &impl Serialize) -> Result<Begun> {
        self.last_id += 1;
        let id = self.last_id;
        self.send(Some(id), call, params)?;
        Ok(Begun { id, call })
    }

    /// Waits up to `patience` for the answer to a call. No thread of this process runs meanwhile.
    ///
    /// # Errors
    /// The agent refuses, is gone, or does not answer in time.
    pub fn answer<A: DeserializeOwned>(&mut self, begun: Begun, patience: Duration) -> Result<A> {
        let Begun { id, call } = begun;
        let deadline = Instant::now() + patience;
        loop {
            let octets = match self.events.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(Event::Message(Ok(Some(octets)))) => octets,
                Ok(Event::Stop) => {
                    self.send(None, "stop", &())?;
                    continue;
                }
                Ok(Event::Message(Ok(None))) | Err(RecvTimeoutError::Disconnected) => {
                    return Err(self.lost(&format!("the agent ended before it answered {call}")));
                }
                Ok(Event::Message(Err(error))) => {
                    return Err(self.lost(&format!("the answer to {call} is no agent's: {error}")));
                }
                Err(RecvTimeoutError::Timeout) => {
                    return Err(self.lost(&format!("no answer to {call} within {patience:?}")));
                }
            };
            let answer: Answer = serde_json::from_slice(&octets).map_err(|error| self.odd(call, &error))?;
            // An answer to an earlier call that was given up is no answer to this one.
            if answer.id.is_some_and(|answered| answered < id) {
                continue;
            }
            let location = self.location.to_string();
            return match answer.error {
                Some(error) => Err(match error.data {
                    Some(refusal) => AgentError::Refused { location, refusal },
                    None => AgentError::Protocol { location, call, reason: error.message },
                }),
                None => serde_json::from_value(answer.result.unwrap_or_default())
                    .map_err(|error| self.odd(call, &error)),
            };
        }
    }

    fn send(&mut self, id: Option<u64>, call: &'static str, params: &impl Serialize) -> Result<()> {
        let params = serde_json::to_value(params).map_err(|error| self.odd(call, &error))?;
        let request = Request::new(id, call, params);
        let octets = serde_json::to_vec(&request).map_err(|error| self.odd(call, &error))?;
        let written = match &mut self.input {
            Some(input) => framing::write(input, &octets),
            None => Err(std::io::ErrorKind::BrokenPipe.into()),
        };
        written.map_err(|_| self.lost(&format!("the agent ended before {call}")))
    }

    fn odd(&self, call: &'static str, error: &serde_json::Error) -> AgentError {
        AgentError::Protocol { location: self.location.to_string(), call, reason: error.to_string() }
    }

    /// The connection is over: says why, as far as the agent's command said it.
    fn lost(&mut self, what: &str) -> AgentError {
        self.is_lost = true;
        let status = self.end();
        if let Some(reader) = self.reader_of_complaints.take_if(|_| status.is_some()) {
            let _ = reader.join();
        }
        let complaint = self.complaints.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let status_text = status.map_or(String::new(), |status| format!(" ({status})"));
        let complaint_text = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        AgentError::Lost {
            location: self.location.to_string(),
            reason: format!("{what}{status_text}{complaint_text}"),
            exit_code: status.and_then(|status| u8::try_from(status.code()?).ok()),
        }
    }

    /// Closes the agent's input and waits for its end, for a while; `None` if it had to be killed.
    fn end(&mut self) -> Option<ExitStatus> {
        self.input = None;
        let begun = Instant::now();
        while begun.elapsed() < FAREWELL {
            match self.process.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(2)),
                Err(_) => return None,
            }
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
        None
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.end();
    }
}

fn read_messages(mut output: impl BufRead, events: &Sender<Event>) {
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
            text.clone_into(&mut last.lock().unwrap_or_else(PoisonError::into_inner));
        }
        line.clear();
    }
}
