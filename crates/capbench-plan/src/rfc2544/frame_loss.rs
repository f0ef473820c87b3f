//! Frame loss rate (RFC 2544 26.3): the share of lost frames at loads from the maximum rate down, until two trials in succession
//! lose nothing. The x axis of its curve is the load in percent of the maximum rate; the y axis is the loss in percent of the
//! sent frames. If the generator did not reach a load, that load was not offered: a loss still counts, but no loss is no
//! evidence for that load.

use std::time::Duration;

use super::Finished;
use crate::Observer;
use crate::session::Session;
use crate::{PlanError, Result};
use capbench_judge::bursts::Percent;
use capbench_judge::rfc2544::frame_loss::{FrameLossOutcome, LossPoint};
use capbench_judge::rfc2544::{Ended, MaximumRate};
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase};

/// The coarsest step that the standard allows. It recommends finer ones.
pub const COARSEST: Percent = Percent::fixed(10.0);

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

impl FrameLossTest {
    /// The loads, highest first. Fails for a step that is coarser than the standard allows.
    pub fn loads(&self) -> Result<Vec<Percent>> {
        if self.step > COARSEST {
            return Err(PlanError::unsupported(
                format!("a frame loss test in steps of {}", self.step),
                format!("RFC 2544 26.3 allows up to {COARSEST}"),
            ));
        }
        let mut loads = Vec::new();
        let mut steps_down = 0;
        loop {
            // Whole numbers of steps avoid the sum of rounding errors.
            let percent = Percent::WHOLE.get() - f64::from(steps_down) * self.step.get();
            if percent <= self.step.get() * 1e-6 {
                return Ok(loads);
            }
            loads.push(Percent::new(percent)?);
            steps_down += 1;
        }
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
            match session.valid_trial(setup, load, self.duration, Phase::FrameLoss)? {
                Ok(trial) => outcome.points.push(LossPoint::new(percent, &self.maximum, &trial)),
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
}
