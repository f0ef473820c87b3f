//! The facts that runs of the simulated path show. Their losses are known. Each sentence is tested next to its words, in
//! `src/sentences`.

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

/// A bench of these trials.
fn run_of(trials: Vec<TrialResult>) -> Results {
    runs::results(&["bench"], trials)
}

/// What a bench of these trials shows besides its answers.
fn find(trials: &[TrialResult]) -> Vec<Finding> {
    sentences::find(&run_of(trials.to_vec()))
}

/// A trial of a second at maximum load, which sends this number of frames and delivers this number of them. The ring loses the
/// others.
fn trial(number: u32, method: &str, sent: u32, delivered: u32) -> TrialResult {
    let methods = vec![SimulatedMethod::new(method, delivered.into())];
    let setup = Setup { method: method.parse().unwrap(), ..setup(64) };
    let mut path = SimulatedLaboratory::new(sent.into(), methods);
    let trial = path.prepare(&setup).unwrap().run(Load::Maximum, Duration::from_secs(1)).unwrap();
    assert_eq!(trial.sent, u64::from(sent));
    assert_eq!(trial.delivered, u64::from(delivered));
    TrialResult { number, phase: Phase::BestEffort, ..trial }
}
