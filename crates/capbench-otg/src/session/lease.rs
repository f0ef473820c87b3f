//! For which client flows and captures run, and how long without a request from there.

use std::net::IpAddr;
use std::time::{Duration, Instant};

use super::Session;
use crate::error::{OtgError, Result};
use crate::messages::Request;

/// The lease of the client for whom flows and captures run.
#[derive(Debug)]
pub(super) struct Lease {
    time: Duration,
    /// The client and its last request.
    holder: Option<(IpAddr, Instant)>,
}

impl Lease {
    pub(super) fn new(time: Duration) -> Self {
        Self { time, holder: None }
    }
}

impl Session {
    /// Notes a request: it renews the lease of the client for whom flows and captures run.
    pub fn note_request(&mut self, client: IpAddr) {
        if let Some((holder, last)) = &mut self.lease.holder
            && *holder == client
        {
            *last = Instant::now();
        }
    }

    /// Refuses what would change what runs for another client, as long as it sends requests.
    pub(super) fn hold(&mut self, client: IpAddr, preempts: bool) -> Result<()> {
        if let Some((holder, last)) = self.lease.holder
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
        self.lease.holder = Some((client, Instant::now()));
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
        let (holder, last) = self.lease.holder?;
        if last.elapsed() < self.lease.time || !self.is_busy() {
            return None;
        }
        self.stop();
        self.lease.holder = None;
        self.warn(format!(
            "flows and captures of {holder} were stopped: no request for {:?} (--lease)",
            self.lease.time
        ));
        Some(holder)
    }
}
