//! Starts and stops flows and captures, and sets links.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::path::Path;

use capbench_frames::{StreamId, TrialId};

use super::{Asked, Session};
use crate::error::{OtgError, Result};
use crate::messages::{Answer, Command, Request, Route};
use crate::model::answers::Warnings;
use crate::model::requests::{
    CaptureRequest, CaptureState, ControlState, FlowTransmit, Link, LinkState, PortState, StartStop, Traffic,
    Transmit,
};
use crate::model::text::Text;
use crate::rates::Rates;

/// A start of flows of a port.
struct Start {
    at: usize,
    flows: Vec<usize>,
    trial: TrialId,
}

impl Session {
    /// `POST /control/state`.
    pub fn control(&mut self, state: &ControlState, client: IpAddr) -> Result<Warnings> {
        self.hold(client, false)?;
        match state {
            ControlState::Traffic(Traffic::FlowTransmit(wanted)) => self.transmit(wanted)?,
            ControlState::Port(PortState::Capture(wanted)) => self.capture(wanted)?,
            ControlState::Port(PortState::Link(wanted)) => self.link(wanted)?,
        }
        Ok(self.take_warnings())
    }

    fn transmit(&mut self, wanted: &FlowTransmit) -> Result<()> {
        let named = self.flows_named(&wanted.flow_names, "traffic.flow_transmit.flow_names")?;
        let is_named = !named.is_empty();
        let flows = if is_named { named } else { (0..self.flows.len()).collect() };
        let command = match wanted.state {
            Transmit::Start => return self.start(&flows, is_named),
            Transmit::Stop => Command::Stop,
            Transmit::Pause => Command::Pause,
            Transmit::Resume => Command::Resume,
        };
        let mut by_port = self.by_transmitter(&flows);
        // The flows of a lost port are over.
        by_port.retain(|at, _| !self.ports[*at].is_lost());
        let answers =
            self.ask(by_port.into_iter().map(|(at, flows)| (at, Request::Command { flows, command })))?;
        if is_named && wanted.state == Transmit::Resume {
            for (_, answer) in answers {
                let Answer::NotSent(stopped) = answer else { continue };
                let names = stopped.into_iter().filter_map(|flow| Some(&self.flows.get(flow)?.config.name));
                let warning = |name| {
                    format!("flow {name} is stopped: resume continues paused flows, start begins anew")
                };
                let warnings: Vec<_> = names.map(warning).collect();
                warnings.into_iter().for_each(|warning| self.warn(warning));
            }
        }
        Ok(())
    }

    /// These flows by the port that sends them.
    fn by_transmitter(&self, flows: &[usize]) -> BTreeMap<usize, Vec<usize>> {
        let mut by_port: BTreeMap<_, Vec<_>> = BTreeMap::new();
        for flow in flows {
            by_port.entry(self.flows[*flow].transmitter).or_default().push(*flow);
        }
        by_port
    }

    /// Starts flows from their beginning; their counts begin at 0. A flow that is sent is stopped before. Flows of a lost port are
    /// refused if the request names them.
    fn start(&mut self, flows: &[usize], is_named: bool) -> Result<()> {
        // Each sender has another trial: streams are numbered by port.
        let mut starts = Vec::new();
        for (at, flows) in self.by_transmitter(flows) {
            let port = &self.ports[at];
            if port.is_lost() && !is_named {
                let name = &port.name;
                self.warn(format!(
                    "port {name} is lost: its flows do not start; set the configuration again"
                ));
                continue;
            }
            self.last_trial = self.last_trial.wrapping_add(1);
            starts.push(Start { at, flows, trial: TrialId(self.last_trial) });
        }
        let started = self.begin(&starts);
        if started.is_err() {
            starts.retain(|start| !self.ports[start.at].is_lost());
            // The client gets the first failure.
            let _ = self.ask(starts.iter().map(|start| (start.at, Request::Discard)));
        }
        started
    }

    fn begin(&mut self, starts: &[Start]) -> Result<()> {
        // What cannot be sent stops nothing.
        let prepare = |Start { at, flows, trial }: &Start| {
            (*at, Request::Prepare { flows: flows.clone(), trial: *trial })
        };
        self.ask(starts.iter().map(prepare))?;
        let end = |start: &Start| (start.at, Request::End { flows: start.flows.clone() });
        self.ask(starts.iter().map(end))?;
        self.read();
        if !self.flows.iter().any(|flow| self.is_sent(flow)) {
            let clear = self.present().into_iter().map(|at| (at, Request::Clear));
            self.ask(clear)?;
        }
        for Start { flows, trial, .. } in starts {
            for flow in flows {
                self.flows[*flow].trial = Some(*trial);
                self.flows[*flow].rates = Rates::default();
            }
        }
        // Receivers know the flows before the first frame.
        let routes = self.present().into_iter().filter(|at| self.ports[*at].counts_flows);
        let routes: Vec<_> = routes.map(|at| (at, Request::Route(self.routes(at)))).collect();
        self.ask(routes)?;
        self.ask(starts.iter().map(|start| (start.at, Request::Go)))?;
        Ok(())
    }

    /// The flows that a port counts.
    fn routes(&self, at: usize) -> Vec<Route> {
        let counted = self.flows.iter().filter(|flow| flow.receivers.contains(&at));
        let route = |flow: &super::Flow| {
            let trial = flow.trial.filter(|_| flow.config.metrics.enable)?;
            let (stream, flow) = (u8::try_from(flow.stream).ok()?, u16::try_from(flow.number).ok()?);
            Some(Route { trial, stream: StreamId(stream), flow })
        };
        counted.filter_map(route).collect()
    }

    fn capture(&mut self, wanted: &CaptureState) -> Result<()> {
        const PATH: &str = "port.capture.port_names";
        let named = self.named(&wanted.port_names, PATH)?;
        if let Some(at) = named.iter().find(|at| !self.ports[**at].has_capture) {
            let why = format!("the configuration has no capture of port \"{}\"", self.ports[*at].name);
            return Err(OtgError::invalid(PATH, why));
        }
        let mut all = self.present();
        all.retain(|at| self.ports[*at].has_capture);
        let starts = wanted.state == StartStop::Start;
        let ports = if named.is_empty() { all } else { named };
        self.ask(ports.into_iter().map(|at| (at, Request::Record { starts })))?;
        Ok(())
    }

    fn link(&mut self, wanted: &LinkState) -> Result<()> {
        let named = self.named(&wanted.port_names, "port.link.port_names")?;
        let ports = if named.is_empty() { self.present() } else { named };
        let up = wanted.state == Link::Up;
        self.ask(ports.into_iter().map(|at| (at, Request::SetLink { up })))?;
        Ok(())
    }

    /// `POST /monitor/capture`: ends the capture of a port. The file is read without the session.
    pub fn fetch(&mut self, request: &CaptureRequest, text: Text, client: IpAddr) -> Result<Asked> {
        self.hold(client, false)?;
        let at = self.port(&request.port_name, "port_name")?;
        Ok(self.ports[at].ask(Request::Fetch(text)))
    }

    /// Where captures of other hosts wait for their client.
    pub fn capture_folder(&self) -> &Path {
        &self.options.capture_folder
    }

    /// The octets that a file of a capture can have: an FCS is added to each frame.
    pub fn most_octets(&self) -> u64 {
        self.options.capture_size.0.saturating_mul(2)
    }
}
