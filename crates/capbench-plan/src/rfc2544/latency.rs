//! Latency (RFC 2544 26.2) in the figures of RFC 8219 7.2 and 7.3: repeated trials at one rate, usually the throughput, with
//! every frame's times. [`capbench_model::latency`] defines the times.
//!
//! RFC 2544 requires a stream of at least 120 s, a frame tagged after 60 s, at least 20 repetitions, and the mean of the tagged
//! frames' latencies. Here every frame from 60 s on is tagged, and the mean is that of the repetitions' means. RFC 8219 uses the
//! median of each repetition as typical latency and the 99.9th percentile as worst latency. It reports the median of each over
//! the repetitions.

use std::time::Duration;

use capbench_frames::rates::Pps;
use serde::{Deserialize, Serialize};

use super::{Ended, Finished, repeated};
use crate::session::{Observer, Session};
use crate::{PlanError, Result};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::{Delays, Latency, Recording};
use capbench_model::trial::{Load, Phase, TrialResult};

/// A test of latency.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LatencyTest {
    /// The rate: usually the throughput.
    pub rate: Pps,
    /// Length of a trial: at least 120 s.
    pub duration: Duration,
    /// Start of recording: 60 s.
    pub from: Duration,
    /// Number of trials: at least 20.
    pub repetitions: u32,
}

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

/// A leg over all trials, in nanoseconds.
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

impl LatencyTest {
    /// Runs the test. Fails when a trial ends before recording starts, and when one cannot be saved.
    pub fn run(
        &self,
        setup: &Setup,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<Finished<LatencyOutcome>> {
        if self.from >= self.duration {
            return Err(PlanError::unsupported(
                "a latency test",
                format!(
                    "frames are to be recorded from {:?} on, and its trials last {:?}",
                    self.from, self.duration
                ),
            ));
        }
        let setup = Setup { latency: Some(Recording { from: self.from }), ..setup.clone() };
        let mut session = Session::new(laboratory, observer);
        let load = Load::Rate(self.rate);
        let (sound, ended) =
            repeated(&mut session, &setup, load, self.duration, Phase::Latency, self.repetitions)?;
        let outcome = LatencyOutcome {
            rate_pps: self.rate,
            duration_s: self.duration.as_secs_f64(),
            from_s: self.from.as_secs_f64(),
            to_kernel: leg(&sound, |latency| latency.to_kernel.as_ref()),
            to_application: leg(&sound, |latency| latency.to_application.as_ref()),
            total: leg(&sound, |latency| latency.total.as_ref()),
            relative_to_kernel: leg(&sound, |latency| latency.relative.as_ref()?.to_kernel.as_ref()),
            relative_total: leg(&sound, |latency| latency.relative.as_ref()?.total.as_ref()),
            repetitions: sound.len() as u32,
            lossy: sound.iter().filter(|trial| trial.lost() > 0).map(|trial| trial.number).collect(),
            ended,
        };
        Ok(Finished { outcome, trials: session.trials })
    }
}

fn leg(trials: &[TrialResult], of: impl Fn(&Latency) -> Option<&Delays>) -> Option<Leg> {
    let delays: Option<Vec<&Delays>> =
        trials.iter().map(|trial| trial.latency.as_ref().and_then(&of)).collect();
    let delays = delays.filter(|delays| !delays.is_empty())?;
    let across = |figure: fn(&Delays) -> i64| {
        let mut figures: Vec<i64> = delays.iter().map(|delays| figure(delays)).collect();
        figures.sort_unstable();
        let last = figures.len() - 1;
        Across { median_ns: figures[last / 2], min_ns: figures[0], max_ns: figures[last] }
    };
    Some(Leg {
        mean_ns: delays.iter().map(|delays| delays.mean_ns).sum::<f64>() / delays.len() as f64,
        typical: across(|delays| delays.p50_ns),
        worst: across(|delays| delays.p99_9_ns),
        pdv: across(|delays| i64::try_from(delays.pdv_ns).unwrap_or(i64::MAX)),
    })
}
