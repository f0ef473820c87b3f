//! What is found in runs of the simulated path, whose losses are known: facts. Each sentence is asserted next to its words.

mod bench;
mod effects;
mod false_alarms;
mod members;
mod rfc2544;
mod search;
mod soak;
mod sweep;
mod trials;

use std::time::Duration;

use capbench_model::for_tests::setup;
use capbench_model::laboratory::{Laboratory, Setup};
use capbench_model::trial::{Load, Phase, TrialResult};
use capbench_plan::simulated::{SimulatedLaboratory, SimulatedMethod};
use capbench_report::sentences;
use capbench_results::{Finding, Results};

use super::runs;

fn run_of(trials: Vec<TrialResult>) -> Results {
    runs::results(&["bench"], trials)
}

fn find(trials: &[TrialResult]) -> Vec<Finding> {
    sentences::find(&run_of(trials.to_vec()))
}

/// A trial of a second at maximum load, which sends so many frames and delivers so many of them.
fn trial(number: u32, method: &str, sent: u32, delivered: u32) -> TrialResult {
    let methods = vec![SimulatedMethod::new(method, delivered.into())];
    let setup = Setup { method: method.parse().unwrap(), ..setup(64) };
    let mut path = SimulatedLaboratory::new(sent.into(), methods);
    let trial = path.prepare(&setup).unwrap().run(Load::Maximum, Duration::from_secs(1)).unwrap();
    assert_eq!((trial.sent, trial.delivered), (sent.into(), delivered.into()));
    TrialResult { number, phase: Phase::BestEffort, ..trial }
}
