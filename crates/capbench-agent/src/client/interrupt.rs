//! Reaches the running agents of a controller: when the user wants to stop, also while it waits for an answer; and with a sign of
//! life, while it waits for one of them.

use std::process::ChildStdin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::framing;

/// What a controller waits for.
#[derive(Debug)]
pub(super) enum Event {
    /// A message of the agent, or the end of its output (`None`).
    Message(std::io::Result<Option<Vec<u8>>>),
    /// The user wants to stop.
    Stop,
}

/// The standard input of an agent; `None` once it was closed.
pub(super) type Input = Arc<Mutex<Option<ChildStdin>>>;

/// A running agent.
#[derive(Debug)]
struct Agent {
    events: SyncSender<Event>,
    input: Weak<Mutex<Option<ChildStdin>>>,
}

/// Reaches every connection that was opened with it. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    agents: Arc<Mutex<Vec<Agent>>>,
    is_stopped: Arc<AtomicBool>,
}

impl Interrupt {
    /// Tells the agents to end sending and receiving early.
    pub fn stop(&self) {
        self.is_stopped.store(true, Ordering::SeqCst);
        // A connection that is gone does not listen any more. One with a full queue is not waiting, or its agent says what nobody
        // asked for.
        self.agents().retain(|agent| {
            !matches!(agent.events.try_send(Event::Stop), Err(TrySendError::Disconnected(_)))
        });
    }

    /// Whether the user wants to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.is_stopped.load(Ordering::SeqCst)
    }

    pub(super) fn reach(&self, events: SyncSender<Event>, input: &Input) {
        self.agents().push(Agent { events, input: Arc::downgrade(input) });
    }

    /// Sends a message to all agents but the one with this input. What cannot be sent, the next call to that agent says.
    pub(super) fn send_to_others(&self, message: &[u8], own: &Input) {
        let mut agents = self.agents();
        agents.retain(|agent| agent.input.strong_count() > 0);
        let inputs = agents.iter().filter_map(|agent| agent.input.upgrade());
        for input in inputs.filter(|input| !Arc::ptr_eq(input, own)) {
            if let Some(input) = &mut *locked(&input) {
                let _ = framing::write(input, message);
            }
        }
    }

    fn agents(&self) -> MutexGuard<'_, Vec<Agent>> {
        locked(&self.agents)
    }
}

pub(super) fn locked<T>(value: &Mutex<T>) -> MutexGuard<'_, T> {
    value.lock().unwrap_or_else(PoisonError::into_inner)
}
