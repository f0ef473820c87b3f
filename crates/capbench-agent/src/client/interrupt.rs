//! Tells running agents that the user wants to stop, also while their controller waits for an answer.

use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};

/// What a controller waits for.
#[derive(Debug)]
pub(super) enum Event {
    /// A message of the agent, or the end of its output (`None`).
    Message(std::io::Result<Option<Vec<u8>>>),
    /// The user wants to stop.
    Stop,
}

/// Reaches every connection that was opened with it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(Arc<Mutex<Vec<Sender<Event>>>>);

impl Interrupt {
    /// Tells the agents to end sending and receiving early.
    pub fn stop(&self) {
        // A connection that is gone does not listen any more.
        self.connections().retain(|connection| connection.send(Event::Stop).is_ok());
    }

    pub(super) fn reach(&self, connection: Sender<Event>) {
        self.connections().push(connection);
    }

    fn connections(&self) -> std::sync::MutexGuard<'_, Vec<Sender<Event>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
