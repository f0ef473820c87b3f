//! What a client gets. What is unknown is absent.

use serde::Serialize;

/// `Warning`.
#[derive(Debug, Default, Serialize)]
pub struct Warnings {
    pub warnings: Vec<String>,
}

/// `Error`.
#[derive(Debug, Serialize)]
pub struct Failure {
    pub code: u16,
    pub kind: &'static str,
    pub errors: Vec<String>,
}

/// `Version`.
#[derive(Debug, Serialize)]
pub struct Version {
    pub api_spec_version: &'static str,
    pub sdk_version: &'static str,
    pub app_version: &'static str,
}

/// `Metrics.Response`.
#[derive(Debug, Serialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum MetricsResponse {
    PortMetrics { port_metrics: Vec<PortMetric> },
    FlowMetrics { flow_metrics: Vec<FlowMetric> },
}

/// Declares a row whose members are left out where they are unknown, or where the client asked for others.
macro_rules! row {
    ($(#[$doc:meta])* $name:ident { $($always:ident: $always_type:ty),*; $($member:ident: $type:ty),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Debug, Default, Serialize)]
        pub struct $name {
            $(pub $always: $always_type,)*
            $(#[serde(skip_serializing_if = "Option::is_none")] pub $member: Option<$type>,)+
        }

        impl $name {
            /// The members that a client can ask for.
            pub const COLUMNS: &'static [&'static str] = &[$(stringify!($member)),+];

            /// The row with these members only; all for an empty list.
            #[must_use]
            pub fn only(mut self, columns: &[String]) -> Self {
                $(if !columns.is_empty() && !columns.iter().any(|column| column == stringify!($member)) {
                    self.$member = None;
                })+
                self
            }
        }
    };
}

row! {
    /// `Port.Metric`.
    PortMetric {
        name: String;
        transmit: &'static str,
        location: String,
        link: &'static str,
        capture: &'static str,
        frames_tx: u64,
        frames_rx: u64,
        bytes_tx: u64,
        bytes_rx: u64,
        frames_tx_rate: f64,
        frames_rx_rate: f64,
        bytes_tx_rate: f64,
        bytes_rx_rate: f64,
        speed: u64,
    }
}

row! {
    /// `Flow.Metric`.
    FlowMetric {
        name: String, port_tx: String;
        port_rx: String,
        transmit: &'static str,
        frames_tx: u64,
        frames_rx: u64,
        bytes_tx: u64,
        bytes_rx: u64,
        frames_tx_rate: f64,
        frames_rx_rate: f64,
        tx_l1_rate_bps: f64,
        rx_l1_rate_bps: f64,
        tx_rate_bytes: f64,
        rx_rate_bytes: f64,
        tx_rate_bps: f64,
        rx_rate_bps: f64,
        tx_rate_kbps: f64,
        rx_rate_kbps: f64,
        tx_rate_mbps: f64,
        rx_rate_mbps: f64,
        loss: f64,
        timestamps: Timestamps,
        latency: Latency,
        tagged_metrics: Vec<TaggedMetric>,
    }
}

/// `Metric.Timestamp`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Timestamps {
    pub first_timestamp_ns: f64,
    pub last_timestamp_ns: f64,
}

/// `Metric.Latency`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Latency {
    pub minimum_ns: f64,
    pub maximum_ns: f64,
    pub average_ns: f64,
}

/// `Flow.TaggedMetric`: what one of several ports received.
#[derive(Debug, Serialize)]
pub struct TaggedMetric {
    pub tags: Vec<Tag>,
    pub frames_rx: u64,
    pub bytes_rx: u64,
}

/// `Flow.MetricTag`.
#[derive(Debug, Serialize)]
pub struct Tag {
    pub name: &'static str,
    pub value: TagValue,
}

/// `Flow.MetricTag.Value`.
#[derive(Debug, Serialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum TagValue {
    Str { str: String },
}
