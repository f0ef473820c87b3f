//! Sets and updates the configuration.

use std::collections::BTreeMap;
use std::net::IpAddr;

use capbench_agent::location::Location;
use serde_json::Value;

use super::{ConfiguredPort, Flow, FlowState, Session, all_different};
use crate::error::{OtgError, Result};
use crate::messages::{Answer, MOST_FLOWS, Open, PROTOCOL, PlannedFlow, Request};
use crate::model;
use crate::model::answers::Warnings;
use crate::model::config::Config;
use crate::model::flow::{Flow as FlowConfig, TxRx};
use crate::model::requests::ConfigUpdate;
use crate::rates::Rates;

/// A flow that is changed.
struct Change {
    flow: usize,
    config: FlowConfig,
    value: Value,
    /// Where the request has it.
    path: String,
}

impl Session {
    /// The configuration.
    pub fn config(&self) -> &Value {
        &self.value
    }

    /// `POST /config`: ends what runs, and takes a new configuration. One that cannot be read changes nothing; one that cannot be
    /// applied leaves none.
    pub fn set_config(&mut self, octets: &[u8], client: IpAddr) -> Result<Warnings> {
        let (config, mut value): (Config, Value) = model::read(octets)?;
        config.check()?;
        model::config::normalise(&mut value);
        self.hold(client, config.options.port_options.location_preemption)?;
        // What the captures before have lost, the answer says.
        self.stop();
        self.read();
        self.clear();
        let pending = self.warnings.len();
        if let Err(error) = self.apply(config, &value) {
            // What was to be said of a configuration that is none.
            self.warnings.truncate(pending);
            self.clear();
            return Err(error);
        }
        self.value = value;
        Ok(self.take_warnings())
    }

    /// Ends everything, and forgets the configuration.
    pub fn clear(&mut self) {
        self.flows.clear();
        // All engines elsewhere end at once.
        self.ports.iter_mut().for_each(ConfiguredPort::hang_up);
        self.ports.clear();
        self.value = Value::Object(serde_json::Map::new());
    }

    fn apply(&mut self, config: Config, value: &Value) -> Result<()> {
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
        for (number, layer1) in config.layer1.iter().enumerate() {
            for at in self.named(&layer1.port_names, &format!("layer1[{number}].port_names"))? {
                opened[at].1.layer1.push(value["layer1"][number].clone());
            }
        }
        for (number, capture) in config.captures.iter().enumerate() {
            for at in self.named(&capture.port_names, &format!("captures[{number}].port_names"))? {
                opened[at].1.capture = Some(value["captures"][number].clone());
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
        let changes = self.flows.iter().map(|flow| Change {
            flow: flow.number,
            config: flow.config.clone(),
            value: value["flows"][flow.number].clone(),
            path: format!("flows[{}]", flow.number),
        });
        self.plan(&changes.collect::<Vec<_>>())
    }

    /// Starts the engines of all ports, and opens the ports.
    fn open(&mut self, opened: Vec<(Location, Open)>) -> Result<()> {
        let mut requests = Vec::new();
        for (at, (location, open)) in opened.into_iter().enumerate() {
            self.ports[at].start(&location, &open.path, &self.options)?;
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
        for Change { flow, value, path, .. } in changes {
            let Flow { number, stream, transmitter, .. } = self.flows[*flow];
            let planned = PlannedFlow { number, stream, path: path.clone(), flow: value.clone() };
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
    pub fn update_config(&mut self, octets: &[u8], client: IpAddr) -> Result<Warnings> {
        let (ConfigUpdate::Flows(update), value) = model::read(octets)?;
        self.hold(client, false)?;
        self.read();
        let names: Vec<_> = update.flows.iter().map(|flow| flow.name.clone()).collect();
        let named = self.flows_named(&names, "flows.flows")?;
        let mut changes = Vec::new();
        for (number, flow) in named.into_iter().enumerate() {
            let path = format!("flows.flows[{number}]");
            if self.state(&self.flows[flow]) != FlowState::Stopped {
                return Err(OtgError::Conflict(format!(
                    "{path}: capbench changes no flow that is sent; stop {0}, change and start it",
                    names[number]
                )));
            }
            let mut changed = self.value["flows"][flow].clone();
            if let Some(members) = changed.as_object_mut() {
                for property in &update.property_names {
                    // A member that is absent has the model's default.
                    match value["flows"]["flows"][number].get(property.name()) {
                        Some(value) => drop(members.insert(property.name().into(), value.clone())),
                        None => drop(members.remove(property.name())),
                    }
                }
            }
            changes.push(Change { flow, config: model::of_value(&changed)?, value: changed, path });
        }
        self.plan(&changes)?;
        for Change { flow, config, value, .. } in changes {
            self.flows[flow].config = config;
            self.value["flows"][flow] = value;
        }
        model::config::normalise(&mut self.value);
        Ok(self.take_warnings())
    }
}
