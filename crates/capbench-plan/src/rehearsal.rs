//! The cost of plans before they start: runs them on paths with computed losses, where no time passes.

use std::time::Duration;

use capbench_frames::rates::Pps;

use crate::cost::{Cost, Meter};
use crate::simulated::SimulatedLaboratory;
use capbench_model::Result;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::statement::Statement;
use capbench_model::trial::{Load, Trial, TrialResult};

/// A path that counts the cost of its trials.
#[derive(Debug)]
pub struct Rehearsal {
    path: SimulatedLaboratory,
    meter: Meter,
}

impl Rehearsal {
    /// A rehearsal on a computed path.
    pub fn on(path: SimulatedLaboratory) -> Self {
        Self { path, meter: Meter::default() }
    }

    /// The cost of the trials so far.
    pub fn cost(&self) -> Cost {
        self.meter.cost()
    }
}

struct Rehearsed<'r> {
    trial: Box<dyn Trial + 'r>,
    quiet: Duration,
    meter: &'r mut Meter,
}

impl Laboratory for Rehearsal {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        let trial = self.path.prepare(setup)?;
        Ok(Box::new(Rehearsed { trial, quiet: setup.quiet, meter: &mut self.meter }))
    }

    fn rest(&mut self, while_idle: Duration) {
        self.meter.rest(while_idle);
    }

    fn number_after(&mut self, last: u32) {
        self.path.number_after(last);
    }

    fn statements(&self) -> Vec<Statement> {
        self.path.statements()
    }
}

impl Trial for Rehearsed<'_> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let result = self.trial.run(load, duration)?;
        let sending = Duration::try_from_secs_f64(result.sending_s).unwrap_or_default();
        let drain = Duration::try_from_secs_f64(result.drain_s).unwrap_or_default();
        self.meter.trial(sending, result.sent_loss_ratio());
        // The wait for missing frames is counted separately.
        let waited = if result.lost() > 0 { self.quiet } else { Duration::ZERO };
        self.meter.drain(drain.saturating_sub(waited));
        Ok(result)
    }

    fn line_rate(&self) -> Option<Pps> {
        self.trial.line_rate()
    }
}
