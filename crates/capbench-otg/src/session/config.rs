//! Sets and updates the configuration.

use std::collections::BTreeMap;
use std::net::IpAddr;

use capbench_agent::location::Location;
use capbench_http::Bytes;

use super::{ConfiguredPort, Flow, FlowState, Session, all_different};
use crate::error::{OtgError, Result};
use crate::messages::{Answer, MOST_FLOWS, Open, PROTOCOL, PlannedFlow, Request};
use crate::model;
use crate::model::answers::Warnings;
use crate::model::config::Config;
use crate::model::flow::{Flow as FlowConfig, TxRx};
use crate::model::requests::ConfigUpdate;
use crate::model::text::{ConfigText, Text, flows_of_update, with_members};
use crate::rates::Rates;

/// A flow that is changed.
struct Change {
    flow: usize,
    config: FlowConfig,
    text: Text,
    /// Where the request has it.
    path: String,
}

impl Session {
    /// The configuration as JSON.
    pub fn config(&self) -> Bytes {
        self.text.octets()
    }

    /// `POST /config`: ends what runs, and takes a new configuration. One that cannot be applied leaves none.
    pub fn set_config(&mut self, config: Config, text: ConfigText, client: IpAddr) -> Result<Warnings> {
        self.hold(client, config.options.port_options.location_preemption)?;
        // What the captures before have lost, the answer says.
        self.stop();
        self.read();
        self.clear();
        let pending = self.warnings.len();
        if let Err(error) = self.apply(config, &text) {
            // What was to be said of a configuration that is none.
            self.warnings.truncate(pending);
            self.clear();
            return Err(error);
        }
        self.text = text;
        Ok(self.take_warnings())
    }

    /// Ends everything, and forgets the configuration.
    pub fn clear(&mut self) {
        self.flows.clear();
        // All engines elsewhere end at once.
        self.ports.iter_mut().for_each(ConfiguredPort::hang_up);
        self.ports.clear();
        self.text = ConfigText::default();
    }

    fn apply(&mut self, config: Config, text: &ConfigText) -> Result<()> {
        if config.flows.len() > MOST_FLOWS {
            return Err(OtgError::invalid("flows", format!("a configuration has up to {MOST_FLOWS} flows")));
        }
        let mut opened = Vec::new();
        for (number, port) in config.ports.iter().enumerate() {
            let path = format!("ports[{number}].location");
            self.options.allowed.check(&port.location, &path)?;
            let location: Location =
                port.location.parse().map_err(|why: String| OtgError::invalid(&path, why))?;
            self.ports.push(ConfiguredPort::new(&port.name, &port.location));
            let open = Open {
                protocol: PROTOCOL,
                path,
                name: port.name.clone(),
                interface: location.interface().into(),
                layer1: Vec::new(),
                capture: None,
                counted_flows: None,
            };
            opened.push((location, open));
        }
        let layer1_texts = model::part(text.list("layer1"))?;
        for (number, (layer1, text)) in config.layer1.iter().zip(&layer1_texts).enumerate() {
            for at in self.named(&layer1.port_names, &format!("layer1[{number}].port_names"))? {
                opened[at].1.layer1.push(text.clone());
            }
        }
        let capture_texts = model::part(text.list("captures"))?;
        for (number, (capture, text)) in config.captures.iter().zip(&capture_texts).enumerate() {
            for at in self.named(&capture.port_names, &format!("captures[{number}].port_names"))? {
                opened[at].1.capture = Some(text.clone());
                self.ports[at].has_capture = true;
            }
        }
        for (number, flow) in config.flows.into_iter().enumerate() {
            let flow = self.flow(flow, number)?;
            self.flows.push(flow);
        }
        for flow in self.flows.iter().filter(|flow| flow.config.metrics.enable) {
            for at in &flow.receivers {
                self.ports[*at].counts_flows = true;
                opened[*at].1.counted_flows = Some(self.flows.len());
            }
        }
        self.open(opened)?;
        let mut changes = Vec::new();
        for flow in &self.flows {
            changes.push(Change {
                flow: flow.number,
                config: flow.config.clone(),
                text: text_of_flow(text, flow.number)?.clone(),
                path: format!("flows[{}]", flow.number),
            });
        }
        self.plan(&changes)
    }

    /// Starts the engines of all ports, and opens the ports.
    fn open(&mut self, opened: Vec<(Location, Open)>) -> Result<()> {
        let mut requests = Vec::new();
        for (at, (location, open)) in opened.into_iter().enumerate() {
            self.ports[at].start(&location, &open.path, &self.options, &self.halt)?;
            requests.push((at, Request::Open(Box::new(open))));
        }
        for (at, answer) in self.ask(requests)? {
            if let Answer::Opened(opened) = answer {
                self.ports[at].opened = opened;
            }
        }
        Ok(())
    }

    /// A flow of the configuration, with its ports.
    fn flow(&self, config: FlowConfig, number: usize) -> Result<Flow> {
        let path = format!("flows[{number}].tx_rx.port");
        let TxRx::Port(ends) = &config.tx_rx;
        let transmitter = self.port(&ends.tx_name, &format!("{path}.tx_name"))?;
        let path = format!("{path}.rx_names");
        let receivers = ends.receivers().map(|name| self.port(name, &path));
        let receivers = all_different(receivers, &path)?;
        let is_counted = |flow: &&Flow| flow.transmitter == transmitter && flow.config.metrics.enable;
        let stream = self.flows.iter().filter(is_counted).count();
        Ok(Flow { number, config, transmitter, receivers, stream, trial: None, rates: Rates::default() })
    }

    /// Has the ports check flows, and then send them so: all of them, or none.
    fn plan(&mut self, changes: &[Change]) -> Result<()> {
        let mut by_port: BTreeMap<usize, Vec<PlannedFlow>> = BTreeMap::new();
        for Change { flow, text, path, .. } in changes {
            let Flow { number, stream, transmitter, .. } = self.flows[*flow];
            let planned = PlannedFlow { number, stream, path: path.clone(), flow: text.clone() };
            by_port.entry(transmitter).or_default().push(planned);
        }
        let ports: Vec<_> = by_port.keys().copied().collect();
        // All ports share the memory: each has what the ones before leave. Those behind need nothing yet, and have what is left.
        let mut memory: Vec<_> = self.ports.iter().map(|port| port.memory).collect();
        ports.iter().for_each(|at| memory[*at] = 0);
        for (at, flows) in by_port {
            let memory_elsewhere = memory.iter().sum();
            for (at, answer) in self.ask([(at, Request::Plan { flows, memory_elsewhere })])? {
                if let Answer::Planned { memory: needed } = answer {
                    memory[at] = needed;
                }
            }
        }
        self.ask(ports.into_iter().map(|at| (at, Request::Adopt)))?;
        self.ports.iter_mut().zip(memory).for_each(|(port, memory)| port.memory = memory);
        Ok(())
    }

    /// `PATCH /config`: changes rates or sizes of flows. A request that is refused changes nothing.
    pub fn update_config(&mut self, update: &ConfigUpdate, text: &Text, client: IpAddr) -> Result<Warnings> {
        let ConfigUpdate::Flows(update) = update;
        self.hold(client, false)?;
        self.read();
        let names: Vec<_> = update.flows.iter().map(|flow| flow.name.clone()).collect();
        let named = self.flows_named(&names, "flows.flows")?;
        let updates = model::part(flows_of_update(text))?;
        let mut changes = Vec::new();
        for (number, (flow, update_of_flow)) in named.into_iter().zip(&updates).enumerate() {
            let path = format!("flows.flows[{number}]");
            if self.state(&self.flows[flow]) != FlowState::Stopped {
                return Err(OtgError::Conflict(format!(
                    "{path}: capbench changes no flow that is sent; stop {0}, change and start it",
                    names[number]
                )));
            }
            let properties = update.property_names.iter().map(|property| property.name());
            let text = model::part(with_members(self.text_of_flow(flow)?, update_of_flow, properties))?;
            changes.push(Change { flow, config: model::of_text(&text)?, text, path });
        }
        self.plan(&changes)?;
        let mut texts = Vec::new();
        for Change { flow, config, text, .. } in changes {
            self.flows[flow].config = config;
            texts.push((flow, text));
        }
        model::part(self.text.replace(texts))?;
        Ok(self.take_warnings())
    }

    fn text_of_flow(&self, flow: usize) -> Result<&Text> {
        text_of_flow(&self.text, flow)
    }
}

fn text_of_flow(text: &ConfigText, flow: usize) -> Result<&Text> {
    text.flow(flow).ok_or_else(|| OtgError::invalid(&format!("flows[{flow}]"), "is not in the configuration"))
}
