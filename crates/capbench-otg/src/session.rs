//! What the server does for its clients: the configuration, and the flows and captures that run.

use std::collections::HashSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capbench_frames::TrialId;
use capbench_model::units::ByteCount;
use serde_json::Value;

use crate::capturing::Recording;
use crate::error::{OtgError, Result};
use crate::flows::FlowPlan;
use crate::model;
use crate::model::answers::Warnings;
use crate::model::config::{Capture, Config};
use crate::model::flow::{Flow as FlowConfig, TxRx};
use crate::model::requests::{
    CaptureRequest, CaptureState, ConfigUpdate, ControlState, FlowTransmit, Link, LinkState, PortState,
    StartStop, Traffic, Transmit,
};
use crate::ports::{Allowed, Port};
use crate::rates::Rates;
use crate::receiving::{Receiver, Routes};
use crate::sending::{Sending, Started};

/// How long frames are awaited that were sent and did not arrive: a flow without a frame for so long has stopped.
const QUIET: Duration = Duration::from_millis(500);

/// Largest number of flows.
const MOST_FLOWS: usize = 4096;

/// Time for all threads of a start to reach their loops before the first frame.
const HEAD_START: Duration = Duration::from_millis(5);

/// What the server may do, and for how long without a request.
#[derive(Clone, Debug)]
pub struct Options {
    /// The interfaces that clients may use.
    pub allowed: Allowed,
    /// Flows and captures stop when their client sends no request for so long.
    pub lease: Duration,
    /// Largest file of a capture.
    pub capture_size: ByteCount,
    /// Where files of captures are until they are fetched.
    pub capture_folder: PathBuf,
}

impl Options {
    /// Checks that the interfaces exist.
    ///
    /// # Errors
    /// One does not.
    pub fn check(&self) -> Result<()> {
        for interface in &self.allowed.interfaces {
            let found = capbench_host::bed::Side::named(interface);
            found.map_err(|source| OtgError::Host { path: format!("--port {interface}"), source })?;
        }
        Ok(())
    }
}

/// The state of the server.
#[derive(Debug)]
pub struct Session {
    options: Options,
    /// The configuration as the client wrote it.
    value: Value,
    pub(crate) ports: Vec<ConfiguredPort>,
    pub(crate) flows: Vec<Flow>,
    routes: Arc<Routes>,
    /// The trial of the last start.
    last_trial: u16,
    /// The client for whom flows and captures run, and its last request.
    holder: Option<(IpAddr, Instant)>,
    /// Warnings that no answer has had yet.
    warnings: Vec<String>,
}

/// A port with what runs on it.
#[derive(Debug)]
pub struct ConfiguredPort {
    pub(crate) port: Port,
    /// Absent: no flow with metrics is received here.
    pub(crate) receiver: Option<Receiver>,
    capture: Option<Capture>,
    /// Whether a client has set its link down.
    is_link_down: bool,
    pub(crate) recording: Option<Recording>,
    pub(crate) rates: Rates,
}

/// A flow of the configuration.
#[derive(Debug)]
pub struct Flow {
    pub(crate) config: FlowConfig,
    /// Numbers of its ports.
    pub(crate) transmitter: usize,
    pub(crate) receivers: Vec<usize>,
    plan: FlowPlan,
    /// Its number among the flows of its transmitter.
    stream: usize,
    /// Its last run; absent: it never ran.
    pub(crate) run: Option<Started>,
    pub(crate) rates: Rates,
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
    /// Without a configuration.
    pub fn new(options: Options) -> Self {
        let seed = capbench_sys::host::clock::realtime_ns();
        Self {
            options,
            value: Value::Object(serde_json::Map::new()),
            ports: Vec::new(),
            flows: Vec::new(),
            routes: Arc::default(),
            // Frames of another server's flows are not taken for ours.
            last_trial: seed as u16,
            holder: None,
            warnings: Vec::new(),
        }
    }

    /// The configuration.
    pub fn config(&self) -> &Value {
        &self.value
    }

    /// Notes a request: it renews the lease of the client for whom flows and captures run.
    pub fn note_request(&mut self, client: IpAddr) {
        if let Some((holder, last)) = &mut self.holder
            && *holder == client
        {
            *last = Instant::now();
        }
    }

    /// Refuses what would change what runs for another client, as long as it sends requests.
    fn hold(&mut self, client: IpAddr, preempts: bool) -> Result<()> {
        if let Some((holder, last)) = self.holder
            && holder != client
            && !preempts
            && self.is_busy()
        {
            let left = self.options.lease.saturating_sub(last.elapsed()).as_secs();
            return Err(OtgError::Conflict(format!(
                "flows or captures run for {holder}, for another {left} s without a request from there (--lease); wait, or set \
                 options.port_options.location_preemption"
            )));
        }
        self.holder = Some((client, Instant::now()));
        Ok(())
    }

    /// Whether flows are sent, ports captured or links set down.
    fn is_busy(&self) -> bool {
        let is_sending = |flow: &Flow| flow.run.as_ref().is_some_and(|run| !run.is_over());
        self.flows.iter().any(is_sending)
            || self.recordings().any(Recording::is_running)
            || self.ports.iter().any(|port| port.is_link_down)
    }

    fn recordings(&self) -> impl Iterator<Item = &Recording> {
        self.ports.iter().filter_map(|port| port.recording.as_ref())
    }

    /// `POST /config`: ends what runs, and takes a new configuration. One that cannot be read changes nothing; one that cannot be
    /// applied leaves none.
    pub fn set_config(&mut self, octets: &[u8], client: IpAddr) -> Result<Warnings> {
        let (config, mut value): (Config, Value) = model::read(octets)?;
        config.check()?;
        model::config::normalise(&mut value);
        self.hold(client, config.options.port_options.location_preemption)?;
        self.clear();
        let pending = self.warnings.len();
        let applied = self.apply(config);
        match applied {
            Ok(()) => self.value = value,
            Err(_) => {
                // What was to be said of a configuration that is none.
                self.warnings.truncate(pending);
                self.clear();
            }
        }
        applied.map(|()| self.take_warnings())
    }

    /// Ends everything, and forgets the configuration.
    pub fn clear(&mut self) {
        self.stop_all();
        self.flows.clear();
        self.ports.clear();
        self.routes = Arc::default();
        self.value = Value::Object(serde_json::Map::new());
    }

    fn apply(&mut self, config: Config) -> Result<()> {
        if config.flows.len() > MOST_FLOWS {
            return Err(OtgError::invalid("flows", format!("a configuration has up to {MOST_FLOWS} flows")));
        }
        for (number, port) in config.ports.iter().enumerate() {
            let port = Port::open(port, number, &self.options.allowed)?;
            self.ports.push(ConfiguredPort {
                port,
                receiver: None,
                capture: None,
                is_link_down: false,
                recording: None,
                rates: Rates::default(),
            });
        }
        for (number, layer1) in config.layer1.iter().enumerate() {
            for at in self.named(&layer1.port_names, &format!("layer1[{number}].port_names"))? {
                self.ports[at].port.apply(layer1, &mut self.warnings);
            }
        }
        for (number, capture) in config.captures.iter().enumerate() {
            for at in self.named(&capture.port_names, &format!("captures[{number}].port_names"))? {
                self.ports[at].capture = Some(capture.clone());
            }
        }
        for (number, flow) in config.flows.into_iter().enumerate() {
            let flow = self.flow(flow, number)?;
            self.warnings.extend(flow.plan.warning(&format!("flows[{number}]")));
            self.flows.push(flow);
        }
        let measured = self.flows.iter().filter(|flow| flow.config.metrics.enable);
        let receiving: HashSet<_> = measured.flat_map(|flow| flow.receivers.iter().copied()).collect();
        for at in receiving {
            let ConfiguredPort { port, receiver, .. } = &mut self.ports[at];
            *receiver = Some(Receiver::start(port, &self.routes, self.flows.len())?);
        }
        Ok(())
    }

    /// A flow of the configuration, checked.
    fn flow(&self, config: FlowConfig, number: usize) -> Result<Flow> {
        let path = format!("flows[{number}]");
        let TxRx::Port(ends) = &config.tx_rx;
        let find = |name: &str, member: &str| self.port(name, &format!("{path}.tx_rx.port.{member}"));
        let transmitter = find(&ends.tx_name, "tx_name")?;
        let receivers = ends.receivers().map(|name| find(name, "rx_names")).collect::<Result<Vec<_>>>()?;
        if receivers.iter().collect::<HashSet<_>>().len() < receivers.len() {
            let path = format!("{path}.tx_rx.port.rx_names");
            return Err(OtgError::invalid(&path, "a port is there twice"));
        }
        let stream = self.flows.iter().filter(|flow| flow.transmitter == transmitter).count();
        let memory = self.memory_for(number);
        let plan = FlowPlan::new(&config, &self.ports[transmitter].port, stream, memory, &path)?;
        Ok(Flow { config, transmitter, receivers, plan, stream, run: None, rates: Rates::default() })
    }

    /// Octets of memory that the flows other than this one leave.
    fn memory_for(&self, number: usize) -> usize {
        let others = self.flows.iter().enumerate().filter(|(other, _)| *other != number);
        FlowPlan::memory_left_by(others.map(|(_, flow)| &flow.plan))
    }

    /// The number of a port.
    pub(crate) fn port(&self, name: &str, path: &str) -> Result<usize> {
        let at = self.ports.iter().position(|port| port.port.name == name);
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

    /// `PATCH /config`: changes rates or sizes of flows.
    pub fn update_config(&mut self, octets: &[u8], client: IpAddr) -> Result<Warnings> {
        let (ConfigUpdate::Flows(update), value) = model::read(octets)?;
        self.hold(client, false)?;
        for (number, changed) in update.flows.iter().enumerate() {
            let path = format!("flows.flows[{number}]");
            let at = self.flows_named(std::slice::from_ref(&changed.name), &format!("{path}.name"))?[0];
            if self.state(&self.flows[at]) != FlowState::Stopped {
                return Err(OtgError::Conflict(format!(
                    "{path}: capbench changes no flow that is sent; stop {}, change and start it",
                    changed.name
                )));
            }
            let mut config = self.flows[at].config.clone();
            let mut its_value = self.value["flows"][at].clone();
            for property in &update.property_names {
                match property {
                    model::requests::Property::Rate => config.rate = changed.rate.clone(),
                    model::requests::Property::Size => config.size = changed.size.clone(),
                }
                let name = property.name();
                its_value[name] = value["flows"]["flows"][number][name].clone();
            }
            let Flow { transmitter, stream, .. } = self.flows[at];
            let memory = self.memory_for(at);
            let plan = FlowPlan::new(&config, &self.ports[transmitter].port, stream, memory, &path)?;
            self.warnings.extend(plan.warning(&path));
            (self.flows[at].plan, self.flows[at].config) = (plan, config);
            self.value["flows"][at] = its_value;
        }
        // What the client left out has its default, and is absent again.
        model::strip_nulls(&mut self.value);
        model::config::normalise(&mut self.value);
        Ok(self.take_warnings())
    }

    /// `POST /control/state`.
    pub fn control(&mut self, octets: &[u8], client: IpAddr) -> Result<Warnings> {
        let (state, _) = model::read(octets)?;
        self.hold(client, false)?;
        match state {
            ControlState::Traffic(Traffic::FlowTransmit(wanted)) => self.transmit(&wanted)?,
            ControlState::Port(PortState::Capture(wanted)) => self.capture(&wanted)?,
            ControlState::Port(PortState::Link(wanted)) => self.link(&wanted)?,
        }
        Ok(self.take_warnings())
    }

    fn transmit(&mut self, wanted: &FlowTransmit) -> Result<()> {
        let named = self.flows_named(&wanted.flow_names, "traffic.flow_transmit.flow_names")?;
        let flows = if named.is_empty() { (0..self.flows.len()).collect() } else { named };
        let running = |flow: &usize| self.flows[*flow].run.as_ref().filter(|run| !run.is_over());
        match wanted.state {
            Transmit::Start => self.start(&flows),
            Transmit::Stop => {
                flows.iter().filter_map(running).for_each(|run| run.stop());
                Ok(())
            }
            Transmit::Pause => {
                flows.iter().filter_map(running).for_each(|run| run.pause());
                Ok(())
            }
            Transmit::Resume => {
                flows.iter().filter_map(running).for_each(|run| run.resume());
                // A flow that is stopped begins anew.
                let stopped: Vec<_> = flows.iter().copied().filter(|flow| running(flow).is_none()).collect();
                if stopped.is_empty() { Ok(()) } else { self.start(&stopped) }
            }
        }
    }

    /// Starts flows from their beginning; their counts begin at 0. A flow that is sent is stopped before.
    fn start(&mut self, flows: &[usize]) -> Result<()> {
        // What cannot be sent stops nothing.
        let opened = self.open(flows)?;
        for flow in flows {
            if let Some(run) = self.flows[*flow].run.take() {
                run.stop();
            }
        }
        if !self.flows.iter().any(|flow| flow.run.as_ref().is_some_and(|run| !run.is_over())) {
            for (number, port) in self.ports.iter_mut().enumerate() {
                port.port
                    .clear()
                    .map_err(|source| OtgError::Host { path: format!("ports[{number}]"), source })?;
                port.receiver.iter_mut().for_each(Receiver::clear);
            }
        }
        // Receivers know the flows before the first frame.
        let others = self.flows.iter().filter_map(|flow| flow.run.as_ref().map(|run| (flow, run.trial())));
        let new = opened
            .iter()
            .flat_map(|(sending, of_port)| of_port.iter().map(|flow| (&self.flows[*flow], sending.trial())));
        self.routes.set(others.chain(new).filter_map(|(flow, trial)| {
            Some((u16::try_from(self.number(flow)).ok()?, trial, u8::try_from(flow.stream).ok()?))
        }));
        let start = Instant::now() + HEAD_START;
        for (sending, of_port) in opened {
            for (flow, started) in of_port.into_iter().zip(sending.start(start)?) {
                self.flows[flow].run = Some(started);
                self.flows[flow].rates = Rates::default();
            }
        }
        Ok(())
    }

    /// A sender for each port that transmits some of these flows, with their numbers.
    fn open(&mut self, flows: &[usize]) -> Result<Vec<(Sending, Vec<usize>)>> {
        let mut opened = Vec::new();
        for (at, port) in self.ports.iter().enumerate() {
            let mut of_port = flows.to_vec();
            of_port.retain(|flow| self.flows[*flow].transmitter == at);
            if !of_port.is_empty() {
                let plans = of_port.iter().map(|flow| &self.flows[*flow]);
                let plans = plans.map(|flow| (flow.config.name.as_str(), &flow.plan));
                // Each sender has a trial of its own: streams are numbered by port.
                self.last_trial = self.last_trial.wrapping_add(1);
                opened.push((Sending::open(&port.port, plans, TrialId(self.last_trial))?, of_port));
            }
        }
        Ok(opened)
    }

    fn capture(&mut self, wanted: &CaptureState) -> Result<()> {
        const PATH: &str = "port.capture.port_names";
        let named = self.named(&wanted.port_names, PATH)?;
        if let Some(at) = named.iter().find(|at| self.ports[**at].capture.is_none()) {
            let name = &self.ports[*at].port.name;
            return Err(OtgError::invalid(
                PATH,
                format!("the configuration has no capture of port \"{name}\""),
            ));
        }
        let all = (0..self.ports.len()).filter(|at| self.ports[*at].capture.is_some()).collect();
        for at in if named.is_empty() { all } else { named } {
            let ConfiguredPort { port, capture, recording, .. } = &mut self.ports[at];
            let Some(capture) = capture else { continue };
            if let Some(running) = recording {
                self.warnings.extend(running.stop(&port.name));
            }
            if wanted.state == StartStop::Start {
                let Options { capture_size, capture_folder, .. } = &self.options;
                *recording = Some(Recording::start(port, capture, *capture_size, capture_folder)?);
            }
        }
        Ok(())
    }

    fn link(&mut self, wanted: &LinkState) -> Result<()> {
        let named = self.named(&wanted.port_names, "port.link.port_names")?;
        for at in if named.is_empty() { (0..self.ports.len()).collect() } else { named } {
            let ConfiguredPort { port, is_link_down, .. } = &mut self.ports[at];
            port.side
                .links()
                .set_up(port.side.name(), wanted.state == Link::Up)
                .map_err(|source| OtgError::Host { path: format!("ports[{at}]"), source })?;
            *is_link_down = wanted.state == Link::Down;
        }
        Ok(())
    }

    /// `POST /monitor/capture`: ends the capture of a port, and returns its file.
    pub fn captured(&mut self, octets: &[u8], client: IpAddr) -> Result<Vec<u8>> {
        let (request, _): (CaptureRequest, _) = model::read(octets)?;
        self.hold(client, false)?;
        let at = self.port(&request.port_name, "port_name")?;
        let ConfiguredPort { port, recording, .. } = &mut self.ports[at];
        let Some(recording) = recording else {
            return Err(OtgError::invalid(
                "port_name",
                format!("no capture of port \"{}\" was started", port.name),
            ));
        };
        self.warnings.extend(recording.stop(&port.name));
        recording.octets(&port.name, &request.packets)
    }

    /// What a flow does. It is stopped when its frames were sent and all have arrived, or none does any more.
    pub(crate) fn state(&self, flow: &Flow) -> FlowState {
        let Some(run) = &flow.run else { return FlowState::Stopped };
        let Some(since) = run.over_since() else {
            return if run.is_paused() { FlowState::Paused } else { FlowState::Started };
        };
        let sent = run.counts().sent;
        let number = self.number(flow);
        let receivers = flow.receivers.iter().filter_map(|at| self.ports[*at].receiver.as_ref());
        let tallies: Vec<_> = receivers.map(|receiver| receiver.tally(number, run.trial())).collect();
        let expected = sent as f64 * flow.config.metrics.expected_ratio(flow.receivers.len());
        let has_all = tallies.iter().map(|(tally, _)| tally.frames).sum::<u64>() as f64 >= expected;
        let last = tallies.iter().filter_map(|(_, read_at)| *read_at).max();
        let is_quiet = last.map_or(since, |last| last.max(since)).elapsed() >= QUIET;
        if tallies.is_empty() || has_all || is_quiet { FlowState::Stopped } else { FlowState::Started }
    }

    /// The number of a flow.
    pub(crate) fn number(&self, flow: &Flow) -> usize {
        self.flows
            .iter()
            .position(|other| std::ptr::eq(other, flow))
            .expect("the flow is one of the configuration")
    }

    /// Ends flows and captures whose client sends no request any more. Returns whether there were any.
    pub fn end_lease(&mut self) -> Option<IpAddr> {
        let (holder, last) = self.holder?;
        if last.elapsed() < self.options.lease || !self.is_busy() {
            return None;
        }
        self.stop_all();
        self.holder = None;
        self.warnings.push(format!(
            "flows and captures of {holder} were stopped: no request for {:?} (--lease)",
            self.options.lease
        ));
        Some(holder)
    }

    /// Stops flows and captures, and sets links up that a client has set down.
    pub fn stop_all(&mut self) {
        let running: Vec<_> = self.flows.iter().filter_map(|flow| flow.run.as_ref()).collect();
        running.iter().for_each(|run| run.stop());
        running.iter().for_each(|run| run.end());
        for ConfiguredPort { port, recording, is_link_down, .. } in &mut self.ports {
            if let Some(recording) = recording {
                self.warnings.extend(recording.stop(&port.name));
            }
            if std::mem::take(is_link_down)
                && let Err(error) = port.side.links().set_up(port.side.name(), true)
            {
                self.warnings.push(format!("port {}: its link stays down: {error}", port.name));
            }
        }
    }

    /// Warnings that no answer has had yet, with failures of senders and flaws of receivers.
    fn take_warnings(&mut self) -> Warnings {
        for flow in &self.flows {
            if let Some(failure) = flow.run.as_ref().and_then(|run| run.take_failure()) {
                self.warnings.push(format!("flow {}: {failure}", flow.config.name));
            }
        }
        for port in &self.ports {
            if let Some(flaw) = port.receiver.as_ref().and_then(Receiver::flaw) {
                self.warnings
                    .push(format!("port {}: no exact counts of received frames: {flaw}", port.port.name));
            }
        }
        Warnings { warnings: std::mem::take(&mut self.warnings) }
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
