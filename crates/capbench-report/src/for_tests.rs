//! Results that tests begin with, for this crate and those above it.

use capbench_judge::recommendation::recommend;
use capbench_model::laboratory::Laboratory;
use capbench_model::trial::TrialResult;
use capbench_plan::bench::BenchPlan;
use capbench_plan::for_tests::Collected;

use crate::results::{Results, SCHEMA_VERSION};

/// A finished bench with its searches and its recommendation.
///
/// # Panics
/// Where the bench fails.
pub fn bench(plan: &BenchPlan, path: &mut dyn Laboratory) -> Results {
    let outcome = plan.run(path, &mut Collected::default()).expect("a bench on a simulated path");
    let recommended = recommend(&outcome.trials, &outcome.searches);
    let command = ["capbench", "bench"].map(String::from).to_vec();
    Results { command, searches: outcome.searches, recommended, ..results(outcome.trials) }
}

/// A finished run with only these trials.
///
/// # Panics
/// Where the environment cannot be read.
pub fn results(trials: Vec<TrialResult>) -> Results {
    Results {
        schema_version: SCHEMA_VERSION,
        command: vec!["capbench".into()],
        started_unix_s: 1_700_000_000,
        complete: true,
        trials,
        ..Results::default()
    }
}
