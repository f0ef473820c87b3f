//! The compared figures.

use crate::thresholds::SMALLEST_COMPARED_VALUE;

use serde::{Deserialize, Serialize};

/// A figure of a trial, or of a search.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Frames per second delivered at maximum load. At another load the loss shows the same.
    DeliveredRate,
    /// Share of the sent frames that was lost. It is not compared at maximum load, where it depends on the generator's rate.
    LossRatio,
    /// The highest load that a goal of a search accepts.
    Throughput,
    /// CPU time of application and kernel per frame, in nanoseconds. It is compared if the load was delivered: in an overload it only
    /// shows how much time there is.
    TotalCost,
    /// CPU time of the application per frame, in nanoseconds. It is not compared if only a range is known.
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

/// Whether a higher value or a lower one is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// A higher value is better.
    Higher,
    /// A lower value is better.
    Lower,
}

impl Measure {
    /// The figures of trials, in the order of reports.
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

    /// Whether a higher value or a lower one is better.
    pub const fn better(self) -> Better {
        match self {
            Self::DeliveredRate | Self::Throughput => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// A value on the scale on which differences are computed: a logarithm if values are compared by their ratio.
    pub fn scaled(self, value: f64) -> f64 {
        match self.scale() {
            Scale::Ratio => value.max(SMALLEST_COMPARED_VALUE).ln(),
            Scale::Difference => value,
        }
    }

    /// Converts a difference on the scale of [`Self::scaled`] to a change: relative to the earlier value, or a difference of shares.
    pub fn change(self, difference: f64) -> f64 {
        match self.scale() {
            Scale::Ratio => difference.exp_m1(),
            Scale::Difference => difference,
        }
    }
}
