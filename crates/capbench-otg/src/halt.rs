//! Ends what is sent at once, without the session: a request may hold the session for as long as an engine hangs.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use crate::connection::Requests;
use crate::sending::Shared;

/// Everything that sends for a server or an engine. Copies are the same.
#[derive(Clone, Debug, Default)]
pub struct Halt(Arc<Mutex<Senders>>);

#[derive(Debug, Default)]
struct Senders {
    /// Starts of flows here.
    runs: Vec<Weak<Shared>>,
    /// Connections to engines elsewhere.
    engines: Vec<Weak<Requests>>,
    /// Whether nothing is to be sent any more.
    has_ended: bool,
}

impl Halt {
    /// Adds a start of flows.
    pub fn add_run(&self, run: &Arc<Shared>) {
        let mut senders = self.senders();
        if senders.has_ended {
            run.halt(&[]);
        }
        senders.runs.retain(|run| run.strong_count() > 0);
        senders.runs.push(Arc::downgrade(run));
    }

    /// Adds the connection to an engine elsewhere.
    pub fn add_engine(&self, engine: &Arc<Requests>) {
        let mut senders = self.senders();
        if senders.has_ended {
            engine.close();
        }
        senders.engines.retain(|engine| engine.strong_count() > 0);
        senders.engines.push(Arc::downgrade(engine));
    }

    /// Ends flows with these names, or all. Returns whether one was sent, or may be elsewhere.
    pub fn flows(&self, names: &[String]) -> bool {
        let senders = self.senders();
        let runs: Vec<_> = senders.runs.iter().filter_map(Weak::upgrade).collect();
        let engines: Vec<_> = senders.engines.iter().filter_map(Weak::upgrade).collect();
        let is_sent = !engines.is_empty() || runs.iter().any(|run| !run.is_over());
        runs.iter().for_each(|run| run.halt(names));
        engines.iter().for_each(|engine| engine.halt(names));
        is_sent
    }

    /// Ends all flows, and those that start afterwards. Engines elsewhere end.
    pub fn end(&self) {
        let mut senders = self.senders();
        senders.has_ended = true;
        senders.runs.iter().filter_map(Weak::upgrade).for_each(|run| run.halt(&[]));
        senders.engines.iter().filter_map(Weak::upgrade).for_each(|engine| engine.close());
    }

    fn senders(&self) -> MutexGuard<'_, Senders> {
        // Held for a few lines only.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
