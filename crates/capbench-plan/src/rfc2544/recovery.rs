//! System recovery (RFC 2544 26.5): after an overload the rate is halved, and frames may still be lost for a while. The recovery
//! time is the time from the change of the rate to the last lost frame.
//!
//! The overload is 110 % of the throughput, or the maximum rate if that is lower. Both times come from the plan: the moment of
//! the change, and the planned send time of the lost frame with the highest number. So no clock of the receiver is involved. The
//! generator's lateness adds to the uncertainty and is stored separately.

use std::time::Duration;

use capbench_frames::rates::Pps;
use capbench_frames::schedule::Step;
use serde::{Deserialize, Serialize};

use super::{Ended, Finished, MaximumRate, repeated};
use crate::bursts::Percent;
use crate::session::{Observer, Session};
use crate::{PlanError, Result};
use capbench_model::figures::grouped;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase, TrialResult};

/// Share of the time after the overload that must end without loss. A generator later than this did not send the load.
const QUIET: f64 = 0.1;

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

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct RecoveryOutcome {
    /// The highest rate without loss, frames per second.
    pub throughput_pps: Pps,
    /// The maximum rate.
    pub maximum: MaximumRate,
    /// The overload, frames per second.
    pub overload_pps: Pps,
    /// Duration of the overload, in seconds.
    pub overloaded_s: f64,
    /// The rate after it, frames per second.
    pub after_pps: Pps,
    /// Duration of that rate, in seconds.
    pub observed_s: f64,
    /// Each repetition.
    pub repetitions: Vec<Repetition>,
    /// Mean of the recovery times; absent unless every repetition has one.
    pub average_s: Option<f64>,
    /// How it ended.
    pub ended: Ended,
}

/// One overload and the time after it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Repetition {
    /// Its result.
    pub recovery: Recovery,
    /// Maximum lateness of the generator, in nanoseconds: the uncertainty of the recovery time.
    pub generator_late_ns: Option<u64>,
    /// Number of the trial.
    pub trial: u32,
}

/// The result of an overload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Recovery {
    /// Frames were lost, and then none.
    Recovered {
        /// From the change of the rate to the last lost frame, in seconds; 0 if none was lost after the change.
        after_s: f64,
    },
    /// No frame was lost: there was no overload.
    NothingLost,
    /// Frames were lost until the end, or nearly.
    NotRecovered {
        /// From the change of the rate to the last lost frame, in seconds.
        at_least_s: f64,
    },
    /// The trial does not show it.
    Unknown {
        /// Why.
        because: String,
    },
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

    /// The load. Fails for an overload that is not above the throughput, or a rate after it that is.
    pub fn load(&self) -> Result<Step> {
        let refuse = |reason: String| PlanError::unsupported("a recovery test", reason);
        let whole = Percent::WHOLE;
        if self.overload <= whole || self.after >= whole {
            return Err(refuse(format!(
                "its overload is to be more than 100 % of the throughput, not {}, and the rate after it less than 100 % of \
                 the overload, not {}",
                self.overload, self.after
            )));
        }
        if self.overloaded.is_zero() || self.observed.is_zero() {
            return Err(refuse("neither the overload nor the time after it may last 0 s".into()));
        }
        let wanted = self.throughput.get() * self.overload.ratio();
        let before = Pps::new(wanted.min(self.maximum.pps.get()))?;
        if before <= self.throughput {
            return Err(refuse(format!(
                "the maximum rate ({}) is no more than the throughput, {} packets/s, so nothing offered would be an \
                 overload",
                self.maximum,
                grouped(self.throughput.get())
            )));
        }
        let after = Pps::new(before.get() * self.after.ratio())?;
        if after >= self.throughput {
            return Err(refuse(format!(
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
        let (sound, ended) =
            repeated(&mut session, setup, load, duration, Phase::Recovery, self.repetitions)?;
        let repetition = |trial: &TrialResult| Repetition {
            recovery: recovery(trial, &step),
            generator_late_ns: trial.lateness.map(|lateness| lateness.max_ns),
            trial: trial.number,
        };
        let repetitions: Vec<_> = sound.iter().map(repetition).collect();
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

/// The result of a trial with this load.
pub fn recovery(trial: &TrialResult, step: &Step) -> Recovery {
    let unknown = |because: String| Recovery::Unknown { because };
    let change_s = step.at.as_secs_f64();
    // Unsent frames are at the end of the plan.
    let observed_s = step.planned_ns(trial.sent) as f64 / 1e9 - change_s;
    let late_s = trial.lateness.map_or(0.0, |lateness| lateness.max_ns as f64 / 1e9);
    if observed_s <= 0.0 {
        return unknown("the generator sent no frame after the overload".into());
    }
    if late_s > observed_s * QUIET {
        return unknown(format!(
            "the generator was late by up to {late_s:.3} s, so the overload did not end when it was to"
        ));
    }
    if trial.lost() == 0 {
        return Recovery::NothingLost;
    }
    let Some(last) = trial.loss_pattern.as_ref().and_then(|shape| shape.last_lost) else {
        return unknown("the method does not show which frames were lost".into());
    };
    let after_s = (step.planned_ns(last) as f64 / 1e9 - change_s).max(0.0);
    if after_s > observed_s * (1.0 - QUIET) {
        Recovery::NotRecovered { at_least_s: after_s }
    } else {
        Recovery::Recovered { after_s }
    }
}

fn average(repetitions: &[Repetition]) -> Option<f64> {
    let times: Option<Vec<f64>> = repetitions
        .iter()
        .map(|repetition| match repetition.recovery {
            Recovery::Recovered { after_s } => Some(after_s),
            _ => None,
        })
        .collect();
    times.filter(|times| !times.is_empty()).map(|times| times.iter().sum::<f64>() / times.len() as f64)
}
