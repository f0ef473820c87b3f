//! For which client flows and captures run, and how long without a request from there.

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Session;
use crate::error::{OtgError, Result};
use crate::halt::Halt;
use crate::messages::Request;

/// Time for a session that no request has to end the flows itself.
const GRACE: Duration = Duration::from_millis(500);

/// The lease of the client for whom flows and captures run. Copies are the same: a request renews it before it waits for the
/// session.
#[derive(Clone, Debug)]
pub struct Lease {
    time: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// The client and its last request.
    holder: Option<(IpAddr, Instant)>,
    /// Whether flows of it were ended, and the session does not know it yet.
    is_halted: bool,
}

impl Lease {
    /// Without a client.
    pub fn new(time: Duration) -> Self {
        Self { time, state: Arc::default() }
    }

    /// Notes a request: it renews the lease of the client for whom flows and captures run.
    pub fn note_request(&self, client: IpAddr) {
        if let Some((holder, last)) = &mut self.state().holder
            && *holder == client
        {
            *last = Instant::now();
        }
    }

    /// Whether flows and captures run for this client.
    pub fn is_of(&self, client: IpAddr) -> bool {
        self.state().holder.is_some_and(|(holder, _)| holder == client)
    }

    /// Ends what is sent for a client that sends no request any more, while a request may have the session.
    pub fn halt_if_over(&self, halt: &Halt) {
        let mut state = self.state();
        if state.holder.is_some_and(|(_, last)| last.elapsed() >= self.time + GRACE) {
            state.is_halted |= halt.flows(&[]);
        }
    }

    fn hold(&self, client: IpAddr) {
        *self.state() = State { holder: Some((client, Instant::now())), is_halted: false };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// Refuses what would change what runs for another client, as long as it sends requests.
    pub(super) fn hold(&mut self, client: IpAddr, preempts: bool) -> Result<()> {
        let holder = self.lease.state().holder;
        if let Some((holder, last)) = holder
            && holder != client
            && !preempts
            && self.is_busy()
        {
            let left = self.lease.time.saturating_sub(last.elapsed()).as_secs();
            return Err(OtgError::Conflict(format!(
                "flows or captures run for {holder}, for another {left} s without a request from there (--lease); wait, or set \
                 options.port_options.location_preemption"
            )));
        }
        self.lease.hold(client);
        Ok(())
    }

    /// Whether flows are sent, ports captured or links set down.
    fn is_busy(&mut self) -> bool {
        self.read();
        self.flows.iter().any(|flow| self.is_sent(flow))
            || self.ports.iter().any(|port| port.reading.is_capturing || port.reading.is_held_down)
    }

    /// Ends flows and captures.
    pub(super) fn stop(&mut self) {
        let stop = self.present().into_iter().map(|at| (at, Request::Stop));
        if let Err(error) = self.ask(stop) {
            self.warn(error.to_string());
        }
    }

    /// Ends flows and captures whose client sends no request any more. Returns whether there were any.
    pub fn end_lease(&mut self) -> Option<IpAddr> {
        let (holder, last) = self.lease.state().holder?;
        if last.elapsed() < self.lease.time {
            return None;
        }
        if !self.is_busy() && !self.lease.state().is_halted {
            return None;
        }
        self.stop();
        *self.lease.state() = State::default();
        self.warn(format!(
            "flows and captures of {holder} were stopped: no request for {:?} (--lease)",
            self.lease.time
        ));
        Some(holder)
    }
}
