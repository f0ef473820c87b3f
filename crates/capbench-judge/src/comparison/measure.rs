//! The compared figures.

use crate::thresholds::SMALLEST_COMPARED_VALUE;

use serde::{Deserialize, Serialize};

/// A figure of a trial, or of a search.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Frames per second delivered at maximum load. At a set load it duplicates the loss.
    DeliveredRate,
    /// Share of the sent frames that was lost, at a set load. At maximum load it depends on the generator's rate.
    LossRatio,
    /// The highest load that a goal of a search accepts.
    Throughput,
    /// CPU time of application and kernel per frame, ns, if the load was sustained. In an overload it shows the time available.
    TotalCost,
    /// CPU time of the application per frame, nanoseconds. If only a range is known, it is not compared.
    ApplicationCost,
    /// Median of the latency, nanoseconds.
    MedianLatency,
    /// 99.9th percentile of the latency, nanoseconds.
    WorstLatency,
}

/// How two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their ratio.
    Ratio,
    /// By their difference. Used for shares, which may be 0.
    Difference,
}

/// The better direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
}

impl Measure {
    pub(crate) const OF_TRIALS: [Self; 6] = [
        Self::DeliveredRate,
        Self::LossRatio,
        Self::TotalCost,
        Self::ApplicationCost,
        Self::MedianLatency,
        Self::WorstLatency,
    ];

    /// Its name in tables and sentences.
    pub const fn words(self) -> &'static str {
        match self {
            Self::DeliveredRate => "delivered",
            Self::LossRatio => "loss",
            Self::Throughput => "throughput",
            Self::TotalCost => "CPU time",
            Self::ApplicationCost => "application",
            Self::MedianLatency => "latency p50",
            Self::WorstLatency => "latency p99.9",
        }
    }

    /// Its unit; empty for shares.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::DeliveredRate | Self::Throughput => "packets/s",
            Self::LossRatio => "",
            Self::TotalCost | Self::ApplicationCost => "ns/packet",
            Self::MedianLatency | Self::WorstLatency => "ns",
        }
    }

    /// How its values are compared.
    pub const fn scale(self) -> Scale {
        match self {
            Self::LossRatio => Scale::Difference,
            _ => Scale::Ratio,
        }
    }

    /// The better direction.
    pub const fn better(self) -> Better {
        match self {
            Self::DeliveredRate | Self::Throughput => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// A value on the scale on which differences are computed.
    pub fn scaled(self, value: f64) -> f64 {
        match self.scale() {
            Scale::Ratio => value.max(SMALLEST_COMPARED_VALUE).ln(),
            Scale::Difference => value,
        }
    }

    /// Converts a difference on that scale to a change: relative to the earlier value, or a difference of shares.
    pub fn change(self, difference: f64) -> f64 {
        match self.scale() {
            Scale::Ratio => difference.exp_m1(),
            Scale::Difference => difference,
        }
    }
}
