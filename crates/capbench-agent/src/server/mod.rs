//! The agent: prepares one side of a trial on an interface that its command line allows, and answers calls one after the other.
//!
//! | file | what |
//! |---|---|
//! | `rules` | what the command line allows |
//! | `lock` | one controller at a time uses an interface |
//! | `host` | what the agent says of its host |
//! | `side` | the prepared side, and the calls that drive it |
//!
//! A thread of its own reads the calls. It sleeps in read(2) while frames are sent, and notices at once when the connection ends:
//! then sending and receiving stop, and the process ends, with everything that it opened.

mod host;
mod lock;
mod rules;
mod side;
#[cfg(test)]
mod tests;

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::time::Duration;

use capbench_host::time_service;
use capbench_lab::LabError;
use capbench_model::environment::Environment;
use capbench_sys::host::clock;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::framing;
use crate::message::{Answer, Greeting, HostTimes, Kind, PROTOCOL, Refusal, Request};
pub use rules::{Allowed, Rules};
use side::OpenPort;

/// How long the controller may be silent besides the duration of an armed trial. It may rest between trials, and is silent while
/// the other side drains.
pub const LEASE: Duration = Duration::from_secs(300);

/// A call to a process that this agent is.
type Called<T> = std::result::Result<T, Refusal>;

/// An agent that waits for its controller.
#[allow(missing_debug_implementations)]
pub struct Agent {
    rules: Rules,
    environment: Environment,
    /// The kind of an error, as this program's exit codes distinguish it.
    kind_of: fn(&LabError) -> Kind,
    host: capbench_lab::live::Host,
    stop: Arc<AtomicBool>,
    is_greeted: bool,
    port: Option<OpenPort>,
}

/// Why an agent ended, if not at its controller's wish.
#[derive(Debug, thiserror::Error)]
pub enum Ended {
    /// The connection carries something else than calls.
    #[error(
        "the connection carries no calls of a controller: {0}; capbench starts agents itself, over ssh for example"
    )]
    Stream(#[from] io::Error),
    /// The controller was silent for too long.
    #[error("the controller was silent for {0:?}; its host or the connection may be gone")]
    Silence(Duration),
}

impl Agent {
    /// An agent on this host.
    pub fn new(rules: Rules, environment: Environment, kind_of: fn(&LabError) -> Kind) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let host = capbench_lab::live::Host::new(environment.irq_accounting, Arc::clone(&stop));
        Self { rules, environment, kind_of, host, stop, is_greeted: false, port: None }
    }

    /// Answers calls until the connection ends.
    ///
    /// # Errors
    /// What else ended it.
    pub fn serve(
        mut self,
        calls: impl Read + Send + 'static,
        mut answers: impl Write,
    ) -> std::result::Result<(), Ended> {
        let (sender, receiver) = sync_channel(1);
        let stop = Arc::clone(&self.stop);
        // Not joined: it sleeps until the connection ends.
        std::thread::Builder::new()
            .name("capbench-calls".into())
            .spawn(move || read_calls(BufReader::new(calls), &stop, &sender))?;
        self.answer_all(&receiver, &mut answers)
    }

    fn answer_all(
        &mut self,
        calls: &Receiver<io::Result<Request>>,
        answers: &mut impl Write,
    ) -> std::result::Result<(), Ended> {
        loop {
            let armed_for = self.port.as_ref().map_or(Duration::ZERO, OpenPort::armed_for);
            let lease = LEASE.saturating_add(armed_for);
            let request = match calls.recv_timeout(lease) {
                Ok(request) => request?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => return Err(Ended::Silence(lease)),
            };
            let answer = Answer::new(request.id, self.call(&request));
            let answer = serde_json::to_vec(&answer).map_err(io::Error::other)?;
            match framing::write(answers, &answer) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                written => written?,
            }
        }
    }

    fn call(&mut self, Request { method, params, .. }: &Request) -> Called<Value> {
        let received_ns = clock::realtime_ns();
        if method == "hello" {
            return answer(self.hello(&parsed(method, params)?)?);
        }
        if !self.is_greeted {
            return Err(Refusal::new(Kind::Usage, format!("{method} before hello")));
        }
        match method.as_str() {
            "prepare" => {
                // The side before must have restored its settings.
                self.port = None;
                let (port, prepared) = OpenPort::open(parsed(method, params)?, &self.rules, &mut self.host)
                    .map_err(|error| self.refusal(error))?;
                self.port = Some(port);
                answer(prepared)
            }
            "arm" => {
                let arm = parsed(method, params)?;
                self.rules.check_load(&arm)?;
                let armed = self.port()?.arm(arm);
                answer(armed.map_err(|error| self.refusal(error))?)
            }
            "go" => {
                let go = parsed(method, params)?;
                let sent = self.port()?.go(go);
                answer(sent.map_err(|error| self.refusal(error))?)
            }
            "finish" => {
                let finish = parsed(method, params)?;
                let half = self.port()?.finish(finish);
                half.map_err(|error| self.refusal(error))
            }
            "clock" => {
                let kernel =
                    clock::kernel_clock().map_err(|error| Refusal::new(Kind::Failed, error.to_string()))?;
                answer(time_service::clock_state(&time_service::Programs, kernel))
            }
            "time" => answer(HostTimes { received_ns, answered_ns: clock::realtime_ns() }),
            "abandon" => {
                self.port()?.abandon();
                Ok(Value::Null)
            }
            "release" => {
                self.port = None;
                Ok(Value::Null)
            }
            _ => Err(Refusal::new(Kind::Unsupported, format!("\"{method}\" is no call of this version"))),
        }
    }

    fn hello(&mut self, greeting: &Greeting) -> Called<crate::message::Hello> {
        if greeting.protocol != PROTOCOL {
            let message = format!(
                "capbench {} speaks version {PROTOCOL} of the agents' protocol, the controller version {}; install \
                 the same capbench on both hosts",
                self.environment.capbench_version, greeting.protocol
            );
            return Err(Refusal::new(Kind::Unsupported, message));
        }
        if greeting.trace && !self.is_greeted {
            self.host.trace(None);
        }
        self.is_greeted = true;
        host::hello(&self.rules, &self.environment, self.kind_of).map_err(|error| self.refusal(error.into()))
    }

    fn port(&mut self) -> Called<&mut OpenPort> {
        self.port.as_mut().ok_or_else(|| Refusal::new(Kind::Usage, "no interface is prepared"))
    }

    fn refusal(&self, error: side::Refused) -> Refusal {
        match error {
            side::Refused::Rule(refusal) => refusal,
            side::Refused::Lab(error) => refusal(&error, self.kind_of),
        }
    }
}

/// An error of a trial as an answer.
fn refusal(error: &LabError, kind_of: fn(&LabError) -> Kind) -> Refusal {
    let (unsupported, reason) = match error {
        LabError::Unsupported { what, reason } => (Some(what.clone()), reason.clone()),
        _ => (None, String::new()),
    };
    Refusal { unsupported, reason, ..Refusal::new(kind_of(error), error.to_string()) }
}

fn parsed<T: DeserializeOwned>(call: &str, params: &Value) -> Called<T> {
    // By reference: the parameters are small, and read once.
    T::deserialize(params)
        .map_err(|error| Refusal::new(Kind::Usage, format!("parameters of {call}: {error}")))
}

fn answer(value: impl Serialize) -> Called<Value> {
    serde_json::to_value(value).map_err(|error| Refusal::new(Kind::Failed, format!("an answer: {error}")))
}

/// Reads calls until the connection ends, which stops what runs.
fn read_calls(mut calls: impl BufRead, stop: &AtomicBool, to: &SyncSender<io::Result<Request>>) {
    loop {
        let next = framing::read(&mut calls).and_then(|message| {
            message
                .map(|octets| {
                    serde_json::from_slice::<Request>(&octets)
                        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
                })
                .transpose()
        });
        match next {
            Ok(Some(request)) if request.id.is_none() => {
                // The only message without an answer.
                if request.method == "stop" {
                    stop.store(true, Ordering::Relaxed);
                }
            }
            Ok(Some(request)) => {
                if to.send(Ok(request)).is_err() {
                    return;
                }
            }
            Ok(None) => {
                stop.store(true, Ordering::Relaxed);
                return;
            }
            Err(error) => {
                stop.store(true, Ordering::Relaxed);
                let _ = to.send(Err(error));
                return;
            }
        }
    }
}
