//! What a port does on its host: its interface, the flows that it sends and receives, its capture, its link.
//!
//! A session asks an engine, in this process or in another one, by the requests of `messages`. The end of an engine ends all that
//! it runs.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use capbench_agent::location::Location;
use capbench_agent::server::clock_id;
use capbench_frames::TrialId;
use capbench_host::HostError;
use capbench_host::bed::Guarded;
use capbench_model::units::ByteCount;
use capbench_sys::host::ethtool::Change;

use crate::capture_folder;
use crate::capturing::Recording;
use crate::error::{OtgError, Result};
use crate::flows::FlowPlan;
use crate::halt::Halt;
use crate::messages::{
    Answer, Command, MOST_FLOWS, Open, Opened, PROTOCOL, PlannedFlow, Reading, Received, Request, Route,
};
use crate::model;
use crate::model::config::{Capture, Layer1};
use crate::model::flow::Flow as FlowConfig;
use crate::model::requests::CaptureRequest;
use crate::model::text::Text;
use crate::ports::{Allowed, Port};
use crate::receiving::{Receiver, Routes};
use crate::sending::{Run, Sending};

/// Time for the thread of a start to reach its loop before the first frame.
const HEAD_START: Duration = Duration::from_millis(5);

/// How long frames of a flow that a start replaces may take to leave.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often that is looked at.
const TICK: Duration = Duration::from_millis(1);

/// Largest number of starts of a port whose flows are sent: each has a thread and a ring.
const MOST_RUNS: usize = 16;

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
    /// Checks the locations, and that the interfaces of this namespace exist.
    ///
    /// # Errors
    /// One is no location, or does not exist.
    pub fn check(&self) -> Result<()> {
        for text in &self.allowed.interfaces {
            let location: Location =
                text.parse().map_err(|error| OtgError::Flag(format!("--port: {error}")))?;
            if matches!(location, Location::Otg { .. }) {
                let why =
                    format!("--port {text}: a port of another OTG server; its clients ask it themselves");
                return Err(OtgError::Flag(why));
            }
            if location.is_here() {
                let found = capbench_host::bed::Side::named(text);
                found.map_err(|source| OtgError::Host { path: format!("--port {text}"), source })?;
            }
        }
        let folder = &self.capture_folder;
        capture_folder::parent(folder).map_err(|error| {
            OtgError::Flag(format!("--capture-dir {}: {error}; name a folder of yours", folder.display()))
        })?;
        Ok(())
    }
}

/// The engine of a port.
#[derive(Debug)]
pub struct Engine {
    options: Options,
    port: Option<OpenPort>,
    halt: Halt,
}

/// An answer, or the work that makes it and needs no engine.
pub enum Answered {
    Now(Answer),
    /// Writes the file of a capture.
    Octets(Box<WriteCapture>),
}

/// Writes the file of a capture in parts.
pub type WriteCapture = dyn FnOnce(&mut dyn Write) -> Result<()> + Send;

/// A port with what runs on it.
#[derive(Debug)]
struct OpenPort {
    port: Port,
    routes: Arc<Routes>,
    counted_flows: Option<usize>,
    /// Absent: no flow with metrics is received here.
    receiver: Option<Receiver>,
    capture: Option<Capture>,
    recording: Option<Recording>,
    /// Sets the link up again that a client has set down, also if this process is killed.
    held_down: Option<Guarded>,
    /// Name and plan of each flow that it sends.
    flows: BTreeMap<usize, (String, FlowPlan)>,
    /// Checked flows that are not adopted yet.
    planned: Vec<(usize, (String, FlowPlan))>,
    /// Warnings about these.
    plan_warnings: Vec<String>,
    prepared: Option<Sending>,
    runs: Vec<Run>,
    /// What no reading has reported yet.
    warnings: Vec<String>,
}

impl Engine {
    /// Without a port. What it sends can be ended at once.
    pub fn new(options: Options, halt: Halt) -> Self {
        Self { options, port: None, halt }
    }

    /// Does what a request asks for.
    pub fn answer(&mut self, request: Request) -> Result<Answered> {
        let Self { options, port, halt } = self;
        if let Request::Open(open) = request {
            *port = None;
            let port = port.insert(OpenPort::open(&open, &options.allowed)?);
            let opened = Opened { line: port.port.line, clock: clock_id() };
            return Ok(Answered::Now(Answer::Opened(opened)));
        }
        let port = port.as_mut().ok_or_else(|| OtgError::Conflict("the port is not open".into()))?;
        match request {
            Request::Open(_) | Request::Read => {
                return Ok(Answered::Now(Answer::Reading(Box::new(port.read()))));
            }
            Request::Command { flows, command } => {
                return Ok(Answered::Now(Answer::NotSent(port.command(flows, command))));
            }
            Request::Fetch(request) => return port.fetch(&request),
            Request::Plan { flows, memory_elsewhere } => {
                let memory = port.plan(flows, memory_elsewhere, &options.allowed)?;
                return Ok(Answered::Now(Answer::Planned { memory }));
            }
            Request::Adopt => {
                port.warnings.append(&mut port.plan_warnings);
                port.flows.extend(port.planned.drain(..));
            }
            Request::Prepare { flows, trial } => {
                port.look();
                port.check_rate(&flows, &options.allowed)?;
                port.prepare(&flows, trial)?;
            }
            Request::Discard => port.prepared = None,
            Request::End { flows } => port.end(&flows)?,
            Request::Clear => port.clear()?,
            Request::Route(routes) => port.route(&routes)?,
            Request::Go => port.go(halt)?,
            Request::Halt { flows } => {
                halt.flows(&flows);
            }
            Request::Record { starts } => port.record(starts, options)?,
            Request::SetLink { up } => port.set_link(up)?,
            Request::Stop => port.stop(),
        }
        Ok(Answered::Now(Answer::Done))
    }
}

impl OpenPort {
    fn open(open: &Open, allowed: &Allowed) -> Result<Self> {
        let Open { protocol, path, name, interface, layer1, capture, counted_flows } = open;
        if *protocol != PROTOCOL {
            let why = format!(
                "capbench {} speaks version {PROTOCOL} of the protocol of ports, the server version {protocol}; install the \
                 same capbench on both hosts",
                env!("CARGO_PKG_VERSION")
            );
            return Err(OtgError::invalid(path, why));
        }
        if *counted_flows > Some(MOST_FLOWS) {
            return Err(OtgError::invalid(path, format!("more than {MOST_FLOWS} flows")));
        }
        let mut port = Port::open(name, interface, path, allowed)?;
        let mut warnings = Vec::new();
        for layer1 in layer1 {
            port.apply(&model::of_text::<Layer1>(layer1)?, &mut warnings);
        }
        let routes = Arc::default();
        let receiver = counted_flows.map(|flows| Receiver::start(&port, &routes, flows)).transpose()?;
        Ok(Self {
            port,
            routes,
            counted_flows: *counted_flows,
            receiver,
            capture: capture.as_ref().map(|capture| model::of_text(capture)).transpose()?,
            recording: None,
            held_down: None,
            flows: BTreeMap::new(),
            planned: Vec::new(),
            plan_warnings: Vec::new(),
            prepared: None,
            runs: Vec::new(),
            warnings,
        })
    }

    /// Returns the octets of memory that all flows need then.
    fn plan(&mut self, flows: Vec<PlannedFlow>, memory_elsewhere: usize, allowed: &Allowed) -> Result<usize> {
        (self.planned, self.plan_warnings) = (Vec::new(), Vec::new());
        let numbers: Vec<_> = flows.iter().map(|flow| flow.number).collect();
        let kept = self.flows.iter().filter(|(number, _)| !numbers.contains(number));
        let mut memory: usize = kept.map(|(_, (_, plan))| plan.memory).sum();
        for PlannedFlow { number, stream, path, flow } in flows {
            let config: FlowConfig = model::of_text(&flow)?;
            let left = FlowPlan::memory_left_by(memory.saturating_add(memory_elsewhere));
            let plan = FlowPlan::new(&config, &self.port, stream, left, &path)?;
            if let Some(why) = allowed.refuses_rate(plan.rate.get()) {
                return Err(OtgError::invalid(&format!("{path}.rate"), why));
            }
            memory += plan.memory;
            self.plan_warnings.extend(plan.warning(&path));
            self.planned.push((number, (config.name, plan)));
        }
        Ok(memory)
    }

    /// Refuses flows whose rates, with those of the flows that are sent, are above the highest one.
    fn check_rate(&self, flows: &[usize], allowed: &Allowed) -> Result<()> {
        let sent: BTreeSet<_> =
            self.runs.iter().flat_map(Run::flows_sent).chain(flows.iter().copied()).collect();
        let rates = sent.iter().filter_map(|flow| self.flows.get(flow)).map(|(_, plan)| plan.rate.get());
        match allowed.refuses_rate(rates.sum()) {
            Some(why) => {
                Err(OtgError::Conflict(format!("port {}: all flows together: {why}", self.port.name)))
            }
            None => Ok(()),
        }
    }

    fn prepare(&mut self, flows: &[usize], trial: TrialId) -> Result<()> {
        self.prepared = None;
        self.look();
        if self.runs.iter().filter(|run| run.sends_others(flows)).count() >= MOST_RUNS {
            return Err(OtgError::Conflict(format!(
                "port {}: flows of {MOST_RUNS} starts are sent; stop some, or start more flows at once",
                self.port.name
            )));
        }
        let flows = self.flows.iter().filter(|(number, _)| flows.contains(number));
        let flows = flows.map(|(number, (name, plan))| (*number, name.as_str(), plan));
        self.prepared = Some(Sending::open(&self.port, flows, trial)?);
        Ok(())
    }

    fn end(&mut self, flows: &[usize]) -> Result<()> {
        self.look();
        self.runs.iter_mut().for_each(|run| run.end(flows));
        let until = Instant::now() + PATIENCE;
        while self.runs.iter().any(|run| run.awaits(flows)) {
            if Instant::now() > until {
                return Err(OtgError::Conflict(format!(
                    "port {}: frames of the last start have not left within {PATIENCE:?}",
                    self.port.name
                )));
            }
            thread::sleep(TICK);
            self.look();
        }
        self.runs.retain_mut(|run| run.replace(flows));
        Ok(())
    }

    /// Notes what has ended.
    fn look(&mut self) {
        self.warnings.extend(self.runs.iter_mut().flat_map(Run::look));
    }

    fn clear(&mut self) -> Result<()> {
        self.port.clear().map_err(|source| self.failed(source))?;
        self.receiver.iter_mut().for_each(Receiver::clear);
        Ok(())
    }

    fn route(&mut self, routes: &[Route]) -> Result<()> {
        if routes.iter().any(|route| Some(usize::from(route.flow)) >= self.counted_flows) {
            return Err(OtgError::Conflict(format!("port {}: it does not count this flow", self.port.name)));
        }
        self.routes.set(routes);
        Ok(())
    }

    fn failed(&self, source: HostError) -> OtgError {
        OtgError::Host { path: format!("port {}", self.port.name), source }
    }

    fn go(&mut self, halt: &Halt) -> Result<()> {
        let prepared = self.prepared.take();
        let sending = prepared.ok_or_else(|| OtgError::Conflict("no sender is prepared".into()))?;
        let run = sending.start(Instant::now() + HEAD_START)?;
        halt.add_run(run.shared());
        self.runs.push(run);
        Ok(())
    }

    fn command(&mut self, mut flows: Vec<usize>, command: Command) -> Vec<usize> {
        self.look();
        flows.retain(|flow| !self.runs.iter_mut().any(|run| run.command(*flow, command)));
        flows
    }

    fn read(&mut self) -> Reading {
        self.look();
        let mut reading = Reading {
            interface: Some(self.port.counts().map_err(|error| error.to_string())),
            is_capturing: self.recording.as_ref().is_some_and(Recording::is_running),
            is_held_down: self.held_down.is_some(),
            flaw: self.receiver.as_ref().and_then(Receiver::flaw),
            warnings: std::mem::take(&mut self.warnings),
            ..Reading::default()
        };
        self.runs.iter().for_each(|run| run.report(&mut reading.sent));
        let tallies = self.receiver.iter().flat_map(Receiver::tallies);
        reading.received = tallies
            .map(|(flow, tally, read_at)| (flow, Received { tally, quiet: read_at.elapsed() }))
            .collect();
        reading
    }

    fn record(&mut self, starts: bool, options: &Options) -> Result<()> {
        if let Some(running) = &mut self.recording {
            self.warnings.extend(running.stop(&self.port.name));
        }
        if let Some(capture) = self.capture.as_ref().filter(|_| starts) {
            let Options { capture_size, capture_folder, .. } = options;
            self.recording = Some(Recording::start(&self.port, capture, *capture_size, capture_folder)?);
        }
        Ok(())
    }

    fn fetch(&mut self, request: &Text) -> Result<Answered> {
        let name = self.port.name.clone();
        let Some(recording) = &mut self.recording else {
            return Err(OtgError::invalid("port_name", format!("no capture of port \"{name}\" was started")));
        };
        self.warnings.extend(recording.stop(&name));
        let CaptureRequest { packets, .. } = model::of_text(request)?;
        let files = recording.files()?;
        Ok(Answered::Octets(Box::new(move |to| files.write(&name, &packets, to))))
    }

    fn set_link(&mut self, up: bool) -> Result<()> {
        let side = &self.port.side;
        if !up && self.held_down.is_none() {
            let guarded = Guarded::new(side, "its link, which a client has set down,", Change::up);
            self.held_down = Some(guarded.map_err(|source| self.failed(source))?);
        }
        side.links().set_up(side.name(), up).map_err(|source| self.failed(source))?;
        if up {
            self.held_down = None;
        }
        Ok(())
    }

    fn stop(&mut self) {
        self.prepared = None;
        self.runs.iter().for_each(Run::stop);
        self.warnings.extend(self.runs.iter_mut().flat_map(Run::join));
        if let Some(recording) = &mut self.recording {
            self.warnings.extend(recording.stop(&self.port.name));
        }
        if self.held_down.is_some()
            && let Err(error) = self.set_link(true)
        {
            self.warnings.push(format!("{error}; its link stays down"));
        }
    }
}

impl Drop for OpenPort {
    fn drop(&mut self) {
        self.stop();
    }
}

#[cfg(test)]
mod tests;
