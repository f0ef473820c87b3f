//! Results that tests begin with, for this crate and those above it.

use capbench_model::environment::Environment;
use capbench_model::trial::TrialResult;

use crate::results::{Results, SCHEMA_VERSION};

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
        environment: Environment::default(),
        statements: Vec::new(),
        trials,
        soak: None,
        sweeps: Vec::new(),
        not_measured: Vec::new(),
        searches: Vec::new(),
        rfc2544: Vec::new(),
        comparisons: Vec::new(),
        reproductions: Vec::new(),
        findings: Vec::new(),
    }
}
