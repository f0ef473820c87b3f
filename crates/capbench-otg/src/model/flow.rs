//! A flow: its ends, packet, size, rate, duration, and what is measured.

use capbench_frames::HeaderStack;
use capbench_frames::stack::Payload;
use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::limits::{Absent, Count, OnlyNumber};

/// `Flow`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    pub name: String,
    pub tx_rx: TxRx,
    /// The headers; absent: one of Ethernet, which the model prescribes for an empty list.
    #[serde(default, deserialize_with = "packet")]
    pub packet: Option<HeaderStack>,
    #[serde(default)]
    pub size: Size,
    #[serde(default)]
    pub rate: Rate,
    #[serde(default)]
    pub duration: Duration,
    #[serde(default)]
    pub metrics: Metrics,
    #[serde(default)]
    pub payload: Payload,
    #[serde(default, rename = "egress_packet")]
    _egress_packet: Absent,
}

fn packet<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<HeaderStack>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    if value.as_array().is_some_and(Vec::is_empty) {
        return Ok(None);
    }
    HeaderStack::deserialize(value).map(Some).map_err(D::Error::custom)
}

choice! {
    /// `Flow.TxRx`.
    TxRx = Port;
    /// From a port to ports.
    Port("port": PortEnds);
    ["device"]
}

/// `Flow.Port`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortEnds {
    pub tx_name: String,
    #[serde(default)]
    rx_name: Option<String>,
    #[serde(default)]
    rx_names: Vec<String>,
}

impl PortEnds {
    /// Whether the receiving ports are stated in the deprecated form, too.
    pub fn has_two_forms(&self) -> bool {
        self.rx_name.is_some() && !self.rx_names.is_empty()
    }

    /// The receiving ports.
    pub fn receivers(&self) -> impl Iterator<Item = &str> {
        self.rx_names.iter().chain(&self.rx_name).map(String::as_str)
    }
}

choice! {
    /// `Flow.Size`.
    Size = Fixed;
    /// One size.
    Fixed("fixed": Octets<64>),
    /// From a size to another in steps.
    Increment("increment": SizeIncrement),
    /// Any size of a range.
    Random("random": SizeRandom),
    /// Sizes by weights.
    WeightPairs("weight_pairs": WeightPairs);
    []
}

/// Octets of a frame, FCS included, with their default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Octets<const DEFAULT: u32>(pub u32);

impl<const DEFAULT: u32> Default for Octets<DEFAULT> {
    fn default() -> Self {
        Self(DEFAULT)
    }
}

/// `Flow.SizeIncrement`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SizeIncrement {
    pub start: Octets<64>,
    pub end: Octets<1518>,
    pub step: Octets<1>,
}

/// `Flow.SizeRandom`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SizeRandom {
    pub min: Octets<64>,
    pub max: Octets<1518>,
}

choice! {
    /// `Flow.SizeWeightPairs`.
    WeightPairs = Predefined;
    /// A mix with a name.
    Predefined("predefined": Mix),
    /// Pairs of sizes and weights.
    Custom("custom": Vec<WeightPair>);
    []
}

/// `Flow.SizeWeightPairs.predefined`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mix {
    #[default]
    Imix,
    IpsecImix,
    Ipv6Imix,
    StandardImix,
    TcpImix,
}

impl Mix {
    /// Its name among the mixes of capbench.
    pub fn preset(self) -> &'static str {
        match self {
            Self::Imix => "imix",
            Self::IpsecImix => "imix-ipsec",
            Self::Ipv6Imix => "imix-ipv6",
            Self::StandardImix => "imix-standard",
            Self::TcpImix => "imix-tcp",
        }
    }
}

/// `Flow.SizeWeightPairs.Custom`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct WeightPair {
    pub size: Octets<64>,
    pub weight: f64,
}

impl Default for WeightPair {
    fn default() -> Self {
        Self { size: Octets::default(), weight: 1.0 }
    }
}

/// A number of the model from 1 on, with its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<const DEFAULT: u64>(pub Count);

impl<'de, const DEFAULT: u64> Deserialize<'de> for Number<DEFAULT> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Count::deserialize(deserializer)? {
            Count(0) => Err(D::Error::custom("must be 1 or more")),
            count => Ok(Self(count)),
        }
    }
}

impl<const DEFAULT: u64> Default for Number<DEFAULT> {
    fn default() -> Self {
        Self(Count(DEFAULT))
    }
}

choice! {
    /// `Flow.Rate`.
    Rate = Pps;
    /// Frames per second.
    Pps("pps": Number<1000>),
    /// Bits per second.
    Bps("bps": Number<1_000_000_000>),
    /// Thousands of bits per second.
    Kbps("kbps": Number<1_000_000>),
    /// Millions of bits per second.
    Mbps("mbps": Number<1000>),
    /// Thousands of millions of bits per second.
    Gbps("gbps": Number<1>),
    /// Share of the line.
    Percentage("percentage": Percent);
    []
}

/// A share in percent.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Percent(pub f64);

impl Default for Percent {
    fn default() -> Self {
        Self(100.0)
    }
}

choice! {
    /// `Flow.Duration`.
    Duration = Continuous;
    /// Until it is stopped.
    Continuous("continuous": Continuous),
    /// A number of frames.
    FixedPackets("fixed_packets": FixedPackets),
    /// A time.
    FixedSeconds("fixed_seconds": FixedSeconds),
    /// Bursts.
    Burst("burst": Burst);
    []
}

/// `Flow.Continuous`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Continuous {
    gap: OnlyNumber<12>,
    pub delay: Delay,
}

/// `Flow.FixedPackets`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FixedPackets {
    pub packets: Number<1>,
    gap: OnlyNumber<12>,
    pub delay: Delay,
}

/// `Flow.FixedSeconds`.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct FixedSeconds {
    pub seconds: f64,
    gap: OnlyNumber<12>,
    pub delay: Delay,
}

impl Default for FixedSeconds {
    fn default() -> Self {
        Self { seconds: 1.0, gap: OnlyNumber, delay: Delay::default() }
    }
}

/// `Flow.Burst`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Burst {
    /// 0: without end.
    pub bursts: u32,
    pub packets: Number<1>,
    gap: OnlyNumber<12>,
    pub inter_burst_gap: Gap,
}

choice! {
    /// `Flow.Delay`.
    Delay = Bytes;
    /// Octets at the speed of the line.
    Bytes("bytes": f64),
    /// Nanoseconds.
    Nanoseconds("nanoseconds": f64),
    /// Microseconds.
    Microseconds("microseconds": f64);
    []
}

choice! {
    /// `Flow.Duration.InterBurstGap`.
    Gap = Bytes;
    /// Octets at the speed of the line.
    Bytes("bytes": GapBytes),
    /// Nanoseconds.
    Nanoseconds("nanoseconds": GapNanoseconds),
    /// Microseconds.
    Microseconds("microseconds": GapMicroseconds);
    []
}

/// A gap in octets.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct GapBytes(pub f64);

impl Default for GapBytes {
    fn default() -> Self {
        Self(12.0)
    }
}

/// A gap in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct GapNanoseconds(pub f64);

impl Default for GapNanoseconds {
    fn default() -> Self {
        Self(96.0)
    }
}

/// A gap in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct GapMicroseconds(pub f64);

impl Default for GapMicroseconds {
    fn default() -> Self {
        Self(0.096)
    }
}

/// `Flow.Metrics`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    pub enable: bool,
    pub loss: bool,
    pub timestamps: bool,
    pub rx_tx_ratio: RxTxRatio,
    pub latency: Latency,
    pub predefined_metric_tags: MetricTags,
}

choice! {
    /// `Flow.RxTxRatio`.
    RxTxRatio = Value;
    /// Received frames for each that is sent.
    Value("value": Ratio),
    /// As many as there are receiving ports.
    RxCount("rx_count": Absent);
    []
}

/// A ratio above 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio(pub f64);

impl<'de> Deserialize<'de> for Ratio {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let ratio = f64::deserialize(deserializer)?;
        if ratio > 0.0 { Ok(Self(ratio)) } else { Err(D::Error::custom("must be above 0")) }
    }
}

impl Default for Ratio {
    fn default() -> Self {
        Self(1.0)
    }
}

/// `Flow.Latency.Metrics`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Latency {
    pub enable: bool,
    mode: LatencyMode,
}

/// `Flow.Latency.Metrics.mode`: what the last bits of frames are measured by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum LatencyMode {
    #[default]
    StoreForward,
}

/// `Flow.Predefined.Tags`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct MetricTags {
    /// Whether there are counts of each receiving port.
    pub rx_name: bool,
}

impl Metrics {
    /// Received frames for each that is sent, with so many receiving ports.
    pub fn expected_ratio(&self, receivers: usize) -> f64 {
        match self.rx_tx_ratio {
            RxTxRatio::Value(Ratio(ratio)) => ratio,
            RxTxRatio::RxCount(Absent) => receivers as f64,
        }
    }
}
