//! Latency (RFC 2544 26.2) in the figures of RFC 8219 7.2 and 7.3: repeated trials at one rate, usually the throughput, with
//! every frame's times. [`capbench_model::latency`] defines the times.
//!
//! RFC 2544 requires a stream of at least 120 s, a frame tagged after 60 s, at least 20 repetitions, and the mean of the tagged
//! frames' latencies. Here every frame from 60 s on is tagged, and the mean is that of the repetitions' means. RFC 8219 uses the
//! median of each repetition as typical latency and the 99.9th percentile as worst latency. It reports the median of each over
//! the repetitions.

use std::time::Duration;

use capbench_frames::rates::Pps;

use super::{Finished, repeated};
use crate::Observer;
use crate::session::Session;
use crate::{PlanError, Result};
use capbench_judge::rfc2544::latency::{LatencyOutcome, leg};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::latency::Recording;
use capbench_model::trial::{Load, Phase};

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
        let (valid, ended) =
            repeated(&mut session, &setup, load, self.duration, Phase::Latency, self.repetitions)?;
        let outcome = LatencyOutcome {
            rate_pps: self.rate,
            duration_s: self.duration.as_secs_f64(),
            from_s: self.from.as_secs_f64(),
            to_kernel: leg(&valid, |latency| latency.to_kernel.as_ref()),
            to_application: leg(&valid, |latency| latency.to_application.as_ref()),
            total: leg(&valid, |latency| latency.total.as_ref()),
            relative_to_kernel: leg(&valid, |latency| latency.relative.as_ref()?.to_kernel.as_ref()),
            relative_total: leg(&valid, |latency| latency.relative.as_ref()?.total.as_ref()),
            repetitions: valid.len() as u32,
            lossy: valid.iter().filter(|trial| trial.lost() > 0).map(|trial| trial.number).collect(),
            ended,
        };
        Ok(Finished { outcome, trials: session.trials })
    }
}
