//! A server of the API as the generators on its ports share it: one configuration, and one start of all flows.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use capbench_frames::stamp::TrialId;
use capbench_http::HttpConfig;
use serde_json::Value;

use super::api::{Api, PortMetric, Version};
use crate::waits::{RECONNECT, Waits};
use crate::{AgentError, Result};

/// Interval at which a wait checks whether the user wants to stop.
const LOOK_FOR_STOP: Duration = Duration::from_millis(20);

/// How long an answer may take once the user wants to stop, and at the end of the run.
const AT_THE_END: Duration = Duration::from_secs(3);

/// A server with the ports of this run.
#[derive(Debug)]
pub(super) struct Server {
    api: Arc<Api>,
    version: Version,
    stop: Arc<AtomicBool>,
    state: Mutex<State>,
    /// The trial that was started last, and when. Generators of a trial begin together: the first one starts it.
    started: Mutex<Option<(TrialId, Instant)>>,
}

#[derive(Debug, Default)]
struct State {
    ports: Vec<Port>,
    /// Whether no answer came to the last request.
    is_lost: bool,
}

/// A port, and the flow that it sends in a trial.
#[derive(Debug)]
struct Port {
    location: String,
    flow: Option<(TrialId, Value)>,
}

impl Server {
    /// Asks who serves.
    ///
    /// # Errors
    /// The server cannot be reached, or its files of TLS and passwords cannot be used.
    pub(super) fn open(url: &str, config: &HttpConfig, waits: Waits, stop: Arc<AtomicBool>) -> Result<Self> {
        let api = Arc::new(Api::new(url, config, waits.answer)?);
        let (state, started) = (Mutex::default(), Mutex::default());
        let mut server = Self { api, version: Version::default(), stop, state, started };
        server.version = server.ask(Api::version)?;
        Ok(server)
    }

    /// Where it is.
    pub(super) fn url(&self) -> &str {
        self.api.url()
    }

    /// What it says of itself.
    pub(super) fn version(&self) -> &Version {
        &self.version
    }

    /// Whether the user wants to stop.
    pub(super) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Whether no answer came to the last request.
    pub(super) fn is_lost(&self) -> bool {
        self.state().is_lost
    }

    /// Takes one more of its ports. Returns its number.
    ///
    /// # Errors
    /// The server refuses the port, or cannot be reached.
    pub(super) fn add_port(&self, location: &str) -> Result<usize> {
        let number = {
            let mut state = self.state();
            state.ports.push(Port { location: location.into(), flow: None });
            state.ports.len() - 1
        };
        self.configure().map(|_| number)
    }

    /// Sets the flow that a port sends in a trial. Ports send nothing any more that have flows of other trials. Returns warnings of
    /// the server.
    ///
    /// # Errors
    /// The server refuses the flow, or cannot be reached.
    pub(super) fn set_flow(&self, port: usize, trial: TrialId, flow: Value) -> Result<Vec<String>> {
        let mut state = self.state();
        let is_old = |flow: &mut (TrialId, Value)| flow.0 != trial;
        state.ports.iter_mut().for_each(|port| drop(port.flow.take_if(is_old)));
        state.ports[port].flow = Some((trial, flow));
        drop(state);
        self.configure()
    }

    fn configure(&self) -> Result<Vec<String>> {
        let flow = |port: &Port| port.flow.as_ref().map(|(_, flow)| flow.clone());
        let ports: Vec<_> =
            self.state().ports.iter().map(|port| (port.location.clone(), flow(port))).collect();
        self.ask(move |api| api.configure(&ports))
    }

    /// Starts the flows of all ports, once for each trial. Returns when they began.
    ///
    /// # Errors
    /// The server cannot, or cannot be reached.
    pub(super) fn start(&self, trial: TrialId) -> Result<Instant> {
        let mut last = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, began)) = last.filter(|(started, _)| *started == trial) {
            return Ok(began);
        }
        self.ask(|api| api.transmit("start"))?;
        let began = Instant::now();
        *last = Some((trial, began));
        Ok(began)
    }

    /// Ends all flows.
    ///
    /// # Errors
    /// The server cannot be reached.
    pub(super) fn stop(&self) -> Result<()> {
        self.ask(|api| api.transmit("stop"))
    }

    /// What a port sent since the last start.
    ///
    /// # Errors
    /// The server cannot be reached, or has no row of the port.
    pub(super) fn metric(&self, port: usize) -> Result<PortMetric> {
        self.ask(move |api| api.metric(port))
    }

    /// Asks after each pause of [`RECONNECT`] whether it is there again, if it could not be reached.
    ///
    /// # Errors
    /// It still cannot be.
    pub(super) fn revive(&self) -> Result<()> {
        let mut pauses = RECONNECT.into_iter();
        while self.is_lost() {
            match (self.ask(Api::version), pauses.next()) {
                (Ok(_), _) => {}
                (Err(_), Some(pause)) if !self.is_stopped() => self.pause(pause),
                (Err(error), _) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits, unless the user wants to stop.
    pub(super) fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        while !self.is_stopped() && Instant::now() < until {
            thread::sleep(LOOK_FOR_STOP.min(until.saturating_duration_since(Instant::now())));
        }
    }

    /// Shows the server that somebody uses its ports.
    ///
    /// # Errors
    /// It cannot be reached.
    pub(super) fn show_life(&self) -> Result<()> {
        self.ask(Api::version).map(drop)
    }

    fn ask<T: Send + 'static>(&self, request: impl FnOnce(&Api) -> Result<T> + Send + 'static) -> Result<T> {
        let answer = self.answer(request, None);
        self.state().is_lost = answer.as_ref().is_err_and(AgentError::is_out_of_reach);
        answer
    }

    /// Waits for an answer up to so long; absent: as long as the client does, or a little once the user wants to stop.
    fn answer<T: Send + 'static>(
        &self,
        request: impl FnOnce(&Api) -> Result<T> + Send + 'static,
        most: Option<Duration>,
    ) -> Result<T> {
        let (api, (sender, receiver)) = (Arc::clone(&self.api), sync_channel(1));
        // It ends with the request: the client bounds its time.
        thread::spawn(move || sender.send(request(&api)).unwrap_or_default());
        let mut until = most.map(|most| Instant::now() + most);
        loop {
            match receiver.recv_timeout(LOOK_FOR_STOP) {
                Ok(answer) => return answer,
                Err(RecvTimeoutError::Timeout) if until.is_none_or(|until| Instant::now() < until) => {
                    if until.is_none() && self.is_stopped() {
                        until = Some(Instant::now() + AT_THE_END);
                    }
                }
                Err(_) => return Err(self.api.lost(format!("no answer within {AT_THE_END:?}"))),
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Who cannot be reached keeps the ports until its own lease ends.
        if !self.is_lost() {
            let _ = self.answer(Api::clear, Some(AT_THE_END));
        }
    }
}
