//! A port of the configuration and its engine, which is in this process or in another one.

use std::io::{self, Seek, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use capbench_agent::location::Location;

use crate::capture_folder::CaptureFolder;
use crate::connection::{Connection, PATIENCE, Pending};
use crate::engine::{Answered, Engine, Options};
use crate::error::{OtgError, Result};
use crate::halt::Halt;
use crate::messages::{Answer, Opened, Reading, Request, RunState};
use crate::rates::Rates;

/// A port of the configuration.
#[derive(Debug)]
pub struct ConfiguredPort {
    pub name: String,
    pub location: String,
    /// Whether the configuration has a capture of it.
    pub has_capture: bool,
    /// Whether it counts flows.
    pub counts_flows: bool,
    engine: Place,
    /// What is known since it is open.
    pub opened: Opened,
    /// Octets of memory that the flows that it sends need.
    pub memory: usize,
    /// The last reading.
    pub reading: Reading,
    pub rates: Rates,
}

/// Where the engine of a port is.
#[derive(Debug)]
enum Place {
    Here(Box<Engine>),
    Elsewhere(Connection),
    /// Nowhere, and why.
    Gone(String),
    /// A test has its next answers; after the last one, it is `Done`.
    #[cfg(test)]
    Scripted(std::collections::VecDeque<Result<Answer>>),
}

/// A request whose answer is there or outstanding.
pub enum Asked {
    Answered(Result<Answered>),
    Pending(Pending),
}

impl ConfiguredPort {
    /// Without an engine.
    pub fn new(name: &str, location: &str) -> Self {
        Self {
            name: name.into(),
            location: location.into(),
            has_capture: false,
            counts_flows: false,
            engine: Place::Gone("it is not open".into()),
            opened: Opened::default(),
            memory: 0,
            reading: Reading::default(),
            rates: Rates::default(),
        }
    }

    /// With an engine that has these answers.
    #[cfg(test)]
    pub fn scripted(name: &str, answers: impl IntoIterator<Item = Result<Answer>>) -> Self {
        let engine = Place::Scripted(answers.into_iter().collect());
        Self { engine, ..Self::new(name, name) }
    }

    /// Starts its engine. The configuration has its location at `path`.
    pub fn start(&mut self, location: &Location, path: &str, options: &Options, halt: &Halt) -> Result<()> {
        self.engine = if location.is_here() {
            Place::Here(Box::new(Engine::new(options.clone(), halt.clone())))
        } else {
            let mut words = ["otg", "--agent", "--port", location.interface()].map(String::from).to_vec();
            if options.allowed.isolated {
                words.push("--isolated".into());
            }
            if let Some(rate) = options.allowed.max_rate {
                words.extend(["--max-rate".into(), rate.get().to_string()]);
            }
            words.extend(["--capture-size".into(), options.capture_size.0.to_string()]);
            let connection = Connection::start(location, &words, path)?;
            halt.add_engine(connection.requests());
            Place::Elsewhere(connection)
        };
        Ok(())
    }

    /// Asks its engine.
    pub fn ask(&mut self, request: Request) -> Asked {
        match &mut self.engine {
            Place::Here(engine) => Asked::Answered(engine.answer(request)),
            Place::Elsewhere(connection) => match connection.ask(request) {
                Ok(pending) => Asked::Pending(pending),
                Err(error) => Asked::Answered(Err(error)),
            },
            Place::Gone(why) => Asked::Answered(Err(OtgError::Conflict(format!(
                "port {}: {} is lost: {why}; set the configuration again",
                self.name, self.location
            )))),
            #[cfg(test)]
            Place::Scripted(answers) => {
                Asked::Answered(answers.pop_front().unwrap_or(Ok(Answer::Done)).map(Answered::Now))
            }
        }
    }

    /// Waits for an answer until then. Without one, the engine is lost, and its flows are over.
    pub fn wait(&mut self, asked: Asked, until: Instant) -> Result<Answer> {
        let pending = match asked {
            Asked::Answered(Ok(Answered::Now(answer))) => return Ok(answer),
            Asked::Answered(Ok(Answered::Octets(_))) => return Ok(Answer::Done),
            Asked::Answered(Err(error)) => return Err(error),
            Asked::Pending(pending) => pending,
        };
        match pending.wait(until, 0, &mut std::io::sink()) {
            Ok(answer) => Ok(answer),
            Err(OtgError::Lost { path, location, .. }) => {
                let reason = self.lose();
                Err(OtgError::Lost { path, location, reason })
            }
            Err(error) => Err(error),
        }
    }

    fn lose(&mut self) -> String {
        let gone = Place::Gone("it is not open".into());
        let reason = match std::mem::replace(&mut self.engine, gone) {
            Place::Here(_) => "it has ended".into(),
            Place::Elsewhere(connection) => connection.lose(),
            Place::Gone(why) => why,
            #[cfg(test)]
            Place::Scripted(_) => "the script has ended".into(),
        };
        self.engine = Place::Gone(reason.clone());
        let mut sent = std::mem::take(&mut self.reading.sent);
        sent.values_mut().for_each(|sent| sent.state = RunState::Over(Duration::MAX));
        self.reading = Reading { sent, flaw: Some(reason.clone()), ..Reading::default() };
        reason
    }

    /// Whether its engine has ended before its time: then its counts are unknown.
    pub fn is_lost(&self) -> bool {
        matches!(self.engine, Place::Gone(_))
    }

    /// Closes the connection to an engine elsewhere, which then ends.
    pub fn hang_up(&mut self) {
        if let Place::Elsewhere(connection) = &mut self.engine {
            connection.hang_up();
        }
    }
}

impl Asked {
    /// Writes the octets of a capture: up to so many. It needs no session. Those of an engine elsewhere come first into a file of
    /// this folder: the engine must not wait for the client.
    pub fn write(self, most: u64, folder: &Path, to: &mut dyn Write) -> Result<()> {
        let pending = match self {
            Self::Answered(Ok(Answered::Octets(write))) => return write(to),
            Self::Answered(Ok(Answered::Now(_))) => return Ok(()),
            Self::Answered(Err(error)) => return Err(error),
            Self::Pending(pending) => pending,
        };
        let failed = |source| OtgError::System { what: "a capture of another host cannot be kept", source };
        let folder = CaptureFolder::below(folder).map_err(failed)?;
        let mut file = folder.create().map_err(failed)?;
        pending.wait(Instant::now() + PATIENCE, most, &mut file)?;
        file.rewind().and_then(|()| io::copy(&mut file, to)).map_err(failed)?;
        Ok(())
    }
}
