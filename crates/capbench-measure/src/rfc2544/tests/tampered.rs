//! A path whose results are changed on the way, to see what a test does with them.

use std::time::Duration;

use crate::error::Result;
use crate::laboratory::{Laboratory, Setup};
use crate::trial::{Load, Trial, TrialResult, Verdict};

/// Changes the results of another path, by how many trials there were before, and notes its rests.
pub(super) struct Tampered<L, F> {
    pub(super) path: L,
    pub(super) change: F,
    pub(super) trials: u32,
    pub(super) rests: Vec<Duration>,
}

impl<L: Laboratory, F: FnMut(u32, &mut TrialResult)> Tampered<L, F> {
    pub(super) fn new(path: L, change: F) -> Self {
        Self { path, change, trials: 0, rests: Vec::new() }
    }
}

impl<L: Laboratory, F: FnMut(u32, &mut TrialResult)> Laboratory for Tampered<L, F> {
    fn prepare(&mut self, setup: &Setup) -> Result<Box<dyn Trial + '_>> {
        let trial = self.path.prepare(setup)?;
        Ok(Box::new(TamperedTrial { trial, change: &mut self.change, trials: &mut self.trials }))
    }

    fn rest(&mut self, while_idle: Duration) {
        self.rests.push(while_idle);
    }

    fn statements(&self) -> Vec<String> {
        self.path.statements()
    }
}

struct TamperedTrial<'t, F> {
    trial: Box<dyn Trial + 't>,
    change: &'t mut F,
    trials: &'t mut u32,
}

impl<F: FnMut(u32, &mut TrialResult)> Trial for TamperedTrial<'_, F> {
    fn run(&mut self, load: Load, duration: Duration) -> Result<TrialResult> {
        let mut result = self.trial.run(load, duration)?;
        (self.change)(*self.trials, &mut result);
        *self.trials += 1;
        Ok(result)
    }
}

/// Takes a frame away.
pub(super) fn lose_one(result: &mut TrialResult) {
    result.delivered -= 1;
    result.verdict = Verdict::Lossy;
}
