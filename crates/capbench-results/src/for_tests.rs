//! Results that tests begin with, for this crate and those above it.

use capbench_judge::recommendation::recommend;
use capbench_judge::search::SearchOutcome;
use capbench_model::trial::TrialResult;

use crate::results::{Results, SCHEMA_VERSION};

/// A finished bench of these trials and searches, with its recommendation.
pub fn bench(trials: Vec<TrialResult>, searches: Vec<SearchOutcome>) -> Results {
    let recommended = recommend(&trials, &searches);
    let command = ["capbench", "bench"].map(String::from).to_vec();
    Results { command, searches, recommended, ..results(trials) }
}

/// A finished run with only these trials, on a host of which nothing is known.
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
