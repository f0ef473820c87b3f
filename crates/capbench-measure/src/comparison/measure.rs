//! What is compared.

use serde::{Deserialize, Serialize};

use crate::trial::{Load, TrialResult};

/// A figure of a trial, or of a search.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// Frames per second delivered at maximum load. At a load that was set it says no more than the loss.
    DeliveredRate,
    /// Share of the sent frames that was lost, at a load that was set. At maximum load it depends on what the generator
    /// could send.
    LossRatio,
    /// The highest load that a goal of a search accepts.
    Throughput,
    /// CPU time of application and kernel together per frame, nanoseconds, in trials that held their load: of an overload
    /// it is what the CPU had, shared by whatever came.
    TotalCost,
    /// CPU time of the application per frame, nanoseconds. Where it is known only as a range it is not compared.
    ApplicationCost,
    /// Median of the latency, nanoseconds.
    MedianLatency,
    /// 99.9th percentile of the latency, nanoseconds.
    WorstLatency,
}

/// How two values are set against each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// By their ratio.
    Ratio,
    /// By their difference, as of shares, which may be 0.
    Difference,
}

/// Which way is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// More.
    Higher,
    /// Less.
    Lower,
}

/// A value of 0 has no logarithm; this one is below all that is measured.
const LEAST: f64 = 1e-9;

impl Measure {
    /// Those that a trial can have.
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

    /// Its unit; of shares none.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::DeliveredRate | Self::Throughput => "packets/s",
            Self::LossRatio => "",
            Self::TotalCost | Self::ApplicationCost => "ns/packet",
            Self::MedianLatency | Self::WorstLatency => "ns",
        }
    }

    /// How its values are set against each other.
    pub const fn scale(self) -> Scale {
        match self {
            Self::LossRatio => Scale::Difference,
            _ => Scale::Ratio,
        }
    }

    /// Which way it is better.
    pub const fn better(self) -> Better {
        match self {
            Self::DeliveredRate | Self::Throughput => Better::Higher,
            _ => Better::Lower,
        }
    }

    /// What a trial says of it; `None` where it says nothing.
    pub(crate) fn of(self, trial: &TrialResult) -> Option<f64> {
        let is_maximum = trial.intended_pps.is_none() && trial.load.is_none();
        let total = trial.latency.as_ref().and_then(|latency| latency.total.as_ref());
        match self {
            Self::DeliveredRate => is_maximum.then_some(trial.delivered_pps),
            Self::LossRatio => (!is_maximum).then(|| trial.sent_loss_ratio()),
            Self::Throughput => None,
            Self::TotalCost => trial.cpu.total_ns_per_packet.filter(|_| trial.held_load()),
            Self::ApplicationCost => trial.cpu.app_ns_per_packet.filter(|_| !trial.cpu.split_is_sampled),
            Self::MedianLatency => total.map(|delays| delays.p50_ns as f64),
            Self::WorstLatency => total.map(|delays| delays.p99_9_ns as f64),
        }
    }

    /// A value on the scale on which differences are taken.
    pub(crate) fn scaled(self, value: f64) -> f64 {
        match self.scale() {
            Scale::Ratio => value.max(LEAST).ln(),
            Scale::Difference => value,
        }
    }

    /// A difference on that scale as a change: a part of what it was, or a difference of shares.
    pub(crate) fn change(self, difference: f64) -> f64 {
        match self.scale() {
            Scale::Ratio => difference.exp_m1(),
            Scale::Difference => difference,
        }
    }
}

/// The load of a trial in words, as far as it was set.
pub(crate) fn load(trial: &TrialResult) -> String {
    match (&trial.load, trial.intended_pps) {
        (Some(shape), _) => format!("{shape:?}"),
        (None, Some(pps)) => format!("{pps:.0} packets/s"),
        (None, None) => Load::Maximum.to_string(),
    }
}
