//! The agent: prepares one side of a trial on an interface that its command line allows, and answers calls one after the other.
//!
//! | file | what |
//! |---|---|
//! | `rules` | what a controller may ask for: by the command line, and within bounds |
//! | `allowed` | interfaces and programs, as the command line names them |
//! | `lease` | ends an agent that would wait for ever |
//! | `lock` | one controller at a time uses an interface |
//! | `own_work` | keeps the agent's own threads off the CPUs that are measured |
//! | `line` | the thread that reads calls |
//! | `spool` | what it leaves for the next agent when the connection is lost |
//! | `host` | what the agent says of its host |
//! | `side` | the prepared side, and the calls that drive it |
//!
//! When the connection ends, sending stops. The agent leaves its report of a trial whose frames were sent, and ends with
//! everything that it opened.

mod allowed;
mod host;
mod lease;
mod line;
mod lock;
mod own_work;
mod rules;
mod side;
mod spool;
#[cfg(any(test, fuzzing))]
pub(crate) mod stand_in;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::io::{self, Read, Write};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use capbench_host::time_service;
use capbench_lab::LabError;
use capbench_model::environment::Environment;
use capbench_sys::host::{CpuId, affinity, clock, interface};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};

use crate::error::RefusedCall;
use crate::framing;
use crate::message::{
    Answer, ErrorObject, Greeting, HostTimes, INVALID_PARAMS, Kind, METHOD_NOT_FOUND, PROTOCOL, Prepare,
    Prepared, Refusal, Report, Reported, Request, read,
};
use crate::waits::Waits;
pub use allowed::Allowed;
pub use host::clock_id;
use lease::Lease;
pub use lease::{AtEnd, kill_own_process};
use line::{Call, Line};
pub use rules::Rules;
use side::OpenPort;
pub use spool::Spool;

/// A call to a process that this agent is.
type Called<T> = std::result::Result<T, Refusal>;

/// Takes an interface and prepares a side.
type OpenSideOf = fn(Prepare, &Rules, &mut capbench_lab::live::Host) -> side::Result<(OpenPort, Prepared)>;

/// An agent that waits for its controller.
#[allow(missing_debug_implementations)]
pub struct Agent {
    rules: Rules,
    environment: Environment,
    /// The kind of an error, as this program's exit codes distinguish it.
    kind_of: fn(&LabError) -> Kind,
    host: capbench_lab::live::Host,
    line: Arc<Line>,
    waits: Waits,
    /// `Err`: why no report can be left.
    spool: std::result::Result<Spool, String>,
    at_end_of_lease: AtEnd,
    /// What prepares a side.
    open: OpenSideOf,
    /// The session of the controller, once it has greeted.
    session: Option<String>,
    /// The CPUs that this process could use then.
    cpus: Vec<CpuId>,
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
    /// The connection is lost, and so is the report of its last trial.
    #[error("the report of a trial could not be left for the controller: {0}")]
    Unreported(io::Error),
}

impl Agent {
    /// An agent on this host.
    pub fn new(rules: Rules, environment: Environment, kind_of: fn(&LabError) -> Kind) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let host = capbench_lab::live::Host::new(environment.irq_accounting, Arc::clone(&stop));
        let (line, waits) = (Arc::new(Line::new(stop)), Waits::default());
        let spool = Err("it has no folder for reports".into());
        let (at_end_of_lease, open): (AtEnd, OpenSideOf) = (kill_own_process, OpenPort::open);
        Self {
            rules,
            environment,
            kind_of,
            host,
            line,
            waits,
            spool,
            at_end_of_lease,
            open,
            session: None,
            cpus: Vec::new(),
            port: None,
        }
    }

    /// The same with a folder for reports of trials whose connection is lost, or the reason why there is none.
    pub fn with_spool(self, spool: std::result::Result<Spool, String>) -> Self {
        Self { spool, ..self }
    }

    /// The same with other waits.
    pub fn with_waits(self, waits: Waits) -> Self {
        Self { waits, ..self }
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
        let lease = Lease::start(self.at_end_of_lease)?;
        let (calls, reader) = self.line.read(calls)?;
        let ended = self.answer_all(&calls, &mut answers, &lease);
        drop(calls);
        if self.line.is_lost() {
            // It has nothing more to read, and nobody to pass it on to. Otherwise it sleeps in read(2), and ends with the process.
            let _ = reader.join();
        }
        self.leave_report().map_err(Ended::Unreported)?;
        ended
    }

    fn answer_all(
        &mut self,
        calls: &Receiver<io::Result<Call>>,
        answers: &mut impl Write,
        lease: &Lease,
    ) -> std::result::Result<(), Ended> {
        loop {
            let port = self.port.as_ref();
            let silence = self.waits.lease(port.map_or(Duration::ZERO, OpenPort::armed_for));
            // What a call takes, and its answer. Afterwards a report may be left, which takes no longer.
            let work = self.waits.call(port.map_or(Duration::ZERO, OpenPort::works_for));
            lease.renew(silence.saturating_add(work));
            let call = match calls.recv_timeout(silence) {
                Ok(call) => call?,
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
                Err(RecvTimeoutError::Timeout) => return Err(Ended::Silence(silence)),
            };
            lease.renew(work);
            let answer = match call {
                Ok(request) => Answer::new(request.id, self.call(&request)),
                Err(error) => Answer::new(None, Err(error)),
            };
            let answer = serde_json::to_vec(&answer).map_err(io::Error::other)?;
            match framing::write(answers, &answer) {
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => return Ok(()),
                written => written?,
            }
        }
    }

    /// Leaves what the interface's side can still say. It is free when the next agent can read the report.
    fn leave_report(&mut self) -> io::Result<()> {
        let Some(port) = self.port.take() else { return Ok(()) };
        let (Ok(spool), Some(session)) = (&self.spool, &self.session) else { return Ok(()) };
        port.last_words(self.line.was_cut(), |report| spool.keep(session, report))
    }

    fn call(
        &mut self,
        Request { method, params, .. }: &Request,
    ) -> std::result::Result<Box<RawValue>, ErrorObject> {
        let received_ns = clock::realtime_ns();
        if method == "hello" {
            return answer(self.hello(&parsed(method, params)?)?);
        }
        if self.session.is_none() {
            return Err(Refusal::new(Kind::Usage, format!("{method} before hello")).into());
        }
        match method.as_str() {
            "prepare" => {
                // The side before must have restored its settings.
                self.port = None;
                let prepare: Prepare = parsed(method, params)?;
                let notes = own_work::keep_off(&prepare.measured_cpus, &self.cpus);
                let (port, mut prepared) =
                    (self.open)(prepare, &self.rules, &mut self.host).map_err(|error| self.refusal(error))?;
                self.port = Some(port);
                prepared.notes.extend(notes);
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
                let (line, rules) = (Arc::clone(&self.line), self.rules.clone());
                let port = self.port()?;
                let sent = line.while_sending(|| port.go(go, &rules));
                port.rest();
                let sent = sent.ok_or_else(|| Refusal::new(Kind::Failed, "the connection has ended"))?;
                answer(sent.map_err(|error| self.refusal(error))?)
            }
            "finish" => {
                let finish = parsed(method, params)?;
                let half = self.port()?.finish(finish);
                answer(half.map_err(|error| self.refusal(error))?)
            }
            "report" => answer(self.report(&parsed(method, params)?)?),
            "clock" => {
                let kernel =
                    clock::kernel_clock().map_err(|error| Refusal::new(Kind::Failed, error.to_string()))?;
                answer(time_service::clock_state(&time_service::Programs, kernel))
            }
            "time" => answer(HostTimes { received_ns, answered_ns: clock::realtime_ns() }),
            "abandon" => {
                self.port()?.abandon();
                answer(())
            }
            "release" => {
                self.port = None;
                own_work::keep_off(&BTreeSet::new(), &self.cpus);
                answer(())
            }
            _ => {
                let why = RefusedCall::NoCall { method };
                Err(ErrorObject::new(METHOD_NOT_FOUND, Refusal::new(Kind::Unsupported, why)))
            }
        }
    }

    fn hello(&mut self, greeting: &Greeting) -> Called<crate::message::Hello> {
        if greeting.protocol != PROTOCOL {
            let version = &self.environment.capbench_version;
            let refused = RefusedCall::OtherProtocol { version, controller: greeting.protocol };
            return Err(Refusal::new(Kind::Unsupported, refused));
        }
        if self.session.is_none() {
            self.cpus =
                affinity::allowed_cpus().map_err(|error| self.refusal(LabError::from(error).into()))?;
            if greeting.trace {
                self.host.trace(None);
            }
        }
        self.session = Some(greeting.session.clone());
        let no_report = self.spool.as_ref().err().cloned();
        host::hello(&self.rules, &self.environment, self.cpus.clone(), no_report, self.kind_of)
            .map_err(|error| self.refusal(error.into()))
    }

    /// What was said last of a trial: by this agent, or by the one before it.
    fn report(&mut self, report: &Report) -> Called<Option<Reported>> {
        let own = self.port.as_ref().zip(report.trial).and_then(|(port, trial)| port.reported(trial));
        if own.is_some() || self.port.is_some() {
            return Ok(own);
        }
        let failed = |what: String| Refusal::new(Kind::Failed, what);
        let index = interface::index_of(&report.interface).map_err(|error| failed(error.to_string()))?;
        let patience = report.patience.min(self.waits.lease(self.waits.answer));
        if !lock::is_free_within(index, patience, || self.line.is_lost()) {
            return Err(failed(format!("interface {}: another controller still uses it", report.interface)));
        }
        let (Ok(spool), Some(session)) = (&self.spool, &self.session) else { return Ok(None) };
        spool.take(session, report.trial).map_err(|error| failed(format!("the report of the trial: {error}")))
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

fn parsed<T: DeserializeOwned>(call: &str, params: &RawValue) -> std::result::Result<T, ErrorObject> {
    read(params.get().as_bytes()).map_err(|error| {
        let why = format!("parameters of {call}: {error}");
        ErrorObject::new(INVALID_PARAMS, Refusal::new(Kind::Usage, why))
    })
}

fn answer(value: impl Serialize) -> std::result::Result<Box<RawValue>, ErrorObject> {
    let answered = to_raw_value(&value);
    answered.map_err(|error| Refusal::new(Kind::Failed, format!("an answer: {error}")).into())
}
