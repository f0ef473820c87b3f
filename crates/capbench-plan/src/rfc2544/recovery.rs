//! System recovery (RFC 2544 26.5): after an overload the rate is halved, and frames may still be lost for a while. The recovery
//! time is the time from the change of the rate to the last lost frame.
//!
//! The overload is 110 % of the throughput, or the maximum rate if that is lower. Both times come from the plan: the moment of
//! the change, and the planned send time of the lost frame with the highest number. So no clock of the receiver is involved. The
//! generator's lateness adds to the uncertainty and is stored separately.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::schedule::Step;

use super::{Finished, repeated};
use crate::Observer;
use crate::session::Session;
use crate::{PlanError, Result};
use capbench_judge::bursts::Percent;
use capbench_judge::rfc2544::MaximumRate;
use capbench_judge::rfc2544::recovery::{RecoveryOutcome, Repetition, average, recovery};
use capbench_model::figures::grouped;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase};

/// A test of system recovery.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RecoveryTest {
    /// The highest rate without loss.
    pub throughput: Pps,
    /// The maximum rate.
    pub maximum: MaximumRate,
    /// The overload in percent of the throughput: 110.
    pub overload: Percent,
    /// Duration of the overload: at least 60 s.
    pub overloaded: Duration,
    /// The rate after it, in percent of the overload: 50.
    pub after: Percent,
    /// Duration of that rate.
    pub observed: Duration,
    /// Number of repetitions.
    pub repetitions: u32,
}

impl RecoveryTest {
    /// The test with the parameters of the standard, which does not specify the number of repetitions.
    pub fn standard(throughput: Pps, maximum: MaximumRate) -> Self {
        Self {
            throughput,
            maximum,
            overload: Percent::fixed(110.0),
            overloaded: Duration::from_secs(60),
            after: Percent::fixed(50.0),
            observed: Duration::from_secs(60),
            repetitions: 1,
        }
    }

    /// The load. Fails for percentages by which the overload is not above the throughput, or the rate after it is. Whether the maximum rate
    /// allows an overload the suite decides.
    pub fn load(&self) -> Result<Step> {
        let whole = Percent::WHOLE;
        if self.overload <= whole || self.after >= whole {
            return Err(refused(format!(
                "its overload is to be more than 100 % of the throughput, not {}, and the rate after it less than 100 % of \
                 the overload, not {}",
                self.overload, self.after
            )));
        }
        if self.overloaded.is_zero() || self.observed.is_zero() {
            return Err(refused("neither the overload nor the time after it may last 0 s".into()));
        }
        let wanted = self.throughput.get() * self.overload.ratio();
        let before = Pps::new(wanted.min(self.maximum.pps.get()))?;
        let after = Pps::new(before.get() * self.after.ratio())?;
        if after >= self.throughput {
            return Err(refused(format!(
                "the rate after the overload, {} packets/s, is no less than the throughput, {} packets/s",
                grouped(after.get()),
                grouped(self.throughput.get())
            )));
        }
        Ok(Step { before, at: self.overloaded, after })
    }

    /// Runs the test. Fails when rates and times contradict each other, and when a trial cannot be saved.
    pub fn run(
        &self,
        setup: &Setup,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<Finished<RecoveryOutcome>> {
        let step = self.load()?;
        let duration = self.overloaded + self.observed;
        let mut session = Session::new(laboratory, observer);
        let load = Load::Step(step);
        let (valid, ended) =
            repeated(&mut session, setup, load, duration, Phase::Recovery, self.repetitions)?;
        let mut repetitions = Vec::new();
        for trial in &valid {
            repetitions.push(Repetition {
                recovery: recovery(trial, &step),
                generator_late_ns: trial.lateness.map(|lateness| lateness.max_ns),
                trial: trial.number,
            });
        }
        let outcome = RecoveryOutcome {
            throughput_pps: self.throughput,
            maximum: self.maximum,
            overload_pps: step.before,
            overloaded_s: self.overloaded.as_secs_f64(),
            after_pps: step.after,
            observed_s: self.observed.as_secs_f64(),
            average_s: average(&repetitions),
            repetitions,
            ended,
        };
        Ok(Finished { outcome, trials: session.trials })
    }
}

fn refused(reason: String) -> PlanError {
    PlanError::unsupported("a recovery test", reason)
}
