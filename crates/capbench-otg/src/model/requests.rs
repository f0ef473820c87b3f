//! What a client asks for.

use serde::Deserialize;

use super::flow::{Flow, Number};
use super::limits::Absent;

choice! {
    /// `Control.State`.
    ControlState;
    /// State of ports.
    Port("port": PortState),
    /// State of flows.
    Traffic("traffic": Traffic);
    ["protocol"]
}

choice! {
    /// `State.Port`.
    PortState;
    /// Sets interfaces up or down.
    Link("link": LinkState),
    /// Starts or stops captures.
    Capture("capture": CaptureState);
    []
}

choice! {
    /// `State.Traffic`.
    Traffic;
    /// Starts, stops, pauses or resumes flows.
    FlowTransmit("flow_transmit": FlowTransmit);
    []
}

/// `State.Port.Link`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkState {
    #[serde(default)]
    pub port_names: Vec<String>,
    pub state: Link,
}

/// State of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Link {
    Up,
    Down,
}

/// `State.Port.Capture`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureState {
    #[serde(default)]
    pub port_names: Vec<String>,
    pub state: StartStop,
}

/// State of a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StartStop {
    Start,
    Stop,
}

/// `State.Traffic.FlowTransmit`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowTransmit {
    #[serde(default)]
    pub flow_names: Vec<String>,
    pub state: Transmit,
}

/// What flows are to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Transmit {
    Start,
    Stop,
    Pause,
    Resume,
}

choice! {
    /// `Metrics.Request`.
    MetricsRequest = Port;
    /// Counters of ports.
    Port("port": PortMetricsRequest),
    /// Counters of flows.
    Flow("flow": FlowMetricsRequest);
    ["bgpv4", "bgpv6", "isis", "lag", "lacp", "lldp", "rsvp", "dhcpv4_client", "dhcpv4_server", "dhcpv6_client", "dhcpv6_server",
     "ospfv2", "convergence", "macsec", "mka", "ospfv3", "rocev2_ipv4", "rocev2_ipv6", "rocev2_flow", "egress_only_tracking",
     "bmp_server"]
}

/// `Port.Metrics.Request`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PortMetricsRequest {
    pub port_names: Vec<String>,
    pub column_names: Vec<String>,
}

/// `Flow.Metrics.Request`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FlowMetricsRequest {
    pub flow_names: Vec<String>,
    pub metric_names: Vec<String>,
    pub tagged_metrics: TaggedMetrics,
}

/// `Flow.TaggedMetrics.Filter`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaggedMetrics {
    pub include: bool,
    include_empty_metrics: bool,
    metric_names: Absent,
    filters: Absent,
}

impl TaggedMetrics {
    /// Whether there is a row for a port that has received so many frames.
    pub fn has_row(&self, frames_rx: u64) -> bool {
        frames_rx > 0 || self.include_empty_metrics
    }
}

impl Default for TaggedMetrics {
    fn default() -> Self {
        Self { include: true, include_empty_metrics: false, metric_names: Absent, filters: Absent }
    }
}

/// `Capture.Request`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaptureRequest {
    pub port_name: String,
    #[serde(default)]
    pub packets: Packets,
}

choice! {
    /// `CaptureRequest.Packets`.
    Packets = All;
    /// Every packet.
    All("all": Absent),
    /// Some packets.
    Slice("slice": Slice);
    []
}

choice! {
    /// `CaptureRequest.CaptureSlice`.
    Slice = Initial;
    /// From a packet on.
    Initial("initial": InitialSlice);
    []
}

/// `CaptureRequest.CaptureSliceInitial`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct InitialSlice {
    /// Number of the first packet, from 1.
    pub start: Number<1>,
    pub count: Number<100>,
}

choice! {
    /// `Config.Update`.
    ConfigUpdate;
    /// Changes of flows.
    Flows("flows": FlowsUpdate);
    ["protocols"]
}

/// `Flows.Update`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowsUpdate {
    pub property_names: Vec<Property>,
    pub flows: Vec<Flow>,
}

/// A member of a flow that can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Property {
    Rate,
    Size,
}

impl Property {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rate => "rate",
            Self::Size => "size",
        }
    }
}
