//! Frame loss rate (RFC 2544 26.3): the share of lost frames at loads from the maximum rate down, until two trials in succession
//! lose nothing. The x axis of its curve is the load in percent of the maximum rate; the y axis is the loss in percent of the
//! sent frames. If the generator did not reach a load, that load was not offered: a loss still counts, but no loss is no
//! evidence for that load.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Ended, Finished, MaximumRate};
use crate::bursts::Percent;
use crate::session::{Observer, Session};
use crate::{PlanError, Result};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase, TrialResult, Verdict};

/// The coarsest step that the standard allows. It recommends finer ones.
pub const COARSEST: Percent = Percent::fixed(10.0);
/// Trials in succession that must lose nothing.
const CLEAN: usize = 2;

/// A test of frame loss rate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FrameLossTest {
    /// 100 %.
    pub maximum: MaximumRate,
    /// Difference of successive loads, as a share of the maximum rate.
    pub step: Percent,
    /// Length of a trial (RFC 2544 24: at least 60 s).
    pub duration: Duration,
}

/// The outcome of the test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct FrameLossOutcome {
    /// 100 %.
    pub maximum: MaximumRate,
    /// Difference of successive loads, as a share of the maximum rate.
    pub step_percent: Percent,
    /// Length of a trial in seconds.
    pub duration_s: f64,
    /// The curve, the highest load first.
    pub points: Vec<LossPoint>,
    /// Whether the last two trials sent everything and lost nothing, as the standard requires. If not, no lower load was left.
    pub ends_without_loss: bool,
    /// How it ended.
    pub ended: Ended,
}

/// A point of the curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct LossPoint {
    /// Intended load in percent of the maximum rate.
    pub load_percent: f64,
    /// Offered load in percent of the maximum rate; lower than the intended load if the generator fell short.
    pub offered_percent: f64,
    /// `(sent - delivered) * 100 / sent`.
    pub loss_percent: f64,
    /// Frames to send.
    pub intended: u64,
    /// Frames sent.
    pub sent: u64,
    /// Frames delivered.
    pub delivered: u64,
    /// Whether the generator left frames unsent, so that the point does not represent this load.
    #[serde(default)]
    pub generator_limited: bool,
    /// How its trial ended.
    pub verdict: Verdict,
    /// Number of the trial.
    pub trial: u32,
}

impl FrameLossTest {
    /// The loads, highest first. Fails for a step that is coarser than the standard allows.
    pub fn loads(&self) -> Result<Vec<Percent>> {
        if self.step > COARSEST {
            return Err(PlanError::unsupported(
                format!("a frame loss test in steps of {}", self.step),
                format!("RFC 2544 26.3 allows up to {COARSEST}"),
            ));
        }
        // Whole numbers of steps avoid the sum of rounding errors.
        let down = |steps: u32| Percent::WHOLE.get() - f64::from(steps) * self.step.get();
        let above_nothing = |percent: &f64| *percent > self.step.get() * 1e-6;
        (0..).map(down).take_while(above_nothing).map(Percent::new).collect()
    }

    /// Runs the test. Fails for a step that is too coarse, and when a trial cannot be saved.
    pub fn run(
        &self,
        setup: &Setup,
        laboratory: &mut dyn Laboratory,
        observer: &mut dyn Observer,
    ) -> Result<Finished<FrameLossOutcome>> {
        let mut session = Session::new(laboratory, observer);
        let mut outcome = FrameLossOutcome {
            maximum: self.maximum,
            step_percent: self.step,
            duration_s: self.duration.as_secs_f64(),
            points: Vec::new(),
            ends_without_loss: false,
            ended: Ended::Complete,
        };
        for percent in self.loads()? {
            let load = Load::Rate(self.maximum.part(percent)?);
            match session.sound(setup, load, self.duration, Phase::FrameLoss)? {
                Ok(trial) => outcome.points.push(self.point(percent, &trial)),
                Err(missing) => {
                    outcome.ended = missing.into();
                    break;
                }
            }
            outcome.ends_without_loss = outcome.is_clean();
            if outcome.ends_without_loss {
                break;
            }
        }
        Ok(Finished { outcome, trials: session.trials })
    }

    fn point(&self, percent: Percent, trial: &TrialResult) -> LossPoint {
        LossPoint {
            load_percent: percent.get(),
            offered_percent: trial.offered_pps * 100.0 / self.maximum.pps.get(),
            loss_percent: trial.sent_loss_ratio() * 100.0,
            intended: trial.intended,
            sent: trial.sent,
            delivered: trial.delivered,
            generator_limited: trial.shortfall() > 0,
            verdict: trial.verdict,
            trial: trial.number,
        }
    }
}

impl FrameLossOutcome {
    /// Whether the last trials in succession sent all intended frames and lost none.
    fn is_clean(&self) -> bool {
        let last = self.points.iter().rev().take(CLEAN);
        last.filter(|point| !point.generator_limited && point.sent == point.delivered).count() == CLEAN
    }
}
