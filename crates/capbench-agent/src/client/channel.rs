//! The connection to an agent: what this process sends to its standard input, and the messages of its standard output.

use std::io::{self, BufRead, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::interrupt::{Event, Input, Interrupt, locked};
use crate::location::Location;
use crate::process::{Ended, Process};
use crate::{Result, framing};

/// Most messages of an agent that nobody has read yet: after them, the agent waits. Few, because each may be as long as
/// [`framing::MOST_OCTETS`]. A calm agent has one.
const UNREAD: usize = 8;

/// The connection. Dropping it ends the agent.
#[derive(Debug)]
pub(super) struct Channel {
    process: Process,
    input: Input,
    events: Receiver<Event>,
}

impl Channel {
    /// Starts the command of a location. `arguments` are for an agent whose command line the location leaves open.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn start(location: &Location, arguments: &[String], interrupt: &Interrupt) -> Result<Self> {
        let words: Vec<_> = std::iter::once("agent".into()).chain(arguments.iter().cloned()).collect();
        let (process, input, output) = Process::start(location, &words)?;
        let (sender, events) = sync_channel(UNREAD);
        let input = Arc::new(Mutex::new(Some(input)));
        interrupt.reach(sender.clone(), &input);
        std::thread::spawn(move || read_messages(BufReader::new(output), &sender));
        Ok(Self { process, input, events })
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

    /// Closes the agent's input and waits for its end, for a while: a short one if the user waits.
    pub(super) fn end(&mut self, is_awaited_by_user: bool) -> Ended {
        self.close();
        self.process.end(is_awaited_by_user)
    }

    fn close(&mut self) {
        *locked(&self.input) = None;
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
