//! The outcome of a test of latency (RFC 2544 26.2) in the figures of RFC 8219 7.2 and 7.3. [`capbench_model::latency`] defines
//! the times.

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::Ended;
use capbench_model::latency::{Delays, Latency};
use capbench_model::trial::TrialResult;

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LatencyOutcome {
    /// The rate, frames per second.
    pub rate_pps: Pps,
    /// Length of a trial in seconds.
    pub duration_s: f64,
    /// Start of recording, in seconds.
    pub from_s: f64,
    /// From planned send time to the kernel's timestamp; absent unless every trial has it.
    pub to_kernel: Option<Leg>,
    /// From the kernel's timestamp to delivery; absent unless every trial has it.
    pub to_application: Option<Leg>,
    /// From planned send time to delivery; absent unless every trial has it.
    pub total: Option<Leg>,
    /// Between two hosts: from planned send time to the kernel's timestamp, less its minimum; absent unless every trial has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_to_kernel: Option<Leg>,
    /// Between two hosts: from planned send time to delivery, less its minimum; absent unless every trial has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relative_total: Option<Leg>,
    /// Number of trials in these figures.
    pub repetitions: u32,
    /// Numbers of the trials that lost frames: their rate was above the throughput, and their latency is that of full buffers.
    pub lossy: Vec<u32>,
    /// How it ended.
    pub ended: Ended,
}

/// A part of the way of a frame, such as that from the kernel to the application, over all trials. Times are in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Leg {
    /// Mean of the means.
    pub mean_ns: f64,
    /// Typical latency: over the trials' medians.
    pub typical: Across,
    /// Worst latency: over the trials' 99.9th percentiles.
    pub worst: Across,
    /// Packet delay variation of the trials.
    pub pdv: Across,
}

/// A figure over all trials.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Across {
    /// Its median, the lower one of two.
    pub median_ns: i64,
    /// The minimum.
    pub min_ns: i64,
    /// The maximum.
    pub max_ns: i64,
}

/// The selected delays over these trials; `None` unless every trial has them.
pub fn leg(trials: &[TrialResult], select: impl Fn(&Latency) -> Option<&Delays>) -> Option<Leg> {
    let mut all: Vec<&Delays> = Vec::new();
    for trial in trials {
        all.push(select(trial.latency.as_ref()?)?);
    }
    if all.is_empty() {
        return None;
    }
    Some(Leg {
        mean_ns: all.iter().map(|delays| delays.mean_ns).sum::<f64>() / all.len() as f64,
        typical: across(&all, |delays| delays.p50_ns),
        worst: across(&all, |delays| delays.p99_9_ns),
        pdv: across(&all, |delays| i64::try_from(delays.pdv_ns).unwrap_or(i64::MAX)),
    })
}

/// A figure over all trials, of which there is at least one.
fn across(all: &[&Delays], figure: fn(&Delays) -> i64) -> Across {
    let mut figures: Vec<i64> = all.iter().map(|delays| figure(delays)).collect();
    figures.sort_unstable();
    let last = figures.len() - 1;
    Across { median_ns: figures[last / 2], min_ns: figures[0], max_ns: figures[last] }
}
