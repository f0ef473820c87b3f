//! A running agent as its controller sees it: calls it, notices that it is gone, and starts it again.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use capbench_frames::stamp::TrialId;
use capbench_lab::LabError;
use capbench_model::clocks::ClockState;
use capbench_sys::host::random;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::channel::Channel;
use super::interrupt::{Event, Interrupt};
use crate::error::NoAnswer;
use crate::location::Location;
use crate::message::{Answer, Build, Greeting, Hello, PROTOCOL, Report, Reported, Request, read};
use crate::process::Ended;
use crate::waits::{RECONNECT, Waits};
use crate::{AgentError, Result};

/// Linux delays an acknowledgement by the round trip time and at least 40 ms (tcp_send_delayed_ack of net/ipv4/tcp_output.c).
const DELAYED_ACKNOWLEDGEMENT: Duration = Duration::from_millis(60);

/// It never delays one longer than 200 ms (TCP_DELACK_MAX).
const LONGEST_DELAY: Duration = Duration::from_millis(250);

/// Interval at which a pause checks whether the user wants to stop.
const LOOK_FOR_STOP: Duration = Duration::from_millis(20);

/// How long an answer may take when the user wants to stop: the agent ends sending and receiving early.
const LAST_ANSWER: Duration = Duration::from_secs(5);

/// How an agent is started.
#[derive(Clone, Debug)]
pub struct Start {
    /// Where it is.
    pub location: Location,
    /// Its arguments, where the location leaves its command line open.
    pub arguments: Vec<String>,
    /// Whether it traces its kernel, if it can.
    pub trace: bool,
    /// Reaches it when the user wants to stop.
    pub interrupt: Interrupt,
    /// How long it and its controller wait for each other.
    pub waits: Waits,
}

/// An agent that answers. Dropping it ends the agent.
#[derive(Debug)]
pub struct Connection {
    start: Start,
    /// The same for every agent that is started for this connection.
    session: String,
    channel: Channel,
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
    /// Starts an agent and greets it.
    ///
    /// # Errors
    /// The command cannot be started, or what it starts is no agent of this version.
    pub fn open(start: Start) -> Result<Self> {
        let octets = random::octets().map_err(LabError::from)?;
        let channel = Channel::start(&start.location, &start.arguments, &start.interrupt)?;
        let mut connection = Self {
            start,
            session: octets.iter().map(|octet| format!("{octet:02x}")).collect(),
            channel,
            last_id: 0,
            quickest: Duration::MAX,
            hello: Hello::default(),
            is_lost: false,
        };
        connection.greet()?;
        Ok(connection)
    }

    /// Where the agent is.
    pub fn location(&self) -> &Location {
        &self.start.location
    }

    /// How it introduced itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// How long both ends wait for each other.
    pub fn waits(&self) -> Waits {
        self.start.waits
    }

    /// Whether no further call can succeed until `renew`.
    pub fn is_lost(&self) -> bool {
        self.is_lost
    }

    /// Shows the agent that its controller is there.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn show_life(&mut self) -> Result<()> {
        self.greet()
    }

    fn greet(&mut self) -> Result<()> {
        self.greet_within(self.start.waits.answer)
    }

    fn greet_within(&mut self, patience: Duration) -> Result<()> {
        let greeting = Greeting {
            protocol: PROTOCOL,
            trace: self.start.trace,
            session: self.session.clone(),
            build: Build { version: env!("CARGO_PKG_VERSION").into(), source_hash: None },
        };
        self.hello = self.call("hello", &greeting, patience)?;
        Ok(())
    }

    /// Starts the agent again if it is lost.
    ///
    /// # Errors
    /// It cannot be reached again.
    pub fn revive(&mut self) -> Result<()> {
        if self.is_lost { self.renew(None).map(drop) } else { Ok(()) }
    }

    /// Starts a lost agent again, after each pause of [`RECONNECT`]. Returns when the interface is free, with what the lost agent reported of the
    /// trial. All other agents see meanwhile that their controller is there.
    ///
    /// # Errors
    /// No agent answers; or the lost one keeps the interface.
    pub(super) fn renew(&mut self, trial: Option<TrialId>) -> Result<Option<Reported>> {
        let Waits { answer, .. } = self.start.waits;
        // The lost agent may have noticed nothing: then it ends with its lease.
        let until = Instant::now() + self.start.waits.lease(answer) + answer;
        let mut failure = None;
        for pause in RECONNECT {
            self.keep_others();
            if self.user_stops_within(pause) {
                break;
            }
            match self.restarted().and_then(|()| self.report(trial, until)) {
                Ok(reported) => return Ok(reported),
                Err(error) => {
                    // Who refuses would refuse again.
                    let may_be_better = error.is_out_of_reach();
                    failure = Some(error);
                    if !may_be_better {
                        break;
                    }
                }
            }
        }
        self.is_lost = true;
        Err(failure.unwrap_or_else(|| self.lost("the user wants to stop")))
    }

    fn restarted(&mut self) -> Result<()> {
        let Start { location, arguments, interrupt, waits, .. } = &self.start;
        // Who does not answer soon is tried once more.
        let patience = waits.answer / 2;
        self.channel = Channel::start(location, arguments, interrupt)?;
        (self.is_lost, self.quickest) = (false, Duration::MAX);
        self.greet_within(patience)
    }

    fn report(&mut self, trial: Option<TrialId>, until: Instant) -> Result<Option<Reported>> {
        let Waits { answer, .. } = self.start.waits;
        let left = until.saturating_duration_since(Instant::now());
        let interface = self.location().interface().into();
        let report = Report { trial, interface, patience: left.saturating_sub(answer) };
        self.call("report", &report, left)
    }

    /// Pauses; whether the user wants to stop.
    fn user_stops_within(&self, pause: Duration) -> bool {
        let until = Instant::now() + pause;
        while !self.start.interrupt.is_stopped() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            std::thread::sleep(left.min(LOOK_FOR_STOP));
        }
        true
    }

    /// Shows all other agents that their controller is there. Nobody waits for the answers: call 0 is before every other one.
    fn keep_others(&self) {
        if let Ok(message) = Request::new(Some(0), "time", &()).and_then(|call| serde_json::to_vec(&call)) {
            self.start.interrupt.send_to_others(&message, self.channel.input());
        }
    }

    /// Whether the clock of the agent's host is synchronised, as that host says.
    ///
    /// # Errors
    /// The agent is gone.
    pub fn clock_state(&mut self) -> Result<ClockState> {
        self.call("clock", &(), self.start.waits.answer)
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
        std::thread::sleep(self.settling());
    }

    /// How long a connection over TCP may delay the acknowledgement of a message; 0 without a network.
    pub fn settling(&self) -> Duration {
        if !self.location().may_use_a_network() {
            return Duration::ZERO;
        }
        self.quickest.saturating_add(DELAYED_ACKNOWLEDGEMENT).min(LONGEST_DELAY)
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
        let (mut deadline, mut is_last) = (Instant::now() + patience, false);
        let between = self.start.waits.between_signs_of_life();
        let too_late = |is_last| match is_last {
            true => NoAnswer::AfterStop { call, patience: patience.min(LAST_ANSWER) }.to_string(),
            false => NoAnswer::InTime { call, patience }.to_string(),
        };
        loop {
            // Neither a new agent nor one that waits for the lost one has anything to end early.
            if self.start.interrupt.is_stopped() && matches!(call, "hello" | "report") {
                return Err(self.lost("the user wants to stop"));
            }
            if self.start.interrupt.is_stopped() && !is_last {
                is_last = true;
                deadline = deadline.min(Instant::now() + LAST_ANSWER);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            // While frames are sent, nobody shows life.
            let keeps_others = call != "go" && left > between;
            let octets = match self.channel.next(if keeps_others { between } else { left }) {
                Ok(Event::Message(Ok(Some(octets)))) => octets,
                Err(RecvTimeoutError::Timeout) if keeps_others => {
                    self.keep_others();
                    continue;
                }
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
                    return Err(self.lost(&too_late(is_last)));
                }
            };
            let answer: Answer = read(&octets).map_err(|error| self.odd(call, &error))?;
            // An answer to an earlier call that was given up is no answer to this one.
            if answer.id.is_some_and(|answered| answered < id) {
                // Nor does it make the controller wait for longer, however many there are.
                if left.is_zero() {
                    return Err(self.lost(&too_late(is_last)));
                }
                continue;
            }
            let location = self.location().to_string();
            return match answer.error {
                Some(error) => Err(match error.data {
                    Some(refusal) => AgentError::Refused { location, refusal },
                    None => AgentError::Protocol { location, call, reason: error.message },
                }),
                None => read(answer.result.unwrap_or_default().get().as_bytes())
                    .map_err(|error| self.odd(call, &error)),
            };
        }
    }

    fn send(&mut self, id: Option<u64>, call: &'static str, params: &impl Serialize) -> Result<()> {
        let request = Request::new(id, call, params).map_err(|error| self.odd(call, &error))?;
        let octets = serde_json::to_vec(&request).map_err(|error| self.odd(call, &error))?;
        self.channel.send(&octets).map_err(|_| self.lost(&format!("the agent ended before {call}")))
    }

    fn odd(&self, call: &'static str, error: &serde_json::Error) -> AgentError {
        AgentError::Protocol { location: self.location().to_string(), call, reason: error.to_string() }
    }

    /// The connection is over: says why, as far as the agent's command said it.
    fn lost(&mut self, what: &str) -> AgentError {
        self.is_lost = true;
        let Ended { status, complaint } = self.channel.end(self.start.interrupt.is_stopped());
        let status_text = status.map_or(String::new(), |status| format!(" ({status})"));
        let complaint_text = if complaint.is_empty() { String::new() } else { format!(": {complaint}") };
        AgentError::Lost {
            location: self.location().to_string(),
            reason: format!("{what}{status_text}{complaint_text}"),
            exit_code: status.and_then(|status| u8::try_from(status.code()?).ok()),
        }
    }
}
