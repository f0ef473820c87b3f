//! Publications run again on a simulated path, as `capbench reproduce all` saves them.

use std::time::Duration;

use capbench_measure::laboratory::{Laboratory, Setup};
use capbench_measure::reproduction::{Conditions, LeftOut, Observer, PUBLICATIONS, Reproduction, Scale};
use capbench_measure::results::{NotMeasured, Results};
use capbench_measure::search::SearchOutcome;
use capbench_measure::session;
use capbench_measure::simulated::{SimulatedLaboratory, SimulatedMethod, setup};
use capbench_measure::sweep::{self, SweepOutcome};
use capbench_measure::trial::{Load, TrialResult};
use capbench_measure::{MeasureError, Result};

/// Saves what it is told as the command does.
struct Saved(Results);

impl session::Observer for Saved {
    fn starts(&mut self, _: &str) {}
    fn ends(&mut self, trial: &TrialResult) -> Result<()> {
        self.0.trials.push(trial.clone());
        Ok(())
    }
    fn skips(&mut self, setup: &Setup, _: Load, why: &MeasureError) {
        panic!("{}: {why}", setup.method);
    }
    fn stopping(&self) -> bool {
        false
    }
}

impl sweep::Observer for Saved {
    fn swept(&mut self, so_far: SweepOutcome) {
        // One that is not over is this one.
        match self.0.sweeps.last_mut().filter(|last| last.stopped) {
            Some(known) => *known = so_far,
            None => self.0.sweeps.push(so_far),
        }
    }
}

impl Observer for Saved {
    fn searched(&mut self, outcome: SearchOutcome) -> Result<()> {
        self.0.searches.push(outcome);
        Ok(())
    }
    fn leaves_out(&mut self, left: &LeftOut) {
        self.0.not_measured.push(NotMeasured {
            method: left.method.to_string(),
            test: None,
            placement: Some(left.placement.to_string()),
            frame_size: None,
            reason: left.reason.clone(),
        });
    }
    fn reproduced(&mut self, so_far: Reproduction) -> Result<()> {
        match self.0.reproductions.iter_mut().find(|known| known.key == so_far.key) {
            Some(known) => *known = so_far,
            None => self.0.reproductions.push(so_far),
        }
        Ok(())
    }
}

/// Methods of today, without the cards of 2008.
fn methods() -> Vec<SimulatedMethod> {
    vec![
        SimulatedMethod::new("recv", 400_000.0).livelock(0.3).cost(900, 1200),
        SimulatedMethod::new("libpcap", 1_100_000.0).cost(150, 900),
        SimulatedMethod::new("packet-v1", 800_000.0).cost(250, 900),
        SimulatedMethod::new("packet-v2", 900_000.0).cost(200, 900),
        SimulatedMethod::new("packet-v3", 1_600_000.0).cost(100, 700),
        SimulatedMethod::new("xdp-count+generic", 2_000_000.0).cost(0, 300),
        SimulatedMethod::new("xdp-count+generic+napi-defer", 2_000_000.0).cost(0, 250),
        SimulatedMethod::new("recv+napi-defer", 500_000.0).cost(900, 800),
        SimulatedMethod::new("recv+napi-thread", 450_000.0).cost(900, 900),
    ]
}

/// All publications, each point visited twice.
pub fn all() -> Results {
    let base = Setup { quiet: Duration::from_millis(200), ..setup(64) };
    let conditions = Conditions { base, scale: Scale::DEFAULT, visits: 2, seed: 7 };
    let mut path: Box<dyn Laboratory> = Box::new(SimulatedLaboratory::new(1_500_000.0, methods()));
    let mut saved = Saved(super::results(&["reproduce", "all"], Vec::new()));
    for publication in PUBLICATIONS.iter() {
        publication.run(&conditions, path.as_mut(), &mut saved).unwrap();
    }
    saved.0
}
