//! The configuration: ports, layer 1, captures, options. Flows are in [`super::flow`].

use std::collections::{HashMap, HashSet};
use std::num::NonZeroU16;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use super::flow::{Flow, TxRx};
use super::limits::{Absent, Only};
use super::text::ConfigText;
use crate::error::{OtgError, Result};

/// `Config`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    pub ports: Vec<Port>,
    pub layer1: Vec<Layer1>,
    pub captures: Vec<Capture>,
    pub flows: Vec<Flow>,
    pub options: Options,
    lags: Absent,
    devices: Absent,
    lldp: Absent,
    events: Absent,
    stateful_flows: Absent,
    egress_only_tracking: Absent,
}

/// Octets of a name: it is in captures and in messages.
const MOST_OF_NAME: usize = 1000;

impl Config {
    /// Reads a configuration that is right in itself, and its text.
    ///
    /// # Errors
    /// What is wrong, with its path.
    pub fn read(octets: &[u8]) -> Result<(Self, ConfigText)> {
        let (config, text): (Self, _) = super::read(octets)?;
        config.check()?;
        Ok((config, super::part(ConfigText::new(&text))?))
    }

    /// Checks what no member alone shows: each thing has its own name, each port another location, one layer 1 and one capture, and a flow states
    /// its receiving ports once.
    ///
    /// # Errors
    /// The first that does not, with its path.
    pub fn check(&self) -> Result<()> {
        let Self { ports, layer1, captures, flows, .. } = self;
        let all = [
            ("ports", ports.iter().map(|port| &port.name).collect::<Vec<_>>()),
            ("layer1", layer1.iter().map(|layer1| &layer1.name).collect()),
            ("captures", captures.iter().map(|capture| &capture.name).collect()),
            ("flows", flows.iter().map(|flow| &flow.name).collect()),
        ];
        let mut names = HashSet::new();
        for (list, names_of_list) in &all {
            for (number, name) in names_of_list.iter().enumerate() {
                if name.len() > MOST_OF_NAME {
                    let why = format!("is longer than {MOST_OF_NAME} bytes");
                    return Err(OtgError::invalid(&format!("{list}[{number}].name"), why));
                }
                if name.is_empty() || !names.insert(*name) {
                    let why = format!("\"{name}\" is empty, or the name of two things");
                    return Err(OtgError::invalid(&format!("{list}[{number}].name"), why));
                }
            }
        }
        let mut locations = HashMap::new();
        for (number, port) in ports.iter().enumerate() {
            if let Some(first) = locations.insert(&port.location, number) {
                let why = format!("is also that of ports[{first}]");
                return Err(OtgError::invalid(&format!("ports[{number}].location"), why));
            }
        }
        only_one("layer1", layer1.iter().map(|layer1| &layer1.port_names))?;
        only_one("captures", captures.iter().map(|capture| &capture.port_names))?;
        for (number, flow) in flows.iter().enumerate() {
            let TxRx::Port(ends) = &flow.tx_rx;
            if ends.has_two_forms() {
                let path = format!("flows[{number}].tx_rx.port.rx_name");
                return Err(OtgError::invalid(&path, "is set next to rx_names; state one of them"));
            }
        }
        Ok(())
    }
}

/// Refuses a port in two elements of a list.
fn only_one<'c>(list: &str, port_names: impl Iterator<Item = &'c Vec<String>>) -> Result<()> {
    let mut known = HashMap::new();
    for (number, names) in port_names.enumerate() {
        for name in names {
            if let Some(first) = known.insert(name, number).filter(|first| *first != number) {
                let why = format!("port \"{name}\" is in {list}[{first}], too");
                return Err(OtgError::invalid(&format!("{list}[{number}].port_names"), why));
            }
        }
    }
    Ok(())
}

/// `Port`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Port {
    pub name: String,
    /// The interface.
    #[serde(default)]
    pub location: String,
}

/// `Layer1`: what capbench leaves as it is, and warns about where that differs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Layer1 {
    name: String,
    pub port_names: Vec<String>,
    #[serde(default)]
    pub speed: Option<Speed>,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default, rename = "promiscuous")]
    _promiscuous: Option<Only<true>>,
    #[serde(default, rename = "auto_negotiation")]
    _auto_negotiation: Absent,
    #[serde(default, rename = "flow_control")]
    _flow_control: Absent,
}

/// `Layer1.speed` in bits per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Speed(pub f64);

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        let mut parts = name.strip_prefix("speed_").unwrap_or_default().split('_');
        let (number, mut unit) = (parts.next().and_then(|number| number.parse::<u32>().ok()), parts.next());
        if matches!(unit, Some("fd" | "hd")) {
            unit = parts.next();
        }
        match (number, unit, parts.next()) {
            (Some(number), Some("mbps"), None) => Ok(Self(f64::from(number) * 1e6)),
            (Some(number), Some("gbps"), None) => Ok(Self(f64::from(number) * 1e9)),
            _ => Err(D::Error::custom(format!("the model has no speed \"{name}\""))),
        }
    }
}

/// `Capture`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    name: String,
    pub port_names: Vec<String>,
    #[serde(default)]
    pub format: CaptureFormat,
    /// Octets of each frame; absent: all.
    #[serde(default)]
    pub packet_size: Option<NonZeroU16>,
    /// Whether new frames replace old ones where the buffer is full.
    #[serde(default = "yes")]
    pub overwrite: bool,
    #[serde(default, rename = "filters")]
    _filters: Absent,
}

fn yes() -> bool {
    true
}

/// `Capture.format`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CaptureFormat {
    #[default]
    Pcap,
    Pcapng,
}

/// `Config.Options`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Options {
    pub port_options: PortOptions,
    protocol_options: ProtocolOptions,
    per_port_options: Absent,
    flow_options: FlowOptions,
}

/// `Port.Options`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PortOptions {
    /// Whether to end what another client runs.
    pub location_preemption: bool,
    data_integrity: Only<false>,
    frame_ordering_mode: FrameOrdering,
}

choice! {
    /// `Port.Options.FrameOrderingMode`.
    FrameOrdering = NoOrdering;
    /// Flows of a port take turns as they come due.
    NoOrdering("no_ordering": Absent);
    ["rfc2889"]
}

/// `Protocol.Options`. There are no protocols to start.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProtocolOptions {
    auto_start_all: Only<true>,
}

/// `Flow.Options`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FlowOptions {
    packet_loss_duration: Only<false>,
}
