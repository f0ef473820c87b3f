//! The engine of a port in another process, also on another host: its requests, and their answers as they come.
//!
//! A thread writes and a thread reads, so that nobody waits for an engine that hangs longer than [`PATIENCE`].

use std::collections::HashMap;
use std::io::{BufReader, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use capbench_agent::framing;
use capbench_agent::location::Location;
use capbench_agent::process::{Ended, Process};
use capbench_http::StatusCode;

use crate::error::{OtgError, Result};
use crate::messages::{self, Answer, Numbered, Refusal, Reply, Request};
use crate::threads::spawn;

/// How long an answer, or the next part of a long one, may take.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// A running engine. Dropping it ends the engine.
#[derive(Debug)]
pub struct Connection {
    location: String,
    process: Process,
    requests: Arc<Requests>,
    waiting: Arc<Mutex<Waiting>>,
    last_id: u64,
}

/// The way to the thread that writes; `None`: the input of the process is closed, or will be.
#[derive(Debug)]
pub struct Requests(Mutex<Option<Sender<Vec<u8>>>>);

/// The number of a request whose answer nobody awaits.
const UNAWAITED: u64 = 0;

impl Requests {
    fn send(&self, octets: Vec<u8>) {
        // The thread that reads notices the end.
        let _ = locked(&self.0).as_ref().map(|requests| requests.send(octets));
    }

    /// Closes the input of the engine, which then ends.
    pub fn close(&self) {
        *locked(&self.0) = None;
    }

    /// Ends flows with these names, or all, and does not wait for the answer.
    pub fn halt(&self, flows: &[String]) {
        let request = Numbered { id: UNAWAITED, request: Request::Halt { flows: flows.to_vec() } };
        if let Ok(octets) = serde_json::to_vec(&request) {
            self.send(octets);
        }
    }
}

/// Who waits for answers.
#[derive(Debug, Default)]
struct Waiting {
    by_id: HashMap<u64, Sender<Piece>>,
    /// Why no answer comes any more.
    ended: Option<String>,
}

/// A part of an answer.
#[derive(Debug)]
enum Piece {
    Octets(Vec<u8>),
    Reply(std::result::Result<Answer, Refusal>),
}

/// An answer that is outstanding.
#[derive(Debug)]
pub struct Pending {
    location: String,
    pieces: Receiver<Piece>,
}

impl Connection {
    /// Starts the engine at a location. `words` are the command line of this program there, where the location leaves it open.
    /// The request has the location at `path`.
    pub fn start(location: &Location, words: &[String], path: &str) -> Result<Self> {
        let (process, input, output) = Process::start(location, words)
            .map_err(|source| OtgError::Start { path: path.into(), source: source.into() })?;
        let waiting = Arc::new(Mutex::new(Waiting::default()));
        let (requests, to_write) = mpsc::channel();
        let its = Arc::clone(&waiting);
        spawn("otg-requests", move || write(input, &to_write))?;
        spawn("otg-answers", move || read(BufReader::new(output), &its))?;
        let location = location.to_string();
        let requests = Arc::new(Requests(Mutex::new(Some(requests))));
        Ok(Self { location, process, requests, waiting, last_id: UNAWAITED })
    }

    /// The way to the engine, for other threads.
    pub fn requests(&self) -> &Arc<Requests> {
        &self.requests
    }

    /// Sends a request.
    pub fn ask(&mut self, request: Request) -> Result<Pending> {
        self.last_id += 1;
        let id = self.last_id;
        let octets = serde_json::to_vec(&Numbered { id, request })
            .map_err(|error| OtgError::System { what: "a request", source: std::io::Error::other(error) })?;
        if octets.len() > framing::MOST_OCTETS {
            let (location, most) = (&self.location, framing::MOST_OCTETS >> 20);
            let reason = format!(
                "{location}: the request to its engine has {} octets, and {most} MiB are the most; configure fewer or shorter \
                 flows",
                octets.len()
            );
            return Err(OtgError::Refused { status: StatusCode::PAYLOAD_TOO_LARGE, reason });
        }
        let (sender, pieces) = mpsc::channel();
        let mut waiting = locked(&self.waiting);
        if waiting.ended.is_none() {
            waiting.by_id.insert(id, sender);
        }
        self.requests.send(octets);
        Ok(Pending { location: self.location.clone(), pieces })
    }

    /// Closes the input of the engine, which then ends.
    pub fn hang_up(&mut self) {
        self.requests.close();
    }

    /// Ends a connection on which no answer comes. Returns why, as far as it is known.
    pub fn lose(mut self) -> String {
        let ended = locked(&self.waiting).ended.clone();
        self.hang_up();
        let Some(ended) = ended else {
            self.process.kill();
            return format!("no answer within {PATIENCE:?}");
        };
        let Ended { status, complaint } = self.process.end(false);
        let status = status.map_or(String::new(), |status| format!(" ({status})"));
        let complaint = if complaint.is_empty() { complaint } else { format!(": {complaint}") };
        format!("{ended}{status}{complaint}")
    }
}

impl Pending {
    /// Waits for the answer until then, and for the octets that come with it: up to `most`. They are written as they come, and
    /// each part extends the time.
    pub fn wait(self, mut until: Instant, most: u64, octets: &mut dyn Write) -> Result<Answer> {
        let Self { location, pieces } = self;
        let mut length = 0;
        loop {
            let reason = match pieces.recv_timeout(until.saturating_duration_since(Instant::now())) {
                Ok(Piece::Octets(part)) if length + part.len() as u64 <= most => {
                    octets.write_all(&part).map_err(|source| OtgError::System {
                        what: "a capture of another host cannot be kept",
                        source,
                    })?;
                    length += part.len() as u64;
                    until = Instant::now() + PATIENCE;
                    continue;
                }
                Ok(Piece::Reply(Ok(answer))) => return Ok(answer),
                Ok(Piece::Reply(Err(Refusal { status, reason }))) => {
                    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
                    return Err(OtgError::Refused { status, reason });
                }
                Ok(Piece::Octets(_)) => format!("an answer of more than {most} octets"),
                Err(RecvTimeoutError::Timeout) => format!("no answer within {PATIENCE:?}"),
                Err(RecvTimeoutError::Disconnected) => "the connection has ended".into(),
            };
            return Err(OtgError::Lost { path: String::new(), location, reason });
        }
    }
}

fn write(mut input: impl Write, requests: &Receiver<Vec<u8>>) {
    for octets in requests {
        if framing::write(&mut input, &octets).is_err() {
            return;
        }
    }
}

fn read(mut output: impl std::io::BufRead, waiting: &Mutex<Waiting>) {
    let reason = loop {
        let octets = match framing::read(&mut output) {
            Ok(Some(octets)) => octets,
            Ok(None) => break "it ended".to_string(),
            Err(error) => break format!("its output is not a message of capbench otg: {error}"),
        };
        // Who waited may have given up.
        if let Some((id, part)) = messages::of_part(&octets) {
            let _ = locked(waiting).by_id.get(&id).map(|to| to.send(Piece::Octets(part.to_vec())));
            continue;
        }
        match messages::read_message(&octets) {
            Ok(Reply { id, answer }) => {
                let _ = locked(waiting).by_id.remove(&id).map(|to| to.send(Piece::Reply(answer)));
            }
            Err(error) => break format!("its answer is not a message of capbench otg: {error}"),
        }
    };
    let mut waiting = locked(waiting);
    waiting.ended = Some(reason);
    waiting.by_id.clear();
}

fn locked<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::text_of;

    /// What another command than an engine brings.
    #[test]
    fn a_command_that_is_no_engine_is_named() {
        for (command, expected) in [
            ("true", "it ended (exit status: 0)"),
            ("ls --no-such-option", "it ended (exit status: 2): "),
            ("echo Welcome", "its output is not a message of capbench otg: a header line without a colon"),
            ("cat", "its answer is not a message of capbench otg: "),
        ] {
            let location: Location = format!("exec:{command},eth1").parse().unwrap();
            let mut connection = Connection::start(&location, &[], "ports[0].location").unwrap();
            let pending = connection.ask(Request::Read).unwrap();
            let error = pending.wait(Instant::now() + PATIENCE, 0, &mut std::io::sink()).unwrap_err();
            assert!(
                matches!(&error, OtgError::Lost { location, .. } if location.contains(command)),
                "{error}"
            );
            let why = connection.lose();
            assert!(why.starts_with(expected), "{command}: {why}");
        }
        let location = "exec:/nosuch/program,eth1".parse().unwrap();
        let error = Connection::start(&location, &[], "ports[0].location").unwrap_err().to_string();
        assert!(error.starts_with("ports[0].location: exec:/nosuch/program,eth1: cannot start"), "{error}");
    }

    #[test]
    fn a_request_that_no_connection_carries_is_refused() {
        let location = "exec:cat,eth1".parse().unwrap();
        let mut connection = Connection::start(&location, &[], "ports[0].location").unwrap();
        // As JSON a text has its quotes, too.
        for (octets, is_refused) in [(framing::MOST_OCTETS - 64, false), (framing::MOST_OCTETS, true)] {
            let asked = connection.ask(Request::Fetch(text_of(&"x".repeat(octets).into())));
            let refusal = asked.err().map(|error| (error.status().as_u16(), error.to_string()));
            assert_eq!(refusal.is_some(), is_refused, "{octets} octets: {refusal:?}");
            if let Some((status, why)) = refusal {
                assert!(
                    status == 413 && why.contains("cat,eth1: the request to its engine has 167"),
                    "{why}"
                );
            }
        }
    }
}
