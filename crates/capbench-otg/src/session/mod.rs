//! What the server does for its clients: the configuration, and the flows and captures that run.
//!
//! | file | content |
//! |---|---|
//! | `config` | sets and updates the configuration |
//! | `control` | starts and stops flows and captures, sets links |
//! | `lease` | for which client something runs, and how long |
//! | `port` | a port and its engine |

mod config;
mod control;
mod lease;
mod port;

use std::collections::{BTreeSet, HashSet};
use std::time::{Duration, Instant};

use capbench_frames::TrialId;

use crate::connection::PATIENCE;
use crate::engine::Options;
use crate::error::{OtgError, Result};
use crate::halt::Halt;
use crate::messages::{Answer, Reading, Received, Request, RunState, Sent};
use crate::model::answers::Warnings;
use crate::model::flow::Flow as FlowConfig;
use crate::model::text::ConfigText;
use crate::rates::Rates;
pub use lease::Lease;
pub use port::{Asked, ConfiguredPort};

/// How long frames are awaited that were sent and did not arrive: a flow without a frame for so long has stopped.
const QUIET: Duration = Duration::from_millis(500);

/// Largest number of warnings that wait for an answer: nobody asks, and a port warns again and again.
const MOST_WARNINGS: usize = 1000;

/// The state of the server.
#[derive(Debug)]
pub struct Session {
    options: Options,
    /// The configuration as the client wrote it.
    text: ConfigText,
    pub(crate) ports: Vec<ConfiguredPort>,
    pub(crate) flows: Vec<Flow>,
    /// The trial of the last start.
    last_trial: u16,
    lease: Lease,
    halt: Halt,
    /// Warnings that no answer has had yet.
    warnings: Vec<String>,
}

/// A flow of the configuration.
#[derive(Debug)]
pub struct Flow {
    /// Its number.
    pub(crate) number: usize,
    pub(crate) config: FlowConfig,
    /// Numbers of its ports.
    pub(crate) transmitter: usize,
    pub(crate) receivers: Vec<usize>,
    /// Its number among the flows of its transmitter that have metrics.
    stream: usize,
    /// The trial of its last start; absent: it never ran.
    trial: Option<TrialId>,
    pub(crate) rates: Rates,
}

impl Flow {
    /// Whether it was started since the configuration is set.
    pub(crate) fn has_run(&self) -> bool {
        self.trial.is_some()
    }
}

/// What a flow does (`Flow.Metric.transmit`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlowState {
    Started,
    Stopped,
    Paused,
}

impl FlowState {
    /// Its name in the model.
    pub fn name(self) -> &'static str {
        match self {
            Self::Started => "started",
            Self::Stopped => "stopped",
            Self::Paused => "paused",
        }
    }
}

impl Session {
    /// Without a configuration. Others can read the lease and end what is sent, while a request has the session.
    pub fn new(options: Options, lease: Lease, halt: Halt) -> Self {
        let seed = capbench_sys::host::clock::realtime_ns();
        Self {
            lease,
            halt,
            options,
            text: ConfigText::default(),
            ports: Vec::new(),
            flows: Vec::new(),
            // Frames of another server's flows are not taken for ours.
            last_trial: seed as u16,
            warnings: Vec::new(),
        }
    }

    /// Adds a warning for the next answer, if there is room.
    fn warn(&mut self, warning: String) {
        match self.warnings.len() {
            ..MOST_WARNINGS => self.warnings.push(warning),
            MOST_WARNINGS => {
                self.warnings.push(format!("more than {MOST_WARNINGS} warnings; others are left out"));
            }
            _ => {}
        }
    }

    /// Waits for the answer of a port until then, and notes that it is lost.
    fn wait(&mut self, at: usize, asked: Asked, until: Instant) -> Result<Answer> {
        let port = &mut self.ports[at];
        let mut answer = port.wait(asked, until);
        if let Err(OtgError::Lost { path, location, reason }) = &mut answer {
            *path = format!("ports[{at}].location");
            let warning = format!(
                "port {}: {location} is lost: {reason}; its flows and captures are over, and the next configuration starts it \
                 again",
                port.name
            );
            self.warn(warning);
        }
        answer
    }

    /// Asks ports at once, and waits for all of them: engines that hang take no longer than one. Returns all answers.
    fn answers(
        &mut self,
        requests: impl IntoIterator<Item = (usize, Request)>,
        patience: Duration,
    ) -> Vec<(usize, Result<Answer>)> {
        let asked: Vec<_> =
            requests.into_iter().map(|(at, request)| (at, self.ports[at].ask(request))).collect();
        let until = Instant::now() + patience;
        asked.into_iter().map(|(at, asked)| (at, self.wait(at, asked, until))).collect()
    }

    /// The same. Returns the first failure.
    fn ask(&mut self, requests: impl IntoIterator<Item = (usize, Request)>) -> Result<Vec<(usize, Answer)>> {
        let answers = self.answers(requests, PATIENCE);
        answers.into_iter().map(|(at, answer)| Ok((at, answer?))).collect()
    }

    /// The ports that are not lost.
    fn present(&self) -> Vec<usize> {
        (0..self.ports.len()).filter(|at| !self.ports[*at].is_lost()).collect()
    }

    /// Reads counts and states of all ports. What arrived of a flow is read before what was sent of it: a frame that was received
    /// was also sent.
    pub(crate) fn read(&mut self) {
        for (at, reading) in self.readings(self.present()) {
            self.ports[at].reading = reading;
        }
        let sending = self.flows.iter().filter(|flow| self.is_sent(flow)).map(|flow| flow.transmitter);
        let sending: BTreeSet<_> = sending.collect();
        for (at, reading) in self.readings(sending) {
            let kept = &mut self.ports[at].reading;
            *kept = Reading { received: std::mem::take(&mut kept.received), ..reading };
        }
    }

    /// What these ports read now. Their warnings are noted.
    fn readings(&mut self, ports: impl IntoIterator<Item = usize>) -> Vec<(usize, Reading)> {
        let mut readings = Vec::new();
        for (at, answer) in self.answers(ports.into_iter().map(|at| (at, Request::Read)), PATIENCE) {
            match answer {
                Ok(Answer::Reading(mut reading)) => {
                    std::mem::take(&mut reading.warnings).into_iter().for_each(|warning| self.warn(warning));
                    readings.push((at, *reading));
                }
                Ok(_) => self.warn(format!("port {}: no reading", self.ports[at].name)),
                // A lost port has its warning.
                Err(OtgError::Lost { .. }) => {}
                Err(error) => self.warn(format!("port {}: {error}", self.ports[at].name)),
            }
        }
        readings
    }

    /// The number of a port.
    fn port(&self, name: &str, path: &str) -> Result<usize> {
        let at = self.ports.iter().position(|port| port.name == name);
        at.ok_or_else(|| OtgError::NoSuch { path: path.into(), kind: "port", name: name.into() })
    }

    /// The numbers of ports with these names.
    pub(crate) fn named(&self, names: &[String], path: &str) -> Result<Vec<usize>> {
        all_different(names.iter().map(|name| self.port(name, path)), path)
    }

    /// The numbers of flows with these names.
    pub(crate) fn flows_named(&self, names: &[String], path: &str) -> Result<Vec<usize>> {
        let find = |name: &String| {
            let at = self.flows.iter().position(|flow| flow.config.name == *name);
            at.ok_or_else(|| OtgError::NoSuch { path: path.into(), kind: "flow", name: name.clone() })
        };
        all_different(names.iter().map(find), path)
    }

    /// What was sent of the last run of a flow.
    pub(crate) fn sent(&self, flow: &Flow) -> Option<&Sent> {
        let sent = self.ports[flow.transmitter].reading.sent.get(&flow.number)?;
        Some(sent).filter(|sent| Some(sent.trial) == flow.trial)
    }

    /// What a port received of the last run of a flow; absent: nothing.
    pub(crate) fn received(&self, flow: &Flow, at: usize) -> Option<&Received> {
        let received = self.ports[at].reading.received.get(&flow.number)?;
        Some(received).filter(|received| received.tally.trial == flow.trial)
    }

    /// What a flow does, by the last reading. It is stopped when its frames were sent and all have arrived, or none does any more.
    pub(crate) fn state(&self, flow: &Flow) -> FlowState {
        let Some(sent) = self.sent(flow) else { return FlowState::Stopped };
        let over = match sent.state {
            RunState::Sends => return FlowState::Started,
            RunState::Pauses => return FlowState::Paused,
            RunState::Over(over) => over,
        };
        let received: Vec<_> = flow.receivers.iter().filter_map(|at| self.received(flow, *at)).collect();
        let expected = sent.frames as f64 * flow.config.metrics.expected_ratio(flow.receivers.len());
        let has_all = received.iter().map(|received| received.tally.frames as f64).sum::<f64>() >= expected;
        let is_quiet = received.iter().map(|received| received.quiet).fold(over, Duration::min) >= QUIET;
        let is_counted = flow.config.metrics.enable && !flow.receivers.is_empty();
        if !is_counted || has_all || is_quiet { FlowState::Stopped } else { FlowState::Started }
    }

    /// Whether frames of a flow are sent, by the last reading.
    pub(crate) fn is_sent(&self, flow: &Flow) -> bool {
        self.sent(flow).is_some_and(|sent| !matches!(sent.state, RunState::Over(_)))
    }

    /// Warnings that no answer has had yet, with flaws of receivers.
    fn take_warnings(&mut self) -> Warnings {
        self.read();
        let mut warnings = std::mem::take(&mut self.warnings);
        for port in self.ports.iter().filter(|port| !port.is_lost()) {
            if let Some(flaw) = &port.reading.flaw {
                warnings.push(format!("port {}: no exact counts of received frames: {flaw}", port.name));
            }
        }
        Warnings { warnings }
    }
}

/// The numbers of named things, each once.
fn all_different(numbers: impl Iterator<Item = Result<usize>>, path: &str) -> Result<Vec<usize>> {
    let mut known = HashSet::new();
    numbers
        .map(|number| {
            let number = number?;
            let is_new = known.insert(number);
            if is_new { Ok(number) } else { Err(OtgError::invalid(path, "a name is there twice")) }
        })
        .collect()
}

#[cfg(test)]
mod tests;
