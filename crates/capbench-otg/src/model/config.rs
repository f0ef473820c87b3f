//! The configuration: ports, layer 1, captures, options. Flows are in [`super::flow`].

use serde::Deserialize;
use serde_json::Value;

use super::flow::Flow;
use super::limits::{Absent, Only};

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
    #[serde(rename = "name")]
    _name: String,
    pub port_names: Vec<String>,
    #[serde(default)]
    pub speed: Option<String>,
    #[serde(default)]
    pub mtu: Option<u32>,
    #[serde(default, rename = "promiscuous")]
    _promiscuous: Option<Only<true>>,
    #[serde(default, rename = "auto_negotiation")]
    _auto_negotiation: Absent,
    #[serde(default, rename = "flow_control")]
    _flow_control: Absent,
}

/// `Capture`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Capture {
    #[serde(rename = "name")]
    _name: String,
    pub port_names: Vec<String>,
    #[serde(default)]
    pub format: CaptureFormat,
    /// Octets of each frame; absent: all.
    #[serde(default)]
    pub packet_size: Option<u32>,
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

/// Makes a configuration as the client wrote it what the model has: clients write numbers of 64 bits as text.
pub fn normalise(config: &mut Value) {
    let flows = config.get_mut("flows").and_then(Value::as_array_mut);
    for rate in flows.into_iter().flatten().filter_map(|flow| flow.get_mut("rate")?.as_object_mut()) {
        for (_, value) in rate.iter_mut().filter(|(name, _)| *name != "choice") {
            if let Some(number) = value.as_str().and_then(|text| text.parse::<u64>().ok()) {
                *value = number.into();
            }
        }
    }
}
